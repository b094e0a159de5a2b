"""Convert memories to and from files with front matter. Pure."""

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
from lore_etl.core.text import encodable, one_line, parts_of, shortened, storable
from lore_etl.files.redaction import redact
from lore_server.knowledge.limits import DOCUMENT_BYTES, MEMORY_NAME_CHARACTERS, MEMORY_PART_CHARACTERS, checked_text
from lore_server.knowledge.names import SUFFIX, checked_group_id, slug
from lore_server.knowledge.reader import is_document

FRONT_CHARACTERS = 32_000  # half of the limit for reading front matter
_DUMPER = yaml.CSafeDumper if yaml.__with_libyaml__ else yaml.SafeDumper
STEM_DIGITS = 12  # of the hash
_FILE = re.compile(rf"(?P<stem>.+?)(?:\.(?P<part>[2-9]|[1-9]\d{{1,5}}))?{re.escape(SUFFIX)}", re.DOTALL)


@dataclass(frozen=True)
class Memory:
    """A memory; `full_name` is set if `name` is shortened, and `secrets` is the number that were redacted in it."""

    name: str
    group_id: str
    body: str
    source: str = ""
    metadata: Mapping[str, Value] = field(default_factory=dict)
    created: str = ""
    full_name: str = ""
    secrets: int = field(default=0, compare=False)

    @cached_property
    def sha256(self) -> str:
        """Return the SHA-256 digest of the body, in hexadecimal."""
        return hashlib.sha256(self.body.encode()).hexdigest()

    def stem(self, digits: int = STEM_DIGITS) -> str:
        """Return the name of its files without part number and suffix."""
        return f"{slug(self.name)}-{self.sha256[:digits]}"


class FilePlace(NamedTuple):
    """The parts of a memory's file name: the memory's stem and the number of the part."""

    stem: str
    part: int


def new_memory(name: str, group_id: str, body: str, source: str, metadata: Mapping[str, Value], created: str) -> Memory:
    """Return a new memory with its secrets redacted.

    Raises:
        InvalidGroupId: the group's name is not valid.
        InvalidContent: a text is empty, too long, or contains characters that a file cannot.
    """
    body, in_body = redact(checked_text(body, DOCUMENT_BYTES, "body"))
    whole, in_name = redact(_line(checked_text(name, DOCUMENT_BYTES, "name")))
    origin, in_source = redact(_line(checked_text(source, DOCUMENT_BYTES, "source")))
    values, in_values = _redacted(metadata)
    if not whole or not body.strip():
        raise InvalidContent("A memory needs a name and a body that are not empty.")
    short = shortened(whole, MEMORY_NAME_CHARACTERS)
    full = whole if short != whole else ""
    secrets = in_body + in_name + in_source + in_values
    memory = Memory(short, checked_group_id(group_id), body, origin, values, created, full, secrets)
    if len(_front(_values(memory))) > FRONT_CHARACTERS:
        raise InvalidContent(f"Name, source and metadata exceed {FRONT_CHARACTERS:,} characters.")
    return memory


def files_of(memory: Memory, stem: str) -> dict[str, str]:
    """Return the memory's files as name -> text. Each part links its neighbours; the first has the common metadata."""
    bodies = parts_of(memory.body, MEMORY_PART_CHARACTERS)
    names = [stem + SUFFIX, *(f"{stem}.{number}{SUFFIX}" for number in range(2, len(bodies) + 1))]
    files = {}
    for number, (name, body) in enumerate(zip(names, bodies, strict=True), start=1):
        values = _values(memory) if number == 1 else _common(memory)
        if len(names) > 1:
            values |= {"part": number, "of": len(names)}
        if number > 1:
            values["previous"] = names[number - 2]
        if number < len(names):
            values["next"] = names[number]
        files[name] = _front(values) + body
    return files


def file_place(name: str) -> FilePlace | None:
    """Return the stem and the part in a file name; None if the file cannot belong to a memory."""
    found = _FILE.fullmatch(name) if is_document(name) else None
    return FilePlace(found["stem"], int(found["part"] or 1)) if found else None


def read_memory(texts: Sequence[str], stem: str, folder: str) -> Memory:
    """Return the memory in its files' texts, given in order; without a name in the front matter, `stem` is its name."""
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
    """Return the number of a memory's parts, according to the text of one part."""
    number = _read_front(text).get("of", 1)
    return number if isinstance(number, int) else 1


def _values(memory: Memory) -> dict[str, Any]:
    more = {"full_name": memory.full_name, "source": memory.source, "metadata": dict(memory.metadata)}
    return _common(memory) | {key: value for key, value in more.items() if value}


def _common(memory: Memory) -> dict[str, Any]:
    return {"name": memory.name, "group_id": memory.group_id, "sha256": memory.sha256, "created": memory.created}


def _front(values: Mapping[str, Any]) -> str:
    block = yaml.dump(values, Dumper=_DUMPER, sort_keys=False, allow_unicode=True, width=1_000_000)
    return f"---\n{block}---\n"


def _read_front(text: str) -> Mapping[str, Any]:
    try:
        return front_matter_values(text)
    except FrontMatterError:
        return {}  # edited by hand: the text is still readable


def _value(value: Any) -> Value:
    return [_scalar(item) for item in value] if isinstance(value, list) else _scalar(value)


def _scalar(value: Any) -> Scalar:
    """Return the value in a form that a reply can contain; unexpected types, written by hand, become text."""
    is_number = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    return value if is_number else _text(value)


def _text(value: Any) -> str:
    if isinstance(value, datetime.date):
        return value.isoformat()
    return "" if value is None else encodable(str(value))


def _line(value: Any) -> str:
    return storable(one_line(_text(value)))


def _redacted(metadata: Mapping[str, Value]) -> tuple[dict[str, Value], int]:
    """Return the metadata with secrets redacted, and their number. Raises InvalidContent."""
    clean, secrets = dict[str, Value](), 0
    for key, value in metadata.items():
        values = list[Scalar]()
        for item in [value] if isinstance(value, Scalar) else value:
            redacted, found = _redacted_scalar(item)
            values.append(redacted)
            secrets += found
        clean[checked_text(key, DOCUMENT_BYTES, "metadata")] = values[0] if isinstance(value, Scalar) else values
    return clean, secrets


def _redacted_scalar(value: Scalar) -> tuple[Scalar, int]:
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidContent("A number in the metadata is not finite.")
    return redact(checked_text(value, DOCUMENT_BYTES, "metadata")) if isinstance(value, str) else (value, 0)
