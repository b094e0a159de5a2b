"""Store the memories of projects as files with front matter: each once per group, as one commit."""

import datetime
import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import yaml

from lore_etl.core.errors import InvalidContent, MemoryNotFound
from lore_etl.core.frontmatter import FrontMatterError, body_of, front_matter_values
from lore_etl.core.model import Scalar, Value
from lore_etl.core.text import encodable, one_line, parts_of, shortened, storable
from lore_etl.files.redaction import redact
from lore_server.knowledge.document import DOCUMENT_BYTES, MEMORY_NAME_CHARACTERS, MEMORY_PART_CHARACTERS, checked_text
from lore_server.knowledge.git.commits import Author
from lore_server.knowledge.git.history import Changes
from lore_server.knowledge.names import SUFFIX, checked_group_id, group_folder, slug
from lore_server.knowledge.reader import Project, is_document, shown
from lore_server.knowledge.store import KnowledgeStore
from lore_server.replies.records import MemoryAddedRecord

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
        return hashlib.sha256(self.body.encode()).hexdigest()

    def stem(self, digits: int = STEM_DIGITS) -> str:
        """Return the name of its files without part number and suffix."""
        return f"{slug(self.name)}-{self.sha256[:digits]}"


class FilePlace(NamedTuple):
    """The parts of a memory's file name: the memory's stem and the number of the part."""

    stem: str
    part: int


def new_memory(name: str, group_id: str, body: str, source: str, metadata: Mapping[str, Value], created: str) -> Memory:
    """Return a new memory with its secrets redacted. Raises InvalidGroupId, and InvalidContent for unusable texts."""
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
        values = _values(memory, is_first=number == 1)
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


def _values(memory: Memory, is_first: bool = True) -> dict[str, Any]:
    more = {"full_name": memory.full_name, "source": memory.source, "metadata": dict(memory.metadata)}
    common = {"name": memory.name, "group_id": memory.group_id, "sha256": memory.sha256, "created": memory.created}
    return common | {key: value for key, value in more.items() if value and is_first}


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


@dataclass(frozen=True)
class StoredMemory:
    """A memory with its files' paths relative to the folder; `id` is `<folder of the group>/<stem of the files>`."""

    id: str
    memory: Memory
    paths: tuple[str, ...]
    parts: int


class MemoryStore:
    """The memories in a store. Every write may raise the errors of the store's writes."""

    def __init__(self, store: KnowledgeStore) -> None:
        self._store = store

    def add(self, project_id: str, memory: Memory, author: Author, replaces: str | None = None) -> MemoryAddedRecord:
        """Add a memory unless its group has the same text; delete the memory with the id `replaces`, if it exists."""
        with self._store.writing():
            project, more = self._store.begun(self._store.reader.project(project_id))
            old = self._found(project, replaces) if replaces is not None else None
            duplicate = self._duplicate(project, memory)
            if old is not None and duplicate is not None and old.id == duplicate.id:  # only the description may differ
                is_same = replace(duplicate.memory, created=memory.created) == memory
                old, duplicate = (None, duplicate) if is_same else (old, None)
            changes: Changes = dict.fromkeys(old.paths) if old else {}
            stored = duplicate
            if stored is None:
                stored, files = self._placed(project, memory, old)
                changes |= files | more
            message = f"Forgot '{old.memory.name}'" if old and duplicate else f"Remembered '{memory.name}'"
            commit = None
            if changes:
                commit = self._store.save(project, changes, message, author, stored.paths[0])["commit"]
        return {
            "id": stored.id,
            "name": stored.memory.name,
            "group_id": stored.memory.group_id,
            "sha256": stored.memory.sha256,
            "parts": len(stored.paths),
            "path": stored.paths[0],
            "duplicate": duplicate is not None,
            "replaced": old.id if old else None,
            "commit": commit,
        }

    def all(self, project_id: str, folders: Collection[str] = ()) -> Iterator[StoredMemory]:
        """Yield the memories of a project, in all groups or in those with these folders."""
        project = self._store.reader.project(project_id)
        for folder in self._store.files.folders(project.memories_path) if project.exists else ():
            if not folders or folder in folders:
                for stem, names in self._stems(project, folder).items():
                    if stored := self._read(project, folder, stem, names):
                        yield stored

    def opening(self, project_id: str, memory_id: str) -> StoredMemory | None:
        """Return a memory as read from its first part only, with that part's body; None if it does not exist."""
        folder, _, stem = memory_id.partition("/")
        return self._read(self._store.reader.project(project_id), folder, stem, [stem + SUFFIX])

    def delete(self, project_id: str, memory_id: str, author: Author) -> tuple[StoredMemory, str]:
        """Delete a memory with all its parts; return it and the commit. Raises MemoryNotFound."""
        with self._store.writing():
            project = self._store.reader.project(project_id)
            stored = self._found(project, memory_id)
            if stored is None:
                raise MemoryNotFound(f"There is no memory `{memory_id[:300]}`.")
            message = f"Forgot '{stored.memory.name}'"
            done = self._store.save(project, dict.fromkeys(stored.paths), message, author, stored.paths[0])
            assert done["commit"] is not None, "its files were there"
        return stored, done["commit"]

    def _found(self, project: Project, memory_id: str) -> StoredMemory | None:
        folder, _, stem = memory_id.partition("/")
        if not project.exists or folder not in self._store.files.folders(project.memories_path):
            return None
        names = self._stems(project, folder).get(stem)
        return self._read(project, folder, stem, names) if names else None

    def _duplicate(self, project: Project, memory: Memory) -> StoredMemory | None:
        """Return the memory of the same group with the same body, whatever its name."""
        folder = group_folder(memory.group_id)
        for stem, names in self._stems(project, folder).items():
            if memory.sha256.startswith(stem.rpartition("-")[2]):
                stored = self._read(project, folder, stem, names)
                if stored is not None and stored.memory.body == memory.body:
                    return stored
        return None

    def _placed(self, project: Project, memory: Memory, old: StoredMemory | None) -> tuple[StoredMemory, Changes]:
        """Return a new memory with its files, under an unused stem: a file edited by hand may have the usual stem."""
        folder, stem = group_folder(memory.group_id), memory.stem()
        other = self._found(project, f"{folder}/{stem}")
        # an incomplete memory, left by a killed process, is overwritten
        if other is not None and len(other.paths) == other.parts and (old is None or old.id != other.id):
            stem = memory.stem(len(memory.sha256))
        texts = files_of(memory, stem)
        files: Changes = {f"{project.memories_path}/{folder}/{name}": text.encode() for name, text in texts.items()}
        return StoredMemory(f"{folder}/{stem}", memory, tuple(files), len(files)), files

    def _stems(self, project: Project, folder: str) -> dict[str, list[str]]:
        """Return the memories of a group as stem -> file names in the order of the parts."""
        found = defaultdict[str, dict[int, str]](dict)
        for name in self._store.files.names(f"{project.memories_path}/{folder}"):
            if place := file_place(name):
                found[place.stem][place.part] = name
        return {stem: [names[part] for part in sorted(names)] for stem, names in found.items()}

    def _read(self, project: Project, folder: str, stem: str, names: Sequence[str]) -> StoredMemory | None:
        paths = [f"{project.memories_path}/{folder}/{name}" for name in names]
        texts = {path: shown(data) for path in paths if (data := self._store.files.read(path)) is not None}
        if not texts:
            return None
        first = _read_front(next(iter(texts.values())))
        parts = first["of"] if isinstance(first.get("of"), int) else 1
        return StoredMemory(f"{folder}/{stem}", read_memory(list(texts.values()), stem, folder), tuple(texts), parts)
