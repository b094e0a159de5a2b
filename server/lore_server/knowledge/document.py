"""Parse and check knowledge documents: front matter, an introduction and chapters. Pure."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import yaml

from lore_etl.core.dates import problem_of
from lore_etl.core.errors import ChapterNotFound, InvalidArgument, InvalidContent
from lore_etl.core.frontmatter import TEXT_LOADER, FrontMatterError, front_matter_lines, front_matter_values
from lore_etl.core.headings import Heading, Outline, line_end, lines_of, outline
from lore_etl.core.text import SURROGATES, one_line

Value = str | Sequence[str]
DOCUMENT_BYTES = 10_000_000
CHAPTER_BYTES = 1_000_000
MOST_CHAPTERS = 50
TITLE_CHARACTERS = 200
INTRODUCTION_CHARACTERS = 2_000
SUMMARY_CHARACTERS = 500
MEMORY_NAME_CHARACTERS = 200
MEMORY_PART_CHARACTERS = 5_000
QUERY_CHARACTERS = 200
QUERY_TERMS = 20
KEYWORDS = 50
KEYWORD_CHARACTERS = 50
_UNWRITABLE = re.compile(f"[\x00{SURROGATES}]")
CHAPTER_LEVELS = range(2, 5)
_NO_PROSE = re.compile(r"^\s*(?:[-*+>|<]|`{3}|~{3}|\d+[.)]\s|#{1,6}(?:\s|$)|!\[)")


@dataclass(frozen=True)
class Metadata:
    """The values of a front matter; `problem` explains why it cannot be read, and then the other fields are empty."""

    title: str = ""
    keywords: tuple[str, ...] = ()
    created: str | None = None
    updated: str | None = None
    supersedes: tuple[str, ...] = ()
    valid_until: str | None = None
    problem: str | None = None


def read_metadata(text: str) -> Metadata:
    """Return the values of a text's front matter. Errors are not raised but reported in `Metadata.problem`."""
    try:
        values = front_matter_values(text, as_text=True)
    except FrontMatterError as error:
        return Metadata(problem=": ".join(filter(None, (str(error), error.reason)))[:300])
    keywords = values.get("keywords")
    return Metadata(
        title=_text(values.get("title")) or "",
        keywords=_texts(keywords.split(",") if isinstance(keywords, str) else keywords),  # such as `one, two`
        created=_text(values.get("created")),
        updated=_text(values.get("updated")),
        supersedes=_texts(values.get("supersedes")),
        valid_until=_text(values.get("valid_until")),
    )


def write_metadata(values: Mapping[str, Value]) -> str:
    return "\n".join(["---", *(_entry(key, value) for key, value in values.items()), "---", ""])


def with_updated(text: str, date: str) -> str:
    """Return the text with this date as `updated` in its front matter; without a readable block, it is unchanged."""
    count = front_matter_lines(text)
    if not count or read_metadata(text).problem:
        return text
    lines = lines_of(text)
    node = yaml.compose("".join(line.rstrip("\r\n") + "\n" for line in lines[1 : count - 1]), Loader=TEXT_LOADER)
    if node is not None and (not isinstance(node, yaml.MappingNode) or node.flow_style):
        return text  # a flow mapping such as `{title: a}`, written by hand, cannot be changed line by line
    first = last = count - 1
    for name, value in node.value if node else ():
        if name.value == "updated":  # if there are several, the last one is read
            first = name.start_mark.line + 1
            last = max(value.end_mark.line + (value.end_mark.column > 0), first) + 1
    lines[first:last] = [_entry("updated", date) + line_end(lines[0])]
    return "".join(lines)


def _entry(key: str, value: Value) -> str:
    """Return a line of YAML; quoted as in JSON, a subset of YAML (https://yaml.org/spec/1.2.2/#12-overview)."""
    if not isinstance(value, str):
        return f"{key}: [{', '.join(_scalar(item) for item in value)}]"
    return f"{key}: {_scalar(value)}"


def _scalar(text: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9_](?:[A-Za-z0-9_ ./()+-]|:(?=[0-9]))*(?<! )", text) and _is_text(text):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    # JSON does not escape these characters, but YAML treats them as line ends or rejects them
    return re.sub("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", lambda found: f"\\u{ord(found[0]):04x}", quoted)


def _is_text(text: str) -> bool:
    """Return whether YAML reads the unquoted value as text; times are unquoted too, as the seed writes them."""
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        return False
    return isinstance(value, str) or bool(re.match(r"\d{4}-\d\d-\d\dT", text))


def _text(value: object) -> str | None:
    return one_line(value)[:300] or None if isinstance(value, str) else None


def _texts(value: object) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    return tuple(dict.fromkeys(text for item in values[:100] if (text := _text(item))))


@dataclass(frozen=True)
class Chapter:
    """A heading of level 2 to 4 and the lines up to the next such heading."""

    index: int
    title: str
    level: int
    summary: str
    content: str


@dataclass(frozen=True)
class KnowledgeDocument:
    """A document as read. `text` is the unchanged content of the file; the rest is computed from it on demand."""

    text: str

    @cached_property
    def metadata(self) -> Metadata:
        return read_metadata(self.text)

    @cached_property
    def outline(self) -> Outline:
        return outline(self.text, front_matter_lines(self.text))

    @cached_property
    def headings(self) -> list[Heading]:
        return [heading for heading in self.outline.headings if heading.level in CHAPTER_LEVELS]

    @cached_property
    def introduction(self) -> str:
        lines = self.outline.lines
        end = self.headings[0].line if self.headings else len(lines)
        return stripped("".join(lines[front_matter_lines(self.text) : end]).removeprefix("\ufeff"))

    @cached_property
    def title(self) -> str:
        named = (heading.title for heading in self.outline.headings if heading.level == 1)
        return self.metadata.title or next(named, "")

    @cached_property
    def chapters(self) -> tuple[Chapter, ...]:
        """Return all chapters, in the order of the document; a sub-heading starts a separate chapter."""
        found = []
        ends = [*(heading.line for heading in self.headings[1:]), len(self.outline.lines)]
        for index, (heading, end) in enumerate(zip(self.headings, ends, strict=False)):
            content = stripped("".join(self.outline.lines[heading.line + 1 : end]))
            found.append(Chapter(index, heading.title, heading.level, summary_of(content), content))
        return tuple(found)

    def chapter(self, title: str | None = None, index: int | None = None) -> Chapter:
        """Return a chapter by title or index (from 0), or by both. Raises ChapterNotFound, InvalidArgument."""
        return self.chapters[position_of(self.headings, title, index)]


def position_of(chapters: Sequence[Heading], title: str | None, index: int | None) -> int:
    """Return the index of a chapter by title, index, or both if titles repeat. Raises the errors of `chapter`."""
    if title is None and index is None:
        raise InvalidArgument("Name the chapter by title or index.")
    titles = [heading.title for heading in chapters]
    name = None if title is None else one_line(title)
    found = [number for number, other in enumerate(titles) if name in (None, other) and index in (None, number)]
    if not found:
        named = " ".join([f"`{title}`"] * (title is not None) + [f"at index {index}"] * (index is not None))
        alike = [number for number, other in enumerate(titles) if name and other.casefold() == name.casefold()]
        hint = f"Index {alike[0]} is `{titles[alike[0]]}`: titles are case-sensitive." if alike else None
        raise ChapterNotFound(f"There is no chapter {named}.", hint)
    if len(found) > 1:
        raise InvalidArgument(f"{len(found)} chapters have the title `{title}`.", f"Add chapter_index: {found}.")
    return found[0]


def summary_of(content: str) -> str:
    """Return the first paragraph on one line, shortened; empty if the content does not begin with prose."""
    taken: list[str] = []
    for line in content.splitlines():
        if not line.strip() or _NO_PROSE.match(line):
            break
        taken.append(line)
    return one_line(" ".join(taken))[:SUMMARY_CHARACTERS]


def stripped(text: str) -> str:
    """Return the text without empty lines around it; the first line keeps its indent."""
    return re.sub(r"\A(?:[ \t]*(?:\r\n|\r|\n))+", "", text).rstrip()


def checked_title(title: str, label: str = "title") -> str:
    """Return the title on one line. Raises InvalidContent if it is empty or too long."""
    text = one_line(checked_text(title, TITLE_CHARACTERS * 4, label))
    if not 1 <= len(text) <= TITLE_CHARACTERS:
        raise InvalidContent(f"A {label} must have 1 to {TITLE_CHARACTERS} characters; this one has {len(text)}.")
    return text


def checked_keywords(keywords: Sequence[str]) -> tuple[str, ...]:
    """Return the keywords stripped and without duplicates. Raises InvalidContent."""
    if len(keywords) > KEYWORDS:
        raise InvalidContent(f"A document can have up to {KEYWORDS} keywords, not {len(keywords)}.")
    words = [one_line(checked_text(word, DOCUMENT_BYTES, "keyword")) for word in keywords]
    for word in words:
        if not 1 <= len(word) <= KEYWORD_CHARACTERS:
            raise InvalidContent(f"A keyword must have 1 to {KEYWORD_CHARACTERS} characters; this one has {len(word)}.")
    return tuple(dict.fromkeys(words))


def checked_day(text: str) -> str:
    """Return the text stripped, if it is a date, or a time with a time zone. Raises InvalidContent."""
    if problem := problem_of(text.strip()):
        raise InvalidContent(f"{problem}.")
    return text.strip()


def checked_text(text: str, maximum: int, label: str) -> str:
    """Return the text, if it has no NUL, no lone surrogate, and at most `maximum` bytes. Raises InvalidContent."""
    if found := _UNWRITABLE.search(text):
        name = "NUL" if found[0] == "\0" else "a lone surrogate (invalid Unicode)"
        raise InvalidContent(f"The {label} contains {name} at character {found.start()}.")
    return checked_size(text, maximum, label)


def checked_size(text: str, maximum: int, label: str) -> str:
    """Return the text, if it has at most `maximum` bytes, some of them perhaps as surrogates. Raises InvalidContent."""
    size = len(text.encode("utf-8", "surrogateescape"))
    if size > maximum:
        raise InvalidContent(f"The {label} has {size:,} bytes; the limit is {maximum:,}.")
    return text
