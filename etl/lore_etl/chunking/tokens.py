"""Count tokens with the embedding model's tokenizer, a whole file at a time."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class TokenCounter:
    """Counts tokens, and knows the model's input limit."""

    def __init__(self, tokenizer: Tokenizer, limit: int) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self.limit = limit - tokenizer.num_special_tokens_to_add(is_pair=False)

    def count(self, text: str) -> int:
        """Return the number of tokens of a text, without the model's special tokens."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def by_line(self, lines: list[str]) -> list[int]:
        """Return the number of tokens that begin in each line."""
        starts = [0, *accumulate(len(line) + 1 for line in lines)]
        counts = [0] * len(lines)
        for first, _ in self.offsets("\n".join(lines)):
            counts[min(bisect_right(starts, first) - 1, len(lines) - 1)] += 1
        return counts

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Return the character range of each token."""
        found: list[tuple[int, int]] = self._tokenizer.encode(text, add_special_tokens=False).offsets
        return found
