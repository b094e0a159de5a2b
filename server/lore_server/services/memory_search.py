"""Search memories (`search_memories`): through the index if there is one, else by keywords."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from lore_etl.core.errors import IndexMissing
from lore_etl.core.json_types import JSON
from lore_etl.core.model import KnowledgeType
from lore_etl.index import Index
from lore_etl.sources.agent_files import MEMORIES, origin_of_file
from lore_etl.stores.tokenizer import STOPWORDS, query_terms, tokens
from lore_server.knowledge.memory_store import MemoryStore, StoredMemory, file_place
from lore_server.knowledge.names import group_folder
from lore_server.query.confidence import SUGGESTION
from lore_server.query.freshness import Freshness
from lore_server.query.outdated import outdated
from lore_server.query.parse import parse
from lore_server.query.query_service import QueryService, SearchOutcome
from lore_server.query.ranking import Ranked
from lore_server.query.scope import Part
from lore_server.replies import budget, paging
from lore_server.services.knowledge_library import Library
from lore_server.services.knowledge_search import Match, MatchPage, folded, matches, page_of
from lore_server.services.project_service import noted
from lore_server.services.search_service import SHORT_NOTE, SMALL_BUDGET, head

if TYPE_CHECKING:
    from lore_server.replies.records import MemoryMatchesRecord, MemoryMatchRecord

NO_INDEX = "There is no index yet: this is a keyword search of saved memories. `lore sync` builds the index."
LONGEST_SOURCE = 200  # characters
QUOTES = "\"'`()[]{}<>,;:?!*~^"
METADATA_CHARACTERS = 400  # the maximum of a result


class MemorySearch:
    """A search in the memories of this project: those that Lore stores, and other files of that type."""

    def __init__(self, library: Library, index: Index, queries: QueryService, freshness: Freshness) -> None:
        self._library = library
        self._index = index
        self._queries = queries
        self._freshness = freshness

    def search(
        self, *, query: str, group_ids: Sequence[str], limit: int, max_tokens: int, cursor: str | None = None
    ) -> MemoryMatchesRecord:
        """Return the memories that answer a question best. Raises InvalidGroupId."""
        groups = tuple(dict.fromkeys(map(group_folder, group_ids)))
        try:
            return self._ranked(query, groups, limit, max_tokens, cursor)
        except IndexMissing:
            return self._by_words(query, groups, limit, max_tokens, cursor)

    def _ranked(
        self, text: str, groups: tuple[str, ...], limit: int, max_tokens: int, cursor: str | None
    ) -> MemoryMatchesRecord:
        self._index.require()
        mark = budget.mark_of(text, *groups, self._index.catalogue.meta("loaded"))
        start = budget.offset_of(cursor, mark)
        part = Part(folders=tuple(f"{MEMORIES}/{group}" for group in groups)) if groups else None
        found = self._queries.find(text, KnowledgeType.MEMORY.value, part)
        memories = self._each_once(found, groups)
        top = memories[start : start + limit]
        changed = self._freshness.changed_of(result.source for result in top)
        results = [self._result(result, found, result.source in changed) for result in top]
        page = paging.Page(start, len(memories), mark)
        reply_head = head(text, found, page.total, bool(top), self._freshness.record(changed), max_tokens)
        common = cast("MemoryMatchesRecord", reply_head)  # `head` adds no facets
        reply: MemoryMatchesRecord = {**common, "results": [], **noted(self._note(max_tokens))}
        texts = [result.chunk.text for result in top]
        shown, more = paging.of_passages(reply, results, texts, found.query.words, page, max_tokens)
        return {**reply, "results": shown, **more}

    def _note(self, max_tokens: int) -> str:
        """Return why memories of this folder may be missing; empty if there is no reason."""
        longest = SHORT_NOTE if max_tokens < SMALL_BUDGET else 300
        return budget.clipped(self._library.note() or "", longest)

    def _each_once(self, found: SearchOutcome, groups: Collection[str]) -> list[Ranked]:
        """Return the memories whose files still exist, each with its best part."""
        best, present = dict[str, Ranked](), self._index.files.stamps([result.source for result in found.ranked])
        for result in found.ranked:
            name = _memory_id(result.source) or result.source
            is_wanted = result.chunk.type == KnowledgeType.MEMORY and (not groups or name.partition("/")[0] in groups)
            if is_wanted and name not in best and result.source in present:
                best[name] = result
        return list(best.values())

    def _result(self, ranked: Ranked, found: SearchOutcome, is_changed: bool) -> MemoryMatchRecord:
        memory_id = _memory_id(ranked.source)
        stored = MemoryStore(self._library.store).opening(self._library.current, memory_id) if memory_id else None
        result = _of_memory(stored, ranked.source, round(ranked.score, 3)) if stored else _of_file(ranked)
        if is_changed:
            result["changed"] = True
        if no_longer := outdated(ranked.chunk, found.today):
            result["outdated"] = no_longer
        return result

    def _by_words(
        self, text: str, groups: tuple[str, ...], limit: int, max_tokens: int, cursor: str | None
    ) -> MemoryMatchesRecord:
        store = self._library.store
        mark = budget.mark_of(text, *groups, store.history.tip)
        start = budget.offset_of(cursor, mark)
        stored = {memory.id: memory for memory in MemoryStore(store).all(self._library.current, groups)}
        documents = [page_of(memory.id, memory.memory.body, memory.memory.name) for memory in stored.values()]
        ranked = sorted(_matches(documents, text), key=lambda match: (-match.score, match.page.filename))
        top = [stored[match.page.filename] for match in ranked[start : start + limit]]
        results = [
            _of_memory(memory, _path(memory), match.score) for memory, match in zip(top, ranked[start:], strict=False)
        ]
        texts = [result.memory.body for result in top]
        words = parse(text).words
        page = paging.Page(start, len(ranked), mark)
        clipped = budget.clipped(text, max_tokens // 10)
        reply_head: MemoryMatchesRecord = {"query": clipped, "total": page.total, "results": [], "degraded": NO_INDEX}
        reply: MemoryMatchesRecord = {**reply_head, **noted(self._note(max_tokens))}
        if not top:
            reply["suggestion"] = SUGGESTION
        shown, more = paging.of_passages(reply, results, texts, words, page, max_tokens)
        return {**reply, "results": shown, **more}


def _of_memory(stored: StoredMemory, path: str, score: float) -> MemoryMatchRecord:
    memory = stored.memory
    result: MemoryMatchRecord = {
        "id": stored.id,
        "name": memory.name,
        "group_id": memory.group_id,
        "source": budget.clipped(memory.source, LONGEST_SOURCE),
        "created": memory.created or None,
        "parts": stored.parts,
        "metadata": _fitting(memory.metadata),
        "origin": "memory",
        "path": path,
        "score": score,
        "excerpt": "",
    }
    if more := len(memory.metadata) - len(result["metadata"]):
        result["more_metadata"] = more
    return result


def _of_file(result: Ranked) -> MemoryMatchRecord:
    chunk = result.chunk
    return {
        "id": None,
        "name": chunk.title,
        "group_id": None,
        "source": result.source,
        "created": chunk.created,
        "parts": 1,
        "metadata": {"tags": list(chunk.tags)} if chunk.tags else {},
        "origin": origin_of_file(result.source),
        "path": result.source,
        "score": round(result.score, 3),
        "excerpt": "",
    }


def _fitting(metadata: Mapping[str, object]) -> JSON:
    """Return as much of the metadata as fits into a result."""
    rows = budget.fitting([{key: value} for key, value in metadata.items()], METADATA_CHARACTERS)
    return {key: value for row in rows for key, value in row.items()}


def _memory_id(source: str) -> str | None:
    """Return the id of the memory that an indexed file is part of; None if Lore does not store this memory."""
    parts = source.removeprefix(f"{MEMORIES}/").split("/")
    place = file_place(parts[-1])
    return f"{parts[0]}/{place.stem}" if source.startswith(f"{MEMORIES}/") and len(parts) == 2 and place else None


def _path(stored: StoredMemory) -> str:
    """Return the path of a memory in the index."""
    return f"{MEMORIES}/{stored.id.partition('/')[0]}/{stored.paths[0].rpartition('/')[2]}"


def _matches(documents: Sequence[MatchPage], text: str) -> list[Match]:
    """Return the pages with a word as written, such as `apt-28` or `"C++"`; if there are none, with part of a word."""
    plain = folded(text.replace("\\", ""))
    written = (word.strip(QUOTES) for word in plain.split())
    words = dict.fromkeys((*written, *tokens(plain)))
    significant = [word for word in words if len(word) > 1 and word not in STOPWORDS]
    return matches(documents, significant) or matches(documents, query_terms(plain))
