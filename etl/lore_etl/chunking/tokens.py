"""Counting in the embedding model's own tokens, a whole file at a time."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class TokenCounter:
    """Knows the model's input limit and how many tokens a text takes of it."""

    def __init__(self, tokenizer: Tokenizer, limit: int) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self.limit = limit - tokenizer.num_special_tokens_to_add(is_pair=False)

    def count(self, text: str) -> int:
        """Tokens of a text, without the model's special ones."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def by_line(self, lines: list[str]) -> list[int]:
        """Tokens that begin in each line."""
        starts = [0, *accumulate(len(line) + 1 for line in lines)]
        counts = [0] * len(lines)
        for first, _ in self.offsets("\n".join(lines)):
            counts[min(bisect_right(starts, first) - 1, len(lines) - 1)] += 1
        return counts

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """The character range of each token."""
        found: list[tuple[int, int]] = self._tokenizer.encode(text, add_special_tokens=False).offsets
        return found
