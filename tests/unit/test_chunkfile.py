"""Lines of chunks.jsonl are compared without parsing and copied only if they are unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lore_etl.core.errors import IndexDamaged
from lore_etl.core.model import Ancestor
from lore_etl.stores.chunkfile import CHUNKS, ChunkLine, Relations, read_chunks, read_lines, write_chunks
from tests.harness.chunks import make_chunk

KEY_LIKE = st.sampled_from(
    ['"', "\\", '","source":"', '"id":"', '"content_hash":"', '","state":', "\n", "\r", "\u2028", "é"]
)
TEXTS = st.lists(KEY_LIKE | st.text(st.characters(codec="utf-8"), max_size=8), max_size=6).map("".join)


@given(TEXTS, TEXTS, TEXTS)
def test_the_keys_of_a_line_are_read_correctly_for_any_text(source: str, text: str, heading: str) -> None:
    whole = make_chunk(source, text=text, title=heading, heading=(heading,))

    line = ChunkLine.written(ChunkLine.of(whole).line)

    assert (line.id, line.source) == (whole.id, whole.source)
    assert (line.content_hash, line.metadata_hash) == (whole.content_hash, whole.metadata_hash)
    assert line.chunk == whole


@given(TEXTS, st.none() | TEXTS, st.none() | TEXTS, st.lists(TEXTS, max_size=2))
def test_a_line_contains_exactly_the_relations_of_its_chunk(
    text: str, class_name: str | None, successor: str | None, ancestors: list[str]
) -> None:
    chain = tuple(Ancestor(class_name=ancestor, source=None) for ancestor in ancestors)
    relations = Relations(class_name, chain, successor)
    line = ChunkLine.of(make_chunk("a.md", text=text).model_copy(update=relations.fields))

    assert line.has(relations)
    assert not line.has(Relations(f"{class_name}x", chain, successor))
    assert not line.has(Relations(class_name, chain, f"{successor}x"))
    assert not line.has(Relations(class_name, (*chain, Ancestor(class_name="x")), successor))


def test_written_lines_are_read_back_byte_for_byte(tmp_path: Path) -> None:
    lines = [ChunkLine.of(make_chunk(f"{name}.md", text=f"text\u2028\r{name}")) for name in "abc"]
    write_chunks(tmp_path, lines)

    assert [line.line for line in read_lines(tmp_path)] == [line.line for line in lines]
    assert read_chunks(tmp_path) == [line.chunk for line in lines]


def test_an_edited_line_is_parsed_and_not_copied(tmp_path: Path) -> None:
    write_chunks(tmp_path, [ChunkLine.of(make_chunk("a.md", text="before"))])
    file = tmp_path / CHUNKS
    file.write_text(file.read_text(encoding="utf-8").replace('"text":"before"', '"text" : "after"'), encoding="utf-8")

    (line,) = read_lines(tmp_path)

    assert line.chunk.text == "after"
    assert b'"text":"after"' in line.line


@pytest.mark.parametrize("damage", ["garbage", "{}", '{"id":"1"}'])
def test_a_line_that_is_not_a_valid_chunk_is_reported(tmp_path: Path, damage: str) -> None:
    write_chunks(tmp_path, [ChunkLine.of(make_chunk("a.md"))])
    with open(tmp_path / CHUNKS, "a", encoding="utf-8") as file:
        file.write(damage + "\n")

    with pytest.raises(IndexDamaged, match="damaged record"):
        read_lines(tmp_path)
