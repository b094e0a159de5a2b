"""Keep the last answers, so that a question can follow up on one and a person can save it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lore_etl.core.errors import AnswerNotFound
from lore_etl.core.model import sha256
from lore_etl.stores.snapshot import Kept
from lore_etl.stores.tokenizer import STOPWORDS
from lore_server.query.parse import looks_like_name
from lore_server.query.wording import wording
from lore_server.replies.records import AnswerRecord

if TYPE_CHECKING:
    from lore_server.answer.passage_answers import WrittenAnswer

_FORM = wording("follow_up")
KEPT = 200  # some 10 kB each
ID_DIGITS = 12
MAX_BORROWED = 12  # words
OWN_WORDS = 2  # words with which a question can be understood on its own
_TOKEN = re.compile(r"[\w$]+(?:[./:#-]+[\w$]+)*(?:\(\))?")


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
        self._kept = Kept[str, KeptAnswer](KEPT)

    def keep(self, asked: str, question: str, reply: AnswerRecord) -> None:
        self._kept.put({reply["id"]: KeptAnswer(asked, question, reply)})

    def whole(self, id_: str) -> KeptAnswer:
        """Return an answer with its text. Raises AnswerNotFound."""
        if found := self._kept.get([id_]):
            return found[id_]
        raise AnswerNotFound(f"There is no answer `{id_}`.")

    def earlier(self, id_: str) -> EarlierAnswer:
        """Return the answer that a question follows up. Raises AnswerNotFound."""
        if not self._kept.get([id_]) and (recorded := self._recorded(id_)):
            return recorded
        kept = self.whole(id_)
        cited = dict.fromkeys(citation["id"] for citation in kept.reply["citations"])
        return EarlierAnswer(kept.question, tuple(cited), kept.reply["answer"])


def answer_id(asked: str, question: str, answer: WrittenAnswer) -> str:
    """Return the id of an answer. The id is derived from question and answer, so equal answers have the same id."""
    cited = [citation["id"] for citation in answer["citations"]]
    return sha256("\n".join((asked, question, answer["mode"], answer["answer"], *cited)))[:ID_DIGITS]


def completed(question: str, earlier: str) -> str:
    """Return the question, completed by the earlier one's only name, or else by its words in brackets, if needed."""
    if not depends_on_earlier(question):
        return question
    names = dict.fromkeys(word for word in _specific(earlier) if looks_like_name(word))
    name = next(iter(names), "")
    if len(names) == 1 and name.casefold() not in question.casefold():
        replaced = _FORM["owned"].sub(lambda match: f"{match[1]} of {name}", question)
        replaced = _FORM["subject"].sub(lambda _: name, replaced)
        return replaced if replaced != question else f"{question} ({name})"
    known = {token.casefold() for token in _TOKEN.findall(question)}
    words = [word for word in _words(earlier) if word.casefold() not in known] or [earlier.strip()]
    return f"{question} ({' '.join(words[:MAX_BORROWED])})"


def depends_on_earlier(question: str) -> bool:
    """Return whether a question refers to an earlier one, or has too few words to stand alone."""
    own = _specific(question)
    is_short, continues = len(own) < OWN_WORDS, _FORM["continues"].match(question) is not None
    if any(looks_like_name(word) for word in own):
        return continues and is_short
    return is_short or continues or _FORM["reference"].search(question) is not None


def _words(text: str) -> list[str]:
    distinct: dict[str, str] = {}
    for word in _TOKEN.findall(text):
        distinct.setdefault(word.casefold(), word)
    return [word for folded, word in distinct.items() if folded not in STOPWORDS and len(word) > 1]


def _specific(text: str) -> list[str]:
    return [word for word in _words(text) if not _FORM["generic"].fullmatch(word)]
