"""A page of documentation as the Markdown file that is indexed. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import yaml

from lore_etl.chunking import parse
from lore_etl.chunking.titles import title_of
from lore_etl.core.frontmatter import FrontMatterError, body_of, read_front_matter
from lore_etl.core.html_markdown import html_as_markdown
from lore_etl.core.model import Document, KnowledgeType
from lore_etl.core.text import clip, encodable
from lore_etl.sources.source import CONVERTED, PROSE, syntax_of

MAX_TEXT = 1_000_000  # characters
MAX_URL = 2_000
TEXT_SUFFIX = ".txt"


class Readable(NamedTuple):
    """The text of a page in Markdown, and its title, if it is not among the headings."""

    text: str
    title: str = ""


@dataclass(frozen=True)
class PageOrigin:
    """The facts about a page that its front matter names."""

    library: str
    version: str = ""
    url: str = ""


def is_readable(path: str) -> bool:
    """Return whether a file is documentation by its name."""
    return path.lower().endswith(TEXT_SUFFIX) or (syntax_of(path) in PROSE and syntax_of(path) != CONVERTED)


def page_path(path: str) -> str:
    """Return the path of the Markdown file for a file."""
    return path if path.lower().endswith(".md") else f"{path}.md"


def markdown_page(origin: PageOrigin, page: Readable) -> str:
    """Return the Markdown file. Only this front matter counts, so a page cannot claim another origin."""
    front = {
        "title": clip(page.title, 300),
        "library": origin.library,
        "version": origin.version,
        "url": encodable(origin.url)[:MAX_URL],
    }
    known = {key: value for key, value in front.items() if value}
    block = yaml.safe_dump(known, allow_unicode=True, sort_keys=False, width=10_000)
    return encodable(f"---\n{block}---\n\n{page.text.strip()}\n")


def readable(path: str, text: str) -> Readable:
    """Return a file as Markdown; the path decides how it is read."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    syntax = syntax_of(path)
    if syntax == "html":
        return Readable(*html_as_markdown(text))
    if syntax == "markdown":
        return Readable(body_of(text), _front_title(text))
    if syntax not in PROSE or syntax == "text":
        return Readable(text)  # text is often Markdown, such as `llms.txt`
    shown, title = _with_headings(Document(path, KnowledgeType.LIBRARY, text, "", syntax)), title_of(text, syntax) or ""
    return Readable(shown, "" if f"# {title}\n" in shown else title)


def _front_title(text: str) -> str:
    try:
        return read_front_matter(text).title or ""
    except FrontMatterError:
        return ""


def _with_headings(document: Document) -> str:
    """Return a document of another syntax with the headings of Markdown."""
    parsed = parse(document)
    lines = (parsed.text or document.text).split("\n")
    parts = []
    for section in parsed.sections:
        below = lines[section.first - 1 : section.last]
        if section.heading:
            below = below[_title_lines(document.syntax, below) :]
            parts += ["", f"{'#' * min(len(section.heading), 6)} {section.heading[-1]}", ""]
        parts += below
    return "\n".join(parts)


def _title_lines(syntax: str, lines: list[str]) -> int:
    """Return the number of lines of a heading, which in reStructuredText has a line below it and perhaps one above."""
    has_overline = not any(map(str.isalnum, lines[0]))
    return 1 if syntax != "rst" else 2 + has_overline
