"""List and show the indexed chunks and files, and the class tree."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

from lore_etl.core.errors import ClassNotFound, DocumentNotFound, IndexMissing, InvalidArgument
from lore_etl.core.frontmatter import MAX_BYTES, body_of
from lore_etl.core.json_types import JSON
from lore_etl.core.model import Chunk, ClassNode
from lore_etl.core.text import nearest_paths
from lore_etl.files.indexed import origin_of_file
from lore_etl.files.redaction import redact
from lore_etl.index import Index
from lore_etl.pipeline.sync import require_chunks
from lore_etl.relations.classes import Hierarchy
from lore_etl.sources.source import syntax_of
from lore_etl.stores.snapshot import Derived
from lore_server.changes import project_git
from lore_server.changes.file_history import ProjectHistory
from lore_server.query import similar
from lore_server.query.freshness import Freshness
from lore_server.query.lineage import functions_named, not_covered
from lore_server.query.syntax import ALL
from lore_server.replies import budget, paging, records
from lore_server.replies.paging import file_part, place_of, whole_lines

MOST_PLACES = 20  # of one call
SMALLEST_SHARE = 200  # tokens for a place; the smallest budget of a call
MOST_COMPARED = 50_000  # chunks: a few seconds
COPIES = Derived[dict[str, int]]("near-copies", kept=4)
_OTHERS = ("source", "origin", "type", "lines", "text", "changed", "history", "history_note")
_ROW = ("id", "type", "source", "title", "lines", "hash")


class DocumentService:
    """A reader of the catalogue and the class tree, which needs neither the model nor the vector store."""

    def __init__(self, index: Index, freshness: Freshness) -> None:
        self._index = index
        self._freshness = freshness
        self._history = ProjectHistory(index)

    def page(
        self,
        *,
        type: str,
        limit: int,
        offset: int,
        max_tokens: int,
        near_copies: bool,
        source: str | None = None,
        cursor: str | None = None,
    ) -> records.DocumentListRecord:
        require_chunks(self._index)
        mark = self._mark("documents", type, source, str(near_copies))
        start = budget.offset_of(cursor, mark) if cursor else offset
        only = None if type == ALL else type
        total, chunks = self._index.catalogue.page(only, source, limit, start)
        if source is not None and not total:
            self.source(path=source, max_tokens=max_tokens, history=False)  # an unknown file is an error, no empty list
        reply: records.DocumentListRecord = {"total": total, "documents": [], "freshness": self._freshness.brief()}
        groups: dict[str, int] = {}
        if near_copies:
            groups = self._index.snapshot.read(COPIES, (only, source), lambda: self._near_copies(only, source))
            reply["total"], reply["compared"] = len(groups), min(total, MOST_COMPARED)
            by_id = self._index.catalogue.chunks(list(groups)[start : start + limit])
            chunks = [by_id[id_] for id_ in groups if id_ in by_id]
        found = [{**chunk.record(), "hash": chunk.content_hash} for chunk in chunks]
        rows = [paging.with_fields({name: row[name] for name in _ROW}, group=groups.get(row["id"])) for row in found]
        return paging.of_rows(reply, "documents", rows, paging.Page(start, reply["total"], mark), max_tokens)

    def _near_copies(self, type_: str | None, source: str | None) -> dict[str, int]:
        """Return the chunks that nearly repeat others, group by group, with the number of their group."""
        rows = self._index.catalogue.every_row()
        ids = [row[2] for row in rows if type_ in (None, row[1]) and source in (None, row[0])][:MOST_COMPARED]
        texts = self._index.catalogue.texts(ids)
        groups = similar.repeated([texts[id_] for id_ in ids])
        return {ids[place]: number for number, group in enumerate(groups, 1) for place in group}

    def document(self, *, id: str, max_tokens: int, cursor: str | None = None) -> records.DocumentRecord:
        """Return one chunk. Raises DocumentNotFound."""
        require_chunks(self._index)
        chunk = self._index.catalogue.chunks([id]).get(id)
        if chunk is None:
            raise DocumentNotFound(f"There is no document with the id `{id}`.")
        mark = self._mark(id, chunk.content_hash)
        record = chunk.record()
        del record["details"]  # the file's front matter shows them with their keys
        parts = {name: record.pop(name) for name in ("text", "symbols", "chain", "tags")}
        if cursor or budget.size(record) > max_tokens * budget.CHARACTERS_PER_TOKEN // 3:
            # what locates the chunk, shortened; the other fields are needed only once
            names = (record["title"], *record["heading"][-1:])
            title, *headings = (budget.clipped(name, budget.SHORT) for name in names)
            located = {name: record[name] for name in ("id", "type", "kind", "source", "lines")}
            record = {**located, "title": title, "heading": headings}
        if changed := self._freshness.changed_of([chunk.source]):
            record["changed"] = True
        record["freshness"] = self._freshness.brief(changed)
        at = budget.offsets_of(cursor, mark, 2)
        return cast("records.DocumentRecord", paging.of_parts(record, parts, at, mark, max_tokens))

    def sources(
        self,
        *,
        type: str,
        max_tokens: int,
        under: str | None = None,
        since: str | None = None,
        cursor: str | None = None,
    ) -> records.SourceListRecord:
        """Return a page of the indexed files, or of those changed after a point, latest first. Raises NotFound."""
        require_chunks(self._index)
        mark = self._mark("sources", type, under, since)
        start = budget.offset_of(cursor, mark)
        found = self._index.catalogue.sources(None if type == ALL else type, under.rstrip("/") if under else None)
        rows = cast("list[records.SourceRowRecord]", found)
        if since is not None:
            by_path = {row["source"]: row for row in rows}
            changes = project_git.changed_since(self._index.root, since)
            rows = [{**by_path[path], "change": _change(changes[path])} for path in changes if path in by_path]
        reply: records.SourceListRecord = {"total": len(rows), "sources": [], "freshness": self._freshness.brief()}
        return paging.of_rows(reply, "sources", rows[start:], paging.Page(start, len(rows), mark), max_tokens)

    def source(
        self,
        *,
        path: str,
        max_tokens: int,
        history: bool,
        start: int | None = None,
        end: int | None = None,
        cursor: str | None = None,
    ) -> records.SourceTextRecord:
        """Return a file or some of its lines, and its history. Raises DocumentNotFound, InvalidArgument."""
        require_chunks(self._index)
        chunks = self._index.catalogue.of_source(path)
        if not chunks and "\n" in path.strip():
            if start or end or cursor:
                hint = "Write the lines behind each path, such as `src/a.py:10-40`."
                raise InvalidArgument("`start`, `end` and `cursor` are for a single file.", hint)
            return self._several(list(filter(None, path.split("\n"))), max_tokens, history)
        if not chunks:
            path, asked = place_of(path.strip())
            if asked and (start or end):
                raise InvalidArgument("The lines are in `path` and in `start` or `end`.", "Give them once.")
            start, end = asked or (start, end)
            chunks = self._index.catalogue.of_source(path)
        if not chunks:
            near = ", ".join(nearest_paths(path, self._index.catalogue.paths()))
            hint = f"Did you mean {near}?" if near else "list_sources lists the indexed files."
            raise DocumentNotFound(f"No indexed file has the path `{path}`.", hint)
        lines = self._lines(path, chunks)
        mark = self._mark(path, str(start), str(end), *lines[:1], *(chunk.content_hash for chunk in chunks))
        at = budget.offset_of(cursor, mark)
        first, changed = chunks[0], self._freshness.changed_of([path])
        reply: records.SourceTextRecord = {
            "source": path,
            "origin": origin_of_file(path),
            "type": first.type.value,
            "title": first.title,
            "lines": [],
            "text": "",
            "chunks": [],
            "freshness": self._freshness.brief(changed),
        }
        if changed:
            reply["changed"] = True
        if history and cursor is None:
            self._add_history(reply, lines, start or 1, end, max_tokens)
        return file_part(reply, chunks, lines, (start or 1, end), at, mark, max_tokens)

    def _several(self, places: Sequence[str], max_tokens: int, history: bool) -> records.SourceTextRecord:
        """Return parts of several files, each with its share of the tokens that the ones before it left."""
        if len(places) > MOST_PLACES:
            raise InvalidArgument(f"{len(places)} places are too many.", f"Name at most {MOST_PLACES}.")
        parts, cut, left = list[JSON](), list[str](), max_tokens
        for number, place in enumerate(places):
            if left < SMALLEST_SHARE:
                cut += places[number:]
                break
            share = max(left // (len(places) - number), SMALLEST_SHARE)
            part = cast(JSON, self.source(path=place, max_tokens=share, history=history))
            if part.pop("next_cursor", None):
                whole = part["text"].endswith("\n")  # a long line may be cut
                cut.append(f"{part['source']} from line {part['lines'][1] + whole}")
            parts.append({name: part[name] for name in _OTHERS if name in part} if parts else part)
            left -= budget.size(parts[-1]) // budget.CHARACTERS_PER_TOKEN + 1
        shown = {part["source"] for part in parts if "changed" in part}
        first = parts[0] | {"others": parts[1:], "freshness": self._freshness.brief(shown)}
        if cut:
            room = left * budget.CHARACTERS_PER_TOKEN - budget.size({"others": [], "truncated": ""})
            first["truncated"] = budget.clipped(f"read by their lines: {', '.join(cut)}", room)
        return cast("records.SourceTextRecord", first)

    def _lines(self, path: str, chunks: Sequence[Chunk]) -> list[str]:
        """Return the lines of a file. Front matter, which is in few chunks, comes from the unchanged file."""
        lines = whole_lines(chunks)
        if syntax_of(path) != "markdown" or any(lines[:1]) or self._freshness.changed_of([path]):
            return lines
        with suppress(OSError):
            head = self._index.files.beginning(path, 2 * MAX_BYTES).decode("utf-8-sig", "replace").replace("\r\n", "\n")
            front = redact(head[: len(head) - len(body_of(head))])[0].split("\n")[:-1]
            if all(line in ("", own) for line, own in zip(lines, front, strict=False)):
                lines[: len(front)] = front
        return lines

    def _add_history(
        self, reply: records.SourceTextRecord, lines: Sequence[str], first: int, last: int | None, max_tokens: int
    ) -> None:
        """Add the latest commits that changed the lines; they take at most half of the budget."""
        found = self._history.of(reply["source"], lines, first, last)
        if found.note:
            reply["history_note"] = found.note
        reply["history"] = budget.fitting(found.changes, budget.room(max_tokens, reply) // 2)
        if len(reply["history"]) < len(found.changes):
            cut = f"Of the latest {len(found.changes)} commits, {len(reply['history'])} fit into max_tokens."
            reply["history_note"] = f"{cut} {found.note or ''}".rstrip()

    def hierarchy(
        self, *, max_tokens: int, root: str | None = None, depth: int | None = None, cursor: str | None = None
    ) -> records.HierarchyResultRecord:
        """Return a class with its subclasses and users, all classes, or a function's users. Raises ClassNotFound."""
        require_chunks(self._index)
        tree, asked = self._index.hierarchy, (root or "").strip()
        functions = functions_named(self._index, asked) if asked and not tree.named(asked) else []
        if not tree.nodes and not functions:
            hint = "Search for the name instead; languages without classes have no tree."
            raise IndexMissing("The index contains no classes.", hint)
        mark = self._mark("classes", root, str(depth))
        at = budget.offsets_of(cursor, mark, 2)
        name = _full_name(tree, asked, functions) if asked else None
        roots = [name] if name else sorted(one for one in tree.nodes if depth is None or not tree.nodes[one].bases)
        nodes = [] if functions else tree.below(roots, depth)
        shown = {node.name for node in nodes}
        deeper = [sum(child not in shown for child in tree.children(node.name)) for node in nodes]
        rows = [paging.with_fields(node.record(), deeper=count) for node, count in zip(nodes, deeper, strict=True)]
        parts: dict[str, list[Any]] = {"classes": rows}
        head: JSON = {"root": name, "total": len(nodes), "freshness": self._freshness.brief()}
        if name:
            users = self._index.catalogue.users(name)
            parts["chain"] = [ancestor.class_name for ancestor in tree.chain(name)]
            parts["members"] = self._members(tree.nodes[name]) if nodes else []
            parts["used_by"] = list(map(str, users))
            source = tree.nodes[name].source if nodes else name.rpartition(":")[0]
            head |= {"users": len(users), "not_covered": not_covered(source)}
        return cast("records.HierarchyResultRecord", paging.of_parts(head, parts, at, mark, max_tokens))

    def _members(self, node: ClassNode) -> list[records.MemberRecord]:
        """Return the members that the class itself defines, each once with its lines, in the order of their files."""
        chunks = {path: self._index.catalogue.of_source(path)[::-1] for path, _ in node.parts}
        found = []
        for one in self._index.catalogue.members(node):
            own = (chunk.id for chunk in chunks[one.source or str(node.source)] if chunk.lines[0] <= one.lines[0])
            if id_ := next(own, ""):
                record: records.MemberRecord = {"name": one.name, "kind": one.kind, "id": id_, "lines": list(one.lines)}
                found.append(paging.with_fields(record, source=one.source))
        return found

    def _mark(self, *parts: str | None) -> str:
        return budget.mark_of(*parts, self._index.catalogue.meta("loaded"))


def _change(commits: Sequence[str]) -> str:
    return budget.clipped(commits[0], 250) + (f" (and {len(commits) - 1} more)" if commits[1:] else "")


def _full_name(tree: Hierarchy, root: str, functions: Sequence[str]) -> str:
    names = tree.named(root) or functions
    if not names:
        near = tree.nearest(root)
        hint = f"Did you mean {', '.join(near)}?" if near else "list_documents with type=src lists the indexed code."
        raise ClassNotFound(f"There is no class `{root}` in the index.", hint)
    if len(names) > 1:
        raise InvalidArgument(f"`{root}` is ambiguous.", f"Use one of: {', '.join(names[:10])}.")
    return names[0]
