"""The JSON that JSDoc writes: each documented symbol is a section over its own lines of that file."""

from __future__ import annotations

import json
from typing import Any

from etl.chunking.plain import parse_plain
from etl.chunking.section import Parsed, Section, Span, Symbol
from etl.model import ClassDefinition, Document, FileFacts, storable


def parse(document: Document) -> Parsed:
    """Sections of `all.json`: one for each doclet that has a description or a comment."""
    text = document.text
    decoder = json.JSONDecoder()
    position = text.find("[") + 1
    sections: list[Section] = []
    classes: list[ClassDefinition] = []
    line, counted = 1, 0
    try:
        while 0 < position < len(text):
            position = _skip(text, position)
            if position >= len(text) or text[position] == "]":
                break
            value, end = decoder.raw_decode(text, position)
            line, counted = line + text.count("\n", counted, position), position
            span = (line, line + text.count("\n", position, end))
            if isinstance(value, dict):
                sections += _section(value, span)
                classes += _class(value, span)
            position = end
    except (ValueError, RecursionError):
        return parse_plain(document, "not the JSON that JSDoc writes; indexed as plain text")
    return Parsed(_apart(sections) or parse_plain(document).sections, FileFacts(tuple(classes)))


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\n,":
        position += 1
    return position


def _section(value: dict[str, Any], span: Span) -> list[Section]:
    name = value.get("longname") or value.get("name")
    if not isinstance(name, str) or not (value.get("description") or value.get("comment")):
        return []
    name, kind = storable(name), storable(str(value.get("kind") or "symbol")[:40])
    return [Section(*span, kind, f"{kind} {name}", (name,), (Symbol(name, *span),), group=name)]


def _class(value: dict[str, Any], span: Span) -> list[ClassDefinition]:
    name, bases = value.get("longname"), value.get("augments")
    if value.get("kind") != "class" or not isinstance(name, str):
        return []
    parents = tuple(storable(base) for base in bases if isinstance(base, str)) if isinstance(bases, list) else ()
    return [ClassDefinition(storable(name), span, parents, storable(name))]


def _apart(sections: list[Section]) -> list[Section]:
    """Without those that share a line with the one before: a file in one line cannot be cited by lines."""
    kept: list[Section] = []
    for section in sections:
        if not kept or section.first > kept[-1].last:
            kept.append(section)
    return kept
