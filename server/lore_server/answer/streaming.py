"""Stream an answer while it is written: only whole statements with citations that the final check will keep."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from lore_etl.core.errors import ProviderError
from lore_server.answer.grounding import NOT_FOUND, cites, grounded
from lore_server.answer.pack import Passage
from lore_server.execution.progress import ignore_text

_END = re.compile(r"[.!?:](?:\s*\[[\d,\s]+\])*\s+|\n+")
LONGEST = 400  # characters; a bracket that stays open for longer is text


class AnswerStream:
    """Passes on the statements of a growing text as soon as the check can no longer change them."""

    def __init__(self, passages: Sequence[Passage], on_text: Callable[[str], None]) -> None:
        self._passages = passages
        self._on_text = on_text
        self._written = ""
        self._sent = ""
        self._checked = 0

    @property
    def on_text(self) -> Callable[[str], None]:
        """Return the callback for the writer: `ignore_text` if nobody listens, so that it need not stream."""
        return self._on_text if self._on_text is ignore_text else self._add

    @property
    def has_sent(self) -> bool:
        """Return whether part of the answer has already been sent."""
        return bool(self._sent)

    def end(self, answer: str) -> None:
        """Send the rest of the checked answer. If it differs from the streamed text, the reply itself corrects it."""
        if answer.startswith(self._sent):
            self._send(answer)

    def _add(self, piece: str) -> None:
        self._written += piece
        settled = self._settled()
        if settled == self._checked:
            return
        self._checked = settled
        try:
            shown, _ = grounded(self._written[:settled], self._passages)
        except ProviderError:
            return  # the final check will refuse the answer
        if len(shown) > len(self._sent) and shown.startswith(self._sent):
            self._send(shown)

    def _send(self, text: str) -> None:
        more, self._sent = text[len(self._sent) :], text
        if more:
            self._on_text(more)

    def _settled(self) -> int:
        """Return where the last statement with a citation ends; statements without one may be dropped with the rest."""
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
    """Return whether a citation, link or tag may continue after the end of the text."""
    ends = (("[", "]"), ("(", ")"), ("<", ">"))
    return any(text.rfind(begin) > text.rfind(end) and len(text) - text.rfind(begin) <= LONGEST for begin, end in ends)
