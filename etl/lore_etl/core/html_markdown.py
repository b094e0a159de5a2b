"""Convert an HTML page, or only its main content, to Markdown, in time linear in its size. Pure."""

import html
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from lore_etl.core.text import one_line

_TAG = re.compile(r"<(?P<end>/?)(?P<name>[a-zA-Z][a-zA-Z0-9-]{0,40})(?P<facts>[^<>]{0,2000})>|<[!?][^<>]{0,2000}>")
_FACT = re.compile(r"""([a-zA-Z:-]{1,40})\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_LANGUAGE = re.compile(r"\b(?:language|lang|highlight)-([\w+#-]{1,30})")
_FORGED = re.compile(r"^(?=#{1,6}(?:\s|$)|`{3}|~{3}|[-=]{3,}\s*$)")
_FENCE = re.compile(r"`{3,}")
_SPACES = re.compile(r"[ \t]+")
_HIDDEN = re.compile(r"<(?:(script|style|svg)\b(?![^<>]{0,2000}/>)|!--)", re.IGNORECASE)
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
_SKIPPED = frozenset(
    "nav footer aside form button select textarea noscript template iframe dialog title head option label".split()
)
_SKIPPED_CLASSES = frozenset("headerlink header-anchor hash-link anchor linenos lineno sr-only visually-hidden".split())
_BLOCKS = frozenset(
    "p div section article main header ul ol dl dt dd table thead tbody tfoot blockquote figure figcaption details "
    "summary hr body address fieldset center".split()
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}


class _Tag(NamedTuple):
    """A tag with the range of its text, its name in lower case, and its attributes as written."""

    first: int
    last: int
    name: str
    is_end: bool
    facts: str

    def fact(self, wanted: str) -> str:
        return next((a or b or c for name, a, b, c in _FACT.findall(self.facts) if name.lower() == wanted), "")


def html_as_markdown(page: str) -> tuple[str, str]:
    """Return the main content as Markdown, and the title of the page; empty if it has a main heading."""
    page = without_hidden(page)
    tags = _tags(page)
    main = _main(tags)
    start = 0 if main is tags else main[0].first
    end = len(page) if main[-1:] == tags[-1:] else main[-1].last
    writer = _Writer(_pieces(page[:end], main, start, _is_skipped), has_permalinks=True)
    return "\n\n".join(writer.blocks), "" if writer.has_title else _title(page, tags)


def html_blocks(page: str) -> list[str]:
    """Return the headings, paragraphs, lists, tables and examples of a whole page, each as Markdown."""
    page = without_hidden(page)
    pieces = _pieces(page, _tags(page), 0, lambda tag: tag.name in ("head", "title") and not tag.is_end)
    return _Writer(pieces).blocks


def _tags(page: str) -> list[_Tag]:
    return [
        _Tag(found.start(), found.end(), (found["name"] or "").lower(), bool(found["end"]), found["facts"] or "")
        for found in _TAG.finditer(page)
    ]


def links_of(page: str) -> list[str]:
    targets = (tag.fact("href") for tag in _tags(page) if tag.name == "a")
    return list(dict.fromkeys(html.unescape(target) for target in targets if target))


def without_hidden(text: str) -> str:
    """Remove scripts, styles, drawings and comments in linear time; those without an end stay."""
    kept, position = list[str](), 0
    unclosed: set[str] = set()
    for match in _HIDDEN.finditer(text):
        closing = rf"</{match[1].lower()}" if match[1] else "-->"
        if match.start() < position or closing in unclosed:
            continue
        end = re.compile(closing, re.IGNORECASE).search(text, match.end())
        if end is None:
            unclosed.add(closing)
            continue
        kept += [text[position : match.start()], "\n" * text.count("\n", match.start(), end.start())]
        position = end.end() if closing == "-->" else end.start()
    return "".join((*kept, text[position:]))


def _title(page: str, tags: list[_Tag]) -> str:
    for number, tag in enumerate(tags[:-1]):
        if tag.name == "title" and not tag.is_end:
            return one_line(html.unescape(page[tag.last : tags[number + 1].first]))
    return ""


def _main(tags: list[_Tag]) -> list[_Tag]:
    """Return the tags of the element with the main content; all tags if no element is marked as such."""
    kinds: tuple[Callable[[_Tag], bool], ...] = (
        lambda tag: tag.name == "main",
        lambda tag: "main" in tag.facts and tag.fact("role") == "main",
        lambda tag: tag.name == "article",
    )
    for is_main in kinds:
        starts = [number for number, tag in enumerate(tags) if not tag.is_end and is_main(tag)]
        if len(starts) == 1:
            return tags[starts[0] : _end_of(tags, starts[0])]
    return tags


def _end_of(tags: list[_Tag], start: int) -> int:
    """Return the index after the closing tag of an element, or after the last tag if it is never closed."""
    depth = 0
    for number in range(start, len(tags)):
        if tags[number].name == tags[start].name:
            depth += -1 if tags[number].is_end else 1
            if depth == 0:
                return number + 1
    return len(tags)


def _pieces(
    page: str, tags: list[_Tag], position: int, is_skipped: Callable[[_Tag], bool]
) -> Iterator[tuple[str, _Tag | None]]:
    """Yield the text before each tag with the tag, and that after the last, without elements that are not content."""
    number = 0
    while number < len(tags):
        tag = tags[number]
        yield page[position : tag.first], tag
        number = _end_of(tags, number) if is_skipped(tag) else number + 1
        position = tags[number - 1].last
    yield page[position:], None


def _is_skipped(tag: _Tag) -> bool:
    if tag.is_end or tag.name in _VOID or tag.facts.endswith("/"):
        return False
    is_marked = not _SKIPPED_CLASSES.isdisjoint(tag.fact("class").split()) or tag.fact("role") == "navigation"
    return tag.name in _SKIPPED or is_marked


class _Writer:
    """Collects blocks of Markdown from texts and tags; headings may end with the sign of a permalink."""

    def __init__(self, pieces: Iterable[tuple[str, _Tag | None]], has_permalinks: bool = False) -> None:
        self._has_permalinks = has_permalinks
        self._blocks: list[list[str]] = []
        self.has_title = False
        self._inline: list[str] = []
        self._heading = 0
        self._lists: list[str] = []
        self._item = ""
        self._code: list[str] | None = None
        self._language = self._outer_language = ""
        self._cells: list[str] | None = None
        self._is_in_table = False
        for text, tag in pieces:
            if self._code is not None:
                self._code.append(html.unescape(text))
            elif text:
                self._inline.append(_SPACES.sub(" ", html.unescape(text).replace("\n", " ")))
            if tag is not None:
                self._tag(tag)
        self._end_row()
        self._end_code()
        self._end_block()
        self.blocks = ["\n".join(block) for block in self._blocks]

    def _tag(self, tag: _Tag) -> None:
        if tag.name == "pre":
            self._preformatted(tag)
        elif self._code is not None:
            self._language = self._language or _language(tag)
            if tag.name == "br":
                self._code.append("\n")
        elif tag.name in ("tr", "td", "th"):
            self._table(tag)
        elif tag.name in _HEADINGS:
            self._end_block()
            self._heading = 0 if tag.is_end else _HEADINGS[tag.name]
        elif tag.name == "li":
            self._end_block()
            indent = "  " * max(0, min(len(self._lists), 8) - 1)
            self._item = "" if tag.is_end else indent + (self._lists[-1] if self._lists else "- ")
        elif tag.name == "code":
            self._inline.append("`")
        elif tag.name == "br":
            self._inline.append(" " if self._cells is not None else "\n")
        elif tag.name == "img":
            self._inline.append(f" {html.unescape(tag.fact('alt'))} ")
        elif tag.name in _BLOCKS:
            self._block(tag)

    def _end_block(self) -> None:
        if self._cells is not None:
            self._inline.append(" ")
            return
        text = "\n".join(filter(None, (one_line(line) for line in "".join(self._inline).replace("``", "").split("\n"))))
        self._inline = []
        if not text:
            return
        if self._heading:
            self.has_title = self.has_title or self._heading == 1
            title = one_line(text)
            text = f"{'#' * self._heading} {title.rstrip(' ¶#') if self._has_permalinks else title}"
        else:
            text = self._item + "\n".join(_FORGED.sub(r"\\", line) for line in text.split("\n"))
        if self._item and self._blocks and self._blocks[-1][-1].lstrip().startswith(("- ", "1. ")):
            self._blocks[-1].append(text)
        else:
            self._blocks.append([text])
        self._item = ""

    def _block(self, tag: _Tag) -> None:
        self._end_block()
        self._outer_language = _language(tag) or self._outer_language
        if tag.name in ("ul", "ol"):
            if not tag.is_end:
                self._lists.append("1. " if tag.name == "ol" else "- ")
            elif self._lists:
                self._lists.pop()
        if tag.name == "table":
            self._cells, self._is_in_table = None, False

    def _table(self, tag: _Tag) -> None:
        if tag.name == "tr":
            self._end_row()
            self._cells = None if tag.is_end else []
        elif self._cells is None:
            self._end_block()
        elif tag.is_end:
            self._cells.append(one_line("".join(self._inline)).replace("|", "\\|"))
            self._inline = []

    def _end_row(self) -> None:
        cells, self._cells = self._cells, None
        if not cells:
            self._end_block()
            return
        row = f"| {' | '.join(cells)} |"
        if self._is_in_table:
            self._blocks[-1].append(row)
        else:
            self._blocks.append([row, f"|{'---|' * len(cells)}"])
            self._is_in_table = True

    def _preformatted(self, tag: _Tag) -> None:
        if not tag.is_end and self._code is None:
            self._cells = None  # some sites put code and its line numbers into a table
            self._end_block()
            self._code, self._language = [], _language(tag) or self._outer_language
        elif tag.is_end:
            self._end_code()

    def _end_code(self) -> None:
        code, self._code = "".join(self._code or ()).strip("\n"), None
        if code.strip():
            fence = "`" * (max((len(fence) for fence in _FENCE.findall(code)), default=2) + 1)
            self._blocks.append([f"{fence}{self._language}", code, fence])
        self._outer_language = ""


def _language(tag: _Tag) -> str:
    found = None if tag.is_end else _LANGUAGE.search(tag.fact("class"))
    return found[1] if found and found[1] not in ("default", "none") else ""
