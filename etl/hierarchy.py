"""The class tree of a project: bases as written in each file, resolved to classes across files."""

from __future__ import annotations

import difflib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from posixpath import dirname, join, normpath
from typing import Any

from etl.model import Ancestor, ClassDefinition, FileFacts

MAX_DEPTH = 64
MAX_REEXPORTS = 6
_JS_ENDINGS = (
    "",
    ".ts",
    ".tsx",
    ".mts",
    ".js",
    ".jsx",
    ".mjs",
    ".cjs",
    "/index.ts",
    "/index.js",
    "/index.mjs",
)


@dataclass(frozen=True)
class ClassNode:
    """A class: its name project-wide, its bases (the first is the parent), and where it stands."""

    name: str
    bases: tuple[str, ...]
    source: str | None
    lines: tuple[int, int] | None

    @property
    def parent(self) -> str | None:
        """The first base; the chain of inheritance follows it."""
        return self.bases[0] if self.bases else None

    def record(self) -> dict[str, Any]:
        """The class as it stands in `class-hierarchy.json` and in replies."""
        lines = list(self.lines) if self.lines else None
        return {
            "class": self.name,
            "parent": self.parent,
            "bases": list(self.bases),
            "source": self.source,
            "lines": lines,
        }


class Hierarchy:
    """Classes by name; a base outside the project is a node without a source."""

    def __init__(self, nodes: Iterable[ClassNode]) -> None:
        self.nodes = {node.name: node for node in nodes}
        self._children: dict[str, list[str]] = defaultdict(list)
        for node in list(self.nodes.values()):
            for base in node.bases:
                self._children[base].append(node.name)
                self.nodes.setdefault(base, ClassNode(base, (), None, None))

    def chain(self, name: str) -> tuple[Ancestor, ...]:
        """The ancestors of a class along its first bases, nearest first; safe against cycles."""
        found: list[Ancestor] = []
        seen = {name}
        node = self.nodes.get(name)
        while node and node.parent and node.parent not in seen and len(found) < MAX_DEPTH:
            seen.add(node.parent)
            node = self.nodes[node.parent]
            found.append(Ancestor(class_name=node.name, source=node.source))
        return tuple(found)

    def subtree(self, root: str) -> list[ClassNode]:
        """The class and all below it, parents before children, each once."""
        found, seen, queue = [], {root}, [root]
        while queue:
            name = queue.pop(0)
            found.append(self.nodes[name])
            for child in sorted(self._children.get(name, ())):
                if child not in seen:
                    seen.add(child)
                    queue.append(child)
        return found

    def named(self, name: str) -> list[str]:
        """Full names of the classes that a user may mean: the exact one, else by the ending, any case."""
        if name in self.nodes:
            return [name]
        folded = name.casefold().replace("::", ".")
        return sorted(n for n in self.nodes if n.casefold() == folded or n.casefold().endswith("." + folded))

    def nearest(self, name: str) -> list[str]:
        """Up to five names that look like it."""
        last = name.rsplit(".", 1)[-1].casefold()
        by_last: dict[str, list[str]] = defaultdict(list)
        for full in self.nodes:
            by_last[full.rsplit(".", 1)[-1].casefold()].append(full)
        close = difflib.get_close_matches(last, by_last, n=5, cutoff=0.5)
        close += [key for key in by_last if last in key and key not in close]
        return [full for key in close for full in sorted(by_last[key])][:5]

    def records(self) -> list[dict[str, Any]]:
        """All classes, sorted by name."""
        return [self.nodes[name].record() for name in sorted(self.nodes)]


def from_records(records: Iterable[Mapping[str, Any]]) -> Hierarchy:
    """The tree that `records` described."""
    return Hierarchy(
        ClassNode(row["class"], tuple(row["bases"]), row["source"], tuple(row["lines"]) if row["lines"] else None)
        for row in records
    )


@dataclass(frozen=True)
class Resolved:
    """The tree, and the full name of each class by (file, name in that file)."""

    hierarchy: Hierarchy
    full_names: Mapping[tuple[str, str], str]


def resolve(facts: Mapping[str, FileFacts], paths: Iterable[str], project: str = "") -> Resolved:
    """Name every class project-wide and follow each base through imports to where it is defined.

    `project` is the name of the project's folder: where that folder is itself a package, modules begin with it.
    """
    known = frozenset(paths)
    names = _Names(facts, known, project if "__init__.py" in known else "")
    nodes = [
        ClassNode(names.full[path, one.name], names.bases(path, one), path, one.lines)
        for path, file in facts.items()
        for one in file.classes
    ]
    unique = {node.name: node for node in reversed(nodes)}
    return Resolved(Hierarchy(unique[name] for name in sorted(unique)), names.full)


class _Names:
    def __init__(self, facts: Mapping[str, FileFacts], paths: frozenset[str], package: str) -> None:
        self.facts, self.paths, self.package = facts, paths, package
        plain = Counter(one.name for path, file in facts.items() if not _is_python(path) for one in file.classes)
        self.full = {
            (path, one.name): self._full_name(path, one, plain) for path, file in facts.items() for one in file.classes
        }
        self.modules = {self.module(path): path for path in paths if _is_python(path)}
        self.declared = set(self.full.values())

    def _full_name(self, path: str, one: ClassDefinition, plain: Counter[str]) -> str:
        if one.full_name:
            return one.full_name
        if _is_python(path):
            return f"{self.module(path)}.{one.name}"
        return one.name if plain[one.name] == 1 else f"{path}:{one.name}"

    def module(self, path: str) -> str:
        """The dotted name by which a Python file is imported: from its topmost package."""
        parts = [PurePosixPath(path).stem]
        folder = dirname(path)
        while folder and f"{folder}/__init__.py" in self.paths:
            parts.insert(0, PurePosixPath(folder).name)
            folder = dirname(folder)
        if not folder and self.package:
            parts.insert(0, self.package)
        return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)

    def bases(self, path: str, one: ClassDefinition) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._base(path, one, base) for base in one.bases))

    def _base(self, path: str, one: ClassDefinition, base: str) -> str:
        if base in self.declared and (path, base) not in self.full:
            return base
        scope = one.name
        while scope:
            scope = scope.rpartition(".")[0]
            local = f"{scope}.{base}" if scope else base
            if (path, local) in self.full and local != one.name:
                return self.full[path, local]
        first, _, rest = base.partition(".")
        imported = self.facts[path].imports.get(first)
        if imported is None:
            return base
        return self._python(path, imported, rest) if _is_python(path) else self._script(path, imported, base)

    def _python(self, path: str, imported: tuple[str, str | None], rest: str, depth: int = 0) -> str:
        module = self._absolute(path, imported[0])
        dotted = ".".join(part for part in (module, imported[1], rest) if part)
        if dotted in self.declared or depth > MAX_REEXPORTS:
            return dotted
        home, _, name = dotted.rpartition(".")
        file = self.modules.get(home)
        again = self.facts[file].imports.get(name) if file in self.facts and file else None
        return self._python(file, again, "", depth + 1) if file and again else dotted

    def _absolute(self, path: str, module: str) -> str:
        level = len(module) - len(module.lstrip("."))
        if not level:
            return module
        own = self.module(path).split(".")
        is_package = PurePosixPath(path).stem == "__init__"
        base = own[: len(own) - level + is_package]
        return ".".join([*base, *filter(None, [module[level:]])])

    def _script(self, path: str, imported: tuple[str, str | None], base: str) -> str:
        module, name = imported
        target = normpath(join(dirname(path), module)) if module.startswith(".") else module
        file = next((target + end for end in _JS_ENDINGS if target + end in self.facts), None)
        if file is None:
            return base
        classes = self.facts[file].classes
        wanted = base.rpartition(".")[2] if name in (None, "default") else name
        match = next(
            (one for one in classes if one.name == wanted),
            classes[0] if classes and name == "default" else None,
        )
        return self.full[file, match.name] if match else base


def _is_python(path: str) -> bool:
    return path.endswith((".py", ".pyi"))
