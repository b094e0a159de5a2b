"""Split texts with headings: AsciiDoc, Org, LaTeX, HTML, INI files and converted documents."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from lore_etl.chunking.section import HeadingLines, Parsed, Section, Symbol, below_headings
from lore_etl.core.html_markdown import without_hidden
from lore_etl.core.model import Document
from lore_etl.core.text import one_line, storable

MAX_TITLE = 200
IN_BRACES = r"(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*"
"""A text in braces in LaTeX, which may contain braces itself."""
_LATEX = {"part": 0, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4}
_HEADINGS = {
    "asciidoc": re.compile(r"^(?P<level>={1,6})[ \t]+(?P<title>\S.*)"),
    "org": re.compile(r"^(?P<level>\*{1,8})[ \t]+(?P<title>\S.*)"),
    "latex": re.compile(
        r"^\s*\\(?P<name>part|chapter|(?:sub){0,2}section)\*?(?:\[[^\]]*\])?\{(?P<title>" + IN_BRACES + r")\}"
    ),
    "html": re.compile(r"<h(?P<number>[1-6])\b[^>]*>(?P<title>.*?)(?:</h|$)", re.IGNORECASE),
    "ini": re.compile(r"^\[(?P<title>[^\]\n]+)\]"),
    "document": re.compile(r"^(?P<level>#{1,6})[ \t]+(?P<title>\S.*)"),
}
_PLACES = ("Page ", "Slide ", "Sheet ")
_KEY = re.compile(r"^[ \t]*([\w.-]{1,100})[ \t]*[=:]")
_TAGS = re.compile(r"(?:</?[a-zA-Z!][^<>]{0,2000}>)+")
_TAG_NAME = re.compile(r"</?([a-zA-Z]\w*)")
_INLINE = frozenset(
    "a abbr b bdi bdo big cite code del dfn em font i ins kbd mark q s samp small span strike strong sub sup tt u var"
    " wbr".split()
)
"""Tags that do not separate words."""
_ORG_STATE = re.compile(r"^(?:(?:TODO|DONE)[ \t]+)?(?:\[#\w\][ \t]+)?")
_ORG_TAGS = re.compile(r"[ \t]:[\w@#%:]+:[ \t]*$")
_LATEX_NOTE = re.compile(r"\\(?:thanks|footnote|label)\{[^{}]*\}")
_LATEX_BREAK = re.compile(r"\\\\(?:\[[^\]]{0,20}\])?|\\(?:newline|linebreak|and|quad|qquad)(?![A-Za-z])|~")
_LATEX_COMMAND = re.compile(r"\\(?:(?P<name>(?:La|Xe|Bib){0,2}TeX(?![A-Za-z]))|[A-Za-z]+\*?[ \t]*|(?=\W))")
_LATEX_SIGNS = str.maketrans("", "", "{}$")


def parse(document: Document) -> Parsed:
    """Parse a text by the headings of its syntax."""
    found = by_heading(document, document.lines, headings(document.syntax, document.lines))
    if document.syntax != "html":
        return found
    return replace(found, text="\n".join(_shown(document.text).split("\n")))


def by_heading(document: Document, lines: list[str], found: Iterable[HeadingLines]) -> Parsed:
    """Return a section for each heading and the text below it."""
    sections = []
    for part in below_headings([*found], lines):
        first, last, heading = part.first, part.last, part.heading
        symbols = tuple(_keys(lines, first, last, "".join(heading))) if document.syntax == "ini" else ()
        group = _group(heading) if document.syntax == "document" else "prose"
        section = Section(
            first, last, "section", "/".join(heading), heading, symbols, group=group, introduces=part.is_bare
        )
        sections.append(section)
    return Parsed(sections)


def _group(heading: tuple[str, ...]) -> str:
    """Return the page, slide or sheet of a converted document, so that no chunk belongs to two of them."""
    return next((title for title in heading if title.startswith(_PLACES)), "prose")


def headings(syntax: str, lines: Iterable[str]) -> Iterator[HeadingLines]:
    pattern = _HEADINGS[syntax]
    for number, line in enumerate(lines, 1):
        match = pattern.search(line[:2000])
        if match is None:
            continue
        groups = match.groupdict()
        level = (
            len(groups.get("level") or "") or int(groups.get("number") or 0) or _LATEX.get(groups.get("name", ""), 0)
        )
        words = {"latex": latex_text, "org": _org_text}.get(syntax, html_text)
        if title := words(groups["title"])[:MAX_TITLE]:
            yield HeadingLines(number, number, level + 1, title)


def latex_text(text: str) -> str:
    """Return the words of a heading in LaTeX, without commands and footnotes."""
    words = _LATEX_COMMAND.sub(r"\g<name>", _LATEX_BREAK.sub(" ", _LATEX_NOTE.sub("", text)))
    return one_line(words.translate(_LATEX_SIGNS))


def html_text(text: str) -> str:
    """Return the words of a heading in HTML, without its permalink sign."""
    return one_line(html.unescape(_TAGS.sub(_between, text))).removesuffix("¶").rstrip()


def _org_text(text: str) -> str:
    """Return a headline of Org without its state, its priority and its tags."""
    return one_line(_ORG_TAGS.sub("", _ORG_STATE.sub("", text)))


def _keys(lines: list[str], first: int, last: int, section: str) -> Iterator[Symbol]:
    for number in range(first, last + 1):
        if match := _KEY.match(lines[number - 1]):
            yield Symbol(f"{section}.{match[1]}" if section else match[1], number, number)


def _shown(text: str) -> str:
    """Return the text of a page without its markup; line numbers do not change."""
    plain = _TAGS.sub(_between, without_hidden(text))
    return "\n".join(storable(html.unescape(line)) for line in plain.split("\n"))


def _between(tags: re.Match[str]) -> str:
    """Return the line ends in tags, or a space if the tags separate words, such as those of two cells of a table."""
    if lines := tags[0].count("\n"):
        return "\n" * lines
    is_inside = _has_word(tags.string, tags.start() - 1) and _has_word(tags.string, tags.end())
    is_apart = is_inside and not {name.lower() for name in _TAG_NAME.findall(tags[0])} <= _INLINE
    return " " if is_apart else ""


def _has_word(text: str, position: int) -> bool:
    return 0 <= position < len(text) and not text[position].isspace()
