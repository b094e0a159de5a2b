"""Looking at what is indexed: chunks by page and by id, and the class tree."""

from __future__ import annotations

from typing import Any

from etl.errors import ClassNotFound, DocumentNotFound, IndexMissing, InvalidArgument
from etl.index import Index

MAX_CLASSES = 5000


class DocumentService:
    """Reads the catalogue and the class tree; needs neither model nor vectors."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def page(self, type_: str, source: str | None, limit: int, offset: int) -> dict[str, Any]:
        """The result of `list_documents`."""
        self._index.require()
        wanted = None if type_ == "all" else type_
        total, chunks = self._index.catalogue.page(wanted, source, limit, offset)
        rows = [
            {
                "id": one.id,
                "type": one.type.value,
                "source": one.source,
                "title": one.title,
                "lines": list(one.lines),
                "hash": one.content_hash,
            }
            for one in chunks
        ]
        return {"total": total, "documents": rows}

    def document(self, id_: str) -> dict[str, Any]:
        """The result of `get_document_by_id`. Raises DocumentNotFound."""
        self._index.require()
        chunk = self._index.catalogue.chunks([id_]).get(id_)
        if chunk is None:
            raise DocumentNotFound(f"There is no document with the id `{id_}`.")
        return chunk.record()

    def hierarchy(self, root: str) -> dict[str, Any]:
        """The result of `get_class_hierarchy`. Raises ClassNotFound with the nearest names."""
        self._index.require()
        tree = self._index.hierarchy
        if not tree.nodes:
            raise IndexMissing("The index knows no classes.", "Sync a project that has Python or JavaScript classes.")
        names = tree.named(root.strip())
        if not names:
            near = tree.nearest(root)
            hint = f"Did you mean {', '.join(near)}?" if near else "list_documents with type=src shows what is indexed."
            raise ClassNotFound(f"There is no class `{root}` in the index.", hint)
        if len(names) > 1:
            own = [name for name in names if tree.nodes[name].source]
            if len(own) != 1:
                raise InvalidArgument(f"`{root}` is ambiguous.", f"Use one of: {', '.join(names[:10])}.")
            names = own
        nodes = tree.subtree(names[0])
        return {
            "root": names[0],
            "total": len(nodes),
            "chain": [one.class_name for one in tree.chain(names[0])],
            "classes": [node.record() for node in nodes[:MAX_CLASSES]],
        }
