"""The data model of both packages: Document, Chunk, KnowledgeType, SyncReport."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Annotated, NamedTuple, Self, TypeVar, cast, dataclass_transform

from pydantic import ConfigDict, Field, TypeAdapter
from pydantic.dataclasses import dataclass as pydantic_dataclass

from lore_etl.core.json_types import JSON

Scalar = str | int | float | bool
Value = Scalar | Sequence[Scalar]  # a value in the metadata of a memory
Made = TypeVar("Made")


class KnowledgeType(StrEnum):
    """The category of a document, which ranking and filters use."""

    GUIDE = "guide"
    SRC = "src"
    EXAMPLE = "example"
    TEST = "test"
    TICKET = "ticket"
    RELEASE = "release"
    BLOG = "blog"
    PRP = "prp"
    ADR = "adr"
    RULE = "rule"
    MEMORY = "memory"
    KNOWLEDGE = "knowledge"
    LIBRARY = "library"


@dataclass(frozen=True)
class FrontMatter:
    """The keys known to Lore, and all values of the block; `details` are searched like tags, but are not tags."""

    title: str | None = None
    tags: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    created: str | None = None
    updated: str | None = None
    valid_until: str | None = None
    supersedes: tuple[str, ...] = ()
    values: Mapping[str, object] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True)
class Document:
    """A document as read: its text with `\\n` line ends, its front matter, and the other facts from its source."""

    source: str
    type: KnowledgeType
    text: str
    title: str
    syntax: str
    front: FrontMatter = FrontMatter()
    state: str | None = None
    library: str | None = None

    @cached_property
    def lines(self) -> list[str]:
        """Return the lines without their ends, not to be changed. Line n of an editor is `lines[n - 1]`."""
        return self.text.split("\n")


@dataclass_transform(kw_only_default=True, frozen_default=True)  # also where pydantic's types are not known
def _record(model: type[Made]) -> type[Made]:
    """Make a class a validated record that needs little memory."""
    config = ConfigDict(populate_by_name=True)
    return cast("type[Made]", pydantic_dataclass(frozen=True, slots=True, kw_only=True, config=config)(model))


@_record
class Ancestor:
    """An ancestor of a class. `source` is None outside the project."""

    class_name: str = Field(validation_alias="class", serialization_alias="class")
    source: str | None = None


@_record
class Chunk:
    """A chunk, the unit that is embedded and retrieved: a record of `chunks.jsonl.gz`, with its fields in order.

    `lines` is 1-based and inclusive, and `text` is exactly those lines joined by `\\n`; `columns` is the half-open
    character range of a part of a line longer than the model's input. `valid_until` is a day (ISO 8601),
    `superseded_by` the source of the later document, `state` what a ticket or decision declares (`open`, `on hold`),
    `library` the documented library with its version, `details` searched values of the front matter besides its tags.
    """

    chain: tuple[Ancestor, ...] = ()
    class_name: str | None = Field(default=None, validation_alias="class", serialization_alias="class")
    columns: tuple[int, int] | None = None
    content_hash: str = ""
    created: str | None = None
    details: tuple[str, ...] = ()
    heading: tuple[str, ...] = ()
    id: str
    kind: str
    library: str | None = None
    lines: tuple[int, int]
    metadata_hash: str = ""
    source: str
    state: str | None = None
    superseded_by: str | None = None
    symbols: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    text: str
    title: str
    type: KnowledgeType
    updated: str | None = None
    valid_until: str | None = None

    @property
    def day(self) -> str:
        """Return the day of the last change, or else of the creation; an empty string if neither is known."""
        return (self.updated or self.created or "")[:10]

    def record(self) -> JSON:
        """Return the chunk as in `chunks.jsonl.gz`."""
        return cast("JSON", CHUNK.dump_python(self, mode="json", by_alias=True))

    def line(self) -> bytes:
        """Return the record in canonical JSON."""
        return CHUNK.dump_json(self, by_alias=True)


CHUNK = TypeAdapter(Chunk)


def position_of(chunk: Chunk) -> int:
    """Return the sort key of a chunk in its file."""
    return (chunk.lines[0] << 32) + (chunk.columns[0] if chunk.columns else 0)


@dataclass(frozen=True)
class ClassDefinition:
    """A class as written in one file, with the base names as that file spells them.

    `full_name` is set if the file gives it a project-wide name. `part` is `partial` or `actual` for one of several
    definitions, `extension` for additions to another class. `implements` are marked interfaces, which are also bases
    except in Go, and those of them in `mixins` bring members.
    """

    name: str
    lines: tuple[int, int]
    bases: tuple[str, ...] = ()
    full_name: str | None = None
    part: str = ""
    implements: tuple[str, ...] = ()
    is_interface: bool = False
    mixins: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClassNode:
    """A class: its name, bases, file, lines, known interfaces, parts (a file and a name there), interfaces mixed in."""

    name: str
    bases: tuple[str, ...]
    source: str | None
    lines: tuple[int, int] | None
    implements: tuple[str, ...] = ()
    parts: tuple[tuple[str, str], ...] = ()
    mixins: tuple[str, ...] = ()

    @property
    def parent(self) -> str | None:
        """The first base that it does not implement, or else the first base."""
        own = [base for base in self.bases if base not in self.implements] or self.bases
        return own[0] if own else None

    def record(self) -> JSON:
        """Return the class as in `class-hierarchy.json` and in replies."""
        lines = list(self.lines) if self.lines else None
        record = {"class": self.name, "parent": self.parent, "bases": list(self.bases), "source": self.source}
        interfaces = {"implements": list(self.implements), "mixins": list(self.mixins)}
        return {**record, "lines": lines, **{key: some for key, some in interfaces.items() if some}}

    def verb_of(self, base: str) -> str:
        return "mixes in" if base in self.mixins else "implements" if base in self.implements else "extends"


class Member(NamedTuple):
    """A method, attribute or config of a class, with its lines (1-based, inclusive) and its file if it is another."""

    name: str
    kind: str
    lines: tuple[int, int]
    source: str = ""


OWN_PACKAGE = "~."
Names = dict[str, tuple[str, str | None]]
"""For each name the module that it is in, empty for the file itself, and its name there; None for the whole module."""


@dataclass(frozen=True)
class FileFacts:
    """The facts of a file besides its chunks; imported and exported names are (module, name in it).

    `family` names the languages that share its classes, `package` is the declared one; both are empty for Python and
    JavaScript. `methods` are the signatures of Go types, with `OWN_PACKAGE` before names of its package. `functions`
    are outside classes. `uses` are names that may be other definitions', with the number of places and the first line.
    """

    classes: tuple[ClassDefinition, ...] = ()
    imports: Names = field(default_factory=dict)
    supersedes: tuple[str, ...] = ()
    exports: Names = field(default_factory=dict)
    members: Annotated[dict[str, tuple[Member, ...]], Field(alias="defines")] = field(default_factory=dict)
    family: str = ""
    package: str = ""
    methods: dict[str, tuple[str, ...]] = field(default_factory=dict)
    functions: tuple[str, ...] = ()
    uses: Annotated[dict[str, tuple[int, int]], Field(exclude=True)] = field(default_factory=dict)


@dataclass(frozen=True)
class Problem:
    """A file that was not indexed, or only partly, and the reason."""

    source: str
    reason: str


@dataclass
class SyncReport:
    """The result of a sync. Counts are numbers of chunks, except `files`; `duration` is in seconds."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    deleted: int = 0
    embedded: int = 0
    files: int = 0
    failed: list[Problem] = field(default_factory=list)
    skipped: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    rebuilt: str | None = None
    duration: float = 0.0
    inventory: JSON | None = None

    def then(self, later: Self) -> Self:
        """Combine two consecutive reports: the sum of the counts of work, and the later counts of the state."""
        work = ("created", "updated", "deleted", "embedded")  # the other counts describe the state
        done = {name: getattr(self, name) + getattr(later, name) for name in work}
        done["unchanged"] = max(0, later.unchanged - self.created - self.updated)  # those were done by this run
        warnings = list(dict.fromkeys((*self.warnings, *later.warnings)))
        duration = round(self.duration + later.duration, 3)
        return replace(later, **done, warnings=warnings, rebuilt=later.rebuilt or self.rebuilt, duration=duration)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def canonical_json(value: object) -> str:
    """Return JSON with one spelling per value, so that its hash is stable."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def chunk_id(scope: str, source: str, anchor: str) -> str:
    """Return a chunk id of 32 hexadecimal digits that survives edits, moved lines and a moved checkout."""
    return sha256("\0".join((scope, source, anchor)))[:32]


def row_id(chunk: Chunk) -> str:
    return row_id_of(chunk.id, chunk.content_hash)


def row_id_of(id_: str, content_hash: str) -> str:
    """Return the id of a row in the vector store. A changed chunk gets a new row."""
    return f"{id_}.{content_hash[:16]}"
