"""A prebuilt index: exported once, imported elsewhere, and never trusted."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from lore_etl.config.settings import Settings
from lore_etl.core.errors import IndexMissing, InvalidArgument, LoreError, ModelMismatch, NotFound
from lore_etl.core.model import Chunk
from lore_etl.index import Index
from lore_etl.pipeline.prebuilt import FORMAT, HASH_BYTES, export_index, import_index, opened, recomputed
from lore_etl.pipeline.sync import sync
from lore_server.query.query_service import QueryService
from tests.harness.models import DIMENSION, HashModel
from tests.harness.processes import run
from tests.harness.projects import write_project

FILES = {f"docs/{n}.md": f"# Page {n}\n\nThe ferry number {n} crosses at {n} o'clock.\n" for n in range(20)}
RECORD = HASH_BYTES + 4 * DIMENSION


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the content of a file exported from a project with all pages."""
    folder = tmp_path_factory.mktemp("exported")
    with closing(Index(write_project(folder / "project", FILES), Settings(), HashModel())) as index:
        sync(index)
        assert export_index(index, folder / "file") == len(FILES)
    return (folder / "file").read_bytes()


@pytest.fixture
def file(tmp_path: Path, exported: bytes) -> Path:
    path = tmp_path / "lore.index"
    path.write_bytes(exported)
    return path


@pytest.fixture
def clone(tmp_path: Path) -> Iterator[Index]:
    """Provide the same project elsewhere, without an index."""
    with closing(Index(write_project(tmp_path / "clone", FILES), Settings(), HashModel())) as index:
        yield index


def sealed(content: bytes) -> bytes:
    return content + hashlib.sha256(content).digest()


def header(exported: bytes) -> tuple[dict[str, object], int]:
    """Return the header, and the position of the first record."""
    end = exported.index(b"\n", len(FORMAT)) + 1
    return json.loads(exported[len(FORMAT) : end]), end


def test_an_imported_index_embeds_nothing_and_finds_everything(clone: Index, file: Path) -> None:
    taken, report = import_index(clone, file)

    assert (taken, report.created, report.embedded) == (20, 20, 0)
    vector = clone.embedder.embed_query("ferry number 7 crosses")
    assert len(clone.vectors.search(vector, 30)) == 20
    assert clone.catalogue.waiting() == 0


def test_only_the_difference_is_embedded(clone: Index, file: Path) -> None:
    changed = {"docs/1.md": "# Page 1\n\nCancelled.\n", "docs/new.md": "# New\n\nA night ferry.\n"}
    write_project(clone.root, changed)

    taken, report = import_index(clone, file)

    assert (taken, report.created, report.embedded) == (19, 21, 2)


def test_a_synced_project_imports_only_the_embeddings_it_needs(clone: Index, file: Path) -> None:
    (clone.root / "docs/3.md").unlink()
    sync(clone)

    import_index(clone, file)

    stored = {line.content_hash for line in _lines(clone)}
    with opened(file) as prebuilt:
        unknown = [name for name in _names(file.read_bytes(), prebuilt.start) if name not in stored]
    assert len(unknown) == 1
    assert clone.cache.get(unknown) == {}


KILLED = """
import os, signal, sys
from pathlib import Path
from lore_etl.pipeline.prebuilt import export_index
from tests.harness.projects import open_index

def kill(event, arguments):
    if event == "os.rename" and str(arguments[1]) == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)

index = open_index(Path(sys.argv[1]))
sys.addaudithook(kill)
export_index(index, Path(sys.argv[2]))
"""


def test_an_export_removes_what_a_killed_one_left_and_nothing_else(clone: Index, tmp_path: Path) -> None:
    file = tmp_path / "out" / "[lore].index"
    others = {f"{file.name}.mine.tmp", f"{file.name}.{os.getpid()}.tmp.tmp", f"a{file.name}.1.tmp"}
    write_project(file.parent, dict.fromkeys(others, "text"))
    running = file.with_name(f"{file.name}.{os.getppid()}.tmp")
    running.touch()
    sync(clone)
    clone.close()

    killed = run(KILLED, clone.root, file)
    left = {path.name for path in file.parent.iterdir()} - others - {running.name}
    with closing(Index(clone.root, Settings(), HashModel())) as index:
        export_index(index, file)

    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert len(left) == 1
    assert {path.name for path in file.parent.iterdir()} == {file.name, running.name, *others}


def test_an_index_without_vectors_cannot_be_exported(clone: Index, tmp_path: Path) -> None:
    with pytest.raises(IndexMissing):
        export_index(clone, tmp_path / "file")


def test_a_missing_file_is_reported(clone: Index, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="There is no file"):
        import_index(clone, tmp_path / "missing")


def test_a_file_of_another_model_is_refused(tmp_path: Path, file: Path) -> None:
    root = write_project(tmp_path / "other", FILES)
    with closing(Index(root, Settings(), HashModel("another"))) as index, pytest.raises(ModelMismatch, match="hash"):
        import_index(index, file)


def with_header(exported: bytes, **changes: object) -> bytes:
    found, end = header(exported)
    return sealed(FORMAT + json.dumps(found | changes).encode() + b"\n" + exported[end:-HASH_BYTES])


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "garbage": lambda content: b"\xa5" * 10_000,
    "cut": lambda content: content[:-100],
    "extended": lambda content: content + b"\0" * RECORD,
    "a changed byte": lambda content: content[:3_000] + bytes([content[3_000] ^ 1]) + content[3_001:],
    "no header": lambda content: sealed(FORMAT + b"\n"),
    "nested header": lambda content: sealed(FORMAT + b"[" * 100_000),
    "a header of another type": lambda content: sealed(FORMAT + b"[1]\n"),
    "too many vectors": lambda content: with_header(content, vectors=10**15),
    "a negative number of vectors": lambda content: with_header(content, vectors=-1),
    "no dimension": lambda content: with_header(content, dimension=0),
    "an infinite dimension": lambda content: with_header(content, dimension=float("inf")),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_file_is_refused_before_it_is_used(
    clone: Index, file: Path, exported: bytes, damage: Callable[[bytes], bytes]
) -> None:
    file.write_bytes(damage(exported))

    with pytest.raises(InvalidArgument, match="is not a complete file of `lore index export`"):
        import_index(clone, file)

    assert not clone.exists()


def forged(exported: bytes, vectors: Callable[[np.ndarray], np.ndarray]) -> bytes:
    """Return a file with a correct digest and other vectors."""
    _, start = header(exported)
    rows = np.frombuffer(exported[start:-HASH_BYTES], dtype=np.dtype([("text", "V32"), ("vector", "<f4", DIMENSION)]))
    rows = rows.copy()
    rows["vector"] = vectors(rows["vector"])
    return sealed(exported[:start] + rows.tobytes())


FORGERIES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "not finite": lambda vectors: vectors * np.float32("nan"),
    "too long": lambda vectors: vectors * 3,
    "of other texts": lambda vectors: vectors[::-1],
    "all equal": lambda vectors: np.broadcast_to(vectors[0], vectors.shape),
}


@pytest.mark.parametrize("vectors", FORGERIES.values(), ids=FORGERIES.keys())
def test_forged_vectors_are_refused(
    clone: Index, file: Path, exported: bytes, vectors: Callable[[np.ndarray], np.ndarray]
) -> None:
    file.write_bytes(forged(exported, vectors))

    with pytest.raises(LoreError, match=r"not a vector of length 1|are not those of this project's texts"):
        import_index(clone, file)

    assert sync(clone).embedded == 20


QUESTION = "a submarine below the harbour"


def poison(index: Index, exported: bytes, file: Path) -> None:
    """Import the file with one other vector, which the import does not recompute: that of a question."""
    _, start = header(exported)
    victim = _names(exported, start)[7]
    place = start + 7 * RECORD + HASH_BYTES
    vector = index.embedder.embed_query(QUESTION).astype("<f4").tobytes()
    file.write_bytes(sealed(exported[:place] + vector + exported[place + len(vector) : -HASH_BYTES]))

    taken, _ = import_index(index, file, choose=lambda names, _: [name for name in names if name != victim][:3])

    assert taken == len(FILES)


@pytest.fixture
def poisoned(clone: Index, file: Path, exported: bytes) -> Index:
    poison(clone, exported, file)
    return clone


def test_a_forged_vector_is_found_when_it_reaches_the_first_results(poisoned: Index) -> None:
    queries = QueryService(poisoned)

    first = queries.find(QUESTION)
    assert "imported vectors are not those of their texts" in (first.degraded or "")
    assert all(candidate.vector is None for candidate in first.candidates)
    again = queries.find("ferry number 7")
    assert (again.degraded, again.ranked[0].source) == (first.degraded, "docs/7.md")

    report = sync(poisoned)
    assert report.rebuilt == "imported vectors are not those of their texts"
    assert report.embedded == 17  # all that the import did not recompute
    after = QueryService(poisoned).find(QUESTION)
    assert after.degraded is None
    assert max(candidate.vector or 0 for candidate in after.candidates) < 0.98
    assert sync(poisoned).embedded == 0


def test_a_vector_is_compared_once_also_after_a_restart(clone: Index, file: Path) -> None:
    import_index(clone, file, choose=lambda names, _: names[:3])
    clone.close()
    models = [HashModel(), HashModel()]
    for model in models:
        with closing(Index(clone.root, Settings(), model)) as index:
            for question in ("ferry", "crosses", "ferry"):
                assert QueryService(index).find(question).degraded is None

    compared = [len(model.embedder.embedded) for model in models]
    assert 0 < compared[0] <= 17
    assert compared[1] == 0


@pytest.mark.parametrize(("count", "expected"), [(0, 0), (20, 20), (64, 64), (600, 64), (1_000, 100), (40_000, 4_000)])
def test_the_number_of_recomputed_vectors_grows_with_the_file(count: int, expected: int) -> None:
    assert recomputed(count) == expected


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_a_fifo_a_folder_and_a_device_are_refused_without_waiting(
    clone: Index, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "odd")

    with pytest.raises(InvalidArgument, match="is not a regular file"):
        import_index(clone, tmp_path / "odd")

    assert not clone.exists()


def test_a_link_to_a_file_is_followed(clone: Index, file: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(file)

    assert import_index(clone, tmp_path / "link")[0] == 20


def _lines(index: Index) -> list[Chunk]:
    return list(index.catalogue.every_chunk())


def _names(content: bytes, start: int) -> list[str]:
    places = range(start, len(content) - HASH_BYTES, RECORD)
    return [content[place : place + HASH_BYTES].hex() for place in places]
