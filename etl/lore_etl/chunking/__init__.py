"""Split a Document into Chunks: parse its structure, then fit the pieces to the model's input. Find its title."""

from __future__ import annotations

from dataclasses import replace

from lore_etl.chunking import grammar, headed, javascript, jsdoc, markdown, python
from lore_etl.chunking.code_languages import code_languages
from lore_etl.chunking.fit import fit
from lore_etl.chunking.manifests import manifest_facts
from lore_etl.chunking.recipe import below_header
from lore_etl.chunking.section import Parsed, parse_plain, trimmed
from lore_etl.chunking.tokens import TokenCounter
from lore_etl.core.model import Chunk, Document, FileFacts, chunk_id, sha256
from lore_etl.core.text import one_line, storable

CHUNKER_VERSION = "20"  # increase it with every change that produces different chunks or digests for the same file
SCOPE = "project"
MAX_TITLE = 300
_PARSERS = {
    "markdown": markdown.parse,
    "rst": headed.parse,
    "text": headed.parse,
    "python": python.parse,
    "javascript": javascript.parse,
    "typescript": javascript.parse,
    "tsx": javascript.parse,
    "component": javascript.parse_component,
    "jsdoc": jsdoc.parse,
    "asciidoc": headed.parse,
    "csv": headed.parse_table,
    "document": headed.parse,
    "html": headed.parse,
    "ini": headed.parse,
    "latex": headed.parse,
    "notebook": markdown.parse_notebook,
    "org": headed.parse,
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
    parser = _PARSERS.get(document.syntax) or (grammar.parse if document.syntax in code_languages() else None)
    parsed = parser(document) if parser else parse_plain(document)
    facts = manifest_facts(document.source, document.text)
    return replace(parsed, facts=facts) if facts else parsed


def title_of(text: str, syntax: str) -> str | None:
    """Return the title that a document declares, else its first heading; None if it has neither."""
    find = {"markdown": markdown.first_heading, "notebook": markdown.first_heading_of_notebook}.get(syntax)
    title = find(text) if find else headed.title_of(text, syntax)
    return storable(one_line(title))[:MAX_TITLE].strip() or None if title else None
