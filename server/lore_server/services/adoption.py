"""Confirm that a folder may use existing knowledge: not an operation, because only a person may decide this."""

from __future__ import annotations

from lore_etl.core.errors import ProjectNotFound, UsageError
from lore_etl.core.json_types import JSON
from lore_server.knowledge.git.commits import Author
from lore_server.knowledge.memory_files import file_place
from lore_server.knowledge.registry import Registry
from lore_server.knowledge.store import KnowledgeStore
from lore_server.services.knowledge_library import Library


class Adoption:
    """The existing knowledge that the current folder may use, and the decision to use it."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def proposal(self, project_id: str | None) -> JSON:
        """Return the project that the folder would use, and the project that it would stop using.

        Raises:
            ProjectNotFound: no project is given, and no other project seems to belong to this folder.
            UsageError: no project is given, and several projects may belong to this folder.
        """
        store, registry = self._library.store, self._library.registry()
        identity = self._library.identity(registry)
        current, found = registry.project_of(identity), registry.candidates(identity)
        if project_id is None and len(found) != 1:
            listed = f"`{identity.folder}` uses `{current}`"
            if not found:
                raise ProjectNotFound(f"{listed}, and no other knowledge seems to belong to this folder.", _LIST)
            raise UsageError(f"{listed}; these may belong to it: {', '.join(found)}.", "Give one of these ids.")
        name = store.projects.existing(found[0] if project_id is None else project_id).id
        return {
            "folder": identity.folder,
            "remote": identity.remote or None,
            "adopt": _described(store, registry, name),
            "leave": _described(store, registry, current) if current in registry.projects and current != name else None,
            "adopted": False,
        }

    def adopt(self, project_id: str, author: Author) -> JSON:
        """Let the folder use the project. The project it used before is kept, and can be adopted again."""
        proposal = self.proposal(project_id)
        self._library.store.adopt(project_id, author)
        return {**proposal, "adopted": True}


_LIST = "`lore knowledge list --all` lists all projects; give the id of this folder's project."


def _described(store: KnowledgeStore, registry: Registry, project_id: str) -> JSON:
    project = store.reader.project(project_id)
    groups = store.files.folders(project.memories_path)
    names = [name for group in groups for name in store.files.names(f"{project.memories_path}/{group}")]
    places = [place for name in names if (place := file_place(name))]
    last = next(iter(store.past.log(project_id, limit=1)), None)
    return {
        "project_id": project_id,
        "origin": registry.origins.get(project_id),
        "folders": sorted(folder for folder, use in registry.folders.items() if use.project == project_id),
        "has_main": store.files.exists(project.main_path),
        "documents": len(store.listing.documents(project_id)),
        "memories": sum(place.part == 1 for place in places),
        "changed": last.date if last else None,
    }
