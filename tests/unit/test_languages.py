"""Languages with a query file: their samples, their chunks, and files that cannot be parsed."""

from __future__ import annotations

import random

import pytest

from lore_etl.chunking import parse
from lore_etl.chunking.code_languages import code_languages, code_syntaxes
from lore_etl.sources.source import SYNTAXES, syntax_of
from tests.golden.outlines import rendered, target_of
from tests.harness.texts import chunks_in, document, facts_of, outline, symbols, words

BODY = words(30)
LANGUAGES = list(code_languages())


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_outline_of_a_sample_equals_the_golden_file(language: str) -> None:
    """After an intended change, write the golden files with `make golden` and review the diff."""
    assert rendered(language) == target_of(language).read_text(encoding="utf-8")


def test_every_file_name_belongs_to_one_language() -> None:
    named = [name for one in code_languages().values() for name in one.files]

    assert len(named) == len(set(named))
    assert {*named} & {*SYNTAXES} == set()
    assert syntax_of("src/Main.KT") == "kotlin"
    assert set(code_syntaxes().values()) == set(LANGUAGES)


def test_a_short_fragment_of_code_stays_whole() -> None:
    text = """  }
  /** Closes the writer. */
  void close() {
    if (open) {
      flush();
"""
    assert [(chunk.kind, chunk.lines) for chunk in chunks_in("src/Writer.java", text)] == [("text", (1, 5))]
    assert {chunk.kind for chunk in chunks_in("src/Writer.java", "class Writer {\n void close() {}\n}\n")} == {"class"}


def test_methods_of_go_belong_to_their_type_and_keep_their_comments() -> None:
    text = f"""package store

// Reader reads. {BODY}
type Reader struct {{
	Base
	limit int // {BODY}
}}

// Read does. {BODY}
func (r *Reader) Read() {{}}

// Open opens. {BODY}
func Open() {{}}
"""
    chunks = chunks_in("store/reader.go", text)

    assert outline(chunks) == [
        ("struct", (1, 7), ("Reader",)),
        ("method", (9, 10), ("Reader", "Read")),
        ("function", (12, 13), ("Open",)),
    ]
    assert symbols(chunks) == [("Reader", "Reader.limit"), ("Reader.Read",), ("Open",)]
    assert [one.class_name for one in chunks] == ["Reader", "Reader", None]


def test_members_of_a_java_class_become_chunks_with_their_annotations() -> None:
    text = f"""package com.acme;

/** A shop. {BODY} */
@Service
public class Shop extends Base implements Open {{
    /** {BODY} */
    @Override
    public void sell() {{}}

    /** {BODY} */
    static class Order {{}}
}}
"""
    chunks = chunks_in("Shop.java", text)

    assert outline(chunks) == [
        ("class", (1, 5), ("Shop",)),
        ("method", (6, 8), ("Shop", "sell")),
        ("class", (10, 12), ("Shop", "Order")),
    ]
    assert [(one.full_name, one.bases) for one in facts_of("Shop.java", text).classes] == [
        ("com.acme.Shop", ("Base", "Open")),
        ("com.acme.Shop.Order", ()),
    ]


def test_an_implementation_in_rust_extends_its_type() -> None:
    text = "pub struct Disk;\nimpl Store for Disk {\n    fn get(&self) {}\n}\n"

    facts = facts_of("src/disk.rs", text)

    assert [(one.name, one.bases, one.part) for one in facts.classes] == [
        ("Disk", (), ""),
        ("Disk", ("Store",), "extension"),
    ]
    assert [one.name for one in facts.members["Disk"]] == ["get"]


@pytest.mark.parametrize("name", ["A.vue", "A.svelte"])
def test_the_script_of_a_component_is_parsed_and_the_rest_is_kept(name: str) -> None:
    text = f"""<template>
  <p>{BODY}</p>
</template>
<script lang="ts">
// {BODY}
function greet(name: string): void {{}}
</script>
<style>
p {{ color: red }} /* {BODY} */
</style>
"""
    chunks = chunks_in(name, text)

    assert symbols(chunks) == [("A",), ("greet",), ()]
    assert {number for one in chunks for number in range(one.lines[0], one.lines[1] + 1)} == set(range(1, 11))


def test_minified_code_is_indexed_as_text_with_a_warning() -> None:
    parsed = parse(document("a.go", "x" * 5_000_000))

    assert parsed.warning == "minified code; indexed as plain text"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "text", ["{" * 100_000, "([" * 3_000, "class A {\n" * 1_000, "1 + " * 4_000, "\ufffd\ufffd\n" * 1000, "", "\n"]
)
def test_hostile_code_is_indexed_one_way_or_the_other(language: str, text: str) -> None:
    name = code_languages()[language].files[0]
    split = "\n".join(text[at : at + 10_000] for at in range(0, len(text), 10_000))

    parsed = parse(document(f"a{name}" if name.startswith(".") else name, split))

    covered = {number for one in parsed.sections for number in range(one.first, one.last + 1)}
    assert {number for number, line in enumerate(split.split("\n"), 1) if line.strip()} <= covered


@pytest.mark.parametrize("language", LANGUAGES)
def test_damaged_code_loses_no_line(language: str) -> None:
    text = rendered(language) + target_of(language).read_text(encoding="utf-8")
    shuffled = list(text)
    random.Random(1).shuffle(shuffled)

    name = code_languages()[language].files[0]
    damaged = "".join(shuffled)
    parsed = parse(document(f"a{name}" if name.startswith(".") else name, damaged))

    covered = {number for one in parsed.sections for number in range(one.first, one.last + 1)}
    assert {number for number, line in enumerate(damaged.split("\n"), 1) if line.strip()} <= covered


def test_configuration_is_split_by_its_keys() -> None:
    text = f"""# What the service does. {BODY}
server:
  # {BODY}
  port: 80
  host: localhost
  tls:
    certificate: a  # {BODY}
    key: b
    versions: {BODY}
    curves: {BODY}
    more: {BODY}
    rest: {BODY}
  limits:
    requests: {BODY}
    seconds: 30  # {BODY}
    more: {BODY}
database:
  url: {BODY}
"""
    chunks = chunks_in("config/app.yaml", text)

    headings = [one.heading for one in chunks]
    assert ("server", "tls") in headings
    assert ("server", "limits") in headings
    assert headings[-1] == ("database",)
    assert next(one for one in chunks if "server.limits.seconds" in one.symbols).heading == ("server", "limits")


@pytest.mark.parametrize(
    ("path", "text", "family", "package"),
    [
        ("go.mod", "// app\nmodule example.com/app/v2\n\ngo 1.22\n", "manifest:go", "example.com/app/v2"),
        ("a/Cargo.toml", '[package]\nname = "my-app"\n', "manifest:rust", "my-app"),
        ("a/package.json", '{"name": "@scope/app", "main": "src/index.js"}', "manifest:node", "@scope/app"),
        ("tsconfig.base.json", '{"compilerOptions": {"baseUrl": "src", /* c */ "paths": {"@/*": ["a/*"],}}}',
         "manifest:tsconfig", "src"),
    ],
)  # fmt: skip
def test_a_manifest_names_the_project_for_imports(path: str, text: str, family: str, package: str) -> None:
    facts = facts_of(path, text)

    assert (facts.family, facts.package) == (family, package)


@pytest.mark.parametrize("text", ["", "{", "[]", "{" * 10_000, '{"name": 1}', '{"compilerOptions": 3}', "\0"])
def test_a_broken_manifest_is_indexed_without_a_name(text: str) -> None:
    for name in ("go.mod", "Cargo.toml", "package.json", "tsconfig.json"):
        assert not facts_of(name, text).package
