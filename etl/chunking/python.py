"""Python with `ast`: module, class, method and function, each with its decorators and the comments above it."""

from __future__ import annotations

import ast
import warnings

from etl.chunking.outline import Definition, sections_of
from etl.chunking.plain import parse_plain
from etl.chunking.section import Parsed
from etl.model import ClassDefinition, Document, FileFacts

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def parse(document: Document) -> Parsed:
    """Sections and classes of a Python module; text that does not parse is cut as plain text, with a warning."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the code is not ours to warn about
            tree = ast.parse(document.text)
    except SyntaxError as error:
        return parse_plain(document, f"Python syntax error at line {error.lineno}; indexed as plain text")
    except (ValueError, RecursionError, MemoryError):
        return parse_plain(document, "Python that cannot be parsed; indexed as plain text")
    definitions = _definitions(tree.body, "")
    globals_ = _global_names(tree)
    lines = document.lines
    sections = sections_of(
        definitions,
        lines,
        leads=lambda number: lines[number - 1].lstrip().startswith("#"),
        globals_=lambda first, last: tuple(name for line, name in globals_ if first <= line <= last),
    )
    return Parsed(sections, FileFacts(tuple(_classes(tree.body, "")), _imports(tree)))


def _definitions(body: list[ast.stmt], prefix: str) -> tuple[Definition, ...]:
    found: list[Definition] = []
    for node in body:
        if isinstance(node, ast.ClassDef):
            name = prefix + node.name
            found.append(Definition(name, "class", _first(node), _last(node), _definitions(node.body, name + ".")))
        elif isinstance(node, _FUNCTIONS):
            kind = "method" if prefix else "function"
            found.append(Definition(prefix + node.name, kind, _first(node), _last(node)))
        elif isinstance(node, ast.If | ast.Try):
            inner = [*node.body, *node.orelse, *(node.finalbody if isinstance(node, ast.Try) else [])]
            found.extend(_definitions(inner, prefix))
    return tuple(sorted(found, key=lambda one: one.first))


def _first(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _last(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _global_names(tree: ast.Module) -> list[tuple[int, str]]:
    """(line, name) of the constants and variables that a module assigns."""
    found = []
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        found += [(node.lineno, target.id) for target in targets if isinstance(target, ast.Name)]
    return found


def _classes(body: list[ast.stmt], prefix: str) -> list[ClassDefinition]:
    found = []
    for node in body:
        if isinstance(node, ast.ClassDef):
            bases = tuple(name for base in node.bases if (name := _dotted(base)))
            found.append(ClassDefinition(prefix + node.name, (_first(node), _last(node)), bases))
            found.extend(_classes(node.body, prefix + node.name + "."))
        elif isinstance(node, ast.If | ast.Try):
            found.extend(_classes([*node.body, *node.orelse], prefix))
    return found


def _dotted(node: ast.expr) -> str | None:
    """`Base`, `module.Base` or the `Base` of `Base[T]`."""
    if isinstance(node, ast.Subscript):
        return _dotted(node.value)
    if isinstance(node, ast.Attribute):
        inner = _dotted(node.value)
        return f"{inner}.{node.attr}" if inner else None
    return node.id if isinstance(node, ast.Name) else None


def _imports(tree: ast.Module) -> dict[str, tuple[str, str | None]]:
    """Local name -> (module, name in it); a module itself has None as its name."""
    found: dict[str, tuple[str, str | None]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                module = alias.name if alias.asname else alias.name.split(".")[0]
                found[alias.asname or module] = (module, None)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            found.update({alias.asname or alias.name: (module, alias.name) for alias in node.names})
    return found
