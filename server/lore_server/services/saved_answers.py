"""Save an answer with its citations as a knowledge document."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lore_etl.core.headings import outline
from lore_etl.core.text import one_line
from lore_server.answer.kept_answers import KeptAnswer, KeptAnswers
from lore_server.knowledge.chapter_edit import NewChapter, new_document
from lore_server.knowledge.writer import WriteRequest
from lore_server.replies.reply_text import span
from lore_server.services.knowledge_library import Library
from lore_server.services.project_service import written

if TYPE_CHECKING:
    from lore_server.replies.records import CitationRecord, KnowledgeWrittenRecord

LONGEST_NAME = 200
DAY = 10  # characters of a date
ORIGINS = {
    "synthesized": "A model wrote it from the passages below",
    "extractive": "It quotes the passages below",
    "structural": "It was read from the class tree or the named document",
}
_FENCE = re.compile(r"`{3,}")


class AnswerSaver:
    """Writes kept answers into the knowledge of a project."""

    def __init__(self, library: Library, kept: KeptAnswers) -> None:
        self._library = library
        self._kept = kept

    def save(self, *, answer: str, title: str, request: WriteRequest) -> KnowledgeWrittenRecord:
        """Create a document from an answer. Raises AnswerNotFound, FileExists, InvalidContent."""
        kept = self._kept.whole(answer)
        store, name = self._library.store, self._library.named(request.project_id)
        now = store.now()
        chapters = answer_chapters(kept)
        text = new_document(title, introduction(kept, now[:DAY]), [], chapters, now)
        return written(store.create_document(name, _filename(title), text, request.by))


def _filename(title: str) -> str:
    """Return a title without slashes, which would name a folder."""
    return re.sub(r"[/\\]+", " ", title)[:LONGEST_NAME]


def introduction(kept: KeptAnswer, day: str) -> str:
    """Return the question, the date and the origin of an answer."""
    followed = f" (searched: {kept.question})" if kept.question != kept.asked else ""
    return f"Answer of {day} to the question: {one_line(kept.asked)}{followed}\n\n{ORIGINS[kept.reply['mode']]}."


def answer_chapters(kept: KeptAnswer) -> list[NewChapter]:
    """Return the answer and its sources as chapters."""
    sources = "\n\n".join(_source(citation) for citation in kept.reply["citations"])
    answer = NewChapter("Answer", _without_headings(kept.reply["answer"]))
    return [answer, NewChapter("Sources", sources)] if sources else [answer]


def _source(citation: CitationRecord) -> str:
    """Return a citation: its number, file and lines, and the quote in a fence that the quote does not contain."""
    fence = "`" * (1 + max((len(run) for run in _FENCE.findall(citation["quote"])), default=2))
    heading = f" {citation['heading']}" if citation["heading"] else ""
    place = f"[{citation['n']}] `{one_line(citation['source'])}:{span(citation['lines'])}`{heading}"
    return f"{place}\n\n{fence}\n{citation['quote']}\n{fence}"


def _without_headings(text: str) -> str:
    """Return a text with its headings as bold lines, because a heading would begin another chapter."""
    found = outline(text)
    for heading in found.headings:
        found.lines[heading.line] = f"**{heading.title}**\n" if heading.title else "\n"
    return "".join(found.lines)
