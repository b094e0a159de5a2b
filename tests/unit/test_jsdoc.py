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


TEXTS = {
    "a comment without a description loses its marks": (
        '[{"kind": "member", "longname": "a.b", "comment": "/**\\n * Of *b*.\\n * More.\\n */"}\n\n]',
        [((1, 3), "member a.b\nOf *b*.\nMore.")],
    ),
    "a short doclet keeps its lines": (
        '[\n{"kind":"class","longname":"A","description":"1.\\nTwo.\\n3."},\n{"longname":"B","description":"x"}\n]',
        [((2, 2), "class A 1. Two. 3."), ((3, 3), "symbol B x")],
    ),
    "a doclet without documentation gives no chunk": ('[{"kind": "member", "longname": "a"}]', []),
    "an unpaired surrogate in a name is replaced": (
        '[{"kind": "class\\udfff", "longname": "A\\ud800", "description": "x"}\n]', [((1, 2), "class� A�\nx")]
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "chunks"), TEXTS.values(), ids=TEXTS)
def test_the_lines_and_the_text_of_doclets(text: str, chunks: list[tuple[tuple[int, int], str]]) -> None:
    assert [(chunk.lines, chunk.text) for chunk in chunks_of(text)] == chunks


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
