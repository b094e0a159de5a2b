"""List and show the indexed chunks and files, and the class tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from lore_etl.core.errors import ClassNotFound, DocumentNotFound, IndexMissing, InvalidArgument
from lore_etl.core.json_types import JSON
from lore_etl.core.model import Chunk
from lore_etl.files.suggest import nearest
from lore_etl.index import Index
from lore_etl.relations.classes import ClassNode, Hierarchy
from lore_etl.stores.file_facts import members_of
from lore_server.query.freshness import Freshness
from lore_server.query.scope import type_or_none
from lore_server.replies import budget, paging
from lore_server.services.file_part import file_part

if TYPE_CHECKING:
    from lore_server.replies import records


class DocumentService:
    """A reader of the catalogue and the class tree, which needs neither the model nor the vector store."""

    def __init__(self, index: Index, freshness: Freshness) -> None:
        self._index = index
        self._freshness = freshness

    def page(
        self,
        *,
        type: str,
        limit: int,
        offset: int,
        max_tokens: int,
        source: str | None = None,
        cursor: str | None = None,
    ) -> records.DocumentListRecord:
        """Return a page of the indexed chunks."""
        self._index.require()
        mark = self._mark("documents", type, source)
        start = budget.offset_of(cursor, mark) if cursor else offset
        total, chunks = self._index.catalogue.page(type_or_none(type), source, limit, start)
        rows, page = [_row(chunk) for chunk in chunks], paging.Page(start, total, mark)
        reply: records.DocumentListRecord = {"total": total, "documents": []}
        shown, more = paging.of_rows(reply, "documents", rows, page, max_tokens)
        return {**reply, "documents": shown, **more}

    def document(self, *, id: str, max_tokens: int, cursor: str | None = None) -> records.DocumentRecord:
        """Return one chunk. Raises DocumentNotFound."""
        self._index.require()
        chunk = self._index.catalogue.chunks([id]).get(id)
        if chunk is None:
            raise DocumentNotFound(f"There is no document with the id `{id}`.")
        mark = self._mark(id, chunk.content_hash)
        record = chunk.record()
        parts = {name: record.pop(name) for name in ("text", "symbols", "chain", "tags")}
        if cursor or budget.size(record) > max_tokens * budget.CHARACTERS_PER_TOKEN // 3:
            record = _brief(record)
        at = budget.offsets_of(cursor, mark, 2)
        return cast("records.DocumentRecord", paging.of_parts(record, parts, at, mark, max_tokens))

    def sources(
        self, *, type: str, max_tokens: int, under: str | None = None, cursor: str | None = None
    ) -> records.SourceListRecord:
        """Return a page of the indexed files."""
        self._index.require()
        mark = self._mark("sources", type, under)
        start = budget.offset_of(cursor, mark)
        found = self._index.catalogue.sources(type_or_none(type), under.rstrip("/") if under else None)
        rows = cast("list[records.SourceRowRecord]", found)
        reply: records.SourceListRecord = {"total": len(rows), "sources": []}
        shown, more = paging.of_rows(reply, "sources", rows[start:], paging.Page(start, len(rows), mark), max_tokens)
        return {**reply, "sources": shown, **more}

    def source(self, *, path: str, max_tokens: int, cursor: str | None = None) -> records.SourceTextRecord:
        """Return the text of a file, assembled from its chunks. Raises DocumentNotFound."""
        self._index.require()
        chunks = self._index.catalogue.of_source(path)
        if not chunks:
            near = ", ".join(nearest(path, self._index.catalogue.paths()))
            hint = f"Did you mean {near}?" if near else "list_sources lists the indexed files."
            raise DocumentNotFound(f"No indexed file has the path `{path}`.", hint)
        mark = self._mark(path, *(chunk.content_hash for chunk in chunks))
        start = budget.offset_of(cursor, mark)
        first = chunks[0]
        reply: records.SourceTextRecord = {
            "source": path,
            "type": first.type.value,
            "title": first.title,
            "lines": [],
            "text": "",
            "chunks": [],
        }
        if self._freshness.changed_of([path]):
            reply["changed"] = True
        return file_part(reply, chunks, start, mark, max_tokens)

    def hierarchy(
        self, *, max_tokens: int, root: str | None = None, cursor: str | None = None
    ) -> records.HierarchyResultRecord:
        """Return a class and its subclasses, or all classes. Raises ClassNotFound with the nearest names."""
        self._index.require()
        tree = self._index.hierarchy
        if not tree.nodes:
            raise IndexMissing(
                "The index contains no classes.", "Sync a project that has Python or JavaScript classes."
            )
        mark = self._mark("classes", root)
        at = budget.offsets_of(cursor, mark, 2)
        name = _full_name(tree, root.strip()) if root and root.strip() else None
        nodes = tree.subtree(name) if name else [tree.nodes[node] for node in sorted(tree.nodes)]
        parts: dict[str, list[Any]] = {"classes": [node.record() for node in nodes]}
        if name:
            parts["chain"] = [ancestor.class_name for ancestor in tree.chain(name)]
            parts["members"] = self._members(tree.nodes[name])
        reply = paging.of_parts({"root": name, "total": len(nodes)}, parts, at, mark, max_tokens)
        return cast("records.HierarchyResultRecord", reply)

    def _members(self, node: ClassNode) -> list[records.MemberRecord]:
        """Return the members that the class itself defines, each once with its lines, in the order of the file."""
        if node.source is None:
            return []
        found: dict[str, records.MemberRecord] = {}
        chunks = self._index.catalogue.of_source(node.source)
        packed = self._index.catalogue.facts_of([node.source]).get(node.source, "")
        for defined in members_of(node, packed):
            holder = next((chunk for chunk in reversed(chunks) if chunk.lines[0] <= defined.lines[0]), None)
            if holder is not None:
                member: records.MemberRecord = {
                    "name": defined.name,
                    "kind": defined.kind,
                    "id": holder.id,
                    "lines": list(defined.lines),
                }
                found.setdefault(defined.name, member)
        return list(found.values())

    def _mark(self, *parts: str | None) -> str:
        return budget.mark_of(*parts, self._index.catalogue.meta("loaded"))


def _row(chunk: Chunk) -> records.DocumentRowRecord:
    return {
        "id": chunk.id,
        "type": chunk.type.value,
        "source": chunk.source,
        "title": chunk.title,
        "lines": list(chunk.lines),
        "hash": chunk.content_hash,
    }


def _brief(record: JSON) -> JSON:
    """Return the fields that locate a chunk, shortened; the other fields are only needed once."""
    return {
        **{name: record[name] for name in ("id", "type", "kind", "source")},
        "title": budget.clipped(record["title"], budget.SHORT),
        "heading": [budget.clipped(heading, budget.SHORT) for heading in record["heading"][-1:]],
        "lines": record["lines"],
    }


def _full_name(tree: Hierarchy, root: str) -> str:
    names = tree.named(root)
    if not names:
        near = tree.nearest(root)
        hint = f"Did you mean {', '.join(near)}?" if near else "list_documents with type=src lists the indexed code."
        raise ClassNotFound(f"There is no class `{root}` in the index.", hint)
    if len(names) > 1:
        own = [name for name in names if tree.nodes[name].source]
        if len(own) != 1:
            raise InvalidArgument(f"`{root}` is ambiguous.", f"Use one of: {', '.join(names[:10])}.")
        names = own
    return names[0]
