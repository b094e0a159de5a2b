"""Split Markdown by heading: fences and tables stay whole, and each comment of a ticket is a section."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from lore_etl.chunking.section import Parsed, Section, Span
from lore_etl.core.frontmatter import front_matter_lines
from lore_etl.core.model import Document, KnowledgeType

_SOLID = {"fence", "code_block", "table_open", "html_block"}
_COMMENT = re.compile(r"^@?(?P<author>[\w.-]{1,60})\s+[-–—]\s+(?P<date>\d{4}-\d{2}-\d{2}[T0-9:.Z+-]{0,20})")


@cache
def _parser() -> MarkdownIt:
    """Return a parser of block structure only: inline parsing is not needed, and hostile input makes it slow."""
    return MarkdownIt("commonmark").enable("table").disable("inline")


def parse(document: Document) -> Parsed:
    """Parse a Markdown document into sections, in order. Front matter is left out unless there is nothing else."""
    skipped = front_matter_lines(document.text)
    lines = document.lines
    if skipped and not any(line.strip() for line in lines[skipped:]):
        # the file contains nothing but front matter
        return Parsed([Section(2, skipped - 1, _kind(document), "", group="front matter")])
    body = "\n".join(lines[skipped:])
    tokens = _parser().parse(body)
    solid = [_range(token, skipped) for token in tokens if token.type in _SOLID and token.map]
    starts = _headings(tokens, skipped)
    sections: list[Section] = []
    if not starts or starts[0].first > skipped + 1:
        starts.insert(0, _Heading(skipped + 1, skipped, 0, ""))
    path: list[_Heading] = []
    for index, start in enumerate(starts):
        last = starts[index + 1].first - 1 if index + 1 < len(starts) else len(lines)
        path = [step for step in path if step.level < start.level]
        if start.level:
            path.append(start)
        is_bare = not any(line.strip() for line in lines[start.last : last])
        sections.append(_section(document, start.first, last, path, solid, is_bare))
    return Parsed(sections)


class _Heading(NamedTuple):
    """A heading at the top level of the document, over its lines."""

    first: int
    last: int
    level: int
    title: str


def _headings(tokens: list[Token], skipped: int) -> list[_Heading]:
    found = []
    for token, inline in pairwise(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            title = inline.content.strip()[:200]
            found.append(_Heading(*_range(token, skipped), int(token.tag[1]), title))
    return found


def _range(token: Token, skipped: int) -> Span:
    first, end = token.map or (0, 0)
    return first + skipped + 1, end + skipped


def _kind(document: Document) -> str:
    return "ticket" if document.type == KnowledgeType.TICKET else "section"


def _section(
    document: Document, first: int, last: int, path: list[_Heading], solid: list[Span], is_bare: bool
) -> Section:
    is_ticket = document.type == KnowledgeType.TICKET
    comments = [(step, match) for step in path if is_ticket and (match := _COMMENT.match(step.title))]
    heading = tuple(step.title for step in path)
    return Section(
        first=first,
        last=last,
        kind="comment" if comments else _kind(document),
        anchor="/".join(heading),
        heading=heading,
        created=comments[0][1].group("date") if comments else None,
        solid=tuple(solid[bisect_left(solid, (first, 0)) : bisect_left(solid, (last + 1, 0))]),
        group=f"comment {comments[0][0].first}" if comments else "prose",
        introduces=is_bare and bool(path),
    )
