"""Use a project whose names and texts contain escape sequences: no command prints them unescaped."""

import json
from pathlib import Path

import pytest

from tests.harness.commands import run_lore, synced_project
from tests.harness.projects import write_project
from tests.harness.texts import STEERING

ESCAPE = "\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\u202e[bold red]"
NAME = f"ze{ESCAPE}bra"
COMMANDS = [
    ("sync",),
    ("search", "zebra"),
    ("search", "zebra", "--explain"),
    ("ask", "Which animal is striped?"),
    ("docs",),
    ("hierarchy", "Base"),
    ("status",),
    ("ps",),
    ("knowledge", "list"),
    ("memory", "list"),
    ("hook", "session-start", "--dry-run"),
    ("search", ESCAPE),
    ("call", "query_documents", f"query={ESCAPE}"),
    ("call", "get_document", f"source=docs/{NAME}.md"),
    (ESCAPE,),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile").resolve()
    text = f'---\ntitle: "Zebra \\e[31m"\n---\n# Zebra {ESCAPE}\n\nThe zebra {ESCAPE} is striped.\n'
    files: dict[str, str | bytes] = {
        f"docs/{NAME}.md": text,
        f"docs/broken{ESCAPE}.md": b"\xff\xfe\xff",
        f"src/{NAME}.py": "class Base:\n    '''Of the striped zebra.'''\n",
        f".claude/memories/{NAME}.md": text,
    }
    synced_project(folder, files)
    return folder


@pytest.mark.parametrize("command", COMMANDS, ids=lambda value: " ".join(value).encode("unicode_escape").decode()[:30])
def test_no_command_prints_a_control_character(project: Path, command: tuple[str, ...]) -> None:
    done = run_lore("-v", *command, cwd=project)
    data = run_lore("--json", *command, cwd=project)

    for text in (done.stdout, done.stderr, data.stdout, data.stderr):
        assert not STEERING.search(text)
    if data.stdout:
        json.loads(data.stdout)


def test_text_with_escape_sequences_is_found_and_shown_escaped(project: Path) -> None:
    done = run_lore("search", "zebra", cwd=project)

    assert "\\x1b]0;owned" in done.stdout
    assert "[bold red]" in done.stdout


@pytest.mark.parametrize("text", ['[sources]\n"odd\\u001b[31m" = ["x"]\n', '"odd\\u009b31m" = 1\n', "a = \x1b[31m\n"])
def test_a_configuration_error_prints_no_control_character(tmp_path: Path, text: str) -> None:
    write_project(tmp_path, {"lore.toml": text, "a.md": "# A\n"})
    done = run_lore("sync", cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr
    assert not STEERING.search(done.stdout + done.stderr)
