"""YAML front matter of Markdown files, through a YAML library's safe loader."""

import datetime
import re

import yaml

from lore_etl.core.dates import day_or_none
from lore_etl.core.headings import lines_of
from lore_etl.core.json_types import JSON
from lore_etl.core.model import FrontMatter
from lore_etl.core.text import one_line, storable

MAX_BYTES = 64_000
LONGEST_TAG, LONGEST_PATH = 100, 300  # characters
MAX_DEPTH = 20  # libyaml recurses on the C stack, so a deeply nested text would end the process
_LOADER = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
# only strings, lists and mappings: `title: 2024-01-01` and `title: no` are strings
TEXT_LOADER = yaml.CBaseLoader if yaml.__with_libyaml__ else yaml.BaseLoader
_OPEN = re.compile(r"\A\ufeff?---[ \t]*(?:\r\n|\r|\n)")
_CLOSE = re.compile(r"(?<=[\r\n])(?:---|\.\.\.)[ \t]*(?:\r\n|\r|\n|\Z)")
_TAG_KEYS = ("tags", "keywords", "labels")
_DETAIL_KEYS = ("state", "status", "prp_id", "issue", "author", "rating", "capture_type")


class FrontMatterError(Exception):
    """The front matter is not a YAML mapping. The message has the line, `reason` is the parser's reason."""

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


def front_matter_lines(text: str) -> int:
    """Return the number of lines of the front matter, including its `---` lines; 0 without front matter."""
    return len(lines_of(text[: _end(text)]))


def body_of(text: str) -> str:
    return text[_end(text) :]


def _end(text: str) -> int:
    opened = _OPEN.match(text)
    closed = _CLOSE.search(text, opened.end(), MAX_BYTES) if opened else None
    return closed.end() if closed else 0


def read_front_matter(text: str) -> FrontMatter:
    """Parse the block at the top of a Markdown text. Raises FrontMatterError if the block is not a YAML mapping."""
    values = front_matter_values(text)
    return FrontMatter(
        title=_text(values.get("title") or values.get("name") or values.get("tagName")),
        tags=_words(values, _TAG_KEYS),
        details=_words(values, _DETAIL_KEYS),
        created=_date(values, "created", "createdAt", "date", "timestamp"),
        updated=_date(values, "updated", "updatedAt", "closedAt", "publishedAt", "last_updated"),
        valid_until=day.isoformat() if (day := day_or_none(values.get("valid_until"))) else None,
        supersedes=tuple(dict.fromkeys(_texts(values.get("supersedes"), LONGEST_PATH))),
        values=values,
    )


def _words(values: JSON, keys: tuple[str, ...]) -> tuple[str, ...]:
    nested = values.get("metadata")
    places = [values, nested] if isinstance(nested, dict) else [values]
    return tuple(
        dict.fromkeys(text for place in places for key in keys for text in _texts(place.get(key), LONGEST_TAG))
    )


def front_matter_values(text: str, as_text: bool = False) -> JSON:
    """Return the values; `as_text` keeps scalars as text, and allows no tags or other keys. Raises FrontMatterError."""
    block = "\n".join(line.rstrip("\r\n") for line in lines_of(text[: _end(text)])[1:-1])
    try:
        _check(block, as_text)
        values = yaml.load(block, Loader=TEXT_LOADER if as_text else _LOADER)
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 2}" if mark else ""
        reason = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise FrontMatterError(f"front matter is not valid YAML{where}", reason) from error
    if values is None or (as_text and values == ""):
        return {}
    if not isinstance(values, dict) or (as_text and not all(isinstance(key, str) for key in values)):
        raise FrontMatterError("front matter is not a list of `key: value`")
    return values


def _check(block: str, as_text: bool) -> None:
    """Check a YAML text before any object is built. Raises ValueError, YAMLError."""
    depth = 0
    for event in yaml.parse(block, Loader=_LOADER):
        if isinstance(event, yaml.AliasEvent):
            raise ValueError("aliases are not allowed")
        if as_text and getattr(event, "tag", None):
            raise ValueError("tags are not allowed")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise ValueError("it is nested too deeply")


def _text(value: object) -> str | None:
    if isinstance(value, int) and abs(value) >= 1 << 64:
        return None  # not a title, and Python refuses to convert such numbers to text
    return storable(one_line(str(value))[:300]) or None if isinstance(value, str | int | float) else None


def _texts(value: object, longest: int) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [text[:longest] for item in values[:50] if (text := _text(item))]


def _date(values: JSON, *keys: str) -> str | None:
    for key in keys:
        value = values.get(key)
        if isinstance(value, datetime.date):
            return value.isoformat()
        if isinstance(value, str) and re.match(r"\d{4}-\d{2}-\d{2}", value):
            return value[:40]
    return None
