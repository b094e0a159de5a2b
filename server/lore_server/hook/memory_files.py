"""Find memory files, and convert each to episodes, the form in which a knowledge server accepts memories."""

import datetime
import hashlib
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any

from lore_etl.core.frontmatter import MAX_BYTES as MAX_FRONT
from lore_etl.core.frontmatter import FrontMatterError, body_of, front_matter_values
from lore_etl.core.model import Value
from lore_etl.core.text import SURROGATES, is_encodable, one_line, parts_of, shortened, storable
from lore_etl.files.redaction import redact
from lore_etl.system.nofollow import entry_facts, is_real_folder
from lore_etl.system.open_folder import open_real, read_below
from lore_server.knowledge.names import ascii_slug

FOLDERS = "LORE_MEMORY_DIR"
MEMORY = ".claude/MEMORY"  # in the home folder
GROUPS = ("learning", "research")
SUFFIXES = (".md", ".markdown")
MAX_BYTES = 20_000_000
KEYS = ("rating", "source", "tags", "capture_type", "timestamp")
FROM_SERVER = "knowledge_server"
"""The key that marks a file whose text came from a knowledge server: it is not sent back."""
WRITTEN_BY_LORE = frozenset({"group_id", "sha256"})
MARK_DIGITS = 32  # of a file's digest are the mark of its memory
MIN_PART = 200  # characters of a part, in addition to its first line
MAX_NUMBER = 1 << 63  # every server accepts smaller bodies
_UNCLOSED = re.compile(r"---[ \t]*\n[\w-]+[ \t]*:")  # the beginning of a front matter whose end was not found
_UNSTORABLE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f{SURROGATES}]")  # as in `storable`, but tabs and line feeds are kept
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*)$", re.MULTILINE)


class UnreadableMemory(Exception):
    """A memory file that cannot be read; the message gives the reason."""


@dataclass(frozen=True)
class MemoryFile:
    """A memory file: absolute path, label for people, group of its memory."""

    path: str
    label: str
    group: str
    modified_ns: int


@dataclass
class FoundFiles:
    """The files by path. The `complete` folders were read without errors: a file missing there was deleted."""

    files: dict[str, MemoryFile] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    complete: list[str] = field(default_factory=list)

    def report(self, path: str, reason: str) -> None:
        self.problems.append(f"{storable(path)}: {reason}")


def memory_folders(
    given: Sequence[Path], configured: Sequence[str], project: Path, environment: Mapping[str, str]
) -> list[Path]:
    """Return the folders from the command line, else the configuration, the environment or the memory system.

    A project's `lore.toml` may name only folders inside it (`lore_etl.config.policy`), the user's file any folder.
    """
    if configured and not given:
        paths = [Path(os.path.normpath(project / os.path.expanduser(name))) for name in configured]  # noqa: PTH111
        # the project's own are not resolved: a symlink on the way is refused, even one that appears later
        return [path if path.is_relative_to(project) else _real(path) for path in paths]
    if given:
        return list(map(_real, given))
    if named := [name for name in environment.get(FOLDERS, "").split(os.pathsep) if name]:
        return [_real(Path(name).expanduser()) for name in named]
    usual = [Path.home() / MEMORY / name.upper() for name in GROUPS]
    return [_real(folder) for folder in usual if folder.is_dir()] or usual[:1]


def _real(folder: Path) -> Path:
    return Path(os.path.realpath(folder))


def find_memory_files(folders: Sequence[Path]) -> FoundFiles:
    """Find the Markdown files in the folders, at any depth. Symlinks and hidden files are left out.

    In a folder that contains LEARNING/ or RESEARCH/, only these are read.
    """
    found = FoundFiles()
    for folder in folders:
        if not is_encodable(str(folder)):
            found.report(str(folder), "its name is not UTF-8")
            continue
        for root in _roots(folder):
            problems = len(found.problems)
            _walk(root, root, found)
            if len(found.problems) == problems:
                found.complete.append(str(root))
    return found


def read_memory_file(file: MemoryFile) -> bytes:
    """Raises UnreadableMemory."""
    path = Path(file.path)
    try:
        data = read_below(Path(path.anchor), path.relative_to(path.anchor).as_posix(), MAX_BYTES + 1)
    except OSError as error:
        raise UnreadableMemory(f"cannot be read: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise UnreadableMemory(f"has over {MAX_BYTES:,} bytes")
    return data


def _roots(folder: Path) -> list[Path]:
    try:
        with open_real(folder) as opened:
            named = {
                entry.name: is_real_folder(entry)
                for entry in opened.entries()
                if entry.name.lower() in GROUPS and not entry.is_file(follow_symlinks=False)
            }
    except OSError:
        return [folder]  # `_walk` reports the error
    return [folder / name for name in sorted(named) if named[name]] if named else [folder]


def _walk(root: Path, folder: Path, found: FoundFiles) -> None:
    inside = folder.relative_to(root.parent)
    group = next((part.lower() for part in inside.parts if part.lower() in GROUPS), None) or ascii_slug(root.name)
    folders = []
    try:
        with open_real(folder) as opened:
            for entry in sorted(opened.entries(), key=lambda entry: entry.name):
                if entry.name.startswith("."):
                    continue
                if not is_encodable(entry.name):
                    found.report(f"{folder}/{entry.name}", "its name is not UTF-8")  # so it cannot be recorded
                elif is_real_folder(entry):
                    folders.append(folder / entry.name)
                elif entry.name.lower().endswith(SUFFIXES) and entry.is_file(follow_symlinks=False):
                    path, modified = str(folder / entry.name), entry_facts(entry).st_mtime_ns
                    label = f"{inside.as_posix()}/{entry.name}"
                    found.files[path] = MemoryFile(path, label, group, modified)
    except OSError as error:
        found.report(str(folder), f"cannot be read: {error.strerror}")
    for below in folders:
        _walk(root, below, found)


@dataclass(frozen=True)
class Episode:
    """A memory to send. All parts of a long memory have the same `mark`, by which the server's copies are found."""

    name: str
    body: str
    group_id: str
    source: str
    mark: str
    metadata: Mapping[str, Value] = field(default_factory=dict)


def digest_of(file: MemoryFile, data: bytes) -> str:
    """Return the SHA-256 digest of the data that the server stores: the group and the content."""
    return hashlib.sha256(file.group.encode() + b"\0" + data).hexdigest()


def read_episode(file: MemoryFile, data: bytes) -> tuple[Episode, list[str]]:
    """Return the file's episode with secrets redacted, and notes on its unreadable parts."""
    values, body, notes = _parse(data)
    secrets = 0

    def redacted(text: str) -> str:
        nonlocal secrets
        text, found = redact(text)
        secrets += found
        return text

    body = redacted(body)
    heading = _HEADING.search(body, 0, 10_000)
    names = (values.get("title"), values.get("name"), heading and heading[1].rstrip("# \t"), PurePath(file.path).stem)
    title = redacted(_line(next(filter(None, names))))
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
    return Episode(title, body, file.group, source, mark, metadata), notes


def skip_reason(data: bytes) -> str:
    """Return why the file is not sent, or an empty string. Faster than `read_episode`: nothing is redacted."""
    values, body, _ = _parse(data)
    if FROM_SERVER in values or values.keys() >= WRITTEN_BY_LORE:
        return "it came from a knowledge server"
    return "" if body else "it is empty"


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
    text, notes = _decode(data)
    body = body_of(text)
    if body == text and _UNCLOSED.match(text):
        notes.append(f"its front matter is not closed within {MAX_FRONT:,} characters: the whole file is sent")
    try:
        return front_matter_values(text), body.strip(), notes
    except FrontMatterError as error:
        return {}, body.strip(), [*notes, f"{error}; the file is sent without it"]


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
