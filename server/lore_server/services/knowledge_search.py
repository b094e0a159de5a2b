"""Search the documents of a project for words (`search_knowledge`); results have chapters and their context."""

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lore_etl.core.errors import InvalidSearchQuery
from lore_etl.core.text import one_line
from lore_server.knowledge.document import QUERY_CHARACTERS, QUERY_TERMS, KnowledgeDocument, Metadata, summary_of
from lore_server.knowledge.reader import Listing, shown
from lore_server.replies import records
from lore_server.replies.paging import with_fields
from lore_server.services.chapters import metadata_of, outdated_among
from lore_server.services.knowledge_library import Library

INTRODUCTION = "(Document Introduction)"
AROUND = 60  # characters of context on either side
NO_DOCUMENTS = "The project has no documents yet. query_documents searches files, also by meaning."
SUGGESTION = "Only these documents were searched, for these words; query_documents also searches files, and by meaning."
CONTEXTS = 2  # the maximum for each word in a chapter
KEPT_CHARACTERS = 40_000_000  # the maximum for all documents in the cache
JUST_BELOW = 0.001
TITLE, KEYWORD, PART_OF_KEYWORD, HEADING = 8.0, 6.0, 3.0, 4.0


@dataclass(frozen=True)
class SearchablePassage:
    """A chapter or the introduction, prepared for the search."""

    title: str
    summary: str
    content: str
    folded: str  # title and content, folded


@dataclass(frozen=True)
class SearchableDocument:
    """A document prepared for the search; `folded` is all its text, with each part on separate lines."""

    filename: str
    title: str
    metadata: Metadata
    passages: tuple[SearchablePassage, ...]
    folded: str
    folded_title: str
    folded_keywords: str
    folded_headings: str


class Match(NamedTuple):
    """A document with the words of the query that it contains."""

    page: SearchableDocument
    found: list[str]
    score: float
    places: int
    outdated: records.OutdatedRecord | None = None


class KnowledgeSearch:
    """A thread-safe search in the documents of a project, which caches each document until its file changes."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._pages = Listing(
            lambda: library.store.files,
            lambda project, name, data: page_of(name, shown(data)),
            KEPT_CHARACTERS,
            lambda page: len(page.folded),
        )

    def search(self, *, query: str, limit: int, project_id: str | None = None) -> records.KnowledgeMatchesRecord:
        """Return the documents of a project that contain the words. Raises InvalidSearchQuery."""
        words = words_of(query)
        name = self._library.named(project_id)
        pages = self._pages.documents(name)
        outdated = outdated_among({page.filename: (page.title, page.metadata) for page in pages})
        ranked = _ranked(matches(pages, words), outdated)
        reply: records.KnowledgeMatchesRecord = {
            "success": True,
            "project_id": name,
            "query": one_line(query),
            "total_documents": len(ranked),
            "total_matches": sum(match.places for match in ranked),
            "results": [_result(match) for match in ranked[:limit]],
        }
        return with_fields(reply, suggestion="" if ranked else SUGGESTION if pages else NO_DOCUMENTS)


def words_of(query: str) -> list[str]:
    """Return the distinct words of a query, folded. Raises InvalidSearchQuery."""
    words = list(dict.fromkeys(folded(query).split()))
    if not words:
        raise InvalidSearchQuery("The query has no words.")
    if len(query) > QUERY_CHARACTERS or len(words) > QUERY_TERMS:
        allowed = f"up to {QUERY_CHARACTERS} characters and {QUERY_TERMS} words"
        raise InvalidSearchQuery(f"A query can have {allowed}; this one has {len(query)} and {len(words)}.")
    return words


def page_of(filename: str, text: str, title: str = "") -> SearchableDocument:
    """Return a document prepared for the search; the default title is that of the text."""
    document = KnowledgeDocument(text)
    metadata, start = document.metadata, document.introduction
    title = title or document.title or filename.removesuffix(".md")
    passages = [SearchablePassage(INTRODUCTION, summary_of(start), start, folded(start))] if start else []
    passages += [
        SearchablePassage(
            chapter.title, chapter.summary, chapter.content, folded(f"{chapter.title}\n{chapter.content}")
        )
        for chapter in document.chapters
    ]
    heads = (
        folded(title),
        folded("\n".join(("", *metadata.keywords, ""))),
        folded("\n".join([chapter.title for chapter in document.chapters])),
    )
    whole = "\n".join([*heads[:2], *(passage.folded for passage in passages)])
    return SearchableDocument(filename, title, metadata, tuple(passages), whole, *heads)


def matches(pages: Sequence[SearchableDocument], words: Sequence[str]) -> list[Match]:
    """Return the pages that contain any of the words, in their order; rare words contribute more to the score."""
    containing = [(page, [word for word in words if word in page.folded]) for page in pages]
    matching = [(page, found) for page, found in containing if found]
    rarity = {word: math.log(1 + len(pages) / max(1, sum(word in found for _, found in matching))) for word in words}
    return [Match(page, found, *_weighed(page, found, rarity)) for page, found in matching]


def _weighed(page: SearchableDocument, found: Sequence[str], rarity: dict[str, float]) -> tuple[float, int]:
    """Return the score, in which the title counts most and chapters least, and the number of parts with a word."""
    score = 0.0
    for word in found:
        keyword = KEYWORD if f"\n{word}\n" in page.folded_keywords else PART_OF_KEYWORD * (word in page.folded_keywords)
        named = TITLE * (word in page.folded_title) + keyword + HEADING * (word in page.folded_headings)
        score += rarity[word] * (named + math.log1p(sum([word in passage.folded for passage in page.passages])))
    texts = (page.folded_title, page.folded_keywords, *[passage.folded for passage in page.passages])
    return round(score, 3), sum([any(map(text.__contains__, found)) for text in texts])


def _ranked(weighed: Sequence[Match], outdated: Mapping[str, records.OutdatedRecord]) -> list[Match]:
    """Return the matches, best first. Outdated documents have half their score, and rank below their replacement."""
    marked = {match.page.filename: match for match in weighed}
    for name in marked.keys() & outdated.keys():
        marked[name] = marked[name]._replace(outdated=outdated[name], score=round(marked[name].score / 2, 3))
    for name, match in marked.items():
        if match.outdated and (new := marked.get(match.outdated.get("superseded_by", ""))) is not None:
            marked[name] = match._replace(score=round(min(match.score, new.score - JUST_BELOW), 3))
    return sorted(marked.values(), key=lambda match: (-match.score, match.page.filename))


def _result(match: Match) -> records.KnowledgeMatchesResultsRecord:
    page = match.page
    result: records.KnowledgeMatchesResultsRecord = {
        "file": page.filename,
        "match_count": match.places,
        "score": match.score,
        "metadata": metadata_of(page.title, page.metadata),
        "keywords_found": match.found,
        "matching_chapters": [row for passage in page.passages if (row := _chapter(passage, match.found))],
    }
    return with_fields(result, outdated=match.outdated)


def _chapter(passage: SearchablePassage, found: Sequence[str]) -> records.ChapterMatchRecord | None:
    words = [word for word in found if word in passage.folded]
    if not words:
        return None
    contexts = {word: places for word in words if (places := _contexts(passage.content, word))}
    return {
        "chapter": passage.title,
        "keywords_found": words,
        "match_context": contexts,
        "chapter_summary": passage.summary,
    }


def _contexts(text: str, word: str) -> list[str]:
    """Return the text around the first occurrences of a word, without overlaps."""
    contexts, end = [], 0
    for match in re.finditer(re.escape(word), text, re.IGNORECASE):
        if match.start() < end:
            continue
        first, end = max(0, match.start() - AROUND), match.end() + AROUND
        cut = one_line(text[first:end])
        contexts.append(f"{'…' if first else ''}{cut}{'…' if end < len(text) else ''}")
        if len(contexts) == CONTEXTS:
            break
    return contexts


def folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).lower()
