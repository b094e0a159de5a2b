"""Run the commands as on macOS and Windows, with the platform that Lore's modules see replaced."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx2
import pytest

from lore_etl.config.project import STATE
from lore_etl.stores.owner_file import Note, read_note
from tests.harness.commands import IMPORTED, LORE, SECONDS, Commands
from tests.harness.foreign_platform import VARIABLE, site_folder
from tests.harness.owners import wait_until
from tests.harness.projects import write_project
from tests.harness.stdio import StdioClient

pytestmark = pytest.mark.later
FILES = {
    "docs/ferry.md": "# Ferry\n\nThe ferry crosses the river at dawn – unless fog hides the far bank.\n",
    "docs/lighthouse.md": "# Lighthouse\n\nThe lighthouse warns ships of the rocks.\n",
    "src/boat.py": 'class Boat:\n    """A boat that crosses the river."""\n',
}


class Shell:
    """Runs commands in one project, in processes that show Lore another platform."""

    def __init__(self, project: Path, commands: Commands) -> None:
        self.project = project
        self._commands = commands

    def run(self, *arguments: str, status: int = 0) -> str:
        """Return the output of a command."""
        done = self._commands.run(*arguments, cwd=self.project)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    def shows(self, text: str, *arguments: str) -> bool:
        """Return whether the output of a command contains a text, whatever its status."""
        return text in self._commands.run(*arguments, cwd=self.project).stdout

    @property
    def owner(self) -> Note | None:
        """Return the note of the index's owner; only that platform can compare its start time."""
        return read_note(self.project / ".lore")


@pytest.fixture(scope="module", params=["darwin", "win32"])
def shell(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """Set up a project with `lore init`, whose owner listens on loopback TCP."""
    folder = tmp_path_factory.mktemp(request.param)
    write_project(folder / "config" / "lore", {"config.toml": '[owner]\ntransport = "loopback"\nauto_sync_files = 0\n'})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, request.param)
        patch.setenv("PYTHONPATH", str(site_folder(folder)))
        patch.setenv("PYTHONIOENCODING", "cp1252" if request.param == "win32" else "utf-8")
        for name, value in {"LORE_HOME": "home", STATE: "state", "XDG_CONFIG_HOME": "config"}.items():
            patch.setenv(name, str(folder / value))
        with closing(Commands(*IMPORTED, environment={**os.environ})) as commands:
            shell = Shell(write_project(folder / "project", FILES), commands)
            shell.run("init")
            yield shell
            shell.run("stop")


def test_the_owner_listens_on_loopback(shell: Shell) -> None:
    shell.run("sync")
    assert shell.owner is not None
    assert shell.owner.address.startswith("tcp:127.0.0.1:")
    assert shell.owner.address in shell.run("ps")


def test_a_sync_reads_only_the_edited_files(shell: Shell) -> None:
    assert "3 unchanged" in shell.run("sync")

    write_project(shell.project, {"docs/lighthouse.md": "# Lighthouse\n\nIts lamp is green – and never sleeps.\n"})

    assert "1 updated, 2 unchanged" in shell.run("sync")
    assert "Its lamp is green – and never sleeps." in shell.run("search", "colour of the lamp")


def test_an_answer_cites_its_passage(shell: Shell) -> None:
    answer = shell.run("ask", "When does the ferry cross the river?")

    assert "at dawn – unless fog hides" in answer
    assert "[1] docs/ferry.md:" in answer


def test_an_agent_writes_knowledge_and_reads_it_with_its_history(shell: Shell) -> None:
    with StdioClient(shell.project) as agent:
        written = agent.call("update_project_main", project_id="river", content="# River\n\nIt is wide – and deep.\n")
        main = agent.call("get_project_main", project_id="river")
        agent.call("add_project_section", project_id="river", section_header="## Fog", content="It comes at night.")
        history = agent.call("get_knowledge_history", project_id="river")

    assert written["success"] is True
    assert "It is wide – and deep." in main["content"]
    assert len(history["commits"]) == 2
    assert {"main.md"} == {path.name for path in (shell.project.parent / "home" / "projects").rglob("*.md")}


def test_the_hook_keeps_memory_files_in_the_background(shell: Shell) -> None:
    folder = write_project(shell.project.parent, {"memories/LEARNING/fog.md": "# Fog\n\nSound the horn – twice.\n"})

    done = shell.run("hook", "session-start", "--memory-dir", str(folder / "memories"), "--budget", "600")

    assert "1 processed, 1 succeeded, 0 failed" in done
    # the owner indexes a stored memory in the background
    wait_until(lambda: shell.shows("Sound the horn – twice.", "memory", "search", "What does the horn do in fog?"))


def test_a_symlink_in_a_project_is_not_followed(shell: Shell) -> None:
    secret = shell.project.parent / "secret.md"
    secret.write_text("# Secret\n\nThe treasure is below the pier.\n", encoding="utf-8")
    (shell.project / "docs" / "link.md").symlink_to(secret)
    (shell.project / "docs" / "folder").symlink_to(secret.parent, target_is_directory=True)

    assert "the project; not followed" in shell.run("sync", "--json")
    assert "treasure" not in shell.run("search", "treasure", status=1)


def test_a_server_answers_until_it_is_interrupted(shell: Shell) -> None:
    command = [LORE, "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=shell.project, stderr=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stderr is not None
        try:
            said = process.stderr.readline()
            assert "page at " in said
            address = said.partition("page at ")[2].partition(",")[0]
            reply = httpx2.get(f"{address}api/healthcheck", timeout=SECONDS)
        finally:
            process.send_signal(signal.SIGINT)
            process.stderr.read()

    assert reply.status_code == 200
    assert process.returncode == 0
    assert shell.owner is None


def test_every_check_of_the_doctor_passes(shell: Shell) -> None:
    assert "0 failed" in shell.run("doctor")


def test_the_owner_stops_on_request(shell: Shell) -> None:
    shell.run("search", "ferry")
    assert shell.owner is not None

    shell.run("stop")

    assert shell.owner is None
