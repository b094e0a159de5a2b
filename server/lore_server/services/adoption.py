"""Confirm that a folder may use existing knowledge: not an operation, because only a person may decide this."""

from __future__ import annotations

from lore_etl.core.errors import ProjectNotFound, UsageError
from lore_etl.core.json_types import JSON
from lore_server.knowledge.memory_store import file_place
from lore_server.knowledge.registry import Registry
from lore_server.knowledge.store import KnowledgeStore
from lore_server.services.knowledge_library import Library


class Adoption:
    """The existing knowledge that the current folder may use, and the decision to use it."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def proposal(self, project_id: str | None, all_clones: bool = False) -> JSON:
        """Return the project that the folder would use, and the project that it would stop using.

        With `all_clones` and no other project, the project that it uses already.

        Raises:
            ProjectNotFound: no project is given, and no other project seems to belong to this folder.
            UsageError: no project is given, and several projects may belong to this folder; or it has no remote.
        """
        store, registry = self._library.store, self._library.registry()
        identity = self._library.identity(registry)
        current, found = registry.project_of(identity), registry.candidates(identity)
        if all_clones and not identity.remote:
            raise UsageError(f"`{identity.folder}` has no git remote `origin`, so it has no other clones.", _NO_CLONES)
        if all_clones and not found and current in registry.projects:
            found = [current]
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
            "all_clones": all_clones,
            "adopted": False,
        }

    def adopt(self, project_id: str, all_clones: bool = False) -> JSON:
        """Let the folder, or each clone of its remote, use the project. Projects used before are kept."""
        proposal = self.proposal(project_id, all_clones)
        self._library.store.adopt(project_id, all_clones)
        return {**proposal, "adopted": True}


_NO_CLONES = "Leave out --all-clones."
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
