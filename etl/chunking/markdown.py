"""Markdown by heading: fences and tables stay whole, the heading path is kept, a ticket's comments stand apart."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from etl.chunking.section import Parsed, Section
from etl.frontmatter import front_matter_lines
from etl.model import Document, KnowledgeType

_SOLID = {"fence", "code_block", "table_open", "html_block"}
_COMMENT = re.compile(r"^@?(?P<author>[\w.-]{1,60})\s+[-–—]\s+(?P<date>\d{4}-\d{2}-\d{2}[T0-9:.Z+-]{0,20})")


@cache
def _parser() -> MarkdownIt:
    """Block structure only: inline parsing is not needed, and is where hostile input gets slow."""
    return MarkdownIt("commonmark").enable("table").disable("inline")


def parse(document: Document) -> Parsed:
    """Sections of a Markdown document, in order; front matter belongs to none."""
    skipped = front_matter_lines(document.text)
    lines = document.lines
    body = "\n".join(lines[skipped:])
    tokens = _parser().parse(body)
    solid = [_range(token, skipped) for token in tokens if token.type in _SOLID and token.map]
    starts = _headings(tokens, skipped)
    sections: list[Section] = []
    if not starts or starts[0][0] > skipped + 1:
        starts.insert(0, (skipped + 1, 0, ""))
    path: list[tuple[int, str]] = []
    for index, (first, level, title) in enumerate(starts):
        last = starts[index + 1][0] - 1 if index + 1 < len(starts) else len(lines)
        path = [step for step in path if step[0] < level]
        if level:
            path.append((level, title))
        sections.append(_section(document, first, last, tuple(step[1] for step in path), solid))
    return Parsed(sections)


def _headings(tokens: list[Token], skipped: int) -> list[tuple[int, int, str]]:
    """(line, level, title) of each heading at the top level of the document."""
    found = []
    for token, inline in pairwise(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            found.append((token.map[0] + skipped + 1, int(token.tag[1]), inline.content.strip()[:200]))
    return found


def _range(token: Token, skipped: int) -> tuple[int, int]:
    first, end = token.map or (0, 0)
    return first + skipped + 1, end + skipped


def _section(
    document: Document, first: int, last: int, heading: tuple[str, ...], solid: list[tuple[int, int]]
) -> Section:
    comment = _COMMENT.match(heading[-1]) if heading and document.type == KnowledgeType.TICKET else None
    return Section(
        first=first,
        last=last,
        kind="comment" if comment else ("ticket" if document.type == KnowledgeType.TICKET else "section"),
        anchor="/".join(heading),
        heading=heading,
        created=comment.group("date") if comment else None,
        solid=tuple(span for span in solid if first <= span[0] <= last),
        group=f"comment {first}" if comment else "prose",
    )
