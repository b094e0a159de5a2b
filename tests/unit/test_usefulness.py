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


def test_guides_come_before_source_then_specifications_and_tickets_and_history_comes_last() -> None:
    chunks = [make_chunk(type_, type_) for type_ in ("release", "ticket", "prp", "src", "blog", "guide")]
    assert names(chunks) == ["guide", "src", "prp", "ticket", "release", "blog"]


def test_code_that_more_files_use_comes_first() -> None:
    chunks = [make_chunk(name, type_) for name, type_ in (("a", "src"), ("b", "src"), ("c", "src"), ("d", "guide"))]
    assert names(chunks, {"b": 2, "c": 9}) == ["d", "c", "b", "a"]


def test_a_closed_ticket_comes_after_an_open_one_and_one_without_a_state() -> None:
    states = {"merged": "merged", "closed": "closed", "open": "open", "unknown": None}
    chunks = [make_chunk(name, "ticket", state=state) for name, state in states.items()]
    assert names(chunks) == ["open", "unknown", "merged", "closed"]


def test_a_superseded_guide_comes_after_current_documents() -> None:
    assert names([make_chunk("old", superseded_by="new"), make_chunk("t", "ticket")]) == ["t", "old"]


def test_chunks_of_equal_usefulness_keep_their_order() -> None:
    assert names([make_chunk(name) for name in "badc"]) == ["b", "a", "d", "c"]


def test_every_type_has_a_place() -> None:
    chunks = [make_chunk(type_, type_) for type_ in KnowledgeType]
    assert sorted(names(chunks)) == sorted(KnowledgeType)
