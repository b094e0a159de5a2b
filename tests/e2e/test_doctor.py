"""Test `lore doctor`, which runs every check even if parts of Lore are broken."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lore_etl.config.project import cache_folder
from lore_etl.stores.claim import claim
from lore_etl.stores.owner_file import Note, write_note
from lore_server.setup.clients import CLIENTS
from tests.harness.commands import LORE, run_lore, start_lore
from tests.harness.ports import free_port
from tests.harness.projects import write_project
from tests.harness.trying import often

pytestmark = pytest.mark.later

Start = Callable[..., subprocess.CompletedProcess[str]]
ORDER = [
    "python", "program", "configuration", "index folder", "owner", "contract", "database",
    "collection", "keywords", "verification", "embedding", "answers", "disk", "mcp", "clients",
]  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files = {
        "docs/guide.md": "# Guide\n\nThe zebra is striped.\n",
        "a.py": "X = 1\n",
        "lore.toml": with_port(free_port()),
    }
    return write_project(tmp_path.resolve() / "project", files)


def with_port(number: int) -> str:
    return f"[server]\nport = {number}\n"


def run(
    project: Path, *arguments: str, start: Start = run_lore, **environment: str
) -> subprocess.CompletedProcess[str]:
    moved = {client.home[0]: "" for client in CLIENTS.values() if client.home[0]}
    given = {"HOME": str(project.parent / "home"), "LORE_CACHE": str(cache_folder()), **moved, **environment}
    return start(*arguments, cwd=project, **given)


def look(
    project: Path, *checks: str, options: tuple[str, ...] = (), start: Start = run_lore, **environment: str
) -> tuple[int, dict[str, dict[str, Any]]]:
    """Return the exit code and the findings of all checks or of the given checks."""
    only = [part for check in checks for part in ("--only", check)]
    done = run(project, "doctor", "--json", *only, *options, start=start, **environment)
    return done.returncode, {check["name"]: check for check in json.loads(done.stdout)["checks"]}


def test_a_project_that_is_set_up_needs_no_remedy(project: Path) -> None:
    assert run(project, "sync").returncode == 0
    assert run(project, "install", "claude-code").returncode == 0

    done = run(project, "doctor", "--json")
    report = json.loads(done.stdout)

    assert [check["name"] for check in report["checks"]] == ORDER
    assert {check["name"]: check["status"] for check in report["checks"]} == dict.fromkeys(ORDER, "ok")
    assert not any(check["remedy"] for check in report["checks"])
    assert (done.returncode, report["status"], done.stderr) == (0, "ok", "")


def test_checks_selected_by_name_run_in_the_usual_order(project: Path) -> None:
    code, found = look(project, "clients", "disk", "python", "python")

    assert (code, list(found)) == (0, ["python", "disk", "clients"])


def test_an_unknown_check_is_refused_with_the_valid_names(project: Path) -> None:
    done = run(project, "doctor", "--json", "--only", "pyhton")
    problem = json.loads(done.stdout)

    assert (done.returncode, problem["code"]) == (2, "INVALID_ARGUMENT")
    assert problem["hint"] == f"Checks: {', '.join(ORDER)}."


def test_every_problem_comes_with_its_remedy(project: Path) -> None:
    code, found = look(project)

    assert code == 0
    assert found["database"] == {
        "name": "database", "status": "warn", "detail": "There is no index yet.", "remedy": "Run `lore sync`.",
    }  # fmt: skip
    assert "lore install" in found["clients"]["remedy"]
    assert all(check["remedy"] for check in found.values() if check["status"] != "ok")
    assert not (project / ".lore").exists()


def test_the_readable_report_is_printed_on_standard_output(project: Path) -> None:
    done = run(project, "doctor", "--only", "database")

    assert "warn    database" in done.stdout
    assert "-> Run `lore sync`." in done.stdout
    assert done.stdout.splitlines()[-1] == "0 failed, 1 warning."


def test_an_invalid_configuration_fails_its_check_and_the_others_still_run(project: Path) -> None:
    (project / "lore.toml").write_text("[querry]\n")

    code, found = look(project, "configuration", "python", "mcp")

    assert code == 1
    assert (found["configuration"]["status"], found["mcp"]["status"]) == ("failed", "failed")
    assert "Did you mean `query`" in found["configuration"]["remedy"]
    assert found["python"]["status"] == "ok"


def test_a_missing_model_fails_its_check_without_a_crash(project: Path) -> None:
    mine = project.parent / "mine.toml"
    mine.write_text('[embedding]\nmodel = "./no-such-model"\n')

    code, found = look(project, "embedding", options=("-c", str(mine)))

    assert code == 1
    assert found["embedding"]["status"] == "failed"


def test_an_index_folder_that_lore_did_not_create_is_reported_and_not_touched(project: Path) -> None:
    (project / ".lore").mkdir()
    (project / ".lore" / "owner.lock").symlink_to("/dev/zero")

    code, found = look(project, "index folder", "python")

    assert code == 0
    assert found["index folder"]["status"] == "warn"
    assert "`lore adopt`" in found["index folder"]["remedy"]
    assert found["python"]["status"] == "ok"


def test_the_key_is_never_printed(project: Path) -> None:
    done = run(project, "doctor", "--json", GEMINI_API_KEY="secret-of-mine")

    assert "secret-of-mine" not in done.stdout + done.stderr
    assert "gemini" in next(
        check["detail"] for check in json.loads(done.stdout)["checks"] if check["name"] == "answers"
    )


def test_a_running_service_is_recognised_by_its_lock(project: Path) -> None:
    assert run(project, "sync").returncode == 0

    with subprocess.Popen([LORE, "serve"], cwd=project, stderr=subprocess.PIPE, text=True) as service:
        try:
            assert service.stderr is not None
            assert "Lore serves" in service.stderr.readline()
            code, found = look(project)
        finally:
            service.terminate()

    assert code == 0
    assert "lore serve" in found["owner"]["detail"]
    assert found["mcp"]["status"] == found["keywords"]["status"] == "ok"


def test_the_note_of_a_crashed_process_is_harmless(project: Path) -> None:
    claim(project / ".lore")
    write_note(project / ".lore", Note(1, "1", "lore mcp", "2026-01-01 00:00:00"))
    write_project(project, {".lore/owner.lock": ""})

    _, found = look(project, "owner")

    assert (found["owner"]["status"], found["owner"]["detail"]) == (
        "ok",
        "not running; a crashed process left its note, which is harmless",
    )


BROKEN: dict[str, tuple[dict[str, str], str, int, str]] = {
    "an index folder that cannot be created": (
        {"lore.toml": '[index]\npath = "a.md/index"\n', "a.md": ""}, "index folder", 1, "a.md is not writable"
    ),
    "an unreadable file of a client": (
        {".gemini/settings.json": "{"}, "clients", 0, ".gemini/settings.json is not valid"
    ),
    "a client that starts no program": (
        {".mcp.json": '{"mcpServers": {"lore": {"command": "/no/such/lore", "args": ["mcp"]}}}'},
        "clients", 1, "/no/such/lore",
    ),
    "a client that starts a program of the project": (
        {".cursor/mcp.json": '{"mcpServers": {"x": {"command": "${workspaceFolder}/bin/lore"}}}'},
        "clients", 1, "bin/lore",
    ),
    "a client of another project": (
        {".codex/config.toml": '[mcp_servers.lore]\ncommand = "sh"\nargs = ["mcp", "-C", "/no/such"]'},
        "clients", 1, "/no/such",
    ),
}  # fmt: skip
"""The files of a project, the check that names them, its exit code and a part of its detail."""


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.promise(16)
def test_a_broken_file_is_named_by_its_check(project: Path, case: str) -> None:
    files, check, code, expected = BROKEN[case]
    write_project(project, files)

    exit_code, found = look(project, check)

    assert (exit_code, found[check]["status"]) == (code, "failed" if code else "warn")
    assert expected in found[check]["detail"]


SHIPPED: list[tuple[str, str, dict[str, Any], str]] = [
    (".mcp.json", "mcpServers", {"env": {"PYTHONPATH": "src"}}, "`env`"),
    (".mcp.json", "mcpServers", {"args": ["mcp", "-c", "evil.toml"]}, "-c evil.toml"),
    (".mcp.json", "mcpServers", {"args": ["mcp", "-C", "sub"]}, "-C sub"),
    (".mcp.json", "mcpServers", {"args": ["mcp", "--no-daemon"]}, "--no-daemon"),
    (".mcp.json", "mcpServers", {"args": ["serve"]}, "the command `serve`"),
    (".mcp.json", "mcpServers", {"command": "${CLAUDE_PROJECT_DIR:-.}/bin/lore"}, "/bin/lore"),
    (".mcp.json", "mcpServers", {"command": "sh", "args": ["-c", "true"]}, "the program sh"),
    (".cursor/mcp.json", "mcpServers", {"envFile": ".env"}, "`envFile`"),
    (".vscode/mcp.json", "servers", {"type": "stdio", "cwd": "src"}, "`cwd`"),
    (".gemini/settings.json", "mcpServers", {"headers": {}, "trust": True}, "`headers`, `trust`"),
    (".zed/settings.json", "context_servers", {"settings": {}}, "`settings`"),
    ("opencode.json", "mcp", {"type": "local", "command": ["lore", "mcp"], "environment": {}}, "`environment`"),
]


def test_an_entry_of_the_project_that_lore_would_not_write_is_a_warning(project: Path) -> None:
    write_project(project, {"bin/lore": "#!/bin/sh\n", "sub/x.md": "# x\n"})
    (project / "bin" / "lore").chmod(0o755)
    for file, key, more, expected in SHIPPED:
        entry = {**({} if file == "opencode.json" else {"command": "lore", "args": ["mcp"]}), **more}
        write_project(project, {file: json.dumps({key: {"lore": entry}})})

        code, found = look(project, "clients", PATH=with_lore())

        assert (more, code, found["clients"]["status"]) == (more, 0, "warn")
        assert expected in found["clients"]["detail"]
        assert "unless you wrote it" in found["clients"]["remedy"]
        (project / file).unlink()


@pytest.mark.parametrize(
    ("file", "content"),
    [
        (".mcp.json", {"mcpServers": {"lore": {"command": "lore", "args": ["mcp", "-C", "${CLAUDE_PROJECT_DIR:-.}"]}}}),
        (".mcp.json", {"mcpServers": {"lore": {"command": "lore", "args": ["mcp", "--toolsets", "query"]}}}),
        (".mcp.json", {"mcpServers": {"lore": {"type": "http", "url": "http://127.0.0.1:7317/mcp"}}}),
        ("../home/.cursor/mcp.json", {"mcpServers": {"lore": {"command": "lore", "args": ["mcp"], "env": {"A": "b"}}}}),
    ],
)
def test_an_entry_that_lore_writes_or_that_is_the_users_own_is_no_warning(
    project: Path, file: str, content: dict[str, object]
) -> None:
    write_project(project, {file: json.dumps(content)})

    code, found = look(project, "clients", PATH=with_lore())

    assert (code, found["clients"]["status"]) == (0, "ok")


def with_lore() -> str:
    """Return a PATH on which `lore` is this program."""
    return f"{Path(LORE).parent}{os.pathsep}{os.environ['PATH']}"


@pytest.mark.parametrize(
    ("package", "fails"),
    often([("tantivy", "index"), ("tomlkit", "clients")], {("tantivy", "index")}),
)
def test_a_package_that_cannot_be_imported_fails_only_the_checks_that_need_it(
    project: Path, package: str, fails: str
) -> None:
    assert run(project, "sync").returncode == 0
    broken = project.parent / "broken" / "site-packages"  # other folders of PYTHONPATH are ignored
    write_project(broken, {f"{package}.py": "raise ImportError('it is broken')\n"})

    checks = [check for check in ORDER if check != "mcp"]
    code, found = look(project, *checks, options=("--no-daemon",), start=start_lore, PYTHONPATH=str(broken))

    assert code == 1
    assert found[fails]["status"] == "failed"
    assert "it is broken" in found[fails]["detail"]
    assert found["python"]["status"] == found["owner"]["status"] == "ok"


def test_an_entry_for_another_project_in_the_users_file_does_not_count(project: Path) -> None:
    own = {"mcpServers": {"lore": {"command": "lore-that-is-not-there"}}}
    home = project.parent / "home"
    write_project(home, {".claude.json": json.dumps({"projects": {"/elsewhere": own}})})
    assert look(project, "clients")[1]["clients"]["status"] == "warn"

    write_project(home, {".claude.json": json.dumps({"projects": {str(project): own}})})
    assert look(project, "clients")[1]["clients"]["status"] == "failed"
