import json
from dataclasses import replace

import pytest

from lore_etl.chunking import chunk, parse
from lore_etl.core.model import Chunk, ClassDefinition, Document
from lore_etl.sources.kinds import SourceSet
from lore_etl.sources.source import SourceContext
from tests.harness.models import counter
from tests.harness.texts import document, symbols

PATH = "docs/output/all.json"
DOCLETS = [
    {"kind": "class", "longname": "Neo.core.Base", "description": "The base of all. " * 6},
    {"kind": "class", "longname": "Neo.Button", "augments": ["Neo.core.Base", 7], "comment": "/** A button. */ " * 6},
    {"kind": "function", "longname": "Neo.Button#press", "description": "Presses it. " * 8},
    {"kind": "member", "longname": "undocumented"},
    "no doclet",
]


def jsdoc(text: str) -> Document:
    return replace(document(PATH, text), syntax="jsdoc")


def chunks_of(text: str) -> list[Chunk]:
    return chunk(jsdoc(text), counter())[0]


def test_each_documented_symbol_is_a_section_with_its_own_lines() -> None:
    chunks = chunks_of(json.dumps(DOCLETS, indent=2))

    assert [(chunk.kind, chunk.lines[0], chunk.heading) for chunk in chunks] == [
        ("class", 2, ("Neo.core.Base",)),
        ("class", 7, ("Neo.Button",)),
        ("function", 16, ("Neo.Button#press",)),
    ]
    assert symbols(chunks) == [("Neo.core.Base",), ("Neo.Button",), ("Neo.Button#press",)]
    assert chunks[0].text == "class Neo.core.Base\n" + ("The base of all. " * 6).strip()


def test_classes_have_their_long_names() -> None:
    assert parse(jsdoc(json.dumps(DOCLETS, indent=2))).facts.classes == (
        ClassDefinition("Neo.core.Base", (2, 6), (), "Neo.core.Base"),
        ClassDefinition("Neo.Button", (7, 15), ("Neo.core.Base",), "Neo.Button"),
    )


PRESS = {
    "kind": "function",
    "longname": "Neo.Button#press",
    "comment": "/**\n * Presses it.\n *\n * @param {Number} times\n */",
    "description": "Presses it.\n\nOften.",
    "params": [{"type": {"names": ["Number", "null"]}, "name": "times", "description": "how\noften"}, 7],
    "returns": [{"type": {"names": ["Boolean"]}}],
    "meta": {"filename": "Button.mjs", "lineno": 12},
}
READABLE = """function Neo.Button#press
Presses it.

Often.
@param {Number|null} times how often
@param 7
@returns {Boolean}
Defined in Button.mjs:12"""


@pytest.mark.parametrize("indent", [None, 4])
def test_a_symbol_is_readable_text_for_any_layout_of_the_json(indent: int | None) -> None:
    chunks = chunks_of(json.dumps([PRESS, PRESS | {"longname": "Neo.Button#release"}], indent=indent))

    assert [chunk.symbols for chunk in chunks] == [("Neo.Button#press",), ("Neo.Button#release",)]
    assert chunks[0].text == READABLE
    assert not any(mark in chunk.text for chunk in chunks for mark in ('"', "[", "/**"))


def test_a_comment_without_description_is_shown_without_comment_marks() -> None:
    (chunk,) = chunks_of(
        json.dumps([{"kind": "member", "longname": "a.b", "comment": "/**\n * Of *b*.\n * More.\n */"}])
    )

    assert chunk.text == "member a.b\nOf *b*.\nMore."


def test_a_short_doclet_keeps_its_lines() -> None:
    rows = [
        '{"kind":"class","longname":"A","description":"1.\\nTwo.\\n3."}',
        '{"longname":"B","description":"x"}',
    ]
    text = "[\n" + ",\n".join(rows) + "\n]"

    chunks = chunks_of(text)

    assert [(chunk.lines, chunk.text) for chunk in chunks] == [((2, 2), "class A 1. Two. 3."), ((3, 3), "symbol B x")]


def test_doclets_without_documentation_give_no_chunk() -> None:
    assert chunks_of(json.dumps([{"kind": "member", "longname": "a"}])) == []


@pytest.mark.parametrize(
    ("path", "is_claimed"),
    [
        ("docs/output/all.json", True),
        ("docs/output/src/button/Base.json", True),
        ("web/docs/output/all.json", True),
        ("docs/output/structure.json", False),
        ("package.json", False),
        ("src/all.json", False),
    ],
)
def test_jsdoc_output_is_recognized_by_its_path(path: str, is_claimed: bool) -> None:
    owner = SourceSet(SourceContext([path], lambda _: None), {}).owner(path)

    assert (owner is not None and owner.kind.name == "jsdoc") == is_claimed


def test_other_json_is_indexed_as_plain_text() -> None:
    warnings = [parse(jsdoc(text)).warning for text in ("[{]", '[{"a":' * 20_000, "[1" + "1" * 5_000, "{}", "")]

    assert warnings[:3] == ["not JSDoc's JSON; indexed as plain text"] * 3
    assert warnings[3:] == [None, None]


def test_an_unpaired_surrogate_in_a_name_does_not_stop_the_run() -> None:
    (only,) = chunks_of('[{"kind": "class\\udfff", "longname": "A\\ud800", "description": "x"}]')

    assert (only.kind, only.heading) == ("class�", ("A�",))
