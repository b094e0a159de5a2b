"""Add, search and delete memories; the search uses the index if there is one, else words."""

from collections.abc import Collection, Mapping, Sequence
from typing import cast

from lore_etl.core.errors import IndexMissing
from lore_etl.core.json_types import JSON
from lore_etl.core.model import KnowledgeType, Value
from lore_etl.files.indexed import MEMORIES, origin_of_file
from lore_etl.index import Index
from lore_etl.stores.tokenizer import STOPWORDS, query_terms, tokens
from lore_server.knowledge.git.commits import WriteRequest
from lore_server.knowledge.memory_store import Memory, MemoryStore, StoredMemory, file_place, new_memory
from lore_server.knowledge.names import group_folder
from lore_server.query.filters import Filters, Part
from lore_server.query.freshness import Freshness
from lore_server.query.outdated import outdated
from lore_server.query.parse import parse
from lore_server.query.query_service import QueryService, SearchOutcome
from lore_server.query.ranking import Ranked
from lore_server.replies import budget, paging
from lore_server.replies.records import MemoryAddedRecord, MemoryDeletedRecord, MemoryMatchesRecord, MemoryMatchRecord
from lore_server.services.knowledge_library import Library
from lore_server.services.knowledge_search import folded, matches, page_of
from lore_server.services.search_service import SHORT_NOTE, SMALL_BUDGET, head

NO_MEMORY = "No memory is recorded here yet: add_memory records one."
NO_MEMORY_IN_GROUPS = "These groups have no memory; a search without groups covers all of them."
NO_MATCH = "There are memories, but none matches: try other words."
LONGEST_SOURCE = 200  # characters
QUOTES = "\"'`()[]{}<>,;:?!*~^"
METADATA_CHARACTERS = 400  # the maximum of a result


class MemoryService:
    """The operations on the memories of this project: those that Lore stores, and other files of that type."""

    def __init__(self, library: Library, index: Index, queries: QueryService, freshness: Freshness) -> None:
        self._library = library
        self._index = index
        self._queries = queries
        self._freshness = freshness

    def add(
        self,
        *,
        name: str,
        body: str,
        group_id: str,
        source: str,
        metadata: Mapping[str, Value],
        request: WriteRequest,
        replaces: str | None = None,
    ) -> MemoryAddedRecord:
        """Store a text as a memory, unless its group already has the same text."""
        store = self._library.store
        new = new_memory(name, group_id, body, source, metadata, store.now())
        added = MemoryStore(store).add(self._library.current, new, request.by, replaces)
        is_short = new.full_name and added["name"] == new.name
        remarks = (
            f"The body is stored in {added['parts']} linked parts." if added["parts"] > 1 else "",
            "The name was shortened; the first part contains it in full." if is_short else "",
            f"Secrets were removed: {new.secrets}." if new.secrets else "",
            self._library.note() or "",
        )
        return paging.with_fields(added, note=" ".join(filter(None, remarks)))

    def delete(self, *, id: str, request: WriteRequest) -> MemoryDeletedRecord:
        stored, commit = MemoryStore(self._library.store).delete(self._library.current, id, request.by)
        return {
            "id": stored.id,
            "name": stored.memory.name,
            "group_id": stored.memory.group_id,
            "parts": len(stored.paths),
            "commit": commit,
        }

    def search(
        self, *, query: str, group_ids: Sequence[str], limit: int, max_tokens: int, cursor: str | None = None
    ) -> MemoryMatchesRecord:
        """Return the memories that answer a question best. Raises InvalidGroupId."""
        groups = tuple(dict.fromkeys(map(group_folder, group_ids)))
        try:
            return self._ranked(query, groups, limit, max_tokens, cursor)
        except IndexMissing as error:
            degraded = f"{error.message} This is a keyword search of saved memories. {error.hint}"
            return self._by_words(query, groups, limit, max_tokens, cursor, degraded)

    def _ranked(
        self, text: str, groups: tuple[str, ...], limit: int, max_tokens: int, cursor: str | None
    ) -> MemoryMatchesRecord:
        self._index.require()
        mark = budget.mark_of(text, *groups, self._index.catalogue.meta("loaded"))
        start = budget.offset_of(cursor, mark)
        part = Part(folders=tuple(f"{MEMORIES}/{group}" for group in groups)) if groups else None
        found = self._queries.find(text, part, Filters(types=(KnowledgeType.MEMORY,)))
        memories = self._each_once(found, groups)
        if not memories and self._has_new(groups):
            raise IndexMissing("Some memories are not indexed yet.", "The next sync indexes them.")
        top = memories[start : start + limit]
        changed = self._freshness.changed_of(result.source for result in top)
        results = [self._result(result, found, result.source in changed) for result in top]
        fields = head(text, found, len(memories), bool(top), self._freshness.record(changed), max_tokens)
        more = paging.with_fields(fields, **self._notes(bool(top), groups, max_tokens))
        reply = cast("MemoryMatchesRecord", more)  # without facets
        texts = [result.chunk.text for result in top]
        page = paging.Page(start, len(memories), mark)
        return paging.of_passages(reply, results, texts, found.query.words, page, max_tokens)

    def _notes(self, has_results: bool, groups: tuple[str, ...], max_tokens: int, degraded: str = "") -> dict[str, str]:
        """Return why memories of this folder may be missing, why none was found, and why there was no ranked search."""
        found = "" if has_results else self._not_found(groups)
        notes = {"note": self._library.note() or "", "suggestion": found, "degraded": degraded}
        longest = SHORT_NOTE if max_tokens < SMALL_BUDGET else 300
        return {name: budget.clipped(text, longest) for name, text in notes.items() if text}

    def _has_new(self, groups: tuple[str, ...]) -> bool:
        indexed = self._index.catalogue.paths(KnowledgeType.MEMORY)
        stored = MemoryStore(self._library.store).all(self._library.current, groups)
        return any(_path_of(memory) not in indexed for memory in stored)

    def _not_found(self, groups: tuple[str, ...]) -> str:
        stored = next(MemoryStore(self._library.store).all(self._library.current, groups), None)
        has_files = not groups and self._index.exists() and self._index.catalogue.paths(KnowledgeType.MEMORY)
        return NO_MATCH if stored or has_files else NO_MEMORY_IN_GROUPS if groups else NO_MEMORY

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
        result = _of_memory(stored, ranked.score, ranked.source) if stored else _of_file(ranked)
        return paging.with_fields(result, changed=is_changed, outdated=outdated(ranked.chunk, found.today))

    def _by_words(
        self, text: str, groups: tuple[str, ...], limit: int, max_tokens: int, cursor: str | None, degraded: str
    ) -> MemoryMatchesRecord:
        store = self._library.store
        mark = budget.mark_of(text, *groups, store.history.tip)
        start = budget.offset_of(cursor, mark)
        stored = {memory.id: memory for memory in MemoryStore(store).all(self._library.current, groups)}
        documents = [page_of(memory.id, memory.memory.body, memory.memory.name) for memory in stored.values()]
        plain = folded(text.replace("\\", ""))
        # words as written, such as `apt-28` or `"C++"`; if there are none, parts of words
        written = dict.fromkeys((*(word.strip(QUOTES) for word in plain.split()), *tokens(plain)))
        significant = [word for word in written if len(word) > 1 and word not in STOPWORDS]
        found = matches(documents, significant) or matches(documents, query_terms(plain))
        ranked = sorted(found, key=lambda match: (-match.score, match.page.filename))
        top = [(stored[match.page.filename], match.score) for match in ranked[start : start + limit]]
        results = [_of_memory(memory, score) for memory, score in top]
        clipped = budget.clipped(text, max_tokens // 10)
        reply: MemoryMatchesRecord = {"query": clipped, "total": len(ranked), "results": []}
        reply = paging.with_fields(reply, **self._notes(bool(top), groups, max_tokens, degraded))
        texts, page = [memory.memory.body for memory, _ in top], paging.Page(start, len(ranked), mark)
        return paging.of_passages(reply, results, texts, parse(text).words, page, max_tokens)


def _of_memory(stored: StoredMemory, score: float, path: str = "") -> MemoryMatchRecord:
    memory = stored.memory
    rows = budget.fitting([{key: value} for key, value in memory.metadata.items()], METADATA_CHARACTERS)
    metadata: JSON = {key: value for row in rows for key, value in row.items()}
    result: MemoryMatchRecord = {
        "id": stored.id,
        "name": memory.name,
        "group_id": memory.group_id,
        "source": budget.clipped(memory.source, LONGEST_SOURCE),
        "created": memory.created or None,
        "parts": stored.parts,
        "metadata": metadata,
        "origin": "memory",
        "path": path or _path_of(stored),
        "score": round(score, 3),
        "excerpt": "",
    }
    return paging.with_fields(result, more_metadata=len(memory.metadata) - len(metadata))


def _path_of(stored: StoredMemory) -> str:
    return f"{MEMORIES}/{stored.id.partition('/')[0]}/{stored.paths[0].rpartition('/')[2]}"


def _of_file(result: Ranked) -> MemoryMatchRecord:
    """Return the record of a file that is a memory, but not one that Lore stores."""
    chunk, source = result.chunk, result.source
    memory = Memory(chunk.title, "", "", source, {"tags": list(chunk.tags)} if chunk.tags else {}, chunk.created or "")
    found = _of_memory(StoredMemory("", memory, (), 1), result.score, source)
    return {**found, "id": None, "group_id": None, "origin": origin_of_file(source)}


def _memory_id(source: str) -> str | None:
    """Return the id of the memory that an indexed file is part of; None if Lore does not store this memory."""
    parts = source.removeprefix(f"{MEMORIES}/").split("/")
    place = file_place(parts[-1])
    return f"{parts[0]}/{place.stem}" if source.startswith(f"{MEMORIES}/") and len(parts) == 2 and place else None
