"""Resolve classes in languages whose classes belong to a package: declared in the file, or derived from its folder.

A name is looked up in the classes around it, in the file, the imports, the package, and packages imported as a whole.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from posixpath import commonpath, dirname, join, normpath

from lore_etl.core.model import OWN_PACKAGE, ClassDefinition, ClassNode, FileFacts

MAX_FOLLOWED = 100  # files that re-export a name: each one is a step deeper
MANIFEST = "manifest:"  # prefix of the family of a file that names a whole project, such as `go.mod`
UNITS = (".c", ".cc", ".cpp", ".cxx")  # endings of source files, which are compiled one by one
# families in which
GLOBAL = frozenset("bash c dart elixir lua ruby sql swift".split())  # a class is known everywhere by its name
NESTED = frozenset({"c", "csharp"})  # a namespace sees the classes of those around it
EXTENDED = frozenset({"elixir", "swift"})  # a project can add bases to a class from elsewhere
MAX_SCOPES = 20  # classes of a file in which a name may be looked up
MAX_EMBEDDED = 200  # types that a type embeds, directly or not
_ELSEWHERE = {
    "error": "Error()(string)",
    "io.Closer": "Close()(error)",
    "io.Reader": "Read([]uint8)(int,error)",
    "io.Writer": "Write([]uint8)(int,error)",
    "fmt.Stringer": "String()(string)",
}


@dataclass(frozen=True)
class _Class:
    """A definition or a part of one; `shown` is its full name in the language."""

    path: str
    definition: ClassDefinition
    shown: str


class Packages:
    """The classes of all files that belong to a family. `taken` are the names that other classes use."""

    def __init__(self, facts: Mapping[str, FileFacts], taken: Collection[str]) -> None:
        self._facts = {path: one for path, one in facts.items() if one.family and not one.family.startswith(MANIFEST)}
        manifests = (path for path in sorted(facts) if facts[path].family.startswith(MANIFEST))
        self._manifests = [(dirname(path), facts[path]) for path in manifests]
        modules = [(folder, file.package) for folder, file in self._manifests if file.family == f"{MANIFEST}go"]
        self._modules = [(module.replace("/", ".") + ".", folder.replace("/", ".")) for folder, module in modules]
        self._package = {path: self._package_of(path) for path in self._facts}
        self._files: dict[tuple[str, str], list[str]] = defaultdict(list)
        self._known: dict[tuple[str, str], list[_Class]] = defaultdict(list)
        self._own: dict[tuple[str, str], _Class] = {}
        for path, file in sorted(self._facts.items()):
            self._files[file.family, self._package[path]].append(path)
            for class_ in file.classes:
                if class_.part == "extension":
                    continue
                shown, package = class_.full_name or class_.name, self._package[path]
                if file.family not in ("go", "rust"):
                    package = shown.removesuffix(class_.name).rstrip(".")  # with the namespaces around it
                found = self._own[path, class_.name] = _Class(path, class_, shown)
                self._known[file.family, _joined(package, class_.name)].append(found)
        self._functions: dict[tuple[str, str], list[str]] = defaultdict(list)
        for path, file in self._facts.items():
            for name in file.functions:
                self._functions[file.family, _joined(self._package[path], name)].append(f"{path}:{name}")
        self._last_names = {key.rpartition(".")[2] for _, key in (*self._known, *self._functions)}
        self._last_names |= {name for file in self._facts.values() if file.family == "rust" for name in file.imports}
        self._spaces = {
            path: sorted({one.full_name.removesuffix(one.name).rstrip(".") for one in file.classes if one.full_name})
            for path, file in self._facts.items()
            if file.family not in ("go", "rust")
        }
        whole = defaultdict[str, list[str]](list)  # the packages that a file imports, or all files below a folder
        for path, file in self._facts.items():
            for local, (module, _) in file.imports.items():
                if local.startswith("*"):
                    whole[dirname(path) if local.startswith("**") else path].append(module)
        self._whole = {
            path: [module for place in (path, *_outer(path, "/")) for module in whole.get(place, ())]
            for path in self._facts
        }
        self._shown = self._names(taken)
        self._declared = {*self._shown.values(), *taken}

    def full_names(self) -> dict[tuple[str, str], str]:
        """Return the project-wide name of each class by (file, name in the file), including the extended ones."""
        found = {(class_.path, class_.definition.name): name for class_, name in self._shown.items()}
        for path, class_, name in self._extended():
            found.setdefault((path, class_.name), name)
        return found

    def classes(self) -> Iterator[ClassNode]:
        """Yield the classes, each once, with the bases of all its parts."""
        parts: dict[str, list[tuple[str, ClassDefinition]]] = defaultdict(list)
        own = [(found.path, found.definition, name) for found, name in self._shown.items()]
        for path, class_, name in (*own, *self._extended()):
            parts[name].append((path, class_))
        for name, some in parts.items():
            some.sort(key=lambda part: _rank(*part))
            bases = dict.fromkeys(base for part in some for base in self._resolved(*part, part[1].bases))
            bases.pop(name, None)
            implements = dict.fromkeys(base for part in some for base in self._resolved(*part, part[1].implements))
            mixins = dict.fromkeys(base for part in some for base in self._resolved(*part, part[1].mixins))
            places = dict.fromkeys((path, class_.name) for path, class_ in some)
            path, first = some[0]
            found = tuple(bases), path, first.lines, tuple(implements), tuple(places), tuple(mixins)
            yield ClassNode(name, *found)

    def interfaces(self) -> set[str]:
        return {name for found, name in self._shown.items() if found.definition.is_interface}

    def target(self, path: str, name: str) -> str | None:
        """Return the class or function that a dotted name refers to, if it is only one."""
        file = self._facts[path]
        if name.rpartition(".")[2] not in self._last_names and name.partition(".")[0] not in file.imports:
            return None
        inner = [class_.name for class_ in file.classes if class_.name.endswith(f".{name}")]
        is_scoped = file.family in GLOBAL and 0 < len(file.classes) <= MAX_SCOPES  # in which class is not recorded
        scopes = [f"{class_.name}." for class_ in file.classes] if is_scoped else [""]
        found = {self._find(path, scope, inner[0] if len(inner) == 1 else name) for scope in scopes} - {None}
        if len(found) == 1 and (class_found := found.pop()):
            return self._shown[class_found]
        places = (self._functions.get((file.family, key), ()) for key in dict.fromkeys(self._keys(path, name)))
        functions = [function for place in places for function in place]
        return functions[0] if len(functions) == 1 else None

    def implemented(self, nodes: Iterable[ClassNode]) -> defaultdict[str, list[str]]:
        """Return the Go interfaces of each type; methods of one from elsewhere are unknown, so the type embeds it."""
        found = defaultdict[str, list[str]](list)
        methods: dict[str, set[str]] = defaultdict(set)
        for path, file in self._facts.items():
            for name in file.methods:
                if type_ := self._find(path, name, name):
                    package = self._import_path(path)
                    spelled = (method.replace(OWN_PACKAGE, package) for method in file.methods[name])
                    methods[self._shown[type_]].update(spelled)
        interfaces = self.interfaces() & methods.keys()
        own = {node.name: node for node in nodes if node.source and node.source.endswith(".go")}
        types = defaultdict[str, set[str]](set)
        for name in (methods.keys() | own.keys()) - interfaces:
            for method in _methods(name, methods, own):
                types[method].add(name)
        for interface in sorted(interfaces):
            required = [types.get(method, set()) for method in _methods(interface, methods, own)]
            for name in set.intersection(*required) if required else ():
                found[name].append(interface)
        return found

    def _import_path(self, path: str) -> str:
        """Return the name by which the package of a Go file is imported, with a dot at its end."""
        for folder, manifest in reversed(self._manifests):
            if manifest.family == f"{MANIFEST}go" and f"{path}/".startswith(f"{folder}/".lstrip("/")):
                inner = dirname(path).removeprefix(folder).strip("/")
                return ".".join(filter(None, f"{manifest.package}/{inner}".split("/"))) + "."
        return f"{self._package[path]}."

    def _extended(self) -> Iterator[tuple[str, ClassDefinition, str]]:
        """Yield extensions with file and class name; those of classes outside the project only if they give bases."""
        for path, file in self._facts.items():
            for class_ in file.classes:
                if class_.part != "extension":
                    continue
                if target := self._find(path, class_.name, class_.name):
                    yield path, class_, self._shown[target]
                elif file.family in EXTENDED and class_.bases:
                    yield path, class_, self._outside(path, class_.name)

    def _names(self, taken: Collection[str]) -> dict[_Class, str]:
        """Return a unique name for each class; parts of a class in one package share it."""
        owners: dict[str, set[str]] = defaultdict(set)
        for (family, _), group in self._known.items():
            for class_ in group:
                owners[class_.shown].add(family if class_.definition.part else class_.path)
        found: dict[_Class, str] = {}
        for group in self._known.values():
            part = next((class_ for class_ in group if class_.definition.part), None)
            for class_ in group:
                is_unique = len(owners[class_.shown]) == 1 and class_.shown not in taken
                place = part if part and class_.definition.part else class_
                found[class_] = class_.shown if is_unique else f"{place.path}:{place.definition.name}"
        return found

    def _resolved(self, path: str, class_: ClassDefinition, bases: Iterable[str]) -> Iterator[str]:
        for base in bases:
            target = self._find(path, class_.name, base)
            yield self._shown[target] if target is not None else self._outside(path, base)

    def _outside(self, path: str, base: str) -> str:
        file = self._facts[path]
        first, _, rest = base.partition(".")
        full = _joined(file.imports[first][0], rest) if first in file.imports else base.removeprefix(".")
        return f"{file.family}:{full}" if full in self._declared else full

    def _find(self, path: str, scope: str, name: str, seen: set[tuple[str, str]] | None = None) -> _Class | None:
        """Return the class that `name` refers to within the class `scope` of a file, if it is in the project."""
        seen = set() if seen is None else seen  # the files that re-export it, and the names there
        while scope:
            scope = scope.rpartition(".")[0]
            local = _joined(scope, name)
            inside = self._own.get((path, local))
            if inside is None and scope and self._facts[path].family in GLOBAL:
                inside = self._at(path, local, seen)
            if inside is not None:
                return inside
        return next((found for key in self._keys(path, name) if (found := self._at(path, key, seen))), None)

    def _at(self, path: str, key: str, seen: set[tuple[str, str]]) -> _Class | None:
        """Return the nearest class with this package and name, else the class that the package re-exports."""
        family = self._facts[path].family
        candidates = self._known.get((family, key), ())
        if family == "c":  # no other file sees the classes of a source file, unless it is included
            candidates = [one for one in candidates if one.path == path or not one.path.endswith(UNITS)] or candidates
        if candidates:
            return _nearest(path, candidates)
        package, _, name = key.rpartition(".")
        for other in self._files.get((family, package), ()) if family == "rust" else ():
            if name in self._facts[other].imports and (other, name) not in seen and len(seen) < MAX_FOLLOWED:
                seen.add((other, name))
                return self._find(other, "", name, seen)
        return None

    def _keys(self, path: str, name: str) -> Iterator[str]:
        """Yield the places where a name is looked up, nearest first; for an imported name, only its origin."""
        file, package = self._facts[path], self._package[path]
        first, _, rest = name.partition(".")
        if not first or first in file.imports:
            full = _joined(file.imports[first][0], rest) if first else rest  # which begins at the root
            yield from self._absolute(path, full)
            if not first or file.family != "rust" or full.partition(".")[0] in file.imports:
                return
            name = full  # an alias of what the file sees
        yield _joined(package, name)
        spaces = self._spaces.get(path, ())
        yield from (_joined(space, name) for space in spaces)
        if file.family in NESTED:
            yield from (_joined(outer, name) for space in (package, *spaces) for outer in _outer(space))
        for module in self._whole[path]:
            yield from self._absolute(path, _joined(module, name))
        if file.family in GLOBAL or "." in name:
            yield from self._absolute(path, name)

    def _absolute(self, path: str, name: str) -> Iterator[str]:
        """Yield the places that a full name can refer to, by the rules of the language."""
        family = self._facts[path].family
        if family == "go":
            for module, folder in self._modules:
                if name.startswith(module):
                    yield _joined(folder, name.removeprefix(module))
        elif family == "rust":
            yield from self._in_crates(path, name)
        else:
            yield name

    def _in_crates(self, path: str, name: str) -> Iterator[str]:
        root, _, module = self._package[path].partition(":")
        first, _, rest = name.partition(".")
        while first in ("self", "super"):
            module = module if first == "self" else module.rpartition(".")[0]
            first, _, rest = rest.partition(".")
            name = _joined(first, rest)
        if first == "crate":
            yield _joined(f"{root}:", rest)
            return
        yield _joined(f"{root}:{module}", name)
        for folder, manifest in self._manifests:
            if manifest.family == f"{MANIFEST}rust" and manifest.package.replace("-", "_") == first:
                yield _joined(f"{folder}:", rest)

    def _package_of(self, path: str) -> str:
        """Return the package of a file; for Rust, `crate:module.inner` with the crate's folder."""
        file = self._facts[path]
        if file.family == "go":
            return dirname(path).replace("/", ".")
        if file.family != "rust":
            return file.package
        folder, found, inner = f"/{path}".rpartition("/src/")
        if not found:
            return f"{path}:"
        parts = inner.removesuffix(".rs").split("/")
        if parts[-1] in ("mod", "lib", "main"):
            parts.pop()
        return f"{folder.removeprefix('/')}:{''.join(f'.{part}' for part in parts)}"


def _joined(package: str, name: str) -> str:
    """Join two dotted names; the first part of a crate ends with a colon."""
    return f"{package}.{name}" if package and name else package or name


def _outer(inner: str, separator: str = ".") -> Iterator[str]:
    while inner:
        inner = inner.rpartition(separator)[0]
        yield inner


def _rank(path: str, class_: ClassDefinition) -> tuple[bool, bool]:
    """Return the rank of a part of a class: the file with its name is the first, and what adds to others the last."""
    is_later = class_.part in ("extension", "actual")
    return is_later, PurePosixPath(path).stem.casefold() != class_.name.rpartition(".")[2].casefold()


def _nearest(path: str, candidates: Sequence[_Class]) -> _Class | None:
    """Return the candidate in the nearest folder; None if several are equally near and not parts of one class."""
    best = max(len(commonpath((path, class_.path))) for class_ in candidates)
    near = [class_ for class_ in candidates if len(commonpath((path, class_.path))) == best]
    return near[0] if len(near) == 1 or all(class_.definition.part for class_ in near) else None


def _methods(name: str, own: Mapping[str, Collection[str]], nodes: Mapping[str, ClassNode]) -> set[str]:
    """Return the methods of a type and of those that it embeds; `own` are the methods that each type declares."""
    found, waiting = set[str](), [name]
    for one in waiting:  # which grows below
        node = nodes.get(one)
        if one in own or node:
            found.update(own.get(one, ()))
            bases = node.bases if node else ()
            waiting += [base for base in bases if base not in waiting][: MAX_EMBEDDED - len(waiting)]
        else:
            found.add(_ELSEWHERE.get(one, one))
    return found


DECLARATIONS = (".d.ts", ".d.mts", ".d.cts", ".pyi")  # files that describe what others define
_ALIASES = ("@/", "~/")  # npm packages cannot have such names
_ENDINGS = (
    "", ".ts", ".tsx", ".mts", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte", ".d.ts", ".d.mts", ".d.cts",
    "/index.ts", "/index.tsx", "/index.js", "/index.mjs", "/index.d.ts",
)  # fmt: skip


class ScriptModules:
    """The scripts of a project and the manifests that name them; `typed` are packages by their file of declarations."""

    def __init__(self, facts: Mapping[str, FileFacts]) -> None:
        self._scripts = {path for path, file in facts.items() if not file.family}
        self._packages = [(dirname(path), file) for path, file in facts.items() if file.family == "manifest:node"]
        mains = ((folder, main) for folder, file in self._packages for main, _ in file.exports.values())
        self.typed = {normpath(join(*place)): join(place[0], "") for place in mains if place[1].endswith(DECLARATIONS)}
        configs = [(dirname(path), file) for path, file in facts.items() if file.family == "manifest:tsconfig"]
        self._configs = sorted(configs, key=lambda config: -len(config[0]))  # the nearest first

    def files_of(self, path: str, module: str) -> list[str]:
        """Return the files of the project that the script at `path` may import as `module`, the likeliest first.

        A declaration file may describe a script. Unconfigured `@/x` and `~/x` mean the only path that ends with `/x`.
        """
        if module.startswith("."):
            return self._existing(join(dirname(path), module))
        places = (*self._by_paths(path, module), *self._by_package(module))
        found = [file for place in places for file in self._existing(place)]
        return found or (self._ending(module[2:]) if module.startswith(_ALIASES) else [])

    def _existing(self, target: str) -> list[str]:
        """Return the scripts at a path, which need not have its ending; TypeScript imports `x.ts` as `x.js`."""
        target = normpath(target)
        stems = (target, target.rpartition(".")[0]) if target.endswith("js") else (target,)
        return [candidate for stem in stems for end in _ENDINGS if (candidate := stem + end) in self._scripts]

    def _ending(self, name: str) -> list[str]:
        ends = tuple(f"/{name}{end}" for end in _ENDINGS)
        found = [path for path in self._scripts if f"/{path}".endswith(ends)]
        return found if len(found) == 1 else []

    def _by_paths(self, path: str, module: str) -> Iterator[str]:
        """Yield the places that the `paths` and `baseUrl` of the configurations above a script name."""
        for folder, config in self._configs:
            if folder and not path.startswith(folder + "/"):
                continue
            for pattern, (target, base) in config.imports.items():
                before, star, after = pattern.partition("*")
                if module == pattern:
                    yield join(folder, base or ".", target)
                elif star and module.startswith(before) and module.endswith(after):
                    inner = module[len(before) : len(module) - len(after)]
                    yield join(folder, base or ".", target.replace("*", inner))
            if config.package:
                yield join(folder, config.package, module)

    def _by_package(self, module: str) -> Iterator[str]:
        """Yield the places of a package of this project, or of a file in it."""
        for folder, package in self._packages:
            name = package.package
            if module == name:
                yield from (join(folder, main) for main, _ in package.exports.values())
                yield from (join(folder, "src/index"), join(folder, "index"))
            elif module.startswith(name + "/"):
                inner = module[len(name) + 1 :]
                yield from (join(folder, inner), join(folder, "src", inner))
