"""Test commands and agents with different configurations: none ends an owner that another one needs."""

import json
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lore_etl.stores.owner_file import write_note
from lore_server.owner import predecessor
from tests.harness import model_server
from tests.harness.commands import LORE, PREPARED, run_lore, synced_project
from tests.harness.local_server import QuietHandler
from tests.harness.model_server import GEMINI, ModelServer
from tests.harness.owners import owner_of, owners, wait_until, without_clients
from tests.harness.projects import write_project
from tests.harness.stdio import StdioClient

pytestmark = pytest.mark.later

PAGES = {f"docs/{n}.md": f"# Page {n}\n\nThe ferry number {n} crosses the river.\n" for n in range(3)}
REMOTE = '[embedding]\nprovider = "gemini"\nmodel = "gemini-embedding-001"\n'
OTHER = "[query]\nnResults = 50\n"


class Running:
    """A command that runs; its output can be read while it does."""

    def __init__(self, project: Path, *arguments: str, **environment: str) -> None:
        folder = Path(tempfile.mkdtemp(dir=project.parent))
        self._output, self._errors = folder / "output", folder / "errors"
        with self._output.open("w") as output, self._errors.open("w") as errors:
            given = {**os.environ, **environment}
            self._command = PREPARED.start([LORE, *arguments], project, given, output, errors)

    @property
    def errors(self) -> str:
        return self._errors.read_text(encoding="utf-8")

    def wait_for(self, text: str) -> None:
        """Wait until the command has written this to standard error."""
        wait_until(lambda: text in self.errors)

    def result(self) -> tuple[int, Any]:
        """Wait for the end; return the exit code and the JSON that the command printed."""
        code = self._command.wait()
        return code, json.loads(self._output.read_text(encoding="utf-8"))

    def state(self) -> tuple[int, str]:
        """Wait for the end of a sync; return the exit code and the state of its job."""
        code, job = self.result()
        return code, str(job.get("state") or job)


class Model:
    """A remote model that holds the project's texts until it is opened, and the commands that use it."""

    def __init__(self, server: ModelServer, project: Path) -> None:
        self.open = threading.Event()
        self.project = project
        self._server = server
        server.script[:] = [self._reply]

    def _reply(self, handler: QuietHandler, body: dict[str, Any]) -> None:
        if "ferry" in json.dumps(body):
            assert self.open.wait(120)
        model_server.embeddings()(handler, body)

    def start(self, *arguments: str) -> Running:
        key = {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": self._server.url}
        return Running(self.project, *arguments, "--json", **key)

    def sync(self) -> Running:
        """Start a sync, and return it once it waits for the model."""
        before = len(self._server.requests)
        syncing = self.start("sync")
        wait_until(lambda: len(self._server.requests) > before)
        return syncing


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the user's configuration file."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    write_project(tmp_path, {"config/lore/config.toml": REMOTE})
    return tmp_path / "config" / "lore" / "config.toml"


@pytest.fixture
def model(config: Path, tmp_path: Path) -> Iterator[Model]:
    texts = {path: f"{text}{tmp_path.name}\n" for path, text in PAGES.items()}  # no other test has their vectors
    project = write_project(tmp_path / "project", texts)
    with model_server.serving(model_server.silence) as server:
        model = Model(server, project)
        try:
            yield model
        finally:
            model.open.set()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return synced_project(tmp_path / "project", PAGES)


def test_an_edit_of_the_configuration_during_a_sync_leaves_the_sync_running(model: Model, config: Path) -> None:
    syncing = model.sync()
    owner = owner_of(model.project)
    config.write_text(REMOTE + OTHER, encoding="utf-8")

    reads = [model.start("status"), model.start("docs")]
    waiting = model.start("sync")
    waiting.wait_for("waiting until it is free")
    codes = [read.result()[0] for read in reads]
    still = owner_of(model.project)
    model.open.set()

    assert (syncing.state(), waiting.state()) == ((0, "done"), (0, "done"))
    assert codes == [0, 0]
    assert all(f"pid {owner.pid}) has another configuration and is in use" in read.errors for read in reads)
    assert "waiting" not in syncing.errors
    assert still == owner
    assert owner_of(model.project).config != owner.config
    assert len(owners()) == 1


def test_a_job_that_no_client_waits_for_keeps_its_owner(model: Model, config: Path) -> None:
    started = model.start("call", "manage_knowledge_base", "action=sync", "wait_seconds=0")
    code, job = started.result()
    owner = without_clients(model.project)
    config.write_text(REMOTE + OTHER, encoding="utf-8")

    read = model.start("status")
    read.result()
    still = owner_of(model.project)
    model.open.set()

    assert (code, job["state"]) == (0, "running")
    assert "is in use" in read.errors
    assert still == owner


def test_commands_with_two_configurations_wait_for_each_other(model: Model, tmp_path: Path) -> None:
    write_project(tmp_path, {"other.toml": OTHER})
    other = ("-c", str(tmp_path / "other.toml"))
    syncing = model.sync()

    rivals = [model.start("sync", *options) for options in (other, (), other, ())]
    for rival in rivals[::2]:
        rival.wait_for("waiting until it is free")
    model.open.set()

    assert [command.state() for command in (syncing, *rivals)] == [(0, "done")] * 5
    assert len(owners()) == 1


def test_an_agent_follows_a_change_of_its_own_configuration(project: Path) -> None:
    with StdioClient(project) as agent:
        before = owner_of(project)
        (project / "lore.toml").write_text(OTHER, encoding="utf-8")
        synced = run_lore("sync", cwd=project)
        after = owner_of(project)

        assert synced.returncode == 0
        assert agent.call("query_documents", query="ferry")["total"] == 3
        assert (before.is_alive, owner_of(project)) == (False, after)


def test_an_agent_with_a_configuration_of_its_own_keeps_its_owner(project: Path, tmp_path: Path) -> None:
    write_project(tmp_path, {"other.toml": OTHER})
    with StdioClient(project, "-c", str(tmp_path / "other.toml")) as agent:
        agents = owner_of(project)
        found = run_lore("search", "ferry", "--json", cwd=project)
        waiting = Running(project, "sync", "--json")
        waiting.wait_for("waiting until it is free")
        total = agent.call("query_documents", query="ferry")["total"]
        still = owner_of(project)

    assert (found.returncode, json.loads(found.stdout)["total"], total) == (0, 3, 3)
    assert "has another configuration" in found.stderr
    assert waiting.state() == (0, "done")
    assert still == agents != owner_of(project)


def test_a_call_of_an_agent_finishes_first(config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config.unlink()
    project = write_project(tmp_path / "project", PAGES)
    answered = threading.Event()

    def reply(handler: QuietHandler, body: dict[str, Any]) -> None:
        assert answered.wait(120)
        GEMINI.text("The ferry crosses the river [1].")(handler, body)

    with model_server.serving(reply) as server:
        monkeypatch.setenv("GEMINI_API_KEY", "k")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        assert run_lore("sync", cwd=project).returncode == 0
        with StdioClient(project) as agent:
            agent.begin("tools/call", {"name": "ask_knowledge_base", "arguments": {"query": "What crosses the river?"}})
            wait_until(lambda: bool(server.requests))
            owner = owner_of(project)
            (project / "lore.toml").write_text(OTHER, encoding="utf-8")
            waiting = Running(project, "sync", "--json")
            waiting.wait_for("waiting until it is free")
            is_alive = owner.is_alive
            answered.set()
            reply_ = agent.reply()

            assert is_alive
            assert "error" not in reply_
            assert waiting.state() == (0, "done")
            assert len(server.requests) == 1


@pytest.mark.parametrize("other", [{"build": "0"}, {"build": "0", "version": "0"}, {"config": "0-0"}], ids=str)
def test_an_owner_of_another_version_or_knowledge_folder_finishes_first(model: Model, other: dict[str, Any]) -> None:
    syncing = model.sync()
    owner = owner_of(model.project)
    write_note(model.project / ".lore", owner._replace(**other))

    read, waiting = model.start("docs"), model.start("sync")
    waiting.wait_for("waiting until it is free")
    code, found = read.result()
    is_alive = owner.is_alive
    model.open.set()

    assert is_alive
    assert (code, found.get("code")) == ((0, None) if other == {"build": "0"} else (75, "BUSY"))
    assert (syncing.state(), waiting.state()) == ((0, "done"), (0, "done"))


def test_an_idle_owner_of_another_version_is_replaced_by_a_read(project: Path) -> None:
    before = without_clients(project)
    write_note(project / ".lore", before._replace(build="older"))

    assert run_lore("search", "ferry", cwd=project).returncode == 0
    assert not before.is_alive


@pytest.mark.parametrize("command", [("serve", "--port", "0"), ("search", "ferry", "--no-daemon", "--json")])
def test_a_command_that_takes_the_index_leaves_a_sync_running(model: Model, command: tuple[str, ...]) -> None:
    syncing = model.sync()
    taking = Running(model.project, *command)
    if command[0] == "serve":
        taking.wait_for("waiting until it is free")
    else:
        assert taking.result()[0] == 75
    model.open.set()

    assert syncing.state() == (0, "done")
    if command[0] == "serve":
        taking.wait_for("Lore serves")
        assert predecessor.stop(model.project / ".lore", owner_of(model.project))
