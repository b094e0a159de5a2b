"""The embedding cache that all projects of a user share: limits, other processes, damage, and clones of a project."""

import gzip
import json
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from lore_etl.config.project import cache_folder
from lore_etl.config.settings import EmbeddingSettings, Settings
from lore_etl.index import Index
from lore_etl.pipeline.sync import sync
from lore_etl.stores.embedding_cache import SECONDS_PER_DAY, SHARED, SharedVectors
from lore_etl.stores.export import CHUNKS
from tests.harness.evaluation import commit, git
from tests.harness.models import HashModel, own_cache
from tests.harness.projects import write_project

LIMIT = 1_000_000
VALUE = bytes(1_536)
SECRET = "the quartz lantern of Fisherman's Quay"


@pytest.fixture(autouse=True, scope="module")
def own_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Share vectors only within this run of the module: a worker may run parts of a module at two times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LORE_CACHE", str(own_cache(tmp_path_factory.mktemp("vectors") / "cache")))
        yield


def keys(start: int, end: int) -> list[str]:
    return [f"{n:064x}" for n in range(start, end)]


def values(start: int, end: int) -> dict[str, bytes]:
    return dict.fromkeys(keys(start, end), VALUE)


def test_the_vectors_used_least_recently_are_deleted_at_the_limit(tmp_path: Path) -> None:
    for day, batch in enumerate(((0, 300), (300, 500))):
        with closing(SharedVectors(tmp_path, LIMIT, lambda day=day: day * SECONDS_PER_DAY)) as store:  # type: ignore[misc]
            store.put("model", values(*batch))
    with closing(SharedVectors(tmp_path, LIMIT, lambda: 2 * SECONDS_PER_DAY)) as store:
        assert len(store.get("model", keys(0, 100))) == 100

        for start in range(500, 700, 50):
            store.put("model", values(start, start + 50))

        kept = store.get("model", keys(0, 700))
    assert set(kept) >= {*keys(0, 100), *keys(500, 700)}
    assert len(kept) < 600
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 1.2 * LIMIT


def test_several_processes_write_the_same_file(tmp_path: Path) -> None:
    def write(number: int) -> None:
        with closing(SharedVectors(tmp_path, LIMIT)) as store:
            for start in range(0, 100, 10):
                store.put(f"model {number % 2}", values(start, start + 10))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))

    with closing(SharedVectors(tmp_path, LIMIT)) as store:
        assert [len(store.get(model, keys(0, 200))) for model in ("model 0", "model 1", "other")] == [100, 100, 0]


@pytest.mark.parametrize("damage", [b"garbage" * 5_000, b""])
def test_a_damaged_file_is_replaced_by_the_next_process_and_a_file_as_folder_is_not_used(
    tmp_path: Path, damage: bytes
) -> None:
    def found(folder: Path, *, puts: bool) -> dict[str, bytes]:
        with closing(SharedVectors(folder, LIMIT)) as store:
            if puts:
                store.put("model", values(0, 10))
            return dict(store.get("model", keys(0, 10)))

    assert found(tmp_path, puts=True) == values(0, 10)
    (tmp_path / SHARED).write_bytes(damage)
    assert found(tmp_path, puts=False) == {}
    assert found(tmp_path, puts=True) == values(0, 10)
    assert found(tmp_path / SHARED, puts=True) == {}


def synced(root: Path, cache_mb: int = 10) -> int:
    """Return the number of chunks that a sync embeds."""
    with closing(Index(root, Settings(embedding=EmbeddingSettings(cache_mb=cache_mb)))) as index:
        report = sync(index)
        assert index.catalogue.waiting() == 0
        return report.embedded


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("shared") / "first"
    pages = {f"docs/{n}.md": f"# Lantern {n}\n\nWhere is {SECRET}, number {n}?\n" for n in range(5)}
    write_project(root, pages)
    git(root, "init", "-b", "main")
    git(root, "add", ".")
    commit(root, "Add the lanterns")
    return root


@pytest.fixture(scope="module")
def first(repository: Path) -> Iterator[Path]:
    """Provide a clone that was synced before, on two branches."""
    assert synced(repository) == 5
    git(repository, "switch", "-c", "other")
    write_project(repository, {"docs/9.md": "# Beacon\n\nOnly on the other branch.\n"})
    git(repository, "add", ".")
    commit(repository, "Add the beacon")
    assert synced(repository) == 1
    yield repository


def second_clone(first: Path, folder: Path) -> Path:
    git(first, "clone", "--quiet", str(first), str(folder))
    return folder


def worktree(first: Path, folder: Path) -> Path:
    git(first, "worktree", "add", "--quiet", str(folder), "main")
    return folder


def without_index(first: Path, folder: Path) -> Path:
    (first / ".lore").rename(folder)
    return first


def other_branch(first: Path, folder: Path) -> Path:
    git(first, "switch", "--quiet", "--detach", "main")
    return first


@pytest.mark.parametrize("moved", [second_clone, worktree, other_branch, without_index])
def test_moved_texts_are_not_embedded_again(first: Path, tmp_path: Path, moved: Callable[[Path, Path], Path]) -> None:
    assert synced(moved(first, tmp_path / "moved")) == 0


def test_without_the_shared_cache_every_index_embeds_for_itself(first: Path, tmp_path: Path) -> None:
    assert synced(second_clone(first, tmp_path / "clone"), cache_mb=0) > 0


def test_the_file_contains_no_text_and_is_private(first: Path) -> None:
    folder = cache_folder() / "vectors"

    assert not [file for file in folder.iterdir() if b"quartz" in file.read_bytes() or b"docs/" in file.read_bytes()]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}


def test_a_model_that_a_caller_gives_shares_nothing(tmp_path: Path) -> None:
    """Its name may mean another model elsewhere."""
    root = write_project(tmp_path / "project", {"a.md": "# Alpha\n\nThe ferry.\n"})
    counts = []
    for _ in range(2):
        with closing(Index(root, Settings(), HashModel())) as index:
            counts.append(sync(index).embedded)
        (root / ".lore").rename(tmp_path / f"gone{len(counts)}")

    assert counts == [1, 1]


def test_a_vector_of_the_wrong_length_is_not_used(tmp_path: Path) -> None:
    root = write_project(tmp_path / "project", {"a.md": "# Alpha\n\nOf the wrong length.\n"})
    assert synced(root) == 1
    (root / ".lore").rename(tmp_path / "gone")
    with closing(Index(root, Settings())) as index:
        model = index.cache._model
        (line,) = gzip.decompress((tmp_path / "gone" / CHUNKS).read_bytes()).splitlines()
    with closing(SharedVectors(cache_folder() / "vectors", LIMIT)) as store:
        store.put(model, {json.loads(line)["content_hash"]: np.full(384, 3, dtype="<f4").tobytes()})

    assert synced(root) == 1
