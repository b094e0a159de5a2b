"""An episode: what one memory file says, as a knowledge server takes it. Pure."""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from lore_etl.core.frontmatter import MAX_BYTES, FrontMatterError, read_front_matter
from lore_etl.core.model import Scalar, Value
from lore_etl.core.parts import parts_of
from lore_etl.core.text import shortened, storable
from lore_etl.files.redaction import redact
from lore_server.hook.folders import MemoryFile

KEYS = ("rating", "source", "tags", "capture_type", "timestamp")
OF_THE_SERVER = "knowledge_server"
"""The key by which whoever writes a file says that its text came from a knowledge server: it is not sent back."""
_KEPT_BY_LORE = frozenset({"group_id", "sha256"})
_OPEN = re.compile(r"---[ \t]*\n")
_CLOSE = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.MULTILINE)
_KEY = re.compile(r"[\w-]+[ \t]*:")
_UNSTORABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]"
)  # what `storable` replaces, but for tabs and line ends
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*)$", re.MULTILINE)
MARK_DIGITS = 32
LEAST_ROOM = 200  # characters of a part besides its first line
LARGEST = 1 << 63  # of numbers that any server takes


@dataclass(frozen=True)
class Episode:
    """A memory on its way. By `mark` it is recognised on the server; a part of a longer one has a mark of its own."""

    name: str
    body: str
    group_id: str
    source: str
    mark: str
    metadata: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """What a file says. `notes` are what was wrong and keeps nothing from being sent; `left_out` is why nothing is."""

    episode: Episode | None = None
    notes: tuple[str, ...] = ()
    left_out: str = ""


def digest_of(file: MemoryFile, data: bytes) -> str:
    """Changes with the content and with the group: both are what the server holds."""
    return hashlib.sha256(file.group.encode() + b"\0" + data).hexdigest()


def read_episode(file: MemoryFile, data: bytes) -> Reading:
    """The file's episode, without its secrets."""
    values, body, notes = _read(data)
    if reason := _left_out(values, body):
        return Reading(left_out=reason)
    body, secrets = redact(body)
    title, more = redact(_line(values.get("title") or values.get("name") or _heading(body) or _stem(file)))
    metadata, others = _metadata(values)
    if found := secrets + more + others:
        notes.append(f"secrets were left out: {found}")
    digest = digest_of(file, data)
    told = {**metadata, "file": file.label}
    episode = Episode(title, body, file.group, str(told.get("source", file.label)), digest[:MARK_DIGITS], told)
    return Reading(episode, tuple(notes))


def why_left_out(data: bytes) -> str:
    """Why the file is not sent; empty if it is. Quicker than reading all of it."""
    values, body, _ = _read(data)
    return _left_out(values, body)


def parts(episode: Episode, most_body: int, most_name: int) -> list[Episode]:
    """The episode in parts that the server takes, each of which names the mark of the whole; nothing is cut off."""
    name, body = episode.name, episode.body
    if len(name) > most_name:
        body = f"{name}\n\n{body}"
        name = shortened(name, most_name)
    if len(body) <= most_body:
        return [replace(episode, name=name, body=body)]
    head = f"Part {{}} of {{}} of memory {episode.mark}.\n\n"
    room = max(most_body - len(head) - 16, LEAST_ROOM)  # the numbers take the place of four braces
    bodies = parts_of(body, room)
    return [
        replace(
            episode,
            name=f"{shortened(name, most_name - 16)} ({number}/{len(bodies)})",
            body=head.format(number, len(bodies)) + one,
            mark=f"{episode.mark}-{number}",
            metadata={**episode.metadata, "memory": episode.mark, "part": number, "parts": len(bodies)},
        )
        for number, one in enumerate(bodies, start=1)
    ]


def _read(data: bytes) -> tuple[dict[str, Any], str, list[str]]:
    """Front matter, body, and what is wrong with either."""
    text, notes = _decoded(data)
    block, body = _parted(text)
    values, problem = _values(block, body)
    return values, body.strip(), [*notes, problem] if problem else notes


def _left_out(values: Mapping[str, Any], body: str) -> str:
    if OF_THE_SERVER in values or values.keys() >= _KEPT_BY_LORE:
        return "it came from a knowledge server"
    return "" if body else "it is empty"


def _decoded(data: bytes) -> tuple[str, list[str]]:
    """The text with plain line ends; what is not UTF-8 is replaced, and said."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    notes = []
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        notes.append(f"it is not UTF-8 at byte {error.start:,}: what cannot be read is replaced")
        text = data.decode(encoding, "replace")
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n").replace("\r", "\n")), notes


def _parted(text: str) -> tuple[str | None, str]:
    """The front matter with its dashes and what follows; None where there is none, or it has no end."""
    opened = _OPEN.match(text)
    closed = _CLOSE.search(text, opened.end()) if opened else None
    return (text[: closed.end()], text[closed.end() :]) if closed else (None, text)


def _values(block: str | None, body: str) -> tuple[dict[str, Any], str]:
    if block is None:
        opened = _OPEN.match(body)
        is_open = opened is not None and _KEY.match(body, opened.end())
        return {}, "its front matter has no end: the file is sent as it is" if is_open else ""
    if len(block) > MAX_BYTES:
        return {}, f"its front matter has {len(block):,} characters and is left out; {MAX_BYTES:,} are read"
    try:
        return dict(read_front_matter(block).values), ""
    except FrontMatterError as error:
        return {}, f"{error}; it is sent without it"


def _metadata(values: Mapping[str, Any]) -> tuple[dict[str, Value], int]:
    """What the server gets of the front matter, and how many secrets were in it."""
    kept, secrets = dict[str, Value](), 0
    for key in KEYS:
        value = values.get(key)
        if value is None or value == []:
            continue
        many = value if isinstance(value, list) else [value]
        pairs = [_scalar(one) for one in many]
        secrets += sum(found for _, found in pairs)
        kept[key] = [one for one, _ in pairs] if isinstance(value, list) else pairs[0][0]
    return kept, secrets


def _scalar(value: Any) -> tuple[Scalar, int]:
    is_number = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    if is_number and abs(value) < LARGEST:
        return value, 0
    return redact(_line(value))


def _line(value: Any) -> str:
    """A value of YAML on one line."""
    if isinstance(value, datetime.date):
        return value.isoformat()
    try:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    except ValueError:
        text = "(a number too long to be written)"  # Python writes none of over 4,300 digits
    return storable(" ".join(text.split()))


def _heading(body: str) -> str | None:
    found = _HEADING.search(body, 0, 10_000)
    return found[1].rstrip("# \t") if found else None


def _stem(file: MemoryFile) -> str:
    return PurePosixPath(file.path).stem
