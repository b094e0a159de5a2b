"""Keep the last answers, so that a question can follow up on one and a person can save it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lore_etl.core.errors import AnswerNotFound
from lore_etl.core.model import sha256

if TYPE_CHECKING:
    from lore_server.replies.records import AnswerRecord

KEPT = 200  # some 10 kB each
ID_DIGITS = 12


@dataclass(frozen=True)
class EarlierAnswer:
    """Data for a follow-up question: the earlier question, complete, the ids of the cited chunks, and the text."""

    question: str
    cited: tuple[str, ...]
    text: str = ""


@dataclass(frozen=True)
class KeptAnswer:
    """A whole answer: the question as asked, the question as searched, and the reply before it was cut."""

    asked: str
    question: str
    reply: AnswerRecord


class KeptAnswers:
    """The last answers of this process, by id. `recorded` finds older ones, without their text."""

    def __init__(self, recorded: Callable[[str], EarlierAnswer | None] = lambda id_: None) -> None:
        self._recorded = recorded
        self._guard = threading.Lock()
        self._kept: OrderedDict[str, KeptAnswer] = OrderedDict()

    def keep(self, asked: str, question: str, reply: AnswerRecord) -> None:
        """Keep an answer, and drop the oldest one if there are too many."""
        with self._guard:
            self._kept[reply["id"]] = KeptAnswer(asked, question, reply)
            self._kept.move_to_end(reply["id"])
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)

    def whole(self, id_: str) -> KeptAnswer:
        """Return an answer with its text. Raises AnswerNotFound."""
        with self._guard:
            found = self._kept.get(id_)
        if found is None:
            raise AnswerNotFound(f"There is no answer `{id_}`.")
        return found

    def earlier(self, id_: str) -> EarlierAnswer:
        """Return the answer that a question follows up. Raises AnswerNotFound."""
        try:
            kept = self.whole(id_)
        except AnswerNotFound:
            if (recorded := self._recorded(id_)) is None:
                raise
            return recorded
        cited = dict.fromkeys(citation["id"] for citation in kept.reply["citations"])
        return EarlierAnswer(kept.question, tuple(cited), kept.reply["answer"])


def answer_id(asked: str, question: str, reply: AnswerRecord) -> str:
    """Return the id of an answer. The id is derived from question and answer, so equal answers have the same id."""
    cited = [citation["id"] for citation in reply["citations"]]
    return sha256("\n".join((asked, question, reply["mode"], reply["answer"], *cited)))[:ID_DIGITS]
