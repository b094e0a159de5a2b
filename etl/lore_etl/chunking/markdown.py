"""Split Markdown and notebooks by heading: fences and tables stay whole, each comment of a ticket is a section."""

import json
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from lore_etl.chunking.headed import MAX_TITLE, by_heading, headings_in_html
from lore_etl.chunking.section import HeadedPart, HeadingLines, Parsed, Section, Span, below_headings, parse_plain
from lore_etl.core.frontmatter import front_matter_lines
from lore_etl.core.headings import heading_of, outline, without_markup
from lore_etl.core.json_types import JSON
from lore_etl.core.model import Document, KnowledgeType
from lore_etl.core.text import one_line, storable

MAX_MARKUP = 2_000  # characters of a heading with its markup
HEAD_LINES = 80  # the lines that are searched for a document's title
_SOLID = {"fence", "code_block", "table_open", "html_block"}
_COMMENT = re.compile(r"^@?(?P<author>[\w.-]{1,60})\s+[-–—]\s+(?P<date>\d{4}-\d{2}-\d{2}[T0-9:.Z+-]{0,20})")
MAX_OUTPUT = 2_000  # characters of an output


@cache
def block_parser() -> MarkdownIt:
    """Return a parser for block structure only: inline parsing is not needed, and hostile input makes it slow."""
    return MarkdownIt("commonmark").enable("table").disable("inline")


def parse(document: Document) -> Parsed:
    """Parse a Markdown document into sections, in order. Front matter is left out unless there is no other text."""
    skipped = front_matter_lines(document.text)
    lines = document.lines
    kind = "ticket" if document.type == KnowledgeType.TICKET else "section"
    if skipped and not any(line.strip() for line in lines[skipped:]):
        # the file contains nothing but front matter
        return Parsed([Section(2, skipped - 1, kind, "", group="front matter")])
    tokens = block_parser().parse("\n".join(lines[skipped:]))
    solid = [_range(token, skipped) for token in tokens if token.type in _SOLID and token.map]
    parts = below_headings(_headings(tokens, skipped), lines, skipped + 1)
    return Parsed([_section(part, kind, solid) for part in parts])


def first_heading(text: str) -> str | None:
    """Return the first heading near the top of a Markdown text; headings in quotations and lists do not count."""
    skipped = front_matter_lines(text)
    lines = text.split("\n", skipped + HEAD_LINES)[skipped : skipped + HEAD_LINES]
    first = heading_of(next((line for line in lines if line.strip()), ""))  # the usual case needs no parser
    if first and (title := one_line(without_markup(first[1]))):
        return title
    headings = _headings(block_parser().parse("\n".join(lines)), 0)
    return next((heading.title for heading in headings if heading.title), None)


def _headings(tokens: list[Token], skipped: int) -> list[HeadingLines]:
    found: list[HeadingLines] = []
    for number, token in enumerate(tokens):
        if token.level == 0 and token.map:
            first, last = _range(token, skipped)
            if token.type == "heading_open":
                title = one_line(without_markup(tokens[number + 1].content[:MAX_MARKUP]))[:MAX_TITLE]
                found.append(HeadingLines(first, last, int(token.tag[1]), title))
            elif token.type == "html_block" and not token.content.startswith("<!--"):
                found += headings_in_html(token.content, first)
    return found


def _range(token: Token, skipped: int) -> Span:
    first, end = token.map or (0, 0)
    return first + skipped + 1, end + skipped


def _section(part: HeadedPart, kind: str, solid: list[Span]) -> Section:
    first, last, path, is_bare = part
    comments = [(step, match) for step in path if kind == "ticket" and (match := _COMMENT.match(step.title))]
    return Section(
        first=first,
        last=last,
        kind="comment" if comments else kind,
        anchor="/".join(part.heading),
        heading=part.heading,
        created=comments[0][1].group("date") if comments else None,
        solid=tuple(solid[bisect_left(solid, (first, 0)) : bisect_left(solid, (last + 1, 0))]),
        group=f"comment {comments[0][0].first}" if comments else "prose",
        introduces=is_bare and bool(path),
    )


def parse_notebook(document: Document) -> Parsed:
    cells = _cells(document.text)
    if cells is None:
        return parse_plain(document, "not a notebook; indexed as plain text")
    shown = [(cell, text) for cell in cells if (text := _shown(cell))]
    text = "\n\n".join(text for _, text in shown)
    return replace(by_heading(document, text.split("\n"), _cell_headings(shown)), text=text)


def first_heading_of_notebook(text: str) -> str | None:
    shown = [(cell, _shown(cell)) for cell in _cells(text) or ()]
    return next((heading.title for heading in _cell_headings(shown)), None)


def _cells(text: str) -> list[JSON] | None:
    """Return the cells of a notebook; None if the text is not a notebook."""
    try:
        return [cell for cell in json.loads(text)["cells"] if isinstance(cell, dict)]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None


def _cell_headings(shown: list[tuple[JSON, str]]) -> Iterator[HeadingLines]:
    """Yield the headings of Markdown cells by their lines in the notebook; a comment in code is not a heading."""
    above = 0
    for cell, text in shown:
        if cell.get("cell_type") in ("markdown", None):
            for heading in outline(text).headings:
                if heading.title:
                    number = above + heading.line + 1
                    yield HeadingLines(number, number, heading.level, heading.title[:200])
        above += text.count("\n") + 2


def _shown(cell: JSON) -> str:
    parts = [_joined(cell.get("source"))]
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if not isinstance(output, dict):
            continue
        data = output.get("data")
        text = _joined(data.get("text/plain")) if isinstance(data, dict) else _joined(output.get("text"))
        if output.get("output_type") == "error":
            text = ": ".join(filter(None, (_joined(output.get("ename")), _joined(output.get("evalue")))))
        if text:
            parts.append("Output:\n" + text[:MAX_OUTPUT])
    return "\n".join(storable(line) for part in parts for line in part.split("\n")).strip()


def _joined(value: Any) -> str:
    """Return the text of a notebook's field, which is a string or a list of lines."""
    return "".join(part for part in value if isinstance(part, str)) if isinstance(value, list) else str(value or "")
