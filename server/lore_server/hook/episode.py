"""Convert a memory file to episodes, the form in which a knowledge server accepts memories. Pure functions."""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

from lore_etl.core.frontmatter import MAX_BYTES, FrontMatterError, read_front_matter
from lore_etl.core.model import Value
from lore_etl.core.text import SURROGATES, one_line, parts_of, shortened, storable
from lore_etl.files.redaction import redact
from lore_server.hook.memory_folders import MemoryFile

KEYS = ("rating", "source", "tags", "capture_type", "timestamp")
FROM_SERVER = "knowledge_server"
"""The key that marks a file whose text came from a knowledge server: it is not sent back."""
WRITTEN_BY_LORE = frozenset({"group_id", "sha256"})
MARK_DIGITS = 32  # of a file's digest are the mark of its memory
MIN_PART = 200  # characters of a part, in addition to its first line
MAX_NUMBER = 1 << 63  # every server accepts smaller bodies
_OPEN = re.compile(r"---[ \t]*\n")
_CLOSE = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.MULTILINE)
_KEY = re.compile(r"[\w-]+[ \t]*:")
_UNSTORABLE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f{SURROGATES}]")  # as in `storable`, but tabs and line feeds are kept
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Episode:
    """A memory to send. All parts of a long memory have the same `mark`, by which the server's copies are found."""

    name: str
    body: str
    group_id: str
    source: str
    mark: str
    metadata: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """The content of a file: its episode with `notes` on unreadable parts, or the reason why it is `skipped`."""

    episode: Episode | None = None
    notes: tuple[str, ...] = ()
    skipped: str = ""


def digest_of(file: MemoryFile, data: bytes) -> str:
    """Return the SHA-256 digest of the data that the server stores: the group and the content."""
    return hashlib.sha256(file.group.encode() + b"\0" + data).hexdigest()


def read_episode(file: MemoryFile, data: bytes) -> Reading:
    """Return the file's episode with secrets redacted."""
    values, body, notes = _parse(data)
    if reason := _skip_reason(values, body):
        return Reading(skipped=reason)
    secrets = 0

    def redacted(text: str) -> str:
        nonlocal secrets
        text, found = redact(text)
        secrets += found
        return text

    body = redacted(body)
    title = redacted(_line(values.get("title") or values.get("name") or _heading(body) or PurePath(file.path).stem))
    metadata: dict[str, Value] = {}
    for key in KEYS:
        value = values.get(key)
        if isinstance(value, list) and value:
            metadata[key] = [item if _is_number(item) else redacted(_line(item)) for item in value]
        elif value is not None and value != []:
            metadata[key] = value if _is_number(value) else redacted(_line(value))
    if secrets:
        notes.append(f"secrets redacted: {secrets}")
    metadata["file"] = file.label
    source, mark = str(metadata.get("source", file.label)), digest_of(file, data)[:MARK_DIGITS]
    return Reading(Episode(title, body, file.group, source, mark, metadata), tuple(notes))


def skip_reason(data: bytes) -> str:
    """Return why the file is not sent, or an empty string. Faster than `read_episode`: nothing is redacted."""
    values, body, _ = _parse(data)
    return _skip_reason(values, body)


def split_episode(episode: Episode, max_body: int, max_name: int) -> list[Episode]:
    """Split an episode into linked parts within the server's limits (in characters); no text is lost."""
    name, body = episode.name, episode.body
    if len(name) > max_name:
        body = f"{name}\n\n{body}"
        name = shortened(name, max_name)
    if len(body) <= max_body:
        return [replace(episode, name=name, body=body)]
    head = f"Part {{}} of {{}} of memory {episode.mark}.\n\n"
    bodies = parts_of(body, max(max_body - len(head) - 16, MIN_PART))  # the numbers replace four braces
    return [
        replace(
            episode,
            name=f"{shortened(name, max_name - 16)} ({number}/{len(bodies)})",
            body=head.format(number, len(bodies)) + text,
            metadata={**episode.metadata, "part": number, "parts": len(bodies)},
        )
        for number, text in enumerate(bodies, start=1)
    ]


def _parse(data: bytes) -> tuple[dict[str, Any], str, list[str]]:
    """Return the front matter, the body, and notes on their problems."""
    text, notes = _decode(data)
    opened = _OPEN.match(text)
    closed = _CLOSE.search(text, opened.end()) if opened else None
    if closed is None:
        if opened and _KEY.match(text, opened.end()):
            notes.append("its front matter is not closed: the whole file is sent")
        return {}, text.strip(), notes
    block, body = text[: closed.end()], text[closed.end() :].strip()
    if len(block) > MAX_BYTES:
        notes.append(f"its front matter has {len(block):,} characters and is ignored; the maximum is {MAX_BYTES:,}")
        return {}, body, notes
    try:
        return dict(read_front_matter(block).values), body, notes
    except FrontMatterError as error:
        return {}, body, [*notes, f"{error}; the file is sent without it"]


def _skip_reason(values: Mapping[str, Any], body: str) -> str:
    if FROM_SERVER in values or values.keys() >= WRITTEN_BY_LORE:
        return "it came from a knowledge server"
    return "" if body else "it is empty"


def _decode(data: bytes) -> tuple[str, list[str]]:
    """Return the text with `\\n` line ends, and a note if something had to be replaced."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    notes = []
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        notes.append(f"it is not valid UTF-8 at byte {error.start:,}: unreadable characters are replaced")
        text = data.decode(encoding, "replace")
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n").replace("\r", "\n")), notes


def _is_number(value: Any) -> bool:
    """Return whether every server accepts the value as a number or boolean."""
    is_number = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    return is_number and abs(value) < MAX_NUMBER


def _line(value: Any) -> str:
    """Return a YAML value on one line."""
    if isinstance(value, datetime.date):
        return value.isoformat()
    try:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    except ValueError:  # Python does not write integers of over 4,300 digits
        text = "(number too long)"
    return storable(one_line(text))


def _heading(body: str) -> str | None:
    found = _HEADING.search(body, 0, 10_000)
    return found[1].rstrip("# \t") if found else None
