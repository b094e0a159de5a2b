"""Count tokens with the embedding model's tokenizer, a whole file at a time."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

KNOWN_WORDS = 1 << 15  # a project repeats most of its words
LONG_LINE = 1000  # characters; a longer line may be a single word, which is not worth caching
PIECE = 50_000  # characters that are encoded at once
_CUT = r"(?:[\t\n !-/:;=-@\\-`{-~\u4e00-\u9fff]|[<\[](?![A-Za-z/|]))"  # ends a word, and is not in a special token
_PIECE = re.compile(rf"[\s\S]{{0,{PIECE - 1}}}{_CUT}|[\s\S]+?(?:{_CUT}|\Z)")
_ASCII = re.compile(r"[\t\n -~]*")
_WORD = re.compile(r"[A-Za-z0-9]+|[!-/:-@\[-`{-~]")
_BERT = ("BertNormalizer", "BertPreTokenizer", "WordPiece")


class TokenCounter:
    """Counts tokens, and knows the model's input limit.

    BERT's tokenizers split into words first, so words are encoded once; only in ASCII, whose word boundaries are clear.
    """

    def __init__(self, tokenizer: Tokenizer, limit: int) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self._input = limit
        self.limit = limit - tokenizer.num_special_tokens_to_add(is_pair=False)
        self._special = _special(tokenizer)
        self._of_word = lru_cache(KNOWN_WORDS)(self._encoded)
        self._of_run = lru_cache(KNOWN_WORDS)(lambda run: sum(map(self._of_word, _WORD.findall(run))))

    def __reduce__(self) -> tuple[type[TokenCounter], tuple[Tokenizer, int]]:
        return TokenCounter, (self._tokenizer, self._input)  # a child process learns the words by itself

    def count(self, text: str) -> int:
        return self._in_words(text) if self._has_words(text) else self._encoded(text)

    def by_line(self, lines: list[str]) -> list[int]:
        if self._special is not None:  # no token of this family contains a line break
            count = self._in_words if self._has_words("\n".join(lines)) else self.count
            return [count(line) for line in lines]
        if not lines:
            return []
        places = sorted(self.starts("\n".join(lines)))
        starts = accumulate(len(line) + 1 for line in lines[:-1])
        before = [0, *(bisect_left(places, start) for start in starts), len(places)]
        return [after - earlier for earlier, after in pairwise(before)]

    def starts(self, text: str) -> list[int]:
        return [
            start + first
            for start, piece in self._pieces(text)
            for first, _ in self._tokenizer.encode(piece, add_special_tokens=False).offsets
        ]

    def _pieces(self, text: str) -> Iterator[tuple[int, str]]:
        """Return the parts of a long text, each with its place: the tokenizer takes 600 bytes for each token."""
        if len(text) <= PIECE or self._special is None:
            yield 0, text
            return
        yield from ((piece.start(), piece.group()) for piece in _PIECE.finditer(text))

    def _has_words(self, text: str) -> bool:
        """Return whether the words of a text can be counted one by one."""
        return self._special is not None and bool(_ASCII.fullmatch(text)) and not self._special.search(text)

    def _in_words(self, text: str) -> int:
        return self._encoded(text) if len(text) > LONG_LINE else sum(map(self._of_run, text.split()))

    def _encoded(self, text: str) -> int:
        return sum(len(self._tokenizer.encode(piece, add_special_tokens=False)) for _, piece in self._pieces(text))


@lru_cache(2)  # the indexes of a process share it; a model's file does not change
def token_counter(file: Path, limit: int) -> TokenCounter:
    from tokenizers import Tokenizer

    return TokenCounter(Tokenizer.from_file(str(file)), limit)


def _special(tokenizer: Tokenizer) -> re.Pattern[str] | None:
    """Return a pattern for the texts that are always single tokens; None unless words can be counted one by one."""
    added = tokenizer.get_added_tokens_decoder().values()
    parts = (tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.model)
    if tuple(type(part).__name__ for part in parts) != _BERT or any(token.normalized for token in added):
        return None
    return re.compile("|".join(re.escape(token.content) for token in added) or "(?!)")
