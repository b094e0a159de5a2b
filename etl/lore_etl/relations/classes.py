"""Resolve the class tree of a project: bases as written in each file become classes across files."""

from __future__ import annotations

import difflib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from pathlib import PurePosixPath
from posixpath import dirname, join, normpath, splitext

from lore_etl.core.json_types import JSON
from lore_etl.core.model import Ancestor, ClassDefinition, ClassNode, FileFacts
from lore_etl.core.text import dotted, is_named, last_part
from lore_etl.relations.packages import DECLARATIONS, Packages, ScriptModules

MAX_DEPTH = 64
_DESCRIBED = re.compile(r"\.(?:pyi?|d\.[cm]?ts|[cm]?jsx?)$")
MAX_IMPORTS = 100  # maximum number of imports to follow for a name


class Hierarchy:
    """Classes by name. A base outside the project is a node without a source."""

    def __init__(self, nodes: Iterable[ClassNode]) -> None:
        self.nodes = {node.name: node for node in nodes}
        self._children: dict[str, list[str]] = defaultdict(list)
        for node in list(self.nodes.values()):
            for base in dict.fromkeys((*node.bases, *node.implements)):
                self._children[base].append(node.name)
                self.nodes.setdefault(base, ClassNode(base, (), None, None))

    def chain(self, name: str) -> tuple[Ancestor, ...]:
        """Return the ancestors of a class along its parents, nearest first. Stops at cycles and at their interfaces."""
        found: list[Ancestor] = []
        seen = {name}
        node = self.nodes.get(name)
        while node and node.parent and node.parent not in seen and len(found) < MAX_DEPTH:
            if found and node.parent in node.implements:
                break
            seen.add(node.parent)
            node = self.nodes[node.parent]
            found.append(Ancestor(class_name=node.name, source=node.source))
        return tuple(found)

    def below(self, roots: Iterable[str], depth: int | None = None) -> list[ClassNode]:
        """Return these classes and their subclasses, or those down to a depth, parents before children, each once."""
        found, queue = [], [(root, 0) for root in roots]
        seen = {root for root, _ in queue}
        while queue:
            name, level = queue.pop(0)
            found.append(self.nodes[name])
            for child in self.children(name) if level != depth else ():
                if child not in seen:
                    seen.add(child)
                    queue.append((child, level + 1))
        return found

    def children(self, name: str) -> list[str]:
        return sorted(self._children.get(name, ()))

    def implementers(self, name: str) -> tuple[str, list[ClassNode]]:
        """Return the classes that implement this one or inherit an implementation, and the word for what they do."""
        types, own = {name}, dict[str, ClassNode]()
        for node in self.below(self.children(name)):
            if own.keys() & node.bases or types & set(node.implements):
                own[node.name] = node
            else:  # it extends the interface
                types.add(node.name)
        return "mixed in" if any(name in node.mixins for node in own.values()) else "implemented", [*own.values()]

    def named(self, name: str) -> list[str]:
        """Return the full names that a user's input means: the exact one, else those with this ending in any case.

        Classes from elsewhere count only if the project has none.
        """
        if name in self.nodes:
            return [name]
        folded = dotted(name.casefold())
        found = sorted(full for full in self.nodes if is_named(full.casefold(), folded))
        return [full for full in found if self.nodes[full].source] or found

    def nearest(self, name: str) -> list[str]:
        last = last_part(name).casefold()
        by_last: dict[str, list[str]] = defaultdict(list)
        for full in self.nodes:
            by_last[last_part(full).casefold()].append(full)
        close = difflib.get_close_matches(last, by_last, n=5, cutoff=0.5)
        close += [key for key in by_last if last in key and key not in close]
        return [full for key in close for full in sorted(by_last[key])][:5]

    def records(self) -> list[JSON]:
        return [self.nodes[name].record() for name in sorted(self.nodes)]


@dataclass(frozen=True)
class Resolved:
    """The tree, full names by (file, name in it), of functions as `file:name`, and the targets of dotted names."""

    hierarchy: Hierarchy
    full_names: Mapping[tuple[str, str], str]
    target: Callable[[str, str], str | None]


def resolve(facts: Mapping[str, FileFacts], paths: Iterable[str], project: str = "") -> Resolved:
    """Name every class project-wide and follow bases to definitions; `project` is the folder, if itself a package."""
    known = frozenset(paths)
    paths_of_scripts = [path for path, file in facts.items() if not file.family]
    paths_of_scripts.sort(key=lambda path: path.endswith(DECLARATIONS))  # declarations come last
    scripts = {path: facts[path] for path in paths_of_scripts}
    names = _Names(scripts, known, project if "__init__.py" in known else "", ScriptModules(facts))
    nodes = [names.node(path, class_) for path, file in scripts.items() for class_ in file.classes]
    packages = Packages(facts, {name for node in nodes for name in (node.name, *node.bases)})
    nodes += packages.classes()
    interfaces = packages.interfaces()
    kinds = [(names.full[path, one.name], one.is_interface) for path in scripts for one in facts[path].classes]
    interfaces |= {name for name, is_interface in kinds if is_interface}
    interfaces -= {name for name, is_interface in kinds if not is_interface}  # merged declarations are a class
    implemented = packages.implemented(nodes)
    unique = {node.name: _with_interfaces(node, interfaces, implemented[node.name]) for node in reversed(nodes)}
    users = names.with_functions()

    def target(path: str, name: str) -> str | None:
        known = packages if facts[path].family else users
        while name and (found := known.target(path, name)) is None:
            name = name.rpartition(".")[0]
        return found if name else None

    tree = Hierarchy(unique[name] for name in sorted(unique))
    return Resolved(tree, {**names.full, **packages.full_names()}, target)


def _with_interfaces(node: ClassNode, interfaces: Collection[str], more: Iterable[str]) -> ClassNode:
    """Return a class with all interfaces that it implements; an interface extends others."""
    if node.name in interfaces:
        return node
    found = dict.fromkeys((*node.implements, *(base for base in node.bases if base in interfaces), *more))
    return replace(node, implements=tuple(found))


class _Names:
    """Resolves names as each file sees them."""

    def __init__(
        self, facts: Mapping[str, FileFacts], paths: frozenset[str], package: str, scripts: ScriptModules
    ) -> None:
        self.facts, self.paths, self.package = facts, paths, package
        self._scripts = scripts
        self.module = cache(self._module)
        preferred = {
            (path, class_.name): class_.full_name or (f"{self.module(path)}." if _is_python(path) else "") + class_.name
            for path in facts
            for class_ in facts[path].classes
        }
        homes: dict[str, dict[str, str]] = defaultdict(dict)  # of each name, the first file with each stem
        for (path, _), name in preferred.items():
            homes[name].setdefault(_DESCRIBED.sub("", path), path)

        def home(path: str, name: str) -> str:  # a stub or declaration describes the class of its module or package
            inside = scripts.typed.get(path, ())
            others = [one for one in homes[name].values() if one.startswith(inside) and not one.endswith(DECLARATIONS)]
            return others[0] if len(others) == 1 else homes[name][_DESCRIBED.sub("", path)]

        places = {key: home(key[0], name) for key, name in preferred.items()}
        uses = Counter(name for _, name in {(places[key], name) for key, name in preferred.items()})
        self.full = {key: name if uses[name] == 1 else f"{places[key]}:{key[1]}" for key, name in preferred.items()}
        self.declared = set(self.full.values())
        self.modules = self._modules()
        self._exports: dict[tuple[str, str], str | None] = {}

    def _module(self, path: str) -> str:
        """Return the dotted name by which a Python file is imported, from its topmost package on."""
        parts = _parts(path)
        start = len(parts) - 1
        if self.package:
            parts, start = [self.package, *parts], 0
        else:
            folders = ("/".join(parts[:end]) for end in range(1, len(parts)))
            packages = (n for n, folder in enumerate(folders) if f"{folder}/__init__.py" in self.paths)
            start = next(packages, start)
        end = -1 if parts[-1] == "__init__" and len(parts) > start + 1 else None
        return ".".join(parts[start:end])

    def _modules(self) -> dict[str, str]:
        """Map modules to files. Namespace packages are also found by their path if only one file matches."""
        files = sorted(path for path in self.paths if _is_python(path))
        exact = {self.module(path): path for path in reversed(files)}
        longer: dict[str, list[str]] = defaultdict(list)
        for path in files:
            name, parts = self.module(path), _parts(path)
            if parts[-1] == "__init__":
                parts.pop()  # a package is imported by the name of its folder
            for start in range(len(parts) - name.count(".") - 1):
                longer[".".join(parts[start:])].append(path)
        return {**{name: found[0] for name, found in longer.items() if len(found) == 1}, **exact}

    def node(self, path: str, class_: ClassDefinition) -> ClassNode:
        bases, implements = (
            tuple(dict.fromkeys(self._base(path, class_, base) for base in some))
            for some in (class_.bases, class_.implements)
        )
        return ClassNode(self.full[path, class_.name], bases, path, class_.lines, implements, ((path, class_.name),))

    def with_functions(self) -> _Names:
        users = copy(self)
        users.full = {(path, name): f"{path}:{name}" for path, file in self.facts.items() for name in file.functions}
        users.full |= self.full
        users.declared, users._exports = {*users.full.values()}, {}
        return users

    def target(self, path: str, name: str) -> str | None:
        found = (self._in_module if _is_python(path) else self._local)(path, name, set())
        return found if found in self.declared else None

    def _base(self, path: str, definition: ClassDefinition, base: str) -> str:
        scope = definition.name
        while scope:
            scope = scope.rpartition(".")[0]
            local = f"{scope}.{base}" if scope else base
            if (path, local) in self.full and local != definition.name:
                return self.full[path, local]
        if _is_python(path):
            # a bare name is a builtin, not a JavaScript class of the same name
            builtin = f"builtins.{base}" if base in self.declared else base
            return self._in_module(path, base, set()) or builtin
        first = base.partition(".")[0]
        if first not in self.facts[path].imports:
            return base  # a global of another script or of the browser
        # a class imported from outside is not the project's class of the same name
        elsewhere = self._unresolved(path, base) if base in self.declared else base
        return self._local(path, base, set()) or elsewhere

    def _in_module(self, path: str, name: str, seen: set[tuple[str, str]]) -> str | None:
        """Return the class that `name` refers to in a Python file: defined there, or imported, possibly indirectly."""
        if (path, name) in self.full:
            return self.full[path, name]
        if (path, name) in seen or path not in self.facts or len(seen) == MAX_IMPORTS:
            return None
        seen.add((path, name))
        imports = self.facts[path].imports
        first, _, rest = name.partition(".")
        if first in imports:
            module, inner = imports[first]
            dotted = ".".join(part for part in (self._absolute(path, module), inner, rest) if part)
            return self._dotted(path, dotted, seen) or dotted
        stars = [module for local, (module, _) in imports.items() if local.startswith("* ")]
        found = (self._dotted(path, f"{self._absolute(path, module)}.{name}", seen) for module in stars)
        return next(filter(None, found), None)

    def _dotted(self, path: str, dotted: str, seen: set[tuple[str, str]]) -> str | None:
        parts = dotted.split(".")
        for end in range(len(parts) - 1, 0, -1):
            file = self._file(path, parts[:end])
            if file:
                return self._in_module(file, ".".join(parts[end:]), seen)
        return None

    def _file(self, path: str, module: list[str]) -> str | None:
        """Return the file of a module: preferably the file next to a script."""
        folder = dirname(path)
        sibling = join(folder, *module)
        if f"{folder}/__init__.py".lstrip("/") not in self.paths:
            for candidate in (f"{sibling}.py", f"{sibling}/__init__.py"):
                if candidate in self.paths:
                    return candidate
        return self.modules.get(".".join(module))

    def _absolute(self, path: str, module: str) -> str:
        inner = module.lstrip(".")
        level = len(module) - len(inner)
        if not level:
            return module
        own = self.module(path).split(".")
        if PurePosixPath(path).stem == "__init__":
            own.append("__init__")
        if level >= len(own):
            own = list(PurePosixPath(path).parts)  # without `__init__.py`, the folders determine the name
        return ".".join([*own[: max(0, len(own) - level)], *filter(None, [inner])])

    def _local(self, path: str, name: str, seen: set[tuple[str, str]]) -> str | None:
        """Return the class that `name` refers to in a script: defined there, or imported."""
        first, _, rest = name.partition(".")
        imported = self.facts[path].imports.get(first)
        if (path, name) in self.full or imported is None:
            return self.full.get((path, name))
        return self._target(path, imported, rest, seen)

    def _target(self, path: str, imported: tuple[str, str | None], rest: str, seen: set[tuple[str, str]]) -> str | None:
        module, inner = imported
        name = ".".join(filter(None, (inner, rest)))
        found = (self._exported(file, name, seen) for file in self._scripts.files_of(path, module))
        return next(filter(None, found), None)

    def _exported(self, path: str, name: str, seen: set[tuple[str, str]]) -> str | None:
        """Return the class that a script exports as `name`, directly or through another module."""
        if seen:
            return self._followed(path, name, seen)
        if (path, name) not in self._exports:
            self._exports[path, name] = self._followed(path, name, seen)
        return self._exports[path, name]

    def _followed(self, path: str, name: str, seen: set[tuple[str, str]]) -> str | None:
        if (path, name) in seen or len(seen) == MAX_IMPORTS:
            return None
        seen.add((path, name))
        file = self.facts[path]
        first, _, rest = name.partition(".")
        if first in file.exports:
            module, inner = file.exports[first]
            if module:
                return self._target(path, (module, inner), rest, seen)
            return self._local(path, ".".join(filter(None, (inner, rest))), seen)
        if first == "default":
            return self.full[path, file.classes[0].name] if len(file.classes) == 1 else None
        within = f"{file.exports.get('default', ('', ''))[1]}.{name}"  # `export = whole` exports the names within it
        stars = [target for export, target in file.exports.items() if export.startswith("* ")]
        direct = (self.full.get((of, name)) for module, _ in stars for of in self._scripts.files_of(path, module))
        further = (self._target(path, star, name, seen) for star in stars)
        own = self.full.get((path, within)) or self.full.get((path, name))
        return own or next(filter(None, direct), None) or next(filter(None, further), None)

    def _unresolved(self, path: str, base: str) -> str:
        module, inner = self.facts[path].imports[base.partition(".")[0]]
        target = normpath(join(dirname(path), module)) if module.startswith(".") else module
        return f"{target}:{base if inner in (None, 'default') else inner}"


def _parts(path: str) -> list[str]:
    return splitext(path)[0].split("/")


def _is_python(path: str) -> bool:
    return path.endswith((".py", ".pyi"))
