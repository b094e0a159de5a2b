"""A memory: a short text with a name, as files with front matter. Pure."""

from __future__ import annotations

import datetime
import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import yaml

from lore_etl.core.errors import InvalidContent
from lore_etl.core.frontmatter import FrontMatterError, body_of, front_matter_values
from lore_etl.core.model import Scalar, Value
from lore_etl.core.parts import parts_of
from lore_etl.core.text import encodable, one_line, shortened, storable
from lore_etl.files.redaction import redact
from lore_server.knowledge.limits import DOCUMENT_BYTES, MEMORY_NAME_CHARACTERS, MEMORY_PART_CHARACTERS, checked_text
from lore_server.knowledge.names import SUFFIX, checked_group_id, slug
from lore_server.knowledge.reader import is_document

FRONT_CHARACTERS = 32_000  # half of what readers of front matter take
_DUMPER = yaml.CSafeDumper if yaml.__with_libyaml__ else yaml.SafeDumper
STEM_DIGITS = 12  # of the hash
_FILE = re.compile(rf"(?P<stem>.+?)(?:\.(?P<part>[2-9]|[1-9]\d{{1,5}}))?{re.escape(SUFFIX)}", re.DOTALL)


@dataclass(frozen=True)
class Memory:
    """A memory as it is kept; `full_name` is set where `name` is only its beginning."""

    name: str
    group_id: str
    body: str
    source: str = ""
    metadata: Mapping[str, Value] = field(default_factory=dict)
    created: str = ""
    full_name: str = ""

    @cached_property
    def sha256(self) -> str:
        """Of the body."""
        return hashlib.sha256(self.body.encode()).hexdigest()

    def stem(self, digits: int = STEM_DIGITS) -> str:
        """What its files are called, without the number of the part."""
        return f"{slug(self.name)}-{self.sha256[:digits]}"


class FilePlace(NamedTuple):
    """What the name of a file says: whose it is, and which part."""

    stem: str
    part: int


class Made(NamedTuple):
    """A new memory, and what had to be done to what was given."""

    memory: Memory
    secrets: int


def made(name: str, group_id: str, body: str, source: str, metadata: Mapping[str, Value], created: str) -> Made:
    """A memory of what was given, without its secrets.

    Raises:
        InvalidGroupId: the group's name cannot be one.
        InvalidContent: a text is empty, too long, or holds what no file can.
    """
    body, in_body = redact(checked_text(body, DOCUMENT_BYTES, "body"))
    whole, in_name = redact(_line(checked_text(name, DOCUMENT_BYTES, "name")))
    origin, in_source = redact(_line(checked_text(source, DOCUMENT_BYTES, "source")))
    values, in_values = _redacted(metadata)
    if not whole or not body.strip():
        raise InvalidContent("A memory needs a name and a body that are not empty.")
    short = shortened(whole, MEMORY_NAME_CHARACTERS)
    full = whole if short != whole else ""
    memory = Memory(short, checked_group_id(group_id), body, origin, values, created, full)
    if len(_front(_values(memory))) > FRONT_CHARACTERS:
        raise InvalidContent(f"Name, source and metadata exceed {FRONT_CHARACTERS:,} characters.")
    return Made(memory, in_body + in_name + in_source + in_values)


def files_of(memory: Memory, stem: str) -> dict[str, str]:
    """File name -> text. The body's parts are linked in their order; what belongs to all stands in the first."""
    bodies = parts_of(memory.body, MEMORY_PART_CHARACTERS)
    names = [stem + SUFFIX, *(f"{stem}.{number}{SUFFIX}" for number in range(2, len(bodies) + 1))]
    files = {}
    for number, (name, body) in enumerate(zip(names, bodies, strict=True), start=1):
        values = _values(memory) if number == 1 else _common(memory)
        if len(names) > 1:
            links = {"previous": names[number - 2] if number > 1 else None, "next": (*names, None)[number]}
            values |= {"part": number, "of": len(names), **{key: link for key, link in links.items() if link}}
        files[name] = _front(values) + body
    return files


def file_place(name: str) -> FilePlace | None:
    """Whose file this is, by its name; None if it is no memory's."""
    found = _FILE.fullmatch(name) if is_document(name) else None
    return FilePlace(found["stem"], int(found["part"] or 1)) if found else None


def read_memory(texts: Sequence[str], stem: str, folder: str) -> Memory:
    """The memory of its files' texts, in their order; a file that somebody put there is one too, by its file name."""
    first = _read_front(texts[0])
    metadata = first.get("metadata")
    return Memory(
        name=shortened(_line(first.get("name") or first.get("title")), MEMORY_NAME_CHARACTERS) or stem,
        group_id=_line(first.get("group_id")) or folder,
        body="".join(map(body_of, texts)),
        source=_line(first.get("source")),
        metadata={_text(key): _value(value) for key, value in metadata.items()} if isinstance(metadata, dict) else {},
        created=_line(first.get("created")),
        full_name=_line(first.get("full_name")),
    )


def number_of_parts(text: str) -> int:
    """How many parts its memory has, as one of them says."""
    number = _read_front(text).get("of", 1)
    return number if isinstance(number, int) else 1


def _values(memory: Memory) -> dict[str, Any]:
    more = {"full_name": memory.full_name, "source": memory.source, "metadata": dict(memory.metadata)}
    return _common(memory) | {key: value for key, value in more.items() if value}


def _common(memory: Memory) -> dict[str, Any]:
    named = {"name": memory.name, "group_id": memory.group_id}
    return named | {"sha256": memory.sha256, "created": memory.created}


def _front(values: Mapping[str, Any]) -> str:
    block = yaml.dump(values, Dumper=_DUMPER, sort_keys=False, allow_unicode=True, width=1_000_000)
    return f"---\n{block}---\n"


def _read_front(text: str) -> Mapping[str, Any]:
    try:
        return front_matter_values(text)
    except FrontMatterError:
        return {}  # edited by hand: the text is there all the same


def _value(value: Any) -> Value:
    """What a reply can hold; what else somebody wrote by hand is told as text."""
    return [_scalar(one) for one in value] if isinstance(value, list) else _scalar(value)


def _scalar(value: Any) -> Scalar:
    is_number = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    return value if is_number else _text(value)


def _text(value: Any) -> str:
    if isinstance(value, datetime.date):
        return value.isoformat()
    return "" if value is None else encodable(str(value))


def _line(value: Any) -> str:
    return storable(one_line(_text(value)))


def _redacted(metadata: Mapping[str, Value]) -> tuple[dict[str, Value], int]:
    """The metadata without secrets, and how many there were. Raises InvalidContent."""
    clean, found = dict[str, Value](), 0
    for key, value in metadata.items():
        many = [value] if isinstance(value, Scalar) else value
        pairs = [_redacted_scalar(one) for one in many]
        found += sum(count for _, count in pairs)
        values = [one for one, _ in pairs]
        clean[checked_text(key, DOCUMENT_BYTES, "metadata")] = values[0] if isinstance(value, Scalar) else values
    return clean, found


def _redacted_scalar(value: Scalar) -> tuple[Scalar, int]:
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidContent("A number in the metadata is not finite.")
    return redact(checked_text(value, DOCUMENT_BYTES, "metadata")) if isinstance(value, str) else (value, 0)
