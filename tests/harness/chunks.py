"""Make chunks and candidates by hand, for tests of ranking."""

from typing import Any

from lore_etl.core.model import Ancestor, Chunk, KnowledgeType, chunk_id
from lore_etl.stores.catalogue_rows import ChunkRecord
from lore_server.query.retrieve import Candidate


def make_chunk(source: str, type_: str = "guide", text: str = "text", **more: Any) -> Chunk:
    """Make a chunk; `chain` is given as (class, source) pairs."""
    chain = tuple(Ancestor(class_name=name, source=where) for name, where in more.pop("chain", ()))
    values: dict[str, Any] = {"kind": "section", "title": source, "lines": (1, 1), "anchor": "", **more}
    anchor = values.pop("anchor")
    values |= {"source": source, "text": text, "chain": chain, "content_hash": "0" * 64}
    return ChunkRecord.of(Chunk(id=chunk_id("test", source, anchor), type=KnowledgeType(type_), **values)).chunk


def candidate(chunk: Chunk, vector: float | None = None, keyword: float = 0.0) -> Candidate:
    """Make a candidate with the scores of its legs."""
    return Candidate(chunk, vector, keyword)
