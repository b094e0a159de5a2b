"""Split Markdown by heading: fences and tables stay whole, and each comment of a ticket is a section."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from lore_etl.chunking.section import HeadedPart, HeadingLines, Parsed, Section, Span, below_headings
from lore_etl.core.frontmatter import front_matter_lines
from lore_etl.core.headings import heading_of
from lore_etl.core.model import Document, KnowledgeType

HEAD_LINES = 80  # the lines that are searched for a document's title
_SOLID = {"fence", "code_block", "table_open", "html_block"}
_COMMENT = re.compile(r"^@?(?P<author>[\w.-]{1,60})\s+[-–—]\s+(?P<date>\d{4}-\d{2}-\d{2}[T0-9:.Z+-]{0,20})")


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
    body = "\n".join(lines[skipped:])
    tokens = block_parser().parse(body)
    solid = [_range(token, skipped) for token in tokens if token.type in _SOLID and token.map]
    parts = below_headings(_headings(tokens, skipped), lines, skipped + 1)
    return Parsed([_section(part, kind, solid) for part in parts])


def first_heading(text: str) -> str | None:
    """Return the first heading near the top of a Markdown text; headings in quotations and lists do not count."""
    skipped = front_matter_lines(text)
    lines = text.split("\n", skipped + HEAD_LINES)[skipped : skipped + HEAD_LINES]
    first = heading_of(next((line for line in lines if line.strip()), ""))  # the usual case needs no parser
    if first and first[1]:
        return first[1]
    headings = _headings(block_parser().parse("\n".join(lines)), 0)
    return next((heading.title for heading in headings if heading.title), None)


def _headings(tokens: list[Token], skipped: int) -> list[HeadingLines]:
    found = []
    for token, inline in pairwise(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            title = inline.content.strip()[:200]
            found.append(HeadingLines(*_range(token, skipped), int(token.tag[1]), title))
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
