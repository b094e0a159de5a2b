"""Count tokens with the embedding model's tokenizer, a whole file at a time."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

KNOWN_WORDS = 1 << 15  # a project repeats most of its words
LONG_LINE = 1000  # characters; a longer line may be a single word, which is not worth caching
_ASCII = re.compile(r"[\t\n -~]*")
_WORD = re.compile(r"[A-Za-z0-9]+|[!-/:-@\[-`{-~]")
_BERT = ("BertNormalizer", "BertPreTokenizer", "WordPiece")


class TokenCounter:
    """Counts tokens, and knows the model's input limit.

    The tokenizers of the BERT family divide a text into words first, so a word has the same number of tokens wherever
    it occurs, and is encoded only once. Only ASCII text is counted in this way, because its word boundaries are clear.
    """

    def __init__(self, tokenizer: Tokenizer, limit: int) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self._input = limit
        self.limit = limit - tokenizer.num_special_tokens_to_add(is_pair=False)
        self._special = _special(tokenizer)
        self._of_word = lru_cache(KNOWN_WORDS)(self._encoded)
        self._of_run = lru_cache(KNOWN_WORDS)(self._in_run)

    def __reduce__(self) -> tuple[type[TokenCounter], tuple[Tokenizer, int]]:
        return TokenCounter, (self._tokenizer, self._input)  # a child process learns the words by itself

    def count(self, text: str) -> int:
        """Return the number of tokens of a text, without the model's special tokens."""
        return self._in_words(text) if self._has_words(text) else self._encoded(text)

    def by_line(self, lines: list[str]) -> list[int]:
        """Return the number of tokens that begin in each line."""
        if self._special is not None:  # no token of this family contains a line break
            count = self._in_words if self._has_words("\n".join(lines)) else self.count
            return [count(line) for line in lines]
        if not lines:
            return []
        places = sorted([first for first, _ in self.offsets("\n".join(lines))])
        starts = accumulate(len(line) + 1 for line in lines[:-1])
        before = [0, *(bisect_left(places, start) for start in starts), len(places)]
        return [after - earlier for earlier, after in pairwise(before)]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Return the character range of each token."""
        found: list[tuple[int, int]] = self._tokenizer.encode(text, add_special_tokens=False).offsets
        return found

    def _has_words(self, text: str) -> bool:
        """Return whether the words of a text can be counted one by one."""
        return self._special is not None and bool(_ASCII.fullmatch(text)) and not self._special.search(text)

    def _in_words(self, text: str) -> int:
        return self._encoded(text) if len(text) > LONG_LINE else sum(map(self._of_run, text.split()))

    def _in_run(self, text: str) -> int:
        """Return the number of tokens of a text without white space."""
        return sum(map(self._of_word, _WORD.findall(text)))

    def _encoded(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False))


def token_counter(file: Path, limit: int) -> TokenCounter:
    """Return the counter of a model with this tokenizer file and input limit."""
    from tokenizers import Tokenizer

    return TokenCounter(Tokenizer.from_file(str(file)), limit)


def _special(tokenizer: Tokenizer) -> re.Pattern[str] | None:
    """Return a pattern for the texts that are always single tokens; None unless words can be counted one by one."""
    added = tokenizer.get_added_tokens_decoder().values()
    parts = (tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.model)
    if tuple(type(part).__name__ for part in parts) != _BERT or any(token.normalized for token in added):
        return None
    return re.compile("|".join(re.escape(token.content) for token in added) or "(?!)")
