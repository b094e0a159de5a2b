"""Keep the last answers, so that a question can follow up on one and a person can save it.

A follow-up question is completed with the words of the question before it.
"""

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

if TYPE_CHECKING:
    from lore_server.replies.records import AnswerRecord

KEPT = 200  # some 10 kB each
ID_DIGITS = 12
MAX_BORROWED = 12  # words
OWN_WORDS = 2  # words with which a question can be understood on its own
_TOKEN = re.compile(r"[\w$]+(?:[./:#-]+[\w$]+)*(?:\(\))?")
_CONTINUES = re.compile(
    r"^\W*(?:and|but|or|so|then|also|plus|what about|how about|what if|why|since when|und|et|y|e)\b", re.IGNORECASE
)
_REFERENCE = re.compile(
    r"\b(?:it|its|itself|they|them|their|theirs|he|she|this|that|these|those|there|ones?|same|other|others|both|"
    r"former|latter)\b(?! project\b)",
    re.IGNORECASE,
)
_OWNED = re.compile(r"\b(?:its|their)\s+((?:[a-z]+\s+){0,2}[a-z]+)", re.IGNORECASE)
_SUBJECT = re.compile(r"\b(?:it|they|them)\b", re.IGNORECASE)
_GENERIC = frozenset(
    "add allow apply avoid bad best call called change changed configure configured create default define defined "
    "delete describe detail details difference disable disabled documented effect enable enabled example examples "
    "exist explain fail fails file files find fix give given good happen help implement implemented instead know "
    "like limit list long look made mean means move much name need needed new occur off old option options place "
    "possible prevent problem purpose reason reasons run runs see set setting settings show start stop support "
    "supported switch tell test tested tests thing turn turned type understand value way write written wrong".split()
)


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


def answer_id(asked: str, question: str, reply: AnswerRecord) -> str:
    """Return the id of an answer. The id is derived from question and answer, so equal answers have the same id."""
    cited = [citation["id"] for citation in reply["citations"]]
    return sha256("\n".join((asked, question, reply["mode"], reply["answer"], *cited)))[:ID_DIGITS]


def completed(question: str, earlier: str) -> str:
    """Return the question with the words of the earlier one if it cannot be understood without them.

    A pronoun is replaced by the name in the earlier question, if there is exactly one; otherwise the earlier question's
    words follow in brackets.
    """
    if not depends_on_earlier(question):
        return question
    names = dict.fromkeys(word for word in _specific(earlier) if looks_like_name(word))
    name = next(iter(names), "")
    if len(names) == 1 and name.casefold() not in question.casefold():
        replaced = _OWNED.sub(lambda match: f"{match[1]} of {name}", question)
        replaced = _SUBJECT.sub(lambda _: name, replaced)
        return replaced if replaced != question else f"{question} ({name})"
    known = {token.casefold() for token in _TOKEN.findall(question)}
    words = [word for word in _words(earlier) if word.casefold() not in known] or [earlier.strip()]
    return f"{question} ({' '.join(words[:MAX_BORROWED])})"


def depends_on_earlier(question: str) -> bool:
    """Return whether a question refers to an earlier one, or has too few words to stand alone."""
    own = _specific(question)
    if any(looks_like_name(word) for word in own):
        return bool(_CONTINUES.match(question)) and len(own) < OWN_WORDS
    return len(own) < OWN_WORDS or bool(_CONTINUES.match(question)) or bool(_REFERENCE.search(question))


def _words(text: str) -> list[str]:
    """Return the distinct words of a text in order, without stop words."""
    distinct: dict[str, str] = {}
    for word in _TOKEN.findall(text):
        distinct.setdefault(word.casefold(), word)
    return [word for folded, word in distinct.items() if folded not in STOPWORDS and len(word) > 1]


def _specific(text: str) -> list[str]:
    """Return the words that identify the subject of a question."""
    return [word for word in _words(text) if word.casefold() not in _GENERIC]
