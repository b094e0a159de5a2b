from __future__ import annotations

import json
from dataclasses import replace

from etl.chunking import chunk, parse
from etl.model import Chunk, ClassDefinition, Document
from tests.harness.texts import counter, document, outline, symbols

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


def test_each_documented_symbol_is_a_section_over_its_lines() -> None:
    chunks = chunks_of(json.dumps(DOCLETS, indent=2))

    assert outline(chunks) == [
        ("class", (2, 6), ("Neo.core.Base",)),
        ("class", (7, 15), ("Neo.Button",)),
        ("function", (16, 20), ("Neo.Button#press",)),
    ]
    assert symbols(chunks) == [("Neo.core.Base",), ("Neo.Button",), ("Neo.Button#press",)]
    assert json.loads(chunks[0].text.rstrip(",")) == DOCLETS[0]


def test_classes_are_known_by_their_long_names() -> None:
    assert parse(jsdoc(json.dumps(DOCLETS, indent=2))).facts.classes == (
        ClassDefinition("Neo.core.Base", (2, 6), (), "Neo.core.Base"),
        ClassDefinition("Neo.Button", (7, 15), ("Neo.core.Base",), "Neo.Button"),
    )


def test_a_file_in_one_line_is_cited_by_its_columns() -> None:
    text = json.dumps(DOCLETS * 5)

    chunks = chunks_of(text)

    assert "".join(one.text for one in chunks) == text
    assert {one.lines for one in chunks} == {(1, 1)}


def test_what_is_not_the_json_of_jsdoc_is_indexed_as_plain_text() -> None:
    warnings = [parse(jsdoc(text)).warning for text in ("[{]", '[{"a":' * 20_000, "[1" + "1" * 5_000, "{}", "")]

    assert warnings[:3] == ["not the JSON that JSDoc writes; indexed as plain text"] * 3
    assert warnings[3:] == [None, None]


def test_half_of_a_surrogate_pair_in_a_name_does_not_stop_the_run() -> None:
    (only,) = chunks_of('[{"kind": "class\\udfff", "longname": "A\\ud800", "description": "x"}]')

    assert (only.kind, only.heading) == ("class�", ("A�",))
