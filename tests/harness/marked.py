"""Find the tests that name in a marker what they prove, and write the part of a page that follows from them."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.harness.projects import ROOT

BEGIN, END = "<!-- begin: written by `make golden` -->\n", "<!-- end -->\n"
_ID = re.compile(r"[A-Z]+-\d{3}")
QUICK, LONG, BOTH = "quick", "long", "quick, more in the long run"


class Marked(NamedTuple):
    """A test with such a marker, and in which runs it takes part."""

    file: str
    test: str
    runs: str


def marked(marker: str) -> dict[str, list[Marked]]:
    """Return the tests by what they prove: each word or number that their markers of this name contain."""
    found: dict[str, list[Marked]] = {}
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        for proven, test in _marked_in(file, marker):
            found.setdefault(proven, []).append(test)
    return {proven: list(dict.fromkeys(tests)) for proven, tests in found.items()}


def _marked_in(file: Path, marker: str) -> Iterator[tuple[str, Marked]]:
    text = file.read_text(encoding="utf-8")
    if f"mark.{marker}" not in text:
        return
    tree, path = ast.parse(text), file.relative_to(ROOT).as_posix()
    values: dict[str, ast.AST] = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    values |= {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    shared = [values["pytestmark"]] if "pytestmark" in values else []
    for test in tree.body:
        if isinstance(test, ast.FunctionDef) and test.name.startswith("test_"):
            marks = [*shared, *test.decorator_list]
            parts = list(_parts(marks, values))
            for part in parts:
                if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == marker:
                    for proven in _named_by(part, parts):
                        yield proven, Marked(path, test.name, _runs(marks, parts))


def _named_by(marker: ast.Call, parts: Iterable[ast.AST]) -> list[str]:
    """Return the arguments of the marker; if they are in a table of parameters, all ids in the decorators."""
    if any(isinstance(argument, ast.Starred) for argument in marker.args):
        return [word for word in _words(parts) if _ID.fullmatch(word)]
    return _words(marker.args)


def _words(parts: Iterable[ast.AST]) -> list[str]:
    return " ".join(str(part.value) for part in parts if isinstance(part, ast.Constant)).split()


def _parts(nodes: Iterable[ast.AST], values: dict[str, ast.AST]) -> Iterator[ast.AST]:
    """Return all parts of the expressions, and of the module's values and functions that they name."""
    for node in nodes:
        for part in ast.walk(node):
            yield part
            if isinstance(part, ast.Name) and part.id in values:
                yield from _parts([values[part.id]], {name: value for name, value in values.items() if name != part.id})


def _runs(marks: Iterable[ast.AST], parts: Iterable[ast.AST]) -> str:
    own = [one for mark in marks for one in (mark.elts if isinstance(mark, ast.List) else [mark])]
    if any(_is_long(one) for one in own):
        return LONG
    more = any(_is_long(part) or (isinstance(part, ast.Name) and part.id == "often") for part in parts)
    return BOTH if more else QUICK


def _is_long(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "long"


def with_section(page: Path, section: str) -> str:
    """Return the text of the page with this section between its marks."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    return f"{before}{BEGIN}{section}{END}{rest.partition(END)[2]}"
