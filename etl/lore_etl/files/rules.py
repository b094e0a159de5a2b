"""Decide which files and folders of a project are left out, and keep the decisions while the rules are unchanged."""

from __future__ import annotations

from collections.abc import Container, Sequence

from lore_etl.config.project import VIEW_NAME
from lore_etl.files.ignore import Included, Spec, configured, lenient

IGNORE_FILE = ".gitignore"
SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv", "site-packages", "bower_components"})
HIDDEN_BUT_READ = frozenset({".github", ".ce", ".serena", ".claude", ".cursor", ".cursorrules", ".gitattributes"})


class Rules:
    """The rules for the entries of a folder: `index.exclude`, then the ignore files, the nearest last; `index.include`.

    Each object keeps its decisions and the rules of the folders in it. They depend on nothing else, so they stay valid
    until an ignore file on the way changes, and then a walk gets other objects.
    """

    def __init__(
        self,
        folder: str,
        specs: tuple[tuple[str, Spec], ...],
        include: Included,
        skip: Container[str] = (),
        is_ignored: bool = False,
    ) -> None:
        self._folder = folder  # its path, empty or with a slash at the end
        self._specs = specs
        self._include = include
        self._skip = skip
        self._is_ignored = is_ignored  # git ignores the folder, so only included files count
        self._left_out: dict[str, bool] = {}
        self._below: dict[str, Rules] = {}
        self._with_file: tuple[bytes, Rules] | None = None

    @classmethod
    def configured(cls, exclude: Sequence[str], include: Sequence[str] = (), skip: Container[str] = ()) -> Rules:
        """Return the rules for the root of a project; `skip` has paths of files and folders. Raises ConfigError."""
        return cls("", (("", configured("index.exclude", exclude)),), Included(include), skip)

    def entering(self, ignore_file: bytes | None) -> Rules:
        """Return the rules with the folder's own ignore file, if it has one."""
        if ignore_file is None:
            return self
        if self._with_file is None or self._with_file[0] != ignore_file:
            lines = ignore_file.decode("utf-8-sig", "replace").splitlines()
            specs = (*self._specs, (self._folder, lenient(lines)))
            self._with_file = ignore_file, Rules(self._folder, specs, self._include, self._skip, self._is_ignored)
        return self._with_file[1]

    def inside(self, name: str) -> Rules:
        """Return the rules for a folder in this one that is not left out."""
        found = self._below.get(name)
        if found is None:
            folder = f"{self._folder}{name}/"
            is_ignored = self._is_ignored or self._ignores(folder)
            found = self._below[name] = Rules(folder, self._specs, self._include, self._skip, is_ignored)
        return found

    def leaves_out(self, name: str, is_folder: bool) -> bool:
        """Return whether a file, or a folder with everything in it, is left out."""
        key = name + "/" if is_folder else name
        found = self._left_out.get(key)
        if found is None:
            found = self._left_out[key] = self._decide(name, is_folder)
        return found

    def forget_others(self, entries: int) -> None:
        """Drop the decisions about deleted entries, if there are more decisions than entries."""
        if len(self._left_out) > 2 * entries + 8:
            self._left_out, self._below = {}, {}

    def _decide(self, name: str, is_folder: bool) -> bool:
        relative = self._folder + name
        if is_uninteresting(name) or relative in self._skip or relative.startswith(VIEW_NAME):
            return True
        path = relative + "/" if is_folder else relative
        if not self._is_ignored and not self._ignores(path):
            return False
        if self._specs[0][1].verdict(path):  # `index.exclude` takes precedence over `index.include`
            return True
        return not (self._include.reaches(relative) if is_folder else self._include.holds(relative))

    def _ignores(self, path: str) -> bool:
        for base, spec in reversed(self._specs):
            is_ignored = spec.verdict(path[len(base) :])
            if is_ignored is not None:
                return is_ignored
        return False


def is_uninteresting(name: str) -> bool:
    """Return whether entries of this name are left out in every project."""
    return name in SKIPPED_FOLDERS or (name.startswith(".") and name not in HIDDEN_BUT_READ)
