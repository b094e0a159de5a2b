from collections.abc import Mapping

from lore_etl.core.model import Chunk, KnowledgeType
from lore_etl.pipeline.extraction import most_useful_first
from lore_etl.stores.catalogue import ChunkKey
from tests.harness.chunks import make_chunk


def names(chunks: list[Chunk], users: Mapping[str, int] | None = None) -> list[str]:
    return [key.source for key in most_useful_first(map(key_of, chunks), users or {})]


def key_of(chunk: Chunk) -> ChunkKey:
    hashes = chunk.content_hash, chunk.metadata_hash
    return ChunkKey(chunk.id, chunk.source, chunk.type, *hashes, False, chunk.state, chunk.superseded_by)


def test_guides_come_before_source_then_specifications_and_tickets_and_history_and_outdated_documents_last() -> None:
    types = [make_chunk(type_, type_) for type_ in ("release", "ticket", "prp", "src", "blog", "guide")]
    states = {"merged": "merged", "closed": "closed", "open": "open", "unknown": None}

    assert names(types) == ["guide", "src", "prp", "ticket", "release", "blog"]
    assert names([make_chunk(name, "ticket", state=state) for name, state in states.items()]) == [
        "open", "unknown", "merged", "closed",
    ]  # fmt: skip
    assert names([make_chunk("old", superseded_by="new"), make_chunk("t", "ticket")]) == ["t", "old"]


def test_code_that_more_files_use_comes_first_and_chunks_of_equal_usefulness_keep_their_order() -> None:
    chunks = [make_chunk(name, type_) for name, type_ in (("a", "src"), ("b", "src"), ("c", "src"), ("d", "guide"))]

    assert names(chunks, {"b": 2, "c": 9}) == ["d", "c", "b", "a"]
    assert names([make_chunk(name) for name in "badc"]) == ["b", "a", "d", "c"]


def test_every_type_has_a_place() -> None:
    chunks = [make_chunk(type_, type_) for type_ in KnowledgeType]
    assert sorted(names(chunks)) == sorted(KnowledgeType)
