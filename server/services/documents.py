"""Looking at what is indexed: chunks by page and by id, files, and the class tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from etl.errors import ClassNotFound, DocumentNotFound, IndexMissing, InvalidArgument
from etl.files import stamp_of
from etl.hierarchy import ClassNode, Hierarchy
from etl.index import Index
from etl.model import Chunk, sha256
from server import budget

JSON = dict[str, Any]


class DocumentService:
    """Reads the catalogue and the class tree; needs neither model nor vectors."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def page(
        self, type_: str, source: str | None, limit: int, offset: int, max_tokens: int, cursor: str | None
    ) -> JSON:
        """The result of `list_documents`."""
        self._index.require()
        mark = self._mark("documents", type_, source)
        start = budget.offset_of(cursor, mark) if cursor else offset
        total, chunks = self._index.catalogue.page(_wanted(type_), source, limit, start)
        rows = [_row(one) for one in chunks]
        return {"total": total, **_page("documents", rows, start, total, max_tokens, mark)}

    def document(self, id_: str, max_tokens: int, cursor: str | None) -> JSON:
        """The result of `get_document_by_id`. Raises DocumentNotFound."""
        self._index.require()
        chunk = self._index.catalogue.chunks([id_]).get(id_)
        if chunk is None:
            raise DocumentNotFound(f"There is no document with the id `{id_}`.")
        mark = self._mark(id_, chunk.content_hash)
        start = budget.offset_of(cursor, mark)
        record = chunk.record()
        text = budget.fitting_lines(chunk.text[start:], max_tokens, budget.size({**record, "text": ""}))
        return {**record, "text": text, **_rest(start + len(text), len(chunk.text), "characters", max_tokens, mark)}

    def sources(self, type_: str, under: str | None, max_tokens: int, cursor: str | None) -> JSON:
        """The result of `list_sources`."""
        self._index.require()
        mark = self._mark("sources", type_, under)
        start = budget.offset_of(cursor, mark)
        rows = self._index.catalogue.sources(_wanted(type_), under.rstrip("/") if under else None)
        return {"total": len(rows), **_page("sources", rows[start:], start, len(rows), max_tokens, mark)}

    def source(self, path: str, max_tokens: int, cursor: str | None) -> JSON:
        """The result of `get_source`: the file as its chunks hold it. Raises DocumentNotFound."""
        self._index.require()
        chunks = self._index.catalogue.of_source(path)
        if not chunks:
            near = ", ".join(self._index.catalogue.paths_like(path))
            hint = f"Did you mean {near}?" if near else "list_sources shows what is indexed."
            raise DocumentNotFound(f"No indexed file has the path `{path}`.", hint)
        lines = _lines(chunks)
        mark = self._mark(path, *(one.content_hash for one in chunks))
        start = budget.offset_of(cursor, mark)
        reply: JSON = {"source": path, "type": chunks[0].type.value, "title": chunks[0].title}
        if stamp_of(self._index.root / path) != self._index.catalogue.stamps_of([path]).get(path):
            reply["changed"] = True
        shown = _fitting_from(lines, start, chunks, max_tokens)
        last = start + len(shown)
        marks = [_mark(one) for one in chunks if one.lines[0] <= last and one.lines[1] > start]
        span = [min(start + 1, len(lines)), max(last, 1)]
        rest = _rest(last, len(lines), "lines", max_tokens, mark)
        return {**reply, "lines": span, "text": "\n".join(shown), "chunks": marks, **rest}

    def hierarchy(self, root: str | None, max_tokens: int, cursor: str | None) -> JSON:
        """The result of `get_class_hierarchy`. Raises ClassNotFound with the nearest names."""
        self._index.require()
        tree = self._index.hierarchy
        if not tree.nodes:
            raise IndexMissing("The index knows no classes.", "Sync a project that has Python or JavaScript classes.")
        mark = self._mark("classes", root)
        start = budget.offset_of(cursor, mark)
        name = _full_name(tree, root.strip()) if root and root.strip() else None
        nodes = tree.subtree(name) if name else [tree.nodes[one] for one in sorted(tree.nodes)]
        reply: JSON = {"root": name, "total": len(nodes)}
        if name:
            reply["chain"] = [one.class_name for one in tree.chain(name)]
            reply["members"] = [] if start else self._members(tree.nodes[name])
        rows = [node.record() for node in nodes[start:]]
        taken = budget.ENVELOPE + budget.size(reply)
        return {**reply, **_page("classes", rows, start, len(nodes), max_tokens, mark, taken)}

    def _members(self, node: ClassNode) -> list[JSON]:
        """What the class itself defines, each once, in the order of its file."""
        if node.source is None:
            return []
        found: dict[str, JSON] = {}
        for chunk in self._index.catalogue.of_source(node.source):
            if chunk.class_name == node.name:
                kind = "method" if chunk.kind == "method" else "attribute"
                for symbol in chunk.symbols:
                    _, dot, name = symbol.rpartition(".")
                    if dot and not node.name.endswith("." + symbol):  # a nested class is a symbol of itself
                        member = {"name": name, "kind": kind, "id": chunk.id, "lines": list(chunk.lines)}
                        found.setdefault(name, member)
        return list(found.values())

    def _mark(self, *parts: str | None) -> str:
        """Identifies a listing: what was asked, of which state of the index."""
        return sha256("\0".join(map(str, (*parts, self._index.catalogue.meta("loaded")))))[:12]


def _wanted(type_: str) -> str | None:
    return None if type_ == "all" else type_


def _page(
    name: str, rows: Sequence[JSON], start: int, total: int, max_tokens: int, mark: str, taken: int = budget.ENVELOPE
) -> JSON:
    count = budget.fitting(rows, max_tokens, taken)
    return {name: list(rows[:count]), **_rest(start + count, total, name, max_tokens, mark)}


def _rest(end: int, total: int, what: str, max_tokens: int, mark: str) -> JSON:
    if end >= total:
        return {}
    return {
        "truncated": budget.left_out(total - end, what, max_tokens),
        "next_cursor": budget.cursor(end, mark),
    }


def _row(one: Chunk) -> JSON:
    return {
        "id": one.id,
        "type": one.type.value,
        "source": one.source,
        "title": one.title,
        "lines": list(one.lines),
        "hash": one.content_hash,
    }


def _mark(one: Chunk) -> JSON:
    return {"id": one.id, "kind": one.kind, "heading": " > ".join(one.heading), "lines": list(one.lines)}


def _lines(chunks: Sequence[Chunk]) -> list[str]:
    """The lines of a file from its chunks; what no chunk holds was blank. A cut line is put together again."""
    lines = [""] * max(one.lines[1] for one in chunks)
    for one in chunks:
        if one.columns is not None:
            lines[one.lines[0] - 1] += one.text
        else:
            lines[one.lines[0] - 1 : one.lines[1]] = one.text.split("\n")
    return lines


def _fitting_from(lines: Sequence[str], start: int, chunks: Sequence[Chunk], max_tokens: int) -> list[str]:
    """As many lines from `start` as fit beside the marks of their chunks; at least one."""
    left = max_tokens * budget.CHARACTERS_PER_TOKEN - budget.ENVELOPE
    cost = {one.lines[0]: budget.size(_mark(one)) for one in chunks}
    shown: list[str] = []
    for number, line in enumerate(lines[start:], start=start + 1):
        left -= budget.size(line) + cost.get(number, 0)
        if left < 0 and shown:
            break
        shown.append(line)
    return shown


def _full_name(tree: Hierarchy, root: str) -> str:
    names = tree.named(root)
    if not names:
        near = tree.nearest(root)
        hint = f"Did you mean {', '.join(near)}?" if near else "list_documents with type=src shows what is indexed."
        raise ClassNotFound(f"There is no class `{root}` in the index.", hint)
    if len(names) > 1:
        own = [name for name in names if tree.nodes[name].source]
        if len(own) != 1:
            raise InvalidArgument(f"`{root}` is ambiguous.", f"Use one of: {', '.join(names[:10])}.")
        names = own
    return names[0]
