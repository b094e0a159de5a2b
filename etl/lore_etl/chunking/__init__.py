"""Split a Document into Chunks: parse its structure, then fit the pieces to the model's input. Find its title."""

import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from lore_etl.chunking import grammar, headed, javascript, jsdoc, markdown, python
from lore_etl.chunking.code_languages import code_languages
from lore_etl.chunking.fit import below_header, fit
from lore_etl.chunking.section import Parsed, parse_plain, trimmed
from lore_etl.chunking.tokens import TokenCounter
from lore_etl.core.json_types import loads_with_comments
from lore_etl.core.model import Chunk, Document, FileFacts, Names, chunk_id, sha256
from lore_etl.core.text import one_line, storable

CHUNKER_VERSION = "29"  # increase it with every change that produces different chunks or digests for the same file
SCOPE = "project"
MAX_TITLE = 300
MAX_PATHS = 200  # of a `tsconfig.json`
_PARSERS = {
    "component": javascript.parse_component,
    "csv": headed.parse_table,
    "jsdoc": jsdoc.parse,
    "markdown": markdown.parse,
    "notebook": markdown.parse_notebook,
    "python": python.parse,
    **dict.fromkeys(("javascript", "typescript", "tsx"), javascript.parse),
    **dict.fromkeys(("rst", "text", "asciidoc", "document", "html", "ini", "latex", "org"), headed.parse),
}


def chunk(document: Document, tokens: TokenCounter) -> tuple[list[Chunk], FileFacts, str | None]:
    """Return a document's chunks in line order, its facts, and a warning if parsing it went wrong."""
    parsed = parse(document)
    if parsed.text is not None:
        document = replace(document, text=parsed.text)
    lines = document.lines
    sections = [kept for section in parsed.sections if (kept := trimmed(section, lines))]
    seen: dict[str, int] = {}
    chunks = []
    for section, columns in fit(sections, document, tokens):
        number = seen[section.anchor] = seen.get(section.anchor, 0) + 1
        anchor = section.anchor if number == 1 else f"{section.anchor}#{number}"
        text = "\n".join(lines[section.first - 1 : section.last])
        if columns:
            text = text[columns[0] : columns[1]]
        made = Chunk(
            id=chunk_id(SCOPE, document.source, anchor),
            content_hash=sha256(below_header(text, document.source, document.title, section.heading)),
            type=document.type,
            kind=section.kind,
            source=document.source,
            title=document.title,
            heading=section.heading,
            lines=(section.first, section.last),
            columns=columns,
            symbols=section.names(),
            class_name=section.class_name,
            tags=document.front.tags,
            details=document.front.details,
            created=section.created or document.front.created,
            updated=document.front.updated,
            valid_until=document.front.valid_until,
            state=document.state,
            library=document.library,
            text=text,
        )
        chunks.append(made)
    return chunks, replace(parsed.facts, supersedes=document.front.supersedes), parsed.warning


def parse(document: Document) -> Parsed:
    usual = grammar.parse if document.syntax in code_languages() else parse_plain
    parsed = _PARSERS.get(document.syntax, usual)(document)
    facts = _manifest_facts(document.source, document.text)
    return replace(parsed, facts=facts) if facts else parsed


def title_of(text: str, syntax: str) -> str | None:
    """Return the title that a document declares, else its first heading; None if it has neither."""
    find = {"markdown": markdown.first_heading, "notebook": markdown.first_heading_of_notebook}.get(syntax)
    title = find(text) if find else headed.title_of(text, syntax)
    return storable(one_line(title))[:MAX_TITLE].strip() or None if title else None


def _manifest_facts(path: str, text: str) -> FileFacts | None:
    """Return the names by which other files import a project; None if the file is no manifest, or cannot be read."""
    name = PurePosixPath(path).name
    read = _READERS.get("tsconfig.json" if re.fullmatch(r"[jt]sconfig(\.\w+)?\.json", name) else name)
    try:
        return read(text) if read else None
    except (ValueError, RecursionError, AttributeError, TypeError):
        return None


def _go(text: str) -> FileFacts | None:
    found = re.search(r"^module[ \t]+\"?([\w./~-]+)", text, re.MULTILINE)
    return FileFacts(family="manifest:go", package=found[1]) if found else None


def _cargo(text: str) -> FileFacts | None:
    name = tomllib.loads(text).get("package", {}).get("name")
    return FileFacts(family="manifest:rust", package=name) if isinstance(name, str) else None


def _package(text: str) -> FileFacts | None:
    """Return the name of an npm package, and its main files as exports."""
    value = json.loads(text)
    name = value.get("name")
    if not isinstance(name, str):
        return None
    mains: Names = {
        key: (value[key], None)
        for key in ("source", "module", "main", "types", "typings")
        if isinstance(value.get(key), str)
    }
    return FileFacts(family="manifest:node", package=name, exports=mains)


def _tsconfig(text: str) -> FileFacts | None:
    """Return the paths of a TypeScript configuration as imports: pattern to (target, base folder)."""
    options: Any = loads_with_comments(text).get("compilerOptions", {})
    paths, base = options.get("paths", {}), options.get("baseUrl", ".")
    known: Names = {
        pattern: (targets[0], str(base))
        for pattern, targets in list(paths.items())[:MAX_PATHS]
        if isinstance(targets, list) and targets and isinstance(targets[0], str)
    }
    return FileFacts(family="manifest:tsconfig", package=str(base) if "baseUrl" in options else "", imports=known)


_READERS: dict[str, Callable[[str], FileFacts | None]] = {
    "go.mod": _go,
    "Cargo.toml": _cargo,
    "package.json": _package,
    "tsconfig.json": _tsconfig,
}
