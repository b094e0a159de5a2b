"""Parse components of Vue and Svelte: their scripts as JavaScript or TypeScript, the rest as text by element."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePosixPath

from lore_etl.chunking import javascript
from lore_etl.chunking.section import Parsed, Section, Symbol
from lore_etl.core.model import Document

_SCRIPT = re.compile(r"^[ \t]*<script\b(?P<attributes>[^>]{0,500})>", re.MULTILINE | re.IGNORECASE)
_END = re.compile(r"</script\s*>", re.IGNORECASE)
_PART = re.compile(r"^<(template|style|script)\b", re.IGNORECASE)


def parse(document: Document) -> Parsed:
    """Parse a component. Its name, which is the file's, is a symbol of the first section."""
    lines = document.lines
    script, syntax, covered = _script(document)
    parsed = javascript.parse(replace(document, text=script, syntax=syntax))
    sections = (
        [] if parsed.warning else [part for part in parsed.sections if covered & {*range(part.first, part.last + 1)}]
    )
    taken = {number for part in sections for number in range(part.first, part.last + 1)}
    sections = sorted((*sections, *_rest(lines, taken)), key=lambda part: part.first)
    if sections:
        name = PurePosixPath(document.source).stem
        first = sections[0]
        sections[0] = replace(first, symbols=(Symbol(name, first.first, first.last), *first.symbols))
    return Parsed(sections, parsed.facts, parsed.warning)


def _script(document: Document) -> tuple[str, str, set[int]]:
    """Return the file with everything but its scripts left blank, their syntax, and their lines."""
    kept = [""] * len(document.lines)
    syntax, covered = "javascript", set[int]()
    for match in _SCRIPT.finditer(document.text):
        if re.search(r"""\blang\s*=\s*["']?tsx?\b""", match["attributes"]):
            syntax = "tsx" if "tsx" in match["attributes"] else "typescript"
        end = _END.search(document.text, match.end())
        inner = document.text[match.end() : end.start() if end else len(document.text)].split("\n")
        start = document.text.count("\n", 0, match.end())
        for number, line in enumerate(inner[1:], start + 1):
            kept[number] = line
            covered.add(number + 1)
    return "\n".join(kept), syntax, covered


def _rest(lines: list[str], taken: set[int]) -> list[Section]:
    found: list[Section] = []
    first, element = 1, ""
    for number in range(1, len(lines) + 2):
        match = _PART.match(lines[number - 1]) if number <= len(lines) else None
        if match or number in taken or number > len(lines):
            if any(line.strip() for line in lines[first - 1 : number - 1]):
                kind = "module" if element == "script" else "text"  # a bare tag joins its neighbour
                found.append(Section(first, number - 1, kind, element or "text", group=element))
            first = number + 1 if number in taken else number
            element = match[1].lower() if match else element
    return found
