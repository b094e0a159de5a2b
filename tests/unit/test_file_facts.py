"""The facts of a file as the catalogue stores them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from lore_etl.core.model import ClassDefinition, FileFacts, Member
from lore_etl.stores.catalogue_rows import check, pack, unpack

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
