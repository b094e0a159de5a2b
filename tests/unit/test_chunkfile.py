"""Lines of chunks.jsonl.gz are compared without parsing and copied only if they are unchanged."""

from __future__ import annotations

import gzip
import random
import resource
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lore_etl.core.errors import IndexDamaged, StorageError
from lore_etl.core.model import Ancestor, canonical_json, position_of
from lore_etl.stores.chunkfile import CHUNKS, ChunkLine, Relations, read_chunks, read_lines, update_chunks, write_chunks
from tests.harness.chunks import make_chunk

KEY_LIKE = st.sampled_from(
    [
        '"type":"',
        '"lines":[',
        '"columns":[',
        "\0",
        "\x1f",
        "\x7f",
        "/",
        "</",
        "\f\b",
        '"',
        "\\",
        '","source":"',
        '"id":"',
        '"content_hash":"',
        '","state":',
        "\n",
        "\r",
        "\u2028",
        "é",
    ]
)
TEXTS = st.lists(KEY_LIKE | st.text(st.characters(codec="utf-8"), max_size=8), max_size=6).map("".join)


@given(TEXTS, TEXTS, TEXTS, st.none() | st.tuples(st.integers(0, 999), st.integers(0, 999)))
def test_the_keys_of_a_line_are_read_correctly_for_any_text(
    source: str, text: str, heading: str, columns: tuple[int, int] | None
) -> None:
    more = {"class_name": text, "symbols": (text,), "tags": (text,), "updated": text, "columns": columns}
    whole = make_chunk(source, "src", text=text, title=heading, heading=(heading,), lines=(len(text), 99), **more)

    line = ChunkLine.written(ChunkLine.of(whole).line)

    assert (line.id, line.source) == (whole.id, whole.source)
    assert (line.content_hash, line.metadata_hash) == (whole.content_hash, whole.metadata_hash)
    assert (line.type, line.position) == (whole.type, position_of(whole))
    assert line.line == canonical_json(whole.record()).encode()
    assert line.chunk == whole


@given(TEXTS, st.none() | TEXTS, st.none() | TEXTS, st.lists(TEXTS, max_size=2))
def test_a_line_contains_exactly_the_relations_of_its_chunk(
    text: str, class_name: str | None, successor: str | None, ancestors: list[str]
) -> None:
    chain = tuple(Ancestor(class_name=ancestor, source=None) for ancestor in ancestors)
    relations = Relations(class_name, chain, successor)
    line = ChunkLine.of(replace(make_chunk("a.md", text=text), **relations.fields))

    assert line.has(relations)
    assert not line.has(Relations(f"{class_name}x", chain, successor))
    assert not line.has(Relations(class_name, chain, f"{successor}x"))
    assert not line.has(Relations(class_name, (*chain, Ancestor(class_name="x")), successor))


@given(TEXTS, st.none() | TEXTS, st.none() | TEXTS, st.lists(TEXTS, max_size=2))
def test_a_line_with_other_relations_is_that_of_the_chunk_with_them(
    text: str, class_name: str | None, successor: str | None, ancestors: list[str]
) -> None:
    chain = tuple(Ancestor(class_name=ancestor, source=ancestor) for ancestor in ancestors)
    chunk = make_chunk(text, text=text, title=text, heading=(text,), symbols=(text,), tags=(text,))
    others = replace(chunk, class_name=text, chain=chain[:1], superseded_by=text)
    relations = Relations(class_name, chain, successor)

    expected = ChunkLine.sealed(replace(chunk, **relations.fields))

    assert ChunkLine.sealed(others, relations).line == expected.line
    for line in (ChunkLine.of(chunk), ChunkLine.sealed(others)):
        assert line.related(relations).line == expected.line
        assert line.related(relations).metadata_hash == expected.metadata_hash
        assert ChunkLine.written(expected.line).metadata_hash == expected.metadata_hash


def test_written_lines_are_read_back_byte_for_byte(tmp_path: Path) -> None:
    lines = [ChunkLine.of(make_chunk(f"{name}.md", text=f"text\u2028\r{name}")) for name in "abc"]
    write_chunks(tmp_path, lines)

    assert [line.line for line in read_lines(tmp_path)] == [line.line for line in lines]
    assert read_chunks(tmp_path) == [line.chunk for line in lines]


def test_an_edited_line_is_parsed_and_not_copied(tmp_path: Path) -> None:
    write_chunks(tmp_path, [ChunkLine.of(make_chunk("a.md", text="before"))])
    file = tmp_path / CHUNKS
    plain = gzip.decompress(file.read_bytes())
    file.write_bytes(gzip.compress(plain.replace(b'"text":"before"', b'"text" : "after"')))

    (line,) = read_lines(tmp_path)

    assert line.chunk.text == "after"
    assert b'"text":"after"' in line.line


@pytest.mark.parametrize("damage", ["garbage", "{}", '{"id":"1"}'])
def test_a_line_that_is_not_a_valid_chunk_is_reported(tmp_path: Path, damage: str) -> None:
    write_chunks(tmp_path, [ChunkLine.sealed(make_chunk("a.md"))])
    content = gzip.decompress((tmp_path / CHUNKS).read_bytes())
    (tmp_path / CHUNKS).write_bytes(gzip.compress(content + f"{damage}\n".encode()))

    with pytest.raises(IndexDamaged, match="damaged record"):
        read_lines(tmp_path)


def lines_of(source: str, *texts: str) -> list[ChunkLine]:
    return [ChunkLine.of(make_chunk(source, text=text)) for text in texts]


def noise(seed: int) -> str:
    """Return a text that does not become much smaller when it is compressed."""
    return random.Random(seed).randbytes(500).hex()


def records(folder: Path) -> list[bytes]:
    return [line.line for line in read_lines(folder)]


def test_an_update_is_appended_and_replaces_the_chunks_of_its_sources(tmp_path: Path) -> None:
    a, b, c = lines_of("a.md", "one"), lines_of("b.md", "two"), lines_of("c.md", "three")
    write_chunks(tmp_path, [*a, *c])
    before = (tmp_path / CHUNKS).read_bytes()
    changed = lines_of("a.md", "one, edited", "and more")

    first = update_chunks(tmp_path, {"b.md": b, "a.md": changed}, 0)
    second = update_chunks(tmp_path, {"c.md": []}, first)

    content = (tmp_path / CHUNKS).read_bytes()
    assert (content.startswith(before), len(content)) == (True, len(before) + second)
    assert records(tmp_path) == [line.line for line in (*changed, *b)]


def test_an_interrupted_update_does_not_count(tmp_path: Path) -> None:
    write_chunks(tmp_path, lines_of("a.md", "before"))
    whole = (tmp_path / CHUNKS).read_bytes()
    old = records(tmp_path)
    update_chunks(tmp_path, {"a.md": lines_of("a.md", "after"), "b.md": lines_of("b.md", "new")}, 0)
    content, new = (tmp_path / CHUNKS).read_bytes(), records(tmp_path)

    for size in range(len(whole), len(content)):
        (tmp_path / CHUNKS).write_bytes(content[:size])
        assert records(tmp_path) == old
    assert new != old


def test_many_updates_become_a_snapshot_with_the_same_bytes_as_a_new_file(tmp_path: Path) -> None:
    pages = {f"{n:02}.md": lines_of(f"{n:02}.md", noise(n)) for n in range(60)}
    write_chunks(tmp_path, [line for group in pages.values() for line in group])
    size = (tmp_path / CHUNKS).stat().st_size
    appended, sizes, fresh = 0, [], tmp_path / "fresh"
    fresh.mkdir()
    for number in range(120):
        source = f"{number % 60:02}.md"
        pages[source] = lines_of(source, noise(number))
        appended = update_chunks(tmp_path, {source: pages[source]}, appended)
        sizes.append(appended)
        if not appended:
            write_chunks(fresh, [line for group in pages.values() for line in group])
            assert (tmp_path / CHUNKS).read_bytes() == (fresh / CHUNKS).read_bytes()
    assert 0 in sizes
    assert max(sizes) <= 0.6 * size


def test_an_update_that_does_not_fit_on_the_disk_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    write_chunks(tmp_path, lines_of("a.md", "before"))
    before, content = (tmp_path / CHUNKS).stat(), (tmp_path / CHUNKS).read_bytes()
    limit, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(content) + 100, hard))
    try:
        with pytest.raises(StorageError):
            update_chunks(tmp_path, {"b.md": lines_of("b.md", noise(1))}, 0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))

    after = (tmp_path / CHUNKS).stat()
    assert (tmp_path / CHUNKS).read_bytes() == content
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (before.st_size, before.st_mtime_ns, before.st_ino)


def test_an_update_never_follows_a_symlink(tmp_path: Path) -> None:
    write_chunks(tmp_path, lines_of("a.md", "before"))
    elsewhere = (tmp_path / CHUNKS).rename(tmp_path / "elsewhere")
    (tmp_path / CHUNKS).symlink_to(elsewhere)
    content = elsewhere.read_bytes()

    with pytest.raises(StorageError, match="symlink"):
        update_chunks(tmp_path, {"b.md": lines_of("b.md", "new")}, 0)

    assert elsewhere.read_bytes() == content


@pytest.mark.parametrize("update", [b'{"sources":7}\n', b"garbage\n", b"{}\n", b""])
def test_a_damaged_update_is_reported(tmp_path: Path, update: bytes) -> None:
    write_chunks(tmp_path, lines_of("a.md", "before"))
    with open(tmp_path / CHUNKS, "ab") as file:
        file.write(gzip.compress(update))

    with pytest.raises(IndexDamaged, match="damaged update"):
        read_lines(tmp_path)


def test_a_file_is_a_fraction_of_its_records_and_any_program_can_read_it(tmp_path: Path) -> None:
    lines = [ChunkLine.sealed(make_chunk(f"{n}.md", text=f"the ferry number {n}")) for n in range(100)]
    (tmp_path / "chunks.jsonl").write_text("of an earlier version", encoding="utf-8")
    write_chunks(tmp_path, lines)
    update_chunks(tmp_path, {}, 0)

    content = (tmp_path / CHUNKS).read_bytes()

    assert gzip.decompress(content).splitlines()[:100] == [line.line for line in lines]
    assert len(content) < 0.4 * sum(len(line.line) for line in lines)
    assert [file.name for file in tmp_path.iterdir()] == [CHUNKS]


def test_a_snapshot_that_was_cut_or_changed_is_reported(tmp_path: Path) -> None:
    write_chunks(tmp_path, lines_of("a.md", *map(noise, range(20))))
    content = (tmp_path / CHUNKS).read_bytes()

    for damaged in (b"", content[:5], content[:-1], content[:5_000] + b"\xa5" * 5 + content[5_005:], b"x" + content):
        (tmp_path / CHUNKS).write_bytes(damaged)
        with pytest.raises(IndexDamaged):
            read_lines(tmp_path)
