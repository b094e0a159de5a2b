"""`chunks.jsonl` and `class-hierarchy.json`: the desired state of the index, as files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from lore_etl.core.atomic import write_atomically
from lore_etl.core.errors import IndexDamaged, StorageError
from lore_etl.core.model import Chunk, canonical_json
from lore_etl.relations.classes import Hierarchy, from_records

CHUNKS = "chunks.jsonl"
HIERARCHY = "class-hierarchy.json"


def write_chunks(folder: Path, chunks: Iterable[Chunk]) -> None:
    """Replace the file atomically; the same chunks give the same bytes."""
    write_atomically(folder / CHUNKS, (canonical_json(chunk.record()) + "\n" for chunk in chunks))


def read_chunks(folder: Path) -> list[Chunk]:
    """All chunks; none if the file is absent.

    Raises:
        IndexDamaged: a line is no chunk record.
        StorageError: the file cannot be read.
    """
    try:
        with open(folder / CHUNKS, encoding="utf-8", newline="\n") as file:
            return [Chunk.model_validate_json(line) for line in file]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StorageError(f"Cannot read {CHUNKS}: {error.strerror}.") from error
    except (ValidationError, UnicodeDecodeError) as error:
        raise IndexDamaged(f"{CHUNKS} holds a broken record.") from error


def signature(folder: Path) -> str | None:
    """Changes when one of the two files does; None if one is absent."""
    try:
        stats = [(folder / name).stat() for name in (CHUNKS, HIERARCHY)]
    except FileNotFoundError:
        return None
    return " ".join(f"{info.st_size}:{info.st_mtime_ns}:{info.st_ino}" for info in stats)


def write_hierarchy(folder: Path, hierarchy: Hierarchy) -> None:
    """Replace the file atomically: a list of classes sorted by name."""
    rows = ",\n".join(canonical_json(row) for row in hierarchy.records())
    write_atomically(folder / HIERARCHY, (f"[\n{rows}\n]\n",))


def read_hierarchy(folder: Path) -> Hierarchy:
    """The class tree; empty if nothing was written yet.

    Raises:
        IndexDamaged: the file is not what `write_hierarchy` wrote, or only the chunks are there.
        StorageError: the file cannot be read.
    """
    try:
        return from_records(json.loads((folder / HIERARCHY).read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        if (folder / CHUNKS).exists():
            raise IndexDamaged(f"{HIERARCHY} is missing.") from error
        return Hierarchy([])
    except OSError as error:
        raise StorageError(f"Cannot read {HIERARCHY}: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise IndexDamaged(f"{HIERARCHY} is broken.") from error
