"""The catalogue's values of a chunk and of a file contain all of it, and any damage to them is noticed."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lore_etl.core.model import Ancestor, Chunk, ClassDefinition, ClassNode, FileFacts, Member, position_of
from lore_etl.stores.catalogue_rows import COLUMNS, ChunkRecord, check, chunk_of, members_of, pack, relations_of, unpack
from tests.harness.chunks import make_chunk

KEY_LIKE = st.sampled_from(['"type":"', '"lines":[', '","source":"', '{"chain":', "\u2028", "é", *'\0\x1f/\f\b"\\\n\r'])


TEXTS = st.lists(KEY_LIKE | st.text(st.characters(codec="utf-8"), max_size=8), max_size=6).map("".join)
CHAINS = st.lists(TEXTS, max_size=2).map(lambda names: tuple(Ancestor(class_name=name, source=None) for name in names))


def without_hash(chunk: Chunk) -> Chunk:
    return replace(chunk, metadata_hash="")


@given(TEXTS, TEXTS, st.none() | TEXTS, CHAINS, st.none() | st.tuples(st.integers(0, 999), st.integers(0, 999)))
def test_a_chunk_of_any_text_is_read_back_from_its_record(
    source: str, text: str, name: str | None, chain: tuple[Ancestor, ...], columns: tuple[int, int] | None
) -> None:
    more = {"symbols": (text,), "tags": (text,), "updated": text, "columns": columns, "heading": (text,)}
    chunk = make_chunk(source, "src", text=text, title=text, lines=(len(text), 99), **more)
    chunk = replace(chunk, class_name=name, chain=chain, superseded_by=name)

    record = ChunkRecord.of(chunk, name)

    assert without_hash(record.chunk) == without_hash(chunk)
    assert record.chunk.metadata_hash == record.metadata_hash
    assert (record.id, record.source, record.type, record.position) == (
        chunk.id, chunk.source, chunk.type, position_of(chunk),
    )  # fmt: skip


@given(TEXTS, st.none() | TEXTS, CHAINS, st.none() | TEXTS)
def test_a_record_with_other_relations_is_that_of_the_chunk_with_them(
    text: str, name: str | None, chain: tuple[Ancestor, ...], successor: str | None
) -> None:
    chunk = make_chunk(text, text=text, class_name=text, superseded_by=text)
    expected = ChunkRecord.of(replace(chunk, class_name=name, chain=chain, superseded_by=successor))

    related = ChunkRecord.of(chunk).related(relations_of(name, chain, successor))

    assert related.row() == expected.row()
    assert related.related(related.relations) is related


@pytest.mark.parametrize("column", ["content_hash", "class", "own", "relations", "metadata_hash"])
def test_a_changed_character_in_any_value_is_noticed(column: str) -> None:
    values = ChunkRecord.of(make_chunk("a.md", text="It costs 500 euro.", class_name="A"), "A").row()
    number = COLUMNS.split(", ").index(column)
    text = str(values[number])

    for place in range(len(text)):
        changed: Any = list(values)
        changed[number] = f"{text[:place]}{'0' if text[place] != '0' else '1'}{text[place + 1 :]}"
        with pytest.raises(ValueError, match="differs from its hash"):
            chunk_of(changed)


FACTS = FileFacts(
    classes=(
        ClassDefinition("Boat", (1, 9), ("Vessel",)),
        ClassDefinition("Ship", (10, 12), (), "sea.Ship", "partial", ("Afloat",), is_interface=True),
    ),
    imports={"Vessel": ("harbour", "Vessel"), "tide": ("tide", None)},
    supersedes=("old.md",),
    exports={"default": ("", "Boat")},
    members={"Boat": (Member("sail", "method", (2, 3)),)},
    family="jvm",
    package="sea",
    methods={"Boat": ("Sail()()",)},
    functions=("moor",),
    uses={"tide.Tide": (2, 7)},
)


def test_unpacked_facts_equal_the_packed_ones_except_for_members_and_uses() -> None:
    packed = pack(FACTS, None)

    check(packed)
    assert unpack(packed) == replace(FACTS, members={}, uses={})


@pytest.mark.parametrize(
    ("key", "value"),
    [("defines", {"Boat": [["sail", "method"]]}), ("defines", ["Boat"]), ("defines", {"Boat": [["sail", "method", 2]]}),
     ("classes", [{"name": "Boat"}]), ("imports", {"tide": ["tide"]})],
)  # fmt: skip
def test_facts_that_lore_does_not_write_are_found(key: str, value: object) -> None:
    packed = json.dumps({**json.loads(pack(FACTS, None)), key: value})

    with pytest.raises(ValueError):
        check(packed)


def test_a_member_of_a_class_is_its_first_definition() -> None:
    speak, say = Member("speak", "method", (5, 5)), Member("say", "attribute", (7, 7))
    packed = pack(FileFacts(members={"Dog": (speak, say, Member("speak", "x", (7, 7)))}), None)
    dog = ClassNode("Dog", (), "dog.rb", (2, 9), parts=(("dog.rb", "Dog"),))

    assert members_of(dog, {"dog.rb": packed}) == (speak, say)
