"""Turn the JSON output of JSDoc into text: one section per documented symbol, with description and parameters."""

import json
import re
from collections.abc import Iterator
from itertools import pairwise

from lore_etl.chunking.section import Parsed, Section, Span, Symbol, parse_plain
from lore_etl.core.json_types import JSON
from lore_etl.core.model import ClassDefinition, Document, FileFacts
from lore_etl.core.text import one_line, storable

_MARGIN = re.compile(r"^\s*(?:/\*+|\*+/|\*(?!/))?[ \t]?|[ \t]*\*+/\s*$", re.MULTILINE)
_LISTS = (("params", "@param"), ("properties", "@property"), ("returns", "@returns"), ("fires", "@fires"))
MAX_ROWS = 100  # maximum parameters per symbol


def parse(document: Document) -> Parsed:
    """Parse JSDoc's JSON into a section per described doclet, on its own lines if it has any: they can be cited."""
    try:
        doclets = [(doclet, span) for doclet, span in _values(document.text) if isinstance(doclet, dict)]
    except (ValueError, RecursionError):
        return parse_plain(document, "not JSDoc's JSON; indexed as plain text")
    documented = [
        (doclet, _text(doclet), span)
        for doclet, span in doclets
        if _name(doclet) and (doclet.get("description") or doclet.get("comment"))
    ]
    if not documented:
        return Parsed([]) if doclets else parse_plain(document)
    placed = _placed([text for _, text, _ in documented], [span for _, _, span in documented])
    sections, classes = [], []
    lines = [""] * max(last for _, (_, last) in placed)
    for (doclet, _, _), (rows, span) in zip(documented, placed, strict=True):
        lines[span[0] - 1 : span[0] - 1 + len(rows)] = rows
        name, kind = _name(doclet) or "", _kind(doclet)
        sections.append(Section(*span, kind, f"{kind} {name}", (name,), (Symbol(name, *span),), group=name))
        full_name = doclet.get("longname")
        if doclet.get("kind") == "class" and isinstance(full_name, str):
            full_name = storable(full_name)
            classes.append(ClassDefinition(full_name, span, _bases(doclet), full_name))
    return Parsed(sections, FileFacts(tuple(classes)), text="\n".join(lines) + "\n")


def _values(text: str) -> Iterator[tuple[object, Span]]:
    """Return the elements of the JSON array, each with its lines. Raises ValueError, RecursionError."""
    decoder = json.JSONDecoder()
    position = text.find("[") + 1
    line, counted = 1, 0
    while 0 < position < len(text):
        while text[position : position + 1] in (" ", "\t", "\n", ","):
            position += 1
        if text[position : position + 1] in ("", "]"):
            return
        value, end = decoder.raw_decode(text, position)
        line, counted = line + text.count("\n", counted, position), position
        yield value, (line, line + text.count("\n", position, end))
        position = end


def _placed(texts: list[list[str]], spans: list[Span]) -> list[tuple[list[str], Span]]:
    """Place each text on its doclet's lines, or one below another if doclets share lines (a one-line file)."""
    if all(above[1] < below[0] for above, below in pairwise(spans)) and spans[-1][1] > 1:
        sizes = [last - first + 1 for first, last in spans]
        shown = [[*rows[: size - 1], " ".join(rows[size - 1 :])] for rows, size in zip(texts, sizes, strict=True)]
        return list(zip(shown, spans, strict=True))
    placed, line = [], 1
    for rows in texts:
        placed.append((rows, (line, line + len(rows) - 1)))
        line += len(rows) + 1
    return placed


def _name(doclet: JSON) -> str | None:
    name = doclet.get("longname") or doclet.get("name")
    return storable(name)[:500] if isinstance(name, str) else None


def _kind(doclet: JSON) -> str:
    return storable(str(doclet.get("kind") or "symbol")[:40])


def _text(doclet: JSON) -> list[str]:
    bases = _bases(doclet)
    rows = [f"{_kind(doclet)} {_name(doclet)}" + (f" extends {', '.join(bases)}" if bases else "")]
    description = doclet.get("description") or doclet.get("classdesc")
    if not isinstance(description, str):
        description = _MARGIN.sub("", str(doclet.get("comment") or ""))
    rows += [line.rstrip() for line in description.strip().splitlines()]
    for key, mark in _LISTS:
        for entry in doclet[key][:MAX_ROWS] if isinstance(doclet.get(key), list) else ():
            rows.append(" ".join(filter(None, (mark, *_row(entry)))))
    meta = doclet.get("meta")
    if isinstance(meta, dict) and isinstance(meta.get("filename"), str):
        rows.append(f"Defined in {meta['filename']}" + (f":{meta['lineno']}" if meta.get("lineno") else ""))
    return [storable(" ".join(row.split("\n"))) for row in rows]


def _row(entry: object) -> Iterator[str]:
    if not isinstance(entry, dict):
        yield str(entry)[:300]
        return
    names = entry.get("type", {}).get("names") if isinstance(entry.get("type"), dict) else None
    if isinstance(names, list):
        yield "{" + "|".join(str(name) for name in names[:20]) + "}"
    for key in ("name", "description"):
        if isinstance(entry.get(key), str):
            yield one_line(entry[key])


def _bases(doclet: JSON) -> tuple[str, ...]:
    bases = doclet.get("augments")
    return tuple(storable(base) for base in bases if isinstance(base, str)) if isinstance(bases, list) else ()
