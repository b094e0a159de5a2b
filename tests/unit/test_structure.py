"""Rules of the code that a reader relies on."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.projects import ROOT

MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 60
PACKAGES = {"lore_etl": ROOT / "etl" / "lore_etl", "lore_server": ROOT / "server" / "lore_server"}
BOUNDARIES = {  # where the last resort may catch everything: the top of an interface, of a thread, of a check
    f"lore_server/{module}.py"
    for module in (
        "answer/timeout", "cli/command", "cli/hook_commands", "http/events", "mcp/lines", "mcp/resources", "mcp/tools",
        "owner/listen", "services/jobs", "setup/doctor",
    )
}  # fmt: skip
MODULES = sorted(
    path.relative_to(folder.parent).as_posix() for folder in PACKAGES.values() for path in folder.rglob("*.py")
)


def source(module: str) -> str:
    return (PACKAGES[module.split("/", maxsplit=1)[0]].parent / module).read_text(encoding="utf-8")


def parsed(module: str) -> ast.Module:
    return ast.parse(source(module))


def catches_everything(handler: ast.ExceptHandler) -> bool:
    """To clean up and raise again, or to raise what explains it, is not to catch."""
    if isinstance(handler.body[-1], ast.Raise):
        return False
    names = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(one is None or (isinstance(one, ast.Name) and one.id in ("Exception", "BaseException")) for one in names)


def functions(module: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(parsed(module)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_there_are_modules_to_look_at() -> None:
    assert {"lore_etl/core/model.py", "lore_server/cli/query_commands.py"} <= set(MODULES)


@pytest.mark.parametrize("module", MODULES)
def test_modules_and_functions_are_short(module: str) -> None:
    lines = source(module).count("\n")
    long = [one.name for one in functions(module) if (one.end_lineno or 0) - one.lineno >= MAX_FUNCTION_LINES]

    assert lines < MAX_MODULE_LINES
    assert long == []


@pytest.mark.parametrize("module", sorted(set(MODULES) - BOUNDARIES))
def test_only_the_outermost_boundaries_catch_everything(module: str) -> None:
    handlers = [node for node in ast.walk(parsed(module)) if isinstance(node, ast.ExceptHandler)]

    assert [node.lineno for node in handlers if catches_everything(node)] == []


@pytest.mark.parametrize("module", MODULES)
def test_every_module_says_what_it_is_for_and_text_files_name_their_encoding(module: str) -> None:
    tree = parsed(module)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    texts = [node for node in calls if isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_text")]
    without = [
        node.lineno
        for node in texts
        if isinstance(node.func, ast.Attribute)
        and node.func.attr in ("read_text", "write_text")
        and "encoding" not in {keyword.arg for keyword in node.keywords}
    ]

    assert ast.get_docstring(tree) or not tree.body
    assert without == []


def test_the_packages_depend_on_each_other_in_one_direction() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 kept, 0 broken" in done.stdout
