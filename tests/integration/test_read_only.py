"""An index that cannot be written is searched as usual, and a sync says in one line why it is refused."""

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from lore_etl.config.settings import Settings
from lore_etl.core.errors import StorageError
from lore_etl.index import Index
from lore_etl.pipeline.sync import sync
from lore_etl.stores.claim import LOCK, adopt, is_ours
from lore_etl.stores.readable import COPIES
from lore_server.query.parse import parse
from lore_server.query.retrieve import retrieve
from tests.harness.commands import LORE
from tests.harness.models import own_cache
from tests.harness.permissions import without_permission
from tests.harness.projects import ROOT, open_index, sync_once, write_project

pytestmark = pytest.mark.later

FILES: dict[str, str | bytes] = {
    **{f"docs/{n}.md": f"# Page {n}\n\nsubject{n} lighthouse\n" for n in range(6)},
    "src/lamp.py": "class Lamp:\n    '''Shines.'''\n",
}
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux mounts a disk for a single process")
MOUNTED = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
USED = """
import json, sys, time
from contextlib import closing
from pathlib import Path
from lore_etl.config.settings import Settings
from lore_etl.core.errors import LoreError
from lore_server.app import App
from lore_server.contract import load_contract
from tests.harness.models import HashModel
with closing(App(Path(sys.argv[1]), Settings(), load_contract(), HashModel())) as app:
    started = time.process_time()
    found = app.call("query_documents", {"query": "lighthouse subject3"})
    seconds = [time.process_time() - started]
    health = app.call("healthcheck", {})
    try:
        started = time.process_time()
        app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 60})
    except LoreError as error:
        refused = [type(error).__name__, error.exit_code, error.message]
        seconds.append(time.process_time() - started)
    print(json.dumps([found, health, refused, seconds]))
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with an index, and a cache folder of its own."""
    monkeypatch.setenv("LORE_CACHE", str(own_cache(tmp_path / "cache")))
    project = write_project(tmp_path / "project", FILES).resolve()
    sync_once(project)
    return project


def on_read_only_disk(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command that sees the folder on a read-only disk."""
    as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
    return subprocess.run(
        ["unshare", "--mount", *as_root, "sh", "-c", MOUNTED, str(folder), *command],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def found(index: Index) -> tuple[list[str], list[str]]:
    """Return the sources that each leg finds."""
    candidates = retrieve(index, parse("lighthouse subject3"), None, 10).found
    words = sorted(candidate.chunk.source for candidate in candidates if candidate.keyword)
    return words, sorted(candidate.chunk.source for candidate in candidates if candidate.vector)


def copies(tmp_path: Path) -> list[str]:
    """Return the files of copies, except their locks."""
    files = (path for path in (tmp_path / "cache" / COPIES).rglob("*") if path.is_file())
    return [str(path) for path in files if path.name != LOCK]


@pytest.mark.promise(16)
@ON_LINUX
def test_an_index_on_a_read_only_disk_is_searched_and_not_synced(project: Path, tmp_path: Path) -> None:
    before = contents(project)

    done = on_read_only_disk(project, sys.executable, "-c", USED, str(project))

    assert done.returncode == 0, done.stderr
    result, health, refused, seconds = json.loads(done.stdout)
    assert result["results"][0]["source"] == "docs/3.md"
    assert (result["freshness"]["state"], result.get("degraded")) == ("fresh", None)
    assert health["status"] == "healthy"
    assert "read-only" in next(check["detail"] for check in health["checks"] if check["part"] == "disk")
    assert refused == ["StorageError", 74, f"The index is read-only: {project}/.lore cannot be written."]
    assert max(seconds) < 1  # of processor time: the machine may be busy
    assert contents(project) == before
    assert copies(tmp_path) == []


@pytest.mark.promise(16)
def test_an_index_without_write_permission_is_searched_and_not_synced(tmp_path: Path, project: Path) -> None:
    index_folder = project / ".lore"
    with closing(open_index(project)) as index:
        expected = found(index)
    with without_permission(index_folder, tmp_path, 0o500):
        adopt(index_folder)  # the tests' other user owns it now
        before = contents(index_folder)
        with closing(open_index(project)) as index:
            assert index.is_read_only
            assert found(index) == expected
            with pytest.raises(StorageError, match="read-only"):
                sync(index)
        assert contents(index_folder) == before


@pytest.mark.promise(16)
@pytest.mark.long
@ON_LINUX
def test_commands_use_an_owner_of_an_index_on_a_read_only_disk(project: Path) -> None:
    with closing(Index(project, Settings())) as index:
        sync(index)
    before = contents(project)
    steps = "; ".join(f'"$0" {step}; echo "exit $?"' for step in ("search lighthouse", "sync", "ps", "stop"))

    done = on_read_only_disk(project, "sh", "-c", steps, LORE)

    assert [line for line in done.stdout.splitlines() if line.startswith("exit")] == [
        "exit 0", "exit 74", "exit 0", "exit 0",
    ]  # fmt: skip
    assert "docs/" in done.stdout
    assert f"The index is read-only: {project}/.lore cannot be written." in done.stderr
    assert f"{project}  " in done.stdout
    assert contents(project) == before


@ON_LINUX
def test_a_read_only_index_of_another_folder_is_used_once_it_is_adopted(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code = (
        "import sys; from pathlib import Path; from lore_etl.stores.claim import adopt, claim, is_ours\n"
        "from lore_etl.core.errors import LoreError\n"
        "try:\n    claim(Path(sys.argv[1]))\nexcept LoreError as error:\n    print(type(error).__name__)\n"
        "adopt(Path(sys.argv[1]))\nprint(is_ours(Path(sys.argv[1])))"
    )
    monkeypatch.setenv("LORE_STATE", str(tmp_path / "state"))
    assert not is_ours(project / ".lore")

    done = on_read_only_disk(project, sys.executable, "-c", code, str(project / ".lore"))

    assert done.stdout.split() == ["ForeignIndex", "True"], done.stderr


@ON_LINUX
def test_a_read_only_view_of_an_index_that_another_process_changes_is_refused(project: Path) -> None:
    with closing(open_index(project)) as index:
        index.own()

        done = on_read_only_disk(project, sys.executable, "-c", USED, str(project))

    assert "Busy: Another process owns this index" in done.stderr
