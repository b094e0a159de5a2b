"""Pages about the modules of an installed package: signatures and docstrings, read without executing anything. Pure."""

from __future__ import annotations

import ast
import inspect
import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from lore_etl.chunking import parse
from lore_etl.core.model import Document, KnowledgeType
from lore_server.library_docs.doc_page import Readable

_TESTS = frozenset({"test", "tests", "_vendor", "vendor", "__pycache__"})
_IMPORTED = re.compile(r"^\s*from\s+\.(_\w+)\s+import\b", re.MULTILINE)
_SPECIAL = frozenset({"__init__", "__call__", "__new__"})
_DECLARED = re.compile(r"\.d\.[cm]?ts$")
Outline = dict[str, tuple[str, str]]
"""The signature and docstring of each public name of a module; the module itself has the empty name."""


def is_module(path: str) -> bool:
    """Return whether a file of a Python package can have a page."""
    parts = PurePosixPath(path).parts
    return path.endswith((".py", ".pyi")) and _TESTS.isdisjoint(parts) and not parts[-1].startswith("test_")


def is_declaration(path: str) -> bool:
    """Return whether a file of an npm package declares types."""
    return bool(_DECLARED.search(path)) and _TESTS.isdisjoint(PurePosixPath(path).parts)


def python_pages(texts: Mapping[str, str]) -> Iterator[tuple[str, Readable]]:
    """Yield the pages of modules by path, from their source and their stubs, which decide the signatures.

    A private module has a page only if its package imports from it, as it then defines public names.
    """
    stems: dict[str, list[str]] = {}
    for path in sorted(texts):  # `x.py` before `x.pyi`
        stems.setdefault(path.rpartition(".")[0], []).append(path)
    for stem, paths in stems.items():
        package, _, module = stem.rpartition("/")
        shared = _IMPORTED.findall("".join(texts.get(f"{package}/__init__.{end}", "") for end in ("py", "pyi")))
        if _is_private(package) or (_is_private(module) and module not in shared):
            continue
        outline: Outline = {}
        for path in paths:
            for name, (signature, docstring) in _outline(texts[path]).items():
                outline[name] = (signature, docstring or outline.get(name, ("", ""))[1])
        if any(signature or docstring for signature, docstring in outline.values()):
            name = stem.removesuffix("/__init__").replace("/", ".")
            yield f"{stem}.py.md", Readable(_page(name, outline), name)


def declaration_page(path: str, text: str) -> Readable:
    """Return the declarations of a file with their comments."""
    name = _DECLARED.sub("", path)
    document = Document(path, KnowledgeType.LIBRARY, text, "", "typescript")
    blocks = [f"# {name}"]
    for section in parse(document).sections:
        below = "\n".join(document.lines[section.first - 1 : section.last]).strip()
        heading = [f"## {section.heading[-1]}"] if section.heading else []
        blocks += [*heading, f"```ts\n{below}\n```"] if below else []
    return Readable("\n\n".join(blocks), name)


def _is_private(place: str) -> bool:
    return any(part.startswith("_") and not part.endswith("__") for part in place.split("/"))


def _page(name: str, outline: Outline) -> str:
    blocks = [f"# {name}"]
    for inner, (signature, docstring) in outline.items():
        if inner:
            blocks += [f"{'###' if '.' in inner else '##'} {inner}", f"```python\n{signature}\n```"]
        blocks += [docstring] if docstring else []
    return "\n\n".join(blocks)


def _outline(text: str) -> Outline:
    """Return the public names of a module; empty if it does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
        return {"": ("", _docstring(tree)), **dict(_defined(tree.body, ""))}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}


def _defined(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, tuple[str, str]]]:
    for node in body:
        if isinstance(node, ast.If | ast.Try):  # of a version of Python, or for type checkers
            yield from _defined([*node.body, *node.orelse], prefix)
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name.startswith("_") and not (prefix and node.name in _SPECIAL):
                continue
            yield prefix + node.name, (_signature(node), _docstring(node))
            if isinstance(node, ast.ClassDef) and not prefix:
                yield from _defined(node.body, f"{node.name}.")


def _signature(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return the head of a definition with its decorators and, for a class, its annotated attributes."""
    decorators = [f"@{ast.unparse(one)}" for one in node.decorator_list]
    if isinstance(node, ast.ClassDef):
        fields = [f"    {ast.unparse(one)}" for one in node.body if isinstance(one, ast.AnnAssign)]
        bases = ", ".join(map(ast.unparse, [*node.bases, *node.keywords]))
        return "\n".join([*decorators, f"class {node.name}({bases}):" if bases else f"class {node.name}:", *fields])
    head = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return "\n".join([*decorators, f"{head} {node.name}({ast.unparse(node.args)}){returned}"])


def _docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    text = inspect.cleandoc(ast.get_docstring(node, clean=False) or "")
    return re.sub(r"^(#|---)", r"\\\1", text, flags=re.MULTILINE)  # no headings of its own
