"""Parse Python with `ast`: modules, classes, methods and functions, with their decorators and leading comments."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Set
from typing import cast

from lore_etl.chunking.outline import Definition, sections_of
from lore_etl.chunking.plain import parse_plain
from lore_etl.chunking.section import Parsed, Symbol, counted_uses
from lore_etl.core.model import ClassDefinition, Document, FileFacts, Member

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
    lines = document.lines
    sections = sections_of(
        _definitions(tree.body, ""),
        lines,
        leads=lambda number: lines[number - 1].lstrip().startswith("#"),
        symbols=_symbols(tree.body),
        imports=[(node.lineno, _last(node)) for node in tree.body if _only_imports(node)],
    )
    classes = list(_classes(tree.body, ""))
    imports = _imports(tree)
    functions = tuple(dict.fromkeys(node.name for node in _statements(tree.body) if isinstance(node, _FUNCTIONS)))
    known = {*imports, *functions, *(definition.name for definition, _ in classes)}
    facts = FileFacts(
        classes=tuple(definition for definition, _ in classes),
        imports=imports,
        functions=functions,
        uses=counted_uses(_uses(tree, known)),
        members={definition.name: tuple(_members(node.body)) for definition, node in reversed(classes)},
    )
    return Parsed(sections, facts)


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


def _definitions(body: list[ast.stmt], prefix: str) -> tuple[Definition, ...]:
    found: list[Definition] = []
    for node in _statements(body):
        if isinstance(node, ast.ClassDef):
            name = prefix + node.name
            found.append(Definition(name, "class", _first(node), _last(node), _definitions(node.body, name + ".")))
        elif isinstance(node, _FUNCTIONS):
            kind = "method" if prefix else "function"
            found.append(Definition(prefix + node.name, kind, _first(node), _last(node)))
    return tuple(found)


def _first(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _last(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _symbols(body: list[ast.stmt], prefix: str = "") -> list[Symbol]:
    """Return the constants and variables that a module and its classes assign, by line."""
    found: list[Symbol] = []
    for node in _statements(body):
        if isinstance(node, ast.ClassDef):
            found += _symbols(node.body, f"{prefix}{node.name}.")
        found += [Symbol(prefix + name, node.lineno, _last(node)) for name in _assigned(node)]
    return list(dict.fromkeys(found))


def _assigned(node: ast.stmt) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _members(body: list[ast.stmt]) -> Iterator[Member]:
    """Return the methods and attributes of a class body, each with its lines."""
    for node in _statements(body):
        if isinstance(node, _FUNCTIONS):
            yield Member(node.name, "method", (_first(node), _last(node)))
        yield from (Member(name, "attribute", (node.lineno, _last(node))) for name in _assigned(node))


def _classes(body: list[ast.stmt], prefix: str) -> Iterator[tuple[ClassDefinition, ast.ClassDef]]:
    for node in _statements(body):
        if isinstance(node, ast.ClassDef):
            bases = tuple(name for base in node.bases if (name := _dotted(base)))
            yield ClassDefinition(prefix + node.name, (_first(node), _last(node)), bases), node
            yield from _classes(node.body, prefix + node.name + ".")


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


def _imports(tree: ast.Module) -> dict[str, tuple[str, str | None]]:
    """Map each local name to (module, name in it); None means the module itself, `* module` all of its names.

    If a name is imported twice, the outer import wins, then the first.
    """
    found: dict[str, tuple[str, str | None]] = {}
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
