"""Parse Python with `ast`: modules, classes, methods and functions, with their decorators and leading comments."""

import ast
import warnings
from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from typing import cast

from lore_etl.chunking.outline import Definition, Outline
from lore_etl.chunking.section import Parsed, Symbol, counted_uses, parse_plain
from lore_etl.core.model import ClassDefinition, Document, FileFacts, Member, Names

MAX_PARTS = 20  # parts of a dotted base class
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BLOCKS = (
    ast.If | ast.Try | ast.TryStar | ast.ExceptHandler | ast.With | ast.AsyncWith | ast.For | ast.AsyncFor | ast.While
)
_SUITES = ("body", "handlers", "orelse", "finalbody", "cases")  # only these contain statements, and thus imports


def parse(document: Document) -> Parsed:
    """Parse a Python module into sections and classes. Invalid code becomes plain text, with a warning."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about the code of a project are not useful here
            tree = ast.parse(document.text)
    except SyntaxError as error:
        return parse_plain(document, f"Python syntax error at line {error.lineno}; indexed as plain text")
    except (ValueError, RecursionError, MemoryError):
        return parse_plain(document, "Python that cannot be parsed; indexed as plain text")
    found = _Definitions()
    definitions = found.read(tree.body)
    outline = Outline(
        definitions,
        document.lines,
        leads=lambda number: document.lines[number - 1].lstrip().startswith("#"),
        symbols=list(dict.fromkeys(found.symbols)),
        imports=[(node.lineno, _last(node)) for node in tree.body if _only_imports(node)],
    )
    imports = _imports(tree)
    functions = tuple(dict.fromkeys(one.name for one in definitions if one.kind == "function"))
    known = {*imports, *functions, *(class_.name for class_ in found.classes)}
    facts = FileFacts(
        classes=tuple(found.classes),
        imports=imports,
        functions=functions,
        uses=counted_uses(_uses(tree, known)),
        members=found.members,
    )
    return Parsed(outline.sections(), facts)


@dataclass
class _Definitions:
    """The classes of a module, their members, and the constants and variables that it and its classes assign."""

    classes: list[ClassDefinition] = field(default_factory=list)
    members: dict[str, tuple[Member, ...]] = field(default_factory=dict)
    symbols: list[Symbol] = field(default_factory=list)

    def read(self, body: list[ast.stmt], owner: str = "") -> tuple[Definition, ...]:
        """Return the definitions in a suite, which is the module or the body of a class; keep everything in it."""
        definitions, members = list[Definition](), list[Member]()
        prefix = f"{owner}." if owner else ""
        for node in _statements(body):
            decorators: list[ast.expr] = getattr(node, "decorator_list", [])
            lines = min([node.lineno, *(decorator.lineno for decorator in decorators)]), _last(node)
            if isinstance(node, ast.ClassDef):
                bases = tuple(name for base in node.bases if (name := _dotted(base)))
                self.classes.append(ClassDefinition(prefix + node.name, lines, bases))
                inner = self.read(node.body, prefix + node.name)
                definitions.append(Definition(prefix + node.name, "class", *lines, inner))
            elif isinstance(node, _FUNCTIONS):
                definitions.append(Definition(prefix + node.name, "method" if owner else "function", *lines))
                members.append(Member(node.name, "method", lines))
                self._read_classes(node.body, prefix + node.name)
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    if isinstance(target, ast.Name):
                        self.symbols.append(Symbol(prefix + target.id, *lines))
                        members.append(Member(target.id, "attribute", lines))
        if owner:
            self.members.setdefault(owner, tuple(members))
        return tuple(definitions)

    def _read_classes(self, body: list[ast.stmt], function: str) -> None:
        """Keep the classes in a function; what these assign is not known outside of it."""
        local = _Definitions()
        local.read([node for node in _statements(body) if isinstance(node, (ast.ClassDef, *_FUNCTIONS))], function)
        self.classes += local.classes
        self.members |= {one.name: local.members[one.name] for one in local.classes}


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a suite, including those in its `if`, `try` and other blocks, in order."""
    stack: list[ast.stmt | ast.ExceptHandler] = [*reversed(body)]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.stmt):
            yield node
        if isinstance(node, _BLOCKS):
            for part in ("finalbody", "orelse", "handlers", "body"):
                stack += getattr(node, part, [])[::-1]


def _only_imports(node: ast.stmt) -> bool:
    """Return whether a statement is an import, or an `if` or `try` that contains only imports."""
    inner = [statement for statement in _statements([node]) if not isinstance(statement, _BLOCKS | ast.Pass)]
    return bool(inner) and all(isinstance(statement, ast.Import | ast.ImportFrom) for statement in inner)


def _last(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _dotted(node: ast.expr) -> str | None:
    """Return the dotted name of a base: `Base`, `module.Base`, or `Base` for `Base[T]`."""
    parts: list[str] = []
    while isinstance(node, ast.Subscript | ast.Attribute) and len(parts) < MAX_PARTS:
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def _uses(tree: ast.Module, known: Set[str]) -> Iterator[tuple[str, int]]:
    """Yield the dotted names that begin with one of the known names, unless a parameter hides it."""
    stack: list[tuple[ast.AST, Set[str]]] = [(tree, known)]
    while stack:
        node, seen = stack.pop()
        if isinstance(node, ast.Name | ast.Attribute):
            parts, inner = list[str](), cast("ast.expr", node)
            while isinstance(inner, ast.Attribute) and len(parts) < MAX_PARTS:
                parts.append(inner.attr)
                inner = inner.value
            if not isinstance(inner, ast.Name):
                stack.append((inner, seen))
            elif inner.id in seen and isinstance(inner.ctx, ast.Load):
                yield ".".join([inner.id, *reversed(parts)]), node.lineno
            continue
        if isinstance(node, ast.ImportFrom):
            yield from ((alias.asname or alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, (*_FUNCTIONS, ast.Lambda)):
            own = {inner.arg for inner in ast.walk(node.args) if isinstance(inner, ast.arg)}
            seen = seen - own if own & seen else seen
        stack += [(child, seen) for child in ast.iter_child_nodes(node)]


def _imports(tree: ast.Module) -> Names:
    """Map names to (module, name in it); None is the module, `* module` all names. Outer, then first imports win."""
    found = Names()
    level: list[ast.AST] = [tree]
    for node in level:  # which grows below
        for part in _SUITES:
            level += getattr(node, part, ())
        if isinstance(node, ast.Import):
            for alias in node.names:
                module = alias.name if alias.asname else alias.name.split(".")[0]
                found.setdefault(alias.asname or module, (module, None))
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                local = f"* {module}" if alias.name == "*" else alias.asname or alias.name
                found.setdefault(local, (module, alias.name))
    return found
