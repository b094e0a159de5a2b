"""Rules of the code that a reader relies on."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.harness.projects import ROOT

MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 60
PACKAGES = {"lore_etl": ROOT / "etl" / "lore_etl", "lore_server": ROOT / "server" / "lore_server"}
BOUNDARIES = {  # only here may a last resort catch everything: at the top of an interface, a thread or a check
    f"lore_server/{module}.py"
    for module in (
        "answer/writer_interface", "cli/command", "cli/hook_commands", "http/events", "mcp/lines", "mcp/resources",
        "mcp/tools", "owner/listen", "owner/projects", "services/jobs", "setup/doctor",
    )
} | {"lore_etl/stores/target.py"}  # fmt: skip
WRITERS = {  # they alone write to standard output and standard error, so no text can control a terminal
    "lore_server/console/terminal.py",
    "lore_server/owner/owner_main.py",  # JSON for the process that started it
}
PRINTS = {"print", "typer.echo", "typer.secho", "click.echo", "click.secho"} | {
    f"sys.{stream}.{write}" for stream in ("stdout", "stderr") for write in ("write", "writelines")
}
MODULES = sorted(
    path.relative_to(folder.parent).as_posix() for folder in PACKAGES.values() for path in folder.rglob("*.py")
)


def source(module: str) -> str:
    return (PACKAGES[module.split("/", maxsplit=1)[0]].parent / module).read_text(encoding="utf-8")


@cache
def parsed(module: str) -> ast.Module:
    return ast.parse(source(module))


def nodes(module: str, *kinds: type[ast.AST]) -> Iterator[Any]:
    return (node for node in ast.walk(parsed(module)) if isinstance(node, kinds))


def catches_everything(handler: ast.ExceptHandler) -> bool:
    """Cleaning up and raising again, or raising an error that explains it, does not count as catching."""
    if isinstance(handler.body[-1], ast.Raise):
        return False
    names = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        name is None or (isinstance(name, ast.Name) and name.id in ("Exception", "BaseException")) for name in names
    )


def names_no_encoding(call: ast.Call) -> bool:
    is_text = isinstance(call.func, ast.Attribute) and call.func.attr in ("read_text", "write_text")
    return is_text and "encoding" not in {keyword.arg for keyword in call.keywords}


def test_there_are_modules_to_check() -> None:
    assert {"lore_etl/core/model.py", "lore_server/cli/query_commands.py"} <= set(MODULES)
    assert set(MODULES) > BOUNDARIES


def test_modules_and_functions_are_short() -> None:
    lines = {module: source(module).count("\n") for module in MODULES}
    functions = ((module, node) for module in MODULES for node in nodes(module, ast.FunctionDef, ast.AsyncFunctionDef))
    long = [f"{module}:{function.lineno} {function.name}" for module, function in functions
            if function.end_lineno - function.lineno >= MAX_FUNCTION_LINES]  # fmt: skip

    assert {module: count for module, count in lines.items() if count >= MAX_MODULE_LINES} == {}
    assert long == []


def test_only_the_outermost_boundaries_catch_everything() -> None:
    handlers = ((module, node) for module in MODULES for node in nodes(module, ast.ExceptHandler))
    found = {f"{module}:{handler.lineno}" for module, handler in handlers if catches_everything(handler)}

    assert {place for place in found if place.partition(":")[0] not in BOUNDARIES} == set()


def test_every_module_has_a_docstring() -> None:
    assert [module for module in MODULES if parsed(module).body and not ast.get_docstring(parsed(module))] == []


def test_text_files_are_opened_with_an_encoding() -> None:
    calls = ((module, node) for module in MODULES for node in nodes(module, ast.Call))

    assert [f"{module}:{call.lineno}" for module, call in calls if names_no_encoding(call)] == []


def test_only_two_modules_of_the_server_write_to_standard_output_and_standard_error() -> None:
    server = (module for module in MODULES if module.startswith("lore_server"))
    calls = ((module, node) for module in server for node in nodes(module, ast.Call))

    assert {module for module, call in calls if ast.unparse(call.func) in PRINTS} == WRITERS


def test_the_packages_depend_on_each_other_in_one_direction() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 kept, 0 broken" in done.stdout
