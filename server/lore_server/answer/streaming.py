"""An answer told while it is written: only what the checked answer will hold, whole statements with their citations."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from lore_etl.core.errors import ProviderError
from lore_server.answer.grounding import NOT_FOUND, cites, grounded
from lore_server.answer.pack import Passage
from lore_server.execution.progress import unheard

_END = re.compile(r"[.!?:](?:\s*\[[\d,\s]+\])*\s+|\n+")
LONGEST = 400  # a bracket that stays open for longer is taken for text


class Telling:
    """Passes on the statements of a growing text as soon as the check can no longer change them."""

    def __init__(self, passages: Sequence[Passage], hear: Callable[[str], None]) -> None:
        self._passages = passages
        self._hear = hear
        self._written = ""
        self._told = ""
        self._checked = 0

    @property
    def hear(self) -> Callable[[str], None]:
        """For the writer: `unheard` where nobody listens, so that it need not write in pieces."""
        return self._hear if self._hear is unheard else self._add

    @property
    def has_told(self) -> bool:
        """Whether somebody has read a part already."""
        return bool(self._told)

    def end(self, answer: str) -> None:
        """The checked answer: what it has beyond what was told is told. If it differs, the reply says so itself."""
        if answer.startswith(self._told):
            self._tell(answer)

    def _add(self, piece: str) -> None:
        self._written += piece
        settled = self._settled()
        if settled == self._checked:
            return
        self._checked = settled
        try:
            shown, _ = grounded(self._written[:settled], self._passages)
        except ProviderError:
            return  # the answer will be refused
        if len(shown) > len(self._told) and shown.startswith(self._told):
            self._tell(shown)

    def _tell(self, text: str) -> None:
        more, self._told = text[len(self._told) :], text
        if more:
            self._hear(more)

    def _settled(self) -> int:
        """Where the last statement ends that cites a passage: what cites none may be dropped with all the rest."""
        text, start, settled = self._written, 0, 0
        if NOT_FOUND in text:
            return 0
        for match in _END.finditer(text):
            end = match.end()
            if _is_open(text[:end]):
                continue
            if cites(text[start:end], self._passages):
                settled = end
            start = end
        return settled


def _is_open(text: str) -> bool:
    """Whether a citation, a link or a tag may still be going on at the end."""
    ends = (("[", "]"), ("(", ")"), ("<", ">"))
    return any(text.rfind(begin) > text.rfind(end) and len(text) - text.rfind(begin) <= LONGEST for begin, end in ends)
