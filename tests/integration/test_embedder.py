"""The contract of embedders, the compiled model against its original, and no network access."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from lore_etl.config.project import cache_folder
from lore_etl.core.errors import ConfigError
from lore_etl.models.embedder import Embedder
from lore_etl.models.model_cache import DEFAULT_MODEL, prepared
from lore_etl.models.onnx_models import OnnxEmbedder
from tests.harness.models import HashEmbedder
from tests.harness.processes import guarded, run
from tests.harness.projects import write_project
from tests.harness.trying import is_long

pytestmark = pytest.mark.later

TEXTS = [
    "How does a worker shut down?", "def run(self):\n    return self._jobs.pop()", "x",
    "the ferry crosses at dawn " * 30, "Größe 数据库 데이터 🦀", "a,b;c" * 40,
]  # fmt: skip
ODD = [
    "", " ", "\n\t", "\0", "e\u0301", "\u202etfel", "\ufeff", "👩‍👩‍👧", "\uffff", "a" * 5_000, "數" * 3_000, "\x1b[31m",
]  # fmt: skip


@cache
def real() -> OnnxEmbedder:
    return OnnxEmbedder(prepared(DEFAULT_MODEL), threads=2)


@pytest.fixture(params=[HashEmbedder, real], ids=["stand-in", "real"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    embedder: Embedder = request.param()
    return embedder


def test_vectors_have_the_stated_dimension_and_length_one_and_are_closer_for_texts_with_similar_meaning(
    embedder: Embedder,
) -> None:
    found = embedder.embed(TEXTS)
    assert found.shape == (len(TEXTS), embedder.dimension)
    assert embedder.embed([]).shape == (0, embedder.dimension)
    assert found.dtype == np.float32
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-4)
    assert np.linalg.norm(embedder.embed_query(TEXTS[0])) == pytest.approx(1, abs=1e-4)

    question, near, far = embedder.embed(["how to stop a worker", "stop a worker like this", "ferry at dawn"])
    assert question @ near > question @ far


def test_a_text_always_gets_the_same_vector_alone_and_in_a_batch(embedder: Embedder) -> None:
    many = [f"{text} {n}" for n in range(5) for text in TEXTS]

    together = embedder.embed(many)

    alone = np.concatenate([embedder.embed([text]) for text in many])
    assert np.abs(together - alone).max() < 1e-5
    assert np.array_equal(together, embedder.embed(many))


@pytest.mark.parametrize("text", ODD, ids=lambda text: ascii(text)[:12])
def test_any_text_gets_a_finite_vector_of_length_one(embedder: Embedder, text: str) -> None:
    for vector in (embedder.embed([text])[0], embedder.embed_query(text)):
        assert np.isfinite(vector).all()
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-4)


def test_a_text_beyond_the_limit_is_read_up_to_the_limit(embedder: Embedder) -> None:
    if isinstance(embedder, HashEmbedder):
        assert embedder.embed(["word " * 100_000]).shape == (1, embedder.dimension)
        return
    limit = embedder.tokens().limit

    whole, cut = embedder.embed(["word " * 100_000, "word " * limit])

    assert np.abs(whole - cut).max() < 1e-5


@pytest.mark.promise(26)
def test_sixteen_concurrent_threads_get_the_same_vectors(embedder: Embedder) -> None:
    short = [text[:100] for text in TEXTS]
    texts = [f"{short[n % len(short)]} {n}" for n in range(1_000 if is_long() else 40)]
    expected = embedder.embed(texts)
    question = embedder.embed_query(TEXTS[0])

    def work(_: int) -> bool:
        same = np.abs(embedder.embed(texts) - expected).max() < 1e-5
        return bool(same and np.abs(embedder.embed_query(TEXTS[0]) - question).max() < 1e-5)

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(work, range(16)))


def test_the_token_counter_agrees_with_the_model(embedder: Embedder) -> None:
    counter = embedder.tokens()

    assert (counter.limit, counter.count("hello world")) == (254, 2)


# --- other models ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["/no/such/folder", "./nor-this", "~/nor-that"])
def test_a_missing_folder_is_a_configuration_error(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LORE_CACHE", str(tmp_path / "cache"))
    with pytest.raises(ConfigError, match=r"embedding\.model"):
        prepared(name)


# --- no network --------------------------------------------------------------------------------------------------

INDEX_AND_SEARCH = """
import sys
from pathlib import Path
from lore_etl.index import Index
from lore_etl.config.settings import Settings
from lore_etl.pipeline.sync import sync
from lore_server.query.query_service import QueryService
index = Index(Path(sys.argv[1]), Settings())
report = sync(index)
found = QueryService(index).find("how do I stop the boat?")
print(report.embedded, found.ranked[0].source, sorted(report.failed))
index.close()
"""


def test_the_guard_of_the_next_test_kills_processes_that_connect(tmp_path: Path) -> None:
    done = run("import socket; socket.create_connection(('127.0.0.1', 9))", environment=guarded(tmp_path / "guard"))

    assert (done.returncode, "network: " in done.stderr) == (86, True)


@pytest.mark.requirement("UQ-037")
@pytest.mark.promise(30)
def test_sync_and_search_with_the_real_model_connect_to_nothing(tmp_path: Path) -> None:
    files = {
        "docs/brake.md": "# Brake\n\nTo halt the vessel, pull the lever.\n",
        "docs/tea.md": "# Tea\n\nBoil water.\n",
    }
    project = write_project(tmp_path / "project", files)

    done = run(INDEX_AND_SEARCH, project, environment=guarded(tmp_path / "guard"))

    assert (done.stdout, done.returncode) == ("2 docs/brake.md []\n", 0), done.stderr


EMBED = """
from lore_etl.models.embedder import ConfiguredModel
from lore_etl.config.settings import EmbeddingSettings
print(ConfiguredModel(EmbeddingSettings()).open().embed_query("harbour").shape)
"""


def test_the_model_runtime_writes_nothing_to_the_home_folder_and_sends_no_telemetry(tmp_path: Path) -> None:
    """By default ONNX Runtime stores a device id and pending telemetry for Microsoft in ~/.cache."""
    own = {"HOME": str(tmp_path), "LORE_CACHE": str(cache_folder())}
    environment = {key: value for key, value in os.environ.items() if key != "ORT_DISABLE_TELEMETRY"}

    done = subprocess.run(
        [sys.executable, "-c", EMBED], env={**environment, **own}, capture_output=True, text=True, check=True
    )

    assert done.stdout.strip()
    assert list(tmp_path.iterdir()) == []
