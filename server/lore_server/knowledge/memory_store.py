"""Store the memories of projects: each once per group, under the folder's lock, as one commit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from lore_etl.core.errors import MemoryNotFound
from lore_server.knowledge.git.commits import Author
from lore_server.knowledge.git.history import Changes
from lore_server.knowledge.memory_files import Memory, file_place, files_of, number_of_parts, read_memory
from lore_server.knowledge.names import SUFFIX, group_folder
from lore_server.knowledge.reader import Project, shown
from lore_server.knowledge.store import KnowledgeStore


@dataclass(frozen=True)
class StoredMemory:
    """A memory with its files' paths relative to the folder; `id` is `<folder of the group>/<stem of the files>`."""

    id: str
    memory: Memory
    paths: tuple[str, ...]
    parts: int


@dataclass(frozen=True)
class Added:
    """The result of `add`. `commit` is None if nothing was written; `replaced` is the id of the replaced memory."""

    stored: StoredMemory
    is_duplicate: bool
    replaced: str | None
    commit: str | None


class MemoryStore:
    """The memories in a store. Every write may raise the errors of the store's writes."""

    def __init__(self, store: KnowledgeStore) -> None:
        self._store = store

    def add(self, project_id: str, memory: Memory, author: Author, replaces: str | None = None) -> Added:
        """Add a memory unless its group has the same text; delete the memory with the id `replaces`, if it exists."""
        with self._store.writer.writing():
            project, more = self._store.projects.begun(self._store.reader.project(project_id))
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
                commit = self._store.writer.save(project, changes, message, author, stored.paths[0]).commit
        return Added(stored, duplicate is not None, old.id if old else None, commit)

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
        with self._store.writer.writing():
            project = self._store.reader.project(project_id)
            stored = self._found(project, memory_id)
            if stored is None:
                raise MemoryNotFound(f"There is no memory `{memory_id[:300]}`.")
            message = f"Forgot '{stored.memory.name}'"
            done = self._store.writer.save(project, dict.fromkeys(stored.paths), message, author, stored.paths[0])
            assert done.commit is not None, "its files were there"
        return stored, done.commit

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
        """Return a new memory with its files, under an unused stem: a file edited by hand may have the usual stem.

        If a killed process has written only some parts of the same memory, they are overwritten.
        """
        folder, stem = group_folder(memory.group_id), memory.stem()
        other = self._found(project, f"{folder}/{stem}")
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
        memory, parts = read_memory(list(texts.values()), stem, folder), number_of_parts(next(iter(texts.values())))
        return StoredMemory(f"{folder}/{stem}", memory, tuple(texts), parts)
