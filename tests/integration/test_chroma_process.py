"""The `chroma run` process that Lore starts: it ends with Lore, and other processes are left alone."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from lore_etl.config.settings import DatabaseSettings, Settings
from lore_etl.core.errors import DatabaseUnavailable, StorageError
from lore_etl.index import Index
from lore_etl.pipeline.sync import sync
from lore_etl.stores import integrity
from lore_etl.stores.chroma.child_server import LOCK, LOG, NOTE, ChromaProcess, end_left_over
from lore_etl.stores.chroma.local import ChildChroma, EmbeddedChroma, FolderBackend
from lore_etl.stores.chroma.vector_store import VectorStore
from lore_etl.system.processes import born
from lore_server.query.parse import parse
from lore_server.query.retrieve import retrieve
from tests.harness.chroma import COLLECTIONS, chroma_running
from tests.harness.commands import start_lore
from tests.harness.indexes import assert_equals_fresh
from tests.harness.owners import pause
from tests.harness.ports import free_port
from tests.harness.processes import child, hear, locked_by_another_process, run
from tests.harness.projects import SMALL, open_index, write_project
from tests.harness.refusals import refused
from tests.harness.trying import is_long, often
from tests.harness.vectors import rows_of, vectors_of

pytestmark = pytest.mark.later

SERVER = Settings.model_validate({"database": {"mode": "server"}})
needs_proc = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="reads what a process has mapped")


def served(folder: Path, at_least: int = 0) -> VectorStore:
    return VectorStore(ChildChroma(folder, DatabaseSettings()), at_least)


def pid_of(folder: Path) -> int:
    return int(json.loads((folder / NOTE).read_text(encoding="utf-8"))["pid"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "vectors"
    folder.mkdir()
    return folder


@pytest.fixture
def process(folder: Path) -> Iterator[ChromaProcess]:
    started = ChromaProcess.start(folder, folder.parent / LOG)
    yield started
    started.stop()


# --- the process -------------------------------------------------------------------------------------------------


@needs_proc
def test_the_server_is_the_rust_server_without_the_python_server(process: ChromaProcess) -> None:
    mapped = Path(f"/proc/{process.pid}/maps").read_text(encoding="utf-8")
    command = Path(f"/proc/{process.pid}/cmdline").read_text(encoding="utf-8").split("\0")

    assert "chromadb_rust_bindings" in mapped
    # Chroma's Python server is FastAPI on uvicorn: it cannot run without pydantic's compiled core
    assert not [name for name in ("pydantic_core", "uvloop", "torch", "onnxruntime") if name in mapped]
    assert command[1:4] == ["-P", "-m", "lore_etl.stores.chroma.child_server"]


POISON = {
    "type": "known",
    "name": "sentence_transformer",
    "config": {
        "model_name": "nobody/none", "device": "cpu", "normalize_embeddings": False,
        "kwargs": {"trust_remote_code": True},
    },
}  # fmt: skip
HNSW = {"space": "cosine", "embedding_function": POISON, "source_key": "#document", "hnsw": {"ef_construction": 100}}
SCHEMA = {
    "defaults": {"float_list": {"vector_index": {"enabled": False, "config": HNSW}}},
    "keys": {
        "#document": {"string": {"fts_index": {"enabled": True, "config": {}}}},
        "#embedding": {"float_list": {"vector_index": {"enabled": True, "config": HNSW}}},
    },
}
USE_POISONED = """
import sys
from pathlib import Path
import numpy as np
from lore_etl.config.settings import DatabaseSettings
from lore_etl.stores.chroma.local import ChildChroma, EmbeddedChroma
from lore_etl.stores.chroma.vector_store import VectorStore
backend = {"embedded": EmbeddedChroma, "server": ChildChroma}[sys.argv[2]]
store = VectorStore(backend(Path(sys.argv[1]), DatabaseSettings()))
vectors = np.eye(3, dtype=np.float32)
rows = [(f"{n}.0", "guide", "a.md") for n in range(3)]
store.add(rows, vectors)
store.update(rows)
store.heal(rows, vectors)
print([row_id for row_id, _ in store.search(vectors[0], 1)], store.missing(["1.0"], vectors[1:2]))
store.close()
print("sentence_transformers" in sys.modules or "transformers" in sys.modules)
"""


@pytest.mark.parametrize("mode", often(["embedded", "server"], {"embedded"}))
def test_models_named_by_a_collection_are_never_loaded(tmp_path: Path, mode: str) -> None:
    """Chroma's client loads the models in a collection's schema at every write, whatever its embedding function."""
    with chroma_running(tmp_path / "vectors") as server:
        folder = server.ask("POST", COLLECTIONS, {"name": "lore", "schema": SCHEMA})
        assert "nobody/none" in json.dumps(folder)
    done = run(USE_POISONED, tmp_path / "vectors", mode, environment={"HF_HUB_OFFLINE": "1"})

    assert done.stdout == "['0.0'] []\nFalse\n", done.stderr
    assert "embedding function" not in done.stderr


@pytest.mark.parametrize("backend", often([EmbeddedChroma, ChildChroma], {EmbeddedChroma}), ids=["embedded", "server"])
def test_a_collection_with_another_distance_measure_is_rejected(tmp_path: Path, backend: type[FolderBackend]) -> None:
    with chroma_running(tmp_path / "vectors") as server:
        server.ask("POST", COLLECTIONS, {"name": "lore", "configuration": {"hnsw": {"space": "l2"}}})
    integrity.seal(tmp_path / "vectors")

    with pytest.raises(StorageError, match="its distance function is l2"):
        VectorStore(backend(tmp_path / "vectors", DatabaseSettings()))


def test_the_environment_and_project_files_do_not_configure_the_server(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = {
        "CHROMA_PERSIST_PATH": str(tmp_path / "elsewhere"),
        "CHROMA_LISTEN_ADDRESS": "0.0.0.0",
        "CHROMA_PORT": "9",
        "CHROMA_MAX_PAYLOAD_SIZE_BYTES": "10",
        "CHROMA_OPEN_TELEMETRY__ENDPOINT": "http://127.0.0.1:9",
        "CONFIG_PATH": str(tmp_path / "config.yaml"),
        "HTTP_PROXY": "http://127.0.0.1:9",
        "http_proxy": "http://127.0.0.1:9",
        "ALL_PROXY": "http://127.0.0.1:9",
    }
    for key, value in hostile.items():
        monkeypatch.setenv(key, value)
    (tmp_path / ".env").write_text("".join(f"{key}={value}\n" for key, value in hostile.items()))
    (tmp_path / "config.yaml").write_text("port: 9\n")
    monkeypatch.chdir(tmp_path)

    with closing(served(folder)) as store:
        store.add(rows_of(3), vectors_of(3))
        assert store.count() == 3

    assert (folder / "chroma.sqlite3").exists()
    assert not (tmp_path / "elsewhere").exists()


@needs_proc
def test_the_server_inherits_neither_the_index_lock_nor_open_files(tmp_path: Path) -> None:
    write_project(tmp_path, {"a.md": "# Alpha\n\nThe zebra text.\n"})
    with closing(open_index(tmp_path, SERVER)) as index:
        sync(index)
        pid = pid_of(index.folder / "vectors-1")
        open_files = {os.path.realpath(entry) for entry in Path(f"/proc/{pid}/fd").iterdir()}  # some close meanwhile
    inside = {Path(name) for name in open_files if name.startswith(str(index.folder))}
    assert inside
    assert {path.relative_to(index.folder).parts[0] for path in inside} <= {"vectors-1", LOG}


# --- life cycle --------------------------------------------------------------------------------------------------


def test_a_port_used_by_another_chroma_server_is_not_taken_over_and_a_folder_is_served_by_a_single_server(
    folder: Path, tmp_path: Path
) -> None:
    with chroma_running(tmp_path / "other") as other:
        with refused(DatabaseUnavailable, message=f"{other.port} is not available", hint=LOG):
            ChromaProcess.start(folder, tmp_path / LOG, ports=[other.port])
        port = free_port()
        process = ChromaProcess.start(folder, tmp_path / LOG, ports=[other.port, port])
        assert process.port == port
        assert (folder / "chroma.sqlite3").exists()

        with pytest.raises(DatabaseUnavailable, match="Another Chroma process is using this folder"):
            ChromaProcess.start(folder, tmp_path / LOG)
        assert process.is_running()
        process.stop()
        assert other.collections() == {}


def test_the_log_is_kept_and_bounded_in_size(folder: Path, tmp_path: Path) -> None:
    (tmp_path / LOG).write_bytes(b"x" * 2_000_000)

    ChromaProcess.start(folder, tmp_path / LOG).stop()

    text = (tmp_path / LOG).read_text(encoding="utf-8")
    assert "listening on" in text
    assert "xxx" not in text


HOLD = """
import sys, time
from pathlib import Path
from lore_etl.config.settings import DatabaseSettings
from lore_etl.stores.chroma.local import ChildChroma
from lore_etl.stores.chroma.vector_store import VectorStore
from tests.harness.vectors import rows_of, vectors_of
store = VectorStore(ChildChroma(Path(sys.argv[1]), DatabaseSettings()))
store.add(rows_of(1500), vectors_of(1500))
print("filled", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("backend", "hangs"),
    [(ChildChroma, False), (ChildChroma, True), pytest.param(EmbeddedChroma, False, marks=pytest.mark.long)],
    ids=["server", "hanging server", "embedded"],
)
def test_a_killed_lore_leaves_no_server_and_the_next_lore_finds_every_row(
    folder: Path, backend: type[FolderBackend], hangs: bool
) -> None:
    with child(HOLD, folder) as lore:
        assert hear(lore) == "filled\n"
        left = pid_of(folder)
        if hangs:
            pause(left)
        lore.kill()
        lore.wait(120)
        if hangs:
            end_left_over(folder, patience=0.2)
            assert born(left) is None

        with closing(VectorStore(backend(folder, DatabaseSettings()), at_least=1_500)) as store:
            assert born(left) is None
            assert store.count() == 1_500
            assert store.missing([row[0] for row in rows_of(1_500)], vectors_of(1_500)) == []


@pytest.mark.parametrize("note", ["the process of somebody else", "another process under its number", "garbage", None])
@pytest.mark.requirement("NEO-006")
def test_a_process_that_lore_did_not_start_is_never_killed(folder: Path, note: str | None) -> None:
    with locked_by_another_process(folder / LOCK) as stranger:
        texts = {
            "the process of somebody else": json.dumps({"pid": os.getpid(), "born": "1"}),
            "another process under its number": json.dumps({"pid": stranger.pid, "born": "1"}),
            "garbage": "garbage",
        }
        if note is not None:
            (folder / NOTE).write_text(texts[note], encoding="utf-8")

        with pytest.raises(StorageError, match="may not belong to Lore"):
            end_left_over(folder, patience=0.05)

        assert stranger.poll() is None


def test_the_record_of_an_ended_server_kills_no_process(folder: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        (folder / NOTE).write_text(json.dumps({"pid": stranger.pid, "born": born(stranger.pid)}), encoding="utf-8")
        FileLock(folder / LOCK).acquire().lock.release()

        end_left_over(folder)

        assert stranger.poll() is None
        stranger.communicate(b"\n", timeout=120)


# --- crashes -----------------------------------------------------------------------------------------------------


def kill_server(folder: Path, is_alive: Callable[[], bool]) -> None:
    """Kill the process and wait until its parent can detect it."""
    os.kill(pid_of(folder), signal.SIGKILL)
    while is_alive():
        os.sched_yield()


def test_a_call_to_a_dead_server_is_an_error_and_never_an_empty_result(folder: Path) -> None:
    store = served(folder)
    store.add(rows_of(30), vectors_of(30))
    kill_server(folder, store.is_alive)

    for ask in (
        lambda: store.search(vectors_of(1)[0], 5),
        lambda: store.similarities(vectors_of(1)[0], [rows_of(1)[0][0]]),
        lambda: store.missing([rows_of(1)[0][0]], vectors_of(1)),
        store.rows,
        store.count,
        lambda: store.add(rows_of(1), vectors_of(1)),
        lambda: store.delete([rows_of(1)[0][0]]),
    ):
        with refused(DatabaseUnavailable, hint="to restart it"):
            ask()

    assert not store.is_alive()
    store.close()
    assert not integrity.is_sealed(folder)  # its files may be the reason for the crash: the next open checks them first
    with closing(served(folder, at_least=30)) as again:
        assert again.missing([row[0] for row in rows_of(30)], vectors_of(30)) == []


def test_a_hanging_server_times_out_and_is_killed(folder: Path) -> None:
    store = served(folder)
    store.add(rows_of(30), vectors_of(30))
    backend: Any = store._backend
    backend._chroma._session.timeout = 0.3  # instead of minutes
    pid = pid_of(folder)
    pause(pid)

    with pytest.raises(DatabaseUnavailable, match="did not respond"):
        store.count()

    assert not store.is_alive()
    os.kill(pid, signal.SIGCONT)  # only so that the test does not wait until it is killed
    store.close()
    assert born(pid) is None
    with closing(served(folder, at_least=30)) as again:
        assert again.count() == 30


def test_a_search_after_a_kill_restarts_the_server_and_is_correct(tmp_path: Path) -> None:
    write_project(tmp_path, {f"docs/{n}.md": f"# Page {n}\n\nsubject{n} lighthouse\n" for n in range(30)})
    with closing(open_index(tmp_path, SERVER)) as index:
        sync(index)
        first = index.vectors.where()
        kill_server(index.folder / "vectors-1", index.has_open_vectors)

        found = retrieve(index, parse("subject7 lighthouse"), None, 10)

        assert found.by_meaning[0][0] == found.by_word[0][0]
        assert index.vectors.where() != first
        assert sync(index).embedded == 0
        assert_equals_fresh(index, Settings())


class KillServerAt:
    """Return a progress callback that kills the server at the nth step."""

    def __init__(self, index: Index, step: int) -> None:
        self.index, self.left = index, step

    def __call__(self, stage: str, done: int, total: int) -> None:
        self.left -= 1
        if self.left == 0:
            newest = max(self.index.folder.glob("vectors-*"), key=lambda value: int(value.name.partition("-")[2]))
            pid, is_in_use = pid_of(newest), newest.name == f"vectors-{self.index.generation}"
            kill_server(newest, self.index.has_open_vectors if is_in_use else lambda: born(pid) is not None)


@pytest.mark.promise(1)
def test_a_sync_whose_server_is_killed_at_any_step_is_completed_by_the_next_sync(tmp_path: Path) -> None:
    """Of 70 rows, every third sync replaces more than half: this covers loads in place and new generations."""
    from tests.integration.test_interruption import become

    failed = 0
    become(tmp_path, 0)
    with closing(open_index(tmp_path, SERVER, limits=SMALL)) as index:
        sync(index)
        for step in (3, 6, 9, 10, 11, 12) if is_long() else (8, 9, 11):
            become(tmp_path, step)
            try:
                sync(index, KillServerAt(index, step))
            except DatabaseUnavailable:
                failed += 1
            report = sync(index)
            assert report.failed == []
        assert_equals_fresh(index, Settings())
    assert failed > 1


@pytest.mark.parametrize("restarts", [1, pytest.param(20, marks=pytest.mark.long)])
@pytest.mark.promise(8)
def test_every_row_is_found_after_repeated_kills_and_restarts(folder: Path, restarts: int) -> None:
    """chroma#7090, #5925: "Error loading hnsw index" after a restart with more than a thousand rows."""
    rows, vectors = rows_of(250 * restarts + 2_000), vectors_of(250 * restarts + 2_000)
    count = 2_000
    with closing(served(folder)) as store:
        store.add(rows[:count], vectors[:count])
    for _ in range(restarts):
        store = served(folder, at_least=count)
        store.add(rows[count : count + 250], vectors[count : count + 250])
        count += 250
        kill_server(folder, store.is_alive)
        store.close()
        with closing(served(folder, at_least=count)) as again:
            assert again.missing([row[0] for row in rows[:count]], vectors[:count]) == []


# --- switching modes ---------------------------------------------------------------------------------------------


def test_each_mode_reads_the_data_of_the_other_without_rewriting_it(tmp_path: Path) -> None:
    write_project(tmp_path, {f"docs/{n}.md": f"# Page {n}\n\nsubject{n} lighthouse\n" for n in range(30)})
    for settings in (Settings(), SERVER, Settings()):
        with closing(open_index(tmp_path, settings)) as index:
            report = sync(index)
            assert report.rebuilt is None
            assert retrieve(index, parse("subject7 lighthouse"), None, 5).by_meaning
    assert report.unchanged == 30


HOSTILE = {
    "CHROMA_API_IMPL": "chromadb.api.fastapi.FastAPI",
    "CHROMA_SERVER_HOST": "127.0.0.1",
    "CHROMA_SERVER_HTTP_PORT": "9",
    "PERSIST_DIRECTORY": "elsewhere",
    "CHROMA_SYSDB_IMPL": "no.such.Class",
    "ALLOW_RESET": "true",
    "MIGRATIONS": "none",
}


NONSENSE = {"CHROMA_SERVER_HTTP_PORT": "in words", "CHROMA_HTTP_KEEPALIVE_SECS": "never", "ANONYMIZED_TELEMETRY": "?"}
SETTINGS_OF_OTHERS = {"hostile": HOSTILE, "nonsense": NONSENSE}
USUAL = ("hostile", "embedded", "file"), ("nonsense", "server", "file and environment")
OTHERS = ("hostile", "embedded", "file and environment"), ("nonsense", "embedded", "file and environment")


@pytest.mark.parametrize(("kind", "mode", "places"), often([*USUAL, *OTHERS], USUAL))
@pytest.mark.requirement("NEO-056")
def test_external_chroma_settings_have_no_effect(tmp_path: Path, kind: str, mode: str, places: str) -> None:
    """Chroma reads both the environment and the file when it is imported."""
    write_project(tmp_path, {"a.md": "# Alpha\n\nThe zebra text.\n", "lore.toml": f"[database]\nmode = '{mode}'\n"})
    variables = SETTINGS_OF_OTHERS[kind]
    (tmp_path / ".env").write_text("".join(f"{key}={value}\n" for key, value in variables.items()))
    environment = variables if "environment" in places else {}

    synced = start_lore("sync", "--json", cwd=tmp_path, **environment)
    found = start_lore("search", "zebra", "--json", cwd=tmp_path, **environment)

    assert synced.returncode == 0, synced.stderr
    assert json.loads(found.stdout)["results"][0]["source"] == "a.md"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".env", ".lore", "a.md", "lore.toml"]
    assert (tmp_path / ".lore" / "vectors-1" / "chroma.sqlite3").exists()
