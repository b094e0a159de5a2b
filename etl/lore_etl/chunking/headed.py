"""Split texts with headings (reStructuredText, AsciiDoc, Org, LaTeX, HTML, INI, converted documents); read tables."""

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from lore_etl.chunking.section import HeadingLines, Parsed, Section, Symbol, below_headings, parse_plain
from lore_etl.core.html_markdown import without_hidden
from lore_etl.core.model import Document
from lore_etl.core.text import one_line, storable

MAX_TITLE = 200
READ = 50_000  # characters in which a title begins
MAX_ROWS = 1_000  # of a table
_IN_BRACES = r"(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*"  # a text in braces in LaTeX, which may contain braces itself
_LATEX = {"part": 0, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4}
_HEADINGS = {
    "asciidoc": re.compile(r"^(?P<level>={1,6})[ \t]+(?P<title>\S.*)"),
    "org": re.compile(r"^(?P<level>\*{1,8})[ \t]+(?P<title>\S.*)"),
    "latex": re.compile(
        r"^\s*\\(?P<level>part|chapter|(?:sub){0,2}section)\*?(?:\[[^\]]*\])?\{(?P<title>" + _IN_BRACES + r")\}"
    ),
    "html": re.compile(r"<h(?P<level>[1-6])\b[^>]*>(?P<title>.*?)(?:</h|$)", re.IGNORECASE),
    "ini": re.compile(r"^\[(?P<title>[^\]\n]+)\]"),
    "document": re.compile(r"^(?P<level>#{1,6})[ \t]+(?P<title>\S.*)"),
}
_UNDERLINED = ("rst", "text")
_UNDERLINES = frozenset("=-~^\"'`#*+.:_")
_RST_MARKUP = re.compile(
    r"(?P<role>:[\w.+:-]{1,60}:)?(?P<quote>``?)(?P<text>[^`]+)(?P=quote)(?P<link>__?)?"
    r"|(?<!\w)(?P<stars>\*\*?)(?P<strong>[^\s*](?:[^*]*[^\s*])?)(?P=stars)(?!\w)"
)
_SEPARATORS = re.compile(r"[,;\t]\s*")
_PLACES = ("Page ", "Slide ", "Sheet ")
_KEY = re.compile(r"^[ \t]*([\w.-]{1,100})[ \t]*[=:]")
_ORG_TITLE = re.compile(r"^#\+title:[ \t]*(\S.*)", re.IGNORECASE | re.MULTILINE)  # several lines may declare it
_LATEX_TITLE = re.compile(r"^[^%\n]*?\\title\s*(?:\[[^\]]{0,300}\]\s*)?\{(" + _IN_BRACES + r")\}", re.MULTILINE)
_PAGE = re.compile(r"<title\b[^>]{0,300}>([^<]{0,600})</title", re.IGNORECASE)
_PAGE_HEADING = re.compile(r"<h1\b[^>]{0,500}>(.{0,1000}?)</h1", re.IGNORECASE | re.DOTALL)
_ANY_PAGE_HEADING = re.compile(
    r"<h(?P<level>[1-6])\b[^<>]{0,500}>(?P<title>.{0,1000}?)</h(?P=level)", re.IGNORECASE | re.DOTALL
)
_TEMPLATES = ("{{", "{%", "${")
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
    """Parse a text by the headings of its syntax; a plain text has none or underlined ones."""
    found = [*headings(document.syntax, document.lines)]
    if document.syntax == "text" and not found:
        return parse_plain(document)
    parsed = by_heading(document, document.lines, found)
    return replace(parsed, text=_shown(document.text)) if document.syntax == "html" else parsed


def by_heading(document: Document, lines: list[str], found: Iterable[HeadingLines]) -> Parsed:
    sections = []
    for part in below_headings([*found], lines):
        first, last, heading = part.first, part.last, part.heading
        symbols, group = tuple[Symbol, ...](), "prose"
        if document.syntax == "ini":
            keys = ((number, _KEY.match(lines[number - 1])) for number in range(first, last + 1))
            symbols = tuple(Symbol(".".join((*heading, key[1])), number, number) for number, key in keys if key)
        elif document.syntax == "document":  # no chunk belongs to two pages, slides or sheets
            group = next((title for title in heading if title.startswith(_PLACES)), "prose")
        introduces = part.is_bare and (bool(heading) or document.syntax not in _UNDERLINED)
        anchor = "/".join(heading)
        sections.append(Section(first, last, "section", anchor, heading, symbols, group=group, introduces=introduces))
    return Parsed(sections)


def parse_table(document: Document) -> Parsed:
    """Return the first rows of a CSV file as one section, with the names of its columns as the heading."""
    lines = document.lines
    columns = one_line(_SEPARATORS.sub(", ", lines[0]).replace('"', ""))[:200]
    section = Section(1, min(len(lines), MAX_ROWS), "table", "table", (columns,) if columns else (), group="text")
    left = len(lines) - MAX_ROWS
    return Parsed([section], warning=f"{left:,} more rows are not indexed" if left > 1 else None)


def title_of(text: str, syntax: str) -> str | None:
    """Return the title that a document declares, else its first heading, in time linear in the part that is read."""
    beginning = text[:READ]
    if syntax == "document":  # the headings of its pages and sheets are deeper
        return next((line.strip("# ") for line in text.split("\n", 80)[:80] if line.startswith("# ")), None)
    if syntax == "html":  # a template may fill in the title
        page = without_hidden(beginning)
        found = (match[1] for pattern in (_PAGE, _PAGE_HEADING) for match in [pattern.search(page)] if match)
        titles = (_html_text(title) for title in found if not any(sign in title for sign in _TEMPLATES))
        return next(filter(None, titles), None)
    declared = ""
    if syntax == "org":
        declared = " ".join(_ORG_TITLE.findall(beginning))
    elif syntax == "latex" and (match := _LATEX_TITLE.search(beginning)):
        declared = _latex_text(match[1])
    return declared or next((heading.title for heading in headings(syntax, beginning.split("\n"))), None)


def headings(syntax: str, lines: Sequence[str]) -> Iterator[HeadingLines]:
    if syntax in _UNDERLINED:
        yield from _underlined(lines)
        return
    pattern = _HEADINGS[syntax]
    for number, line in enumerate(lines, 1):
        match = pattern.search(line[:2000])
        if match is None:
            continue
        mark = match.groupdict().get("level", "")
        level = int(mark) if mark.isdecimal() else _LATEX.get(mark, len(mark))
        words = {"latex": _latex_text, "org": _org_text}.get(syntax, _html_text)
        if title := words(match["title"])[:MAX_TITLE]:
            yield HeadingLines(number, number, level + 1, title)


def headings_in_html(text: str, line: int) -> Iterator[HeadingLines]:
    """Yield the headings in HTML that begins at this line of a Markdown document."""
    place = 0
    for match in _ANY_PAGE_HEADING.finditer(text):
        line, place = line + text.count("\n", place, match.start()), match.start()
        if title := _html_text(match["title"])[:MAX_TITLE]:
            yield HeadingLines(line, line + match[0].count("\n"), int(match["level"]), title)


def _underlined(lines: Sequence[str]) -> list[HeadingLines]:
    """Return titles underlined, or also overlined, with a repeated sign; the order of these styles gives the levels."""
    found: list[HeadingLines] = []
    styles: list[tuple[str, bool]] = []
    for number in range(2, len(lines) + 1):
        line, title = lines[number - 1].rstrip(), lines[number - 2].rstrip()
        is_line = len(line) >= 3 and line[0] in _UNDERLINES and line == line[0] * len(line)
        if not is_line or len(line) < len(title) or not any(map(str.isalnum, title)):
            continue
        is_free = number > 2 and (not found or found[-1].last < number - 2)
        has_overline = is_free and lines[number - 3].rstrip() == line
        if not has_overline and title.startswith((" ", "\t", ".. ")):
            continue
        if (style := (line[0], has_overline)) not in styles:
            styles.append(style)
        text = one_line(_RST_MARKUP.sub(_rst_words, title))[:MAX_TITLE]
        found.append(HeadingLines(number - 1 - has_overline, number, styles.index(style) + 1, text))
    return found


def _rst_words(markup: re.Match[str]) -> str:
    words = markup["text"] or markup["strong"]
    return words.partition(" <")[0].lstrip("!~") if markup["role"] or markup["link"] else words


def _latex_text(text: str) -> str:
    words = _LATEX_COMMAND.sub(r"\g<name>", _LATEX_BREAK.sub(" ", _LATEX_NOTE.sub("", text)))
    return one_line(words.translate(_LATEX_SIGNS))


def _html_text(text: str) -> str:
    return one_line(html.unescape(_TAGS.sub(_between, text))).removesuffix("¶").rstrip()


def _org_text(text: str) -> str:
    return one_line(_ORG_TAGS.sub("", _ORG_STATE.sub("", text)))


def _shown(text: str) -> str:
    """Return the text of a page without its markup, on the same lines."""
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
