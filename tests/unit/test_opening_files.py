"""Code that handles projects opens files only below a root, with `lore_etl.system.open_folder`, never by path."""

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from tests.harness.projects import ROOT

BY_PATH = {
    "etl/lore_etl/system/": "defines how files are opened",
    "etl/lore_etl/stores/": "Lore's own index folder, which `stores/claim.py` checks first",
    "etl/lore_etl/index.py": "the same",
    "server/lore_server/services/job.py": "the same",
    "server/lore_server/services/health.py": "the same: its size",
    "server/lore_server/services/verification.py": "the same: marks of damage, and the last result",
    "server/lore_server/setup/place.py": "the same: whether locks work",
    "server/lore_server/hook/upload_state.py": "the user's state folder",
    "server/lore_server/hook/searched.py": "the user's state folder",
    "server/lore_server/services/question_log.py": "the user's state folder",
    "server/lore_server/services/call_log.py": "the knowledge folder in the user's home, and the user's state folder",
    "server/lore_server/answer/written_answers.py": "the user's state folder",
    "server/lore_server/http/access.py": "the user's state folder",
    "server/lore_server/library_docs/library_manager.py": "the user's state folder",
    "server/lore_server/owner/": "the logs of the owner and of the hook, and the null device",
    "server/lore_server/mcp/lines.py": "standard input and output",
    "etl/lore_etl/config/project.py": "the user's configuration and approvals; `lore.toml` is opened below the root",
    "etl/lore_etl/core/tables.py": "Lore's own files",
    "etl/lore_etl/chunking/code_languages.py": "Lore's own files",
    "etl/lore_etl/chunking/javascript.py": "Lore's own files",
    "etl/lore_etl/files/redaction.py": "Lore's own files",
    "server/lore_server/answer/writer_interface.py": "Lore's own files",
    "server/lore_server/query/wording.py": "Lore's own files",
    "server/lore_server/contract.py": "Lore's own files",
    "server/lore_server/http/page.py": "Lore's own files",
    "server/lore_server/http/application.py": "Lore's own files",
    "server/lore_server/mcp/resources.py": "Lore's own files",
    "server/lore_server/trackers/github.py": "Lore's own files",
    "etl/lore_etl/models/": "models in the user's cache or a folder that the user named",
    "etl/lore_etl/core/atomic.py": "writes the user's files and those of the index",
    "etl/lore_etl/pipeline/publish.py": "Lore's own index folder, which is owned before",
    "server/lore_server/cli/publish_commands.py": "a file that the user named",
    "server/lore_server/cli/knowledge_commands.py": "a file that the user named",
    "server/lore_server/evaluation/": "sets that the user named",
    "server/lore_server/library_docs/local_docs.py": "finds packages below a folder that the user named",
    "server/lore_server/setup/install.py": "the user's files of clients; those of a project are opened below its root",
    "server/lore_server/knowledge/": "the knowledge folder in the user's home, and the files of git there",
    "etl/lore_etl/files/git_folder.py": "`.git`, which may be outside the root in a worktree",
    "etl/lore_etl/files/conversion/sandbox.py": "what Linux reports about the process",
}
"""Modules and packages that may open files by path, and why."""
FUNCTIONS = frozenset({"open", "open_regular", "read_regular"})
OF_SYSTEM = frozenset({"open", "scandir", "listdir", "walk", "fwalk"})
METHODS = frozenset("read_text read_bytes write_text write_bytes iterdir glob rglob".split())
OPTIONS = frozenset({"mode", "encoding", "newline", "buffering", "errors"})
MENTIONED = re.compile(rf"\b(?:{'|'.join(FUNCTIONS | OF_SYSTEM | METHODS)})\(")
FORBIDDEN = [
    "open(path)", "open(root / name, 'rb')", "io.open(path)", "os.open(path, flags)", "os.scandir(path)",
    "os.listdir(path)", "os.walk(path)", "path.read_text()", "(root / name).read_bytes()", "path.write_text(text)",
    "path.iterdir()", "path.glob('*')", "path.rglob('*')", "path.open()", "path.open('rb')", "path.open(mode='w')",
    "path.open(encoding='utf-8')", "glob.glob(pattern)", "read_regular(path, 1)", "open_regular(path)",
]  # fmt: skip
ALLOWED = [
    "open(folder.open(name, flags), 'rb')", "folder.open(name, os.O_RDONLY)", "folder.entries()",
    "read_below(root, path, limit)", "store.open(number)", "ast.walk(tree)", "path.exists()",
]  # fmt: skip


def openings(source: str) -> Iterator[int]:
    """Yield the lines that open or list files by path."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and _opens_by_path(node):
            yield node.lineno


def _opens_by_path(call: ast.Call) -> bool:
    called, first = call.func, call.args[0] if call.args else None
    if isinstance(called, ast.Name):
        is_of_folder = (
            isinstance(first, ast.Call) and isinstance(first.func, ast.Attribute) and first.func.attr == "open"
        )
        return called.id in FUNCTIONS and not is_of_folder
    if not isinstance(called, ast.Attribute):
        return False
    if isinstance(called.value, ast.Name) and called.value.id in ("os", "io"):
        return called.attr in OF_SYSTEM
    if called.attr == "open":  # only `Path.open` has no arguments, a mode or these options
        has_mode = isinstance(first, ast.Constant) and isinstance(first.value, str)
        return has_mode or not (call.args or call.keywords) or bool(OPTIONS & {word.arg for word in call.keywords})
    return called.attr in METHODS


@cache
def by_module() -> dict[str, list[int]]:
    """Return the lines of each module that opens or lists files by path."""
    found = dict[str, list[int]]()
    for file in (file for package in ("etl", "server") for file in sorted((ROOT / package).rglob("*.py"))):
        text = file.read_text(encoding="utf-8")
        if MENTIONED.search(text) and (lines := list(openings(text))):
            found[file.relative_to(ROOT).as_posix()] = lines
    return found


def test_only_and_all_named_modules_open_files_by_path() -> None:
    others = {path: lines for path, lines in by_module().items() if not path.startswith(tuple(BY_PATH))}

    assert others == {}, "open them below a root (lore_etl/system/open_folder.py), or name the module with a reason"
    assert [place for place in BY_PATH if not any(path.startswith(place) for path in by_module())] == []


@pytest.mark.parametrize("call", [*FORBIDDEN, *ALLOWED])
def test_opening_by_path_is_told_from_other_calls(call: str) -> None:
    assert list(openings(call)) == ([1] if call in FORBIDDEN else [])
