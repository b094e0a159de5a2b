"""Vectors that machines share at a target: a second machine embeds nothing, and a target that fails costs only time."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from lore_etl.config.settings import EmbeddingSettings, Settings
from lore_etl.core.model import SyncReport
from lore_etl.index import Index
from lore_etl.pipeline.sync import sync
from lore_etl.stores import target as targets
from lore_etl.stores.target import TargetFailed
from lore_etl.stores.vector_packs import FORMAT, VectorPacks
from lore_server.query.query_service import QueryService
from tests.harness.chroma import silent_server
from tests.harness.models import DIMENSION, HashModel
from tests.harness.ports import free_port
from tests.harness.projects import write_project

pytestmark = pytest.mark.later

FILES = {f"docs/{n}.md": f"# Page {n}\n\nThe ferry number {n} crosses at {n} o'clock.\n" for n in range(20)}
QUESTION = "ferry number 7"


def synced(root: Path, target: str, writes: bool = False) -> tuple[SyncReport, HashModel]:
    """Sync a clone of the project on a machine without cached vectors; return the report and its model."""
    model = HashModel()
    settings = Settings(embedding=EmbeddingSettings(shared=target, shared_writes=writes, cache_mb=0))
    with closing(Index(write_project(root, FILES), settings, model)) as index:
        return sync(index), model


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """A folder to which one machine has written the vectors of the project."""
    folder = tmp_path / "target"
    assert synced(tmp_path / "writer", str(folder), writes=True)[0].warnings == []
    return folder


def only(target: Path, suffix: str) -> Path:
    (file,) = target.glob(f"*/*{suffix}")
    return file


def test_other_machines_embed_nothing_find_the_same_and_share_nothing_again(tmp_path: Path, target: Path) -> None:
    before = contents(target)
    for name, writes in (("reader", False), ("second", True)):
        report, _ = synced(tmp_path / name, str(target), writes=writes)
        assert (report.embedded, report.warnings) == (0, [])
        assert contents(target) == before

    found = []
    for name in ("writer", "reader", "second"):
        with closing(Index(tmp_path / name, Settings(), HashModel())) as index:
            outcome = QueryService(index).find(QUESTION)
            assert outcome.degraded is None
            found.append([(one.source, round(one.score, 2)) for one in outcome.ranked])
    assert found[0] == found[1] == found[2]


def contents(target: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in target.rglob("*") if file.is_file()}


def test_what_is_shared_has_no_texts_and_a_reader_shares_nothing(tmp_path: Path, target: Path) -> None:
    shared = contents(target)
    assert not any(b"ferry" in content or b"docs/" in content for content in shared.values())
    assert all(hashlib.sha256(content).hexdigest() in file.name for file, content in shared.items())

    synced(tmp_path / "reader", str(tmp_path / "nowhere"))
    assert not (tmp_path / "nowhere").exists()


def test_only_new_texts_make_a_new_pack(tmp_path: Path, target: Path) -> None:
    model = HashModel()
    packs = VectorPacks(str(target), "another", 3)
    assert packs.put({hashlib.sha256(b"a").hexdigest(): np.array([1, 0, 0], np.float32)}) == 1
    assert packs.put({hashlib.sha256(b"a").hexdigest(): np.array([1, 0, 0], np.float32)}) == 0
    settings = Settings(embedding=EmbeddingSettings(shared=str(target), shared_writes=True, cache_mb=0))
    root = write_project(tmp_path / "second", {**FILES, "docs/new.md": "# New\n\nA lantern.\n"})
    with closing(Index(root, settings, model)) as index:
        assert sync(index).embedded == 1

    assert len(list(target.glob("*/*.pack"))) == 3


def flipped(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-20] ^= 1
    file.write_bytes(content)


def endless(file: Path) -> None:
    file.unlink()
    file.symlink_to("/dev/zero")


def forged(target: Path) -> None:
    """Replace all vectors by others, with the right hashes."""
    pack, keys = only(target, ".pack"), only(target, ".keys")
    content = pack.read_bytes()
    start = content.index(b"\n", len(FORMAT)) + 1
    rows = np.frombuffer(content[start:], dtype=np.dtype([("text", "V32"), ("vector", "<f2", (DIMENSION,))])).copy()
    rows["vector"] = np.eye(DIMENSION)[0]
    content = content[:start] + rows.tobytes()
    digest = hashlib.sha256(content)
    pack.unlink()
    pack.with_name(f"{digest.hexdigest()}.pack").write_bytes(content)
    listed = digest.digest() + keys.read_bytes()[32:]
    keys.unlink()
    keys.with_name(f"{hashlib.sha256(listed).hexdigest()}.keys").write_bytes(listed)


LIES: dict[str, Callable[[Path], object]] = {
    "a bit of the vectors is flipped": lambda target: flipped(only(target, ".pack")),
    "a bit of the list is flipped": lambda target: flipped(only(target, ".keys")),
    "the pack is cut": lambda target: os.truncate(only(target, ".pack"), 1_000),
    "the pack is empty": lambda target: os.truncate(only(target, ".pack"), 0),
    "the list is empty": lambda target: os.truncate(only(target, ".keys"), 0),
    "the pack is gone": lambda target: only(target, ".pack").unlink(),
    "the pack is another object": lambda target: shutil.copy(only(target, ".keys"), only(target, ".pack")),
    "the pack is a device without an end": lambda target: endless(only(target, ".pack")),
    "the pack is too large": lambda target: os.truncate(only(target, ".pack"), targets.LARGEST_BYTES + 1),
    "the vectors are others, with the right hashes": forged,
}


@pytest.mark.parametrize("lie", LIES)
def test_a_target_that_lies_costs_a_warning_and_the_embedding(tmp_path: Path, target: Path, lie: str) -> None:
    LIES[lie](target)
    report, model = synced(tmp_path / "second", str(target))

    assert report.embedded == len(FILES)
    (warning,) = report.warnings
    assert warning.startswith("embedding.shared is not usable")
    with closing(Index(tmp_path / "second", Settings(), model)) as index:
        assert QueryService(index).find(QUESTION).ranked[0].source == "docs/7.md"


@pytest.mark.parametrize("where", ["http://127.0.0.1:{}/lore", "nothing://such", "/dev/null/x"])
def test_a_target_that_is_away_costs_a_warning(tmp_path: Path, where: str) -> None:
    report, _ = synced(tmp_path / "second", where.format(free_port()), writes=True)

    assert report.embedded == len(FILES)
    assert [warning for warning in report.warnings if "not usable" in warning or "not shared" in warning]


def test_a_target_that_does_not_answer_is_left_after_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "SECONDS", 0.5)
    with silent_server() as port, pytest.raises(TargetFailed, match="no answer within"):
        VectorPacks(f"http://127.0.0.1:{port}/lore", "model", 3).get({"0" * 64})


def test_a_vector_that_is_wrong_alone_is_refused_when_a_search_finds_it(
    tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forged(target)
    settings = Settings(embedding=EmbeddingSettings(shared=str(target), cache_mb=0))
    monkeypatch.setattr("lore_etl.pipeline.embed.COMPARED", 0)  # as if chance had chosen only right ones
    with closing(Index(write_project(tmp_path / "second", FILES), settings, HashModel())) as index:
        assert sync(index).embedded == 0
        outcome = QueryService(index).find(QUESTION)
        assert outcome.degraded and outcome.ranked[0].source == "docs/7.md"

        assert sync(index).embedded == len(FILES)  # it does not take them again
        assert QueryService(index).find(QUESTION).degraded is None


def test_a_project_cannot_choose_the_target(tmp_path: Path) -> None:
    from lore_etl.config.project import read_layers

    write_project(tmp_path, {"lore.toml": '[embedding]\nshared = "s3://theirs"\nshared_writes = true\n'})

    assert read_layers(tmp_path).requested.keys() == {"embedding.shared", "embedding.shared_writes"}


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A bucket and its S3 server on this machine; without `moto_server`, the test is skipped."""
    server = shutil.which("moto_server")
    if server is None:
        pytest.skip("needs the command moto_server, of the package moto, which cannot be installed beside chromadb")
    port = free_port()
    process = subprocess.Popen([server, "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_ALLOW_HTTP": "true", "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    try:
        from tests.harness import http_client
        from tests.harness.owners import wait_until

        def is_created() -> bool:
            try:
                return http_client.request("PUT", f"http://127.0.0.1:{port}/team").status_code == 200
            except OSError:
                return False
            except Exception as error:  # noqa: BLE001 - the server is not ready
                return "refused" not in str(error)

        wait_until(is_created)
        yield f"s3://team/lore-{os.getpid()}", process
    finally:
        process.terminate()
        process.wait()


def test_machines_share_vectors_in_a_bucket(tmp_path: Path, bucket: tuple[str, subprocess.Popen[bytes]]) -> None:
    target, server = bucket
    first, _ = synced(tmp_path / "first", target, writes=True)
    second, _ = synced(tmp_path / "second", target, writes=True)
    server.kill()
    server.wait()
    third, _ = synced(tmp_path / "third", target)

    assert (first.embedded, first.warnings) == (len(FILES), [])
    assert (second.embedded, second.warnings) == (0, [])
    assert (third.embedded, len(third.warnings)) == (len(FILES), 1)


def test_nothing_of_it_is_imported_without_a_target(tmp_path: Path) -> None:
    write_project(tmp_path, FILES)
    code = (
        "import sys; from pathlib import Path; from lore_etl.index import Index\n"
        "from lore_etl.pipeline.sync import sync\n"
        "from lore_etl.config.settings import Settings; index = Index(Path('.').resolve(), Settings()); sync(index)\n"
        "index.close(); sys.exit('obstore' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False).returncode == 0
