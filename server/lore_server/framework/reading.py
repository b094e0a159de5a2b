"""Read documents by path: in the framework's `.ce/`, in the project, and among the framework's pages."""

from __future__ import annotations

import os
import stat
import unicodedata
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from lore_etl.config.settings import Settings
from lore_etl.core.clock import timestamp
from lore_etl.core.errors import DocumentNotFound, FrameworkNotFound, PathRefused
from lore_etl.core.text import nearest_paths
from lore_etl.digest import tags_of
from lore_etl.files.indexed import ProjectFiles, is_knowledge
from lore_etl.files.redaction import redact
from lore_etl.files.scan import Unreadable, text_of
from lore_etl.sources import SourceSet
from lore_etl.sources.source import SourceContext
from lore_etl.system.open_folder import facts_below, open_below
from lore_server.framework.groups import SYSTEM
from lore_server.framework.paths import has_part, leads_to
from lore_server.knowledge.safe_files import Files
from lore_server.replies import budget, paging

if TYPE_CHECKING:
    from lore_server.replies.records import DocTextRecord

SUFFIX = ".md"
FRAMEWORKS = (".ce/docs", SYSTEM)  # folders of a framework's pages if the configuration names none


class DocReader:
    """A reader of current files: only indexed ones, without secrets, and never through symlinks that lead elsewhere."""

    def __init__(self, root: Path, settings: Settings, files: ProjectFiles) -> None:
        self._root, self._settings, self._files = root, settings, files
        self._opened = Files(root)

    @cached_property
    def _sources(self) -> SourceSet:
        return SourceSet(SourceContext((), lambda path: None), self._settings.sources)

    def system(self, *, path: str, max_tokens: int, cursor: str | None = None) -> DocTextRecord:
        """Return a file below `.ce/`. Raises PathRefused, DocumentNotFound."""
        source = leads_to(self._root, SYSTEM, path.removeprefix(f"{SYSTEM}/"))
        return self._part(path, source, SYSTEM, max_tokens, cursor)

    def user(self, *, path: str, max_tokens: int, cursor: str | None = None) -> DocTextRecord:
        """Return a file of the project. Raises PathRefused, DocumentNotFound."""
        if is_knowledge(path):
            raise PathRefused(
                f"`{path}` is not a project file: it was written through Lore.", "Read it with get_source."
            )
        source = leads_to(self._root, "", path)
        if has_part(path, SYSTEM) or has_part(source, SYSTEM):
            raise PathRefused(f"`{path}` is in {SYSTEM}/.", "Read files in .ce/ with get_system_doc.")
        return self._part(path, source, "", max_tokens, cursor)

    def framework(self, *, doc_path: str, max_tokens: int, cursor: str | None = None) -> DocTextRecord:
        """Return a page of the framework. Raises PathRefused, DocumentNotFound, FrameworkNotFound."""
        folder = framework_folder(self._root, self._settings.docs.framework)
        source = leads_to(self._root, folder, doc_path.removesuffix(SUFFIX) + SUFFIX)
        return self._part(doc_path, source, folder, max_tokens, cursor)

    def _part(self, path: str, source: str, folder: str, max_tokens: int, cursor: str | None) -> DocTextRecord:
        """Symlinks are rejected at every step, so it reads the file that was checked."""
        info = _facts(self._root, source)
        if info is None:
            raise self._not_found(source, folder)
        kind = self._sources.owner(source)
        if self._files.is_skipped(source) or not kind:
            hint = (
                "list_sources lists the indexed files; .gitignore, [index] and [sources] in lore.toml determine them."
            )
            raise PathRefused(f"`{source}` is not indexed.", hint)
        data = self._opened.read(source)
        if data is None:
            raise self._not_found(source, folder)
        try:
            text = redact(text_of(data, self._settings.index.max_file_bytes))[0]
        except Unreadable as error:
            raise PathRefused(f"`{source}` cannot be read as text: {error}.", "Correct the file.") from error
        mark = budget.mark_of(source, text)
        at = budget.offsets_of(cursor, mark, 2)
        document, _ = kind.read_leniently(source, text)
        title, tags = document.title, list(tags_of(document))
        if cursor:  # the first part has the full metadata
            title, tags = budget.clipped(title, budget.SHORT), []
        metadata = {"title": title, "tags": tags, "last_modified": timestamp(info.st_mtime)}
        reply = {"success": True, "path": path, "source": source, "size": len(text), "metadata": metadata}
        return cast("DocTextRecord", paging.of_parts(reply, {"content": text}, at, mark, max_tokens))

    def _not_found(self, source: str, folder: str) -> DocumentNotFound:
        """Return an error with the nearest existing paths, in the form that this tool accepts."""
        here = f"{folder}/" if folder else ""
        known = [path for path in self._files.scan().files if path.startswith(here) and self._sources.owner(path)]
        if not folder:
            known = [path for path in known if not has_part(path, SYSTEM) and not is_knowledge(path)]
        hint = "Find documents by content with knowledge_search."
        if near := nearest_paths(source, known):
            hint = f"Did you mean {', '.join(path.removeprefix(here) for path in near)}?"
        return DocumentNotFound(f"There is no document `{source}`.", hint)


def framework_folder(root: Path, configured: str) -> str:
    """Return the folder of the framework's pages, from the project's root. Raises FrameworkNotFound, PathRefused."""
    choices = (configured.rstrip("/"),) if configured else FRAMEWORKS
    for folder in choices:
        facts = facts_below(root, leads_to(root, "", folder))
        if facts is not None and stat.S_ISDIR(facts.st_mode):
            return folder
    raise FrameworkNotFound(f"There is no folder {' or '.join(choices)} with framework documents.")


def _facts(root: Path, source: str) -> os.stat_result | None:
    """Return the facts of a regular file with exactly this spelling, because ignore files distinguish case."""
    above = ""
    try:
        for part in source.split("/"):
            with open_below(root, above) as opened:
                names = {unicodedata.normalize("NFC", entry.name) for entry in opened.entries()}
            if unicodedata.normalize("NFC", part) not in names:
                return None
            above = f"{above}/{part}".lstrip("/")
    except (OSError, ValueError):
        return None
    info = facts_below(root, source)
    return info if info and stat.S_ISREG(info.st_mode) else None
