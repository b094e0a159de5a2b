"""Read documents by path: in the framework's `.ce/`, in the project, and among the framework's pages."""

import os
import re
import stat
import unicodedata
from functools import cached_property
from pathlib import Path, PurePath
from typing import cast

from lore_etl.config.settings import Settings
from lore_etl.core.dates import timestamp
from lore_etl.core.errors import DocumentNotFound, FrameworkNotFound, InvalidArgument, PathRefused
from lore_etl.core.text import nearest_paths
from lore_etl.digest import tags_of
from lore_etl.files.indexed import ProjectFiles, is_knowledge
from lore_etl.files.redaction import redact
from lore_etl.files.scan import Unreadable, text_of
from lore_etl.sources.kinds import SourceSet
from lore_etl.sources.source import SourceContext
from lore_etl.system.open_folder import facts_below, open_below, target_of
from lore_server.framework.view import SYSTEM
from lore_server.knowledge.names import has_unseen
from lore_server.knowledge.safe_files import Files
from lore_server.replies import budget, paging
from lore_server.replies.records import DocTextRecord

SUFFIX = ".md"
LONGEST = 1_000  # characters
_DRIVE = re.compile(r"[A-Za-z]:")
_LIKE_SLASHES = frozenset("\u2044\u2215\u2216\u29f5\u29f8\u29f9")  # NFKC does not change these
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
            hint = "Read it with get_source."
            raise PathRefused(f"`{path}` is not a project file: it was written through Lore.", hint)
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


def plain(path: str) -> str:
    """Return a path that consists of plain names, such as `PRPs/executed/PRP-1.md`. Raises PathRefused."""
    if not path or len(path) > LONGEST:
        raise PathRefused(f"A path must have 1 to {LONGEST:,} characters; this one has {len(path):,}.")
    if path.startswith("/") or "\\" in path or _DRIVE.match(path):
        raise PathRefused(f"`{_shown(path)}` is not a relative path: it is absolute or a Windows path.")
    if has_unseen(path):
        raise PathRefused("The path contains control characters or invisible characters.")
    for letter in set(path) - {"/"}:
        if letter in _LIKE_SLASHES or {"/", "\\"} & set(unicodedata.normalize("NFKC", letter)):
            raise PathRefused(f"`{_shown(path)}` contains a character that only looks like a slash.")
    for part in path.split("/"):
        looks = unicodedata.normalize("NFKC", part)  # dots in any script; some systems drop a dot or space at the end
        if not looks.strip(". ") or looks[-1] in ". ":
            raise PathRefused(f"`{_shown(path)}` has an invalid part: empty, only dots, or ending with a dot or space.")
    return path


def leads_to(root: Path, folder: str, path: str) -> str:
    """Return the real target of a path below a folder (empty: the root), which need not exist. Raises PathRefused."""
    try:
        found = target_of(root, f"{folder}/{plain(path)}".lstrip("/"))
    except OSError as error:  # another process may remove the symlinks meanwhile
        raise PathRefused(f"`{_shown(path)}` cannot be opened: {error.strerror}.", "Try again.") from error
    wanted, parts = PurePath(folder).parts, PurePath(found or "").parts
    if not parts or parts[: len(wanted)] != wanted:
        hint = "Symlinks that lead outside it are not followed."
        raise PathRefused(f"`{_shown(path)}` leads outside {folder or 'the project'}.", hint)
    return "/".join(parts)


def check_root(root: Path, project_root: str | None, hint: str) -> None:
    """Raise InvalidArgument if `project_root`, absolute or relative to the project, is not the project's folder."""
    if project_root is None:
        return
    try:
        is_this = (root / Path(project_root).expanduser()).resolve() == root
    except (OSError, ValueError, RuntimeError):
        is_this = False  # NUL in the path, a symlink loop, or the home of a user who does not exist
    if not is_this:
        raise InvalidArgument("This server serves one project, and `project_root` is a different folder.", hint)


def has_part(path: str, name: str) -> bool:
    """Return whether a path contains this name, in any case, because some systems ignore it."""
    return any(part.casefold() == name for part in path.split("/"))


def _shown(path: str) -> str:
    return path if len(path) <= 120 else f"{path[:119]}…"
