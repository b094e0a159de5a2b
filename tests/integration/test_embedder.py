"""The contract of embedders, the compiled model against its original, and no network access."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from lore_etl.config.settings import EmbeddingSettings
from lore_etl.config.user_folders import cache_folder
from lore_etl.core.errors import ConfigError, PackageMissing, ProviderError
from lore_etl.core.progress import silent
from lore_etl.models import model_cache
from lore_etl.models.bundled import DEFAULT_MODEL
from lore_etl.models.embedder import ConfiguredModel, Embedder
from lore_etl.models.model_cache import KIND, SUPERSEDED_SECONDS, compiled_folder, prepared
from lore_etl.models.onnx_models import OnnxEmbedder
from tests.harness.models import HashEmbedder
from tests.harness.processes import guarded, run
from tests.harness.projects import write_project
from tests.harness.workers import built_once

TEXTS = [
    "How does a worker shut down?",
    "def run(self):\n    return self._jobs.pop()",
    "x",
    "the ferry crosses at dawn " * 30,
    "Größe 数据库 데이터 🦀",
    "a,b;c" * 40,
]
ODD = [
    "",
    " ",
    "\n\t",
    "\0",
    "e\u0301",
    "\u202etfel",
    "\ufeff",
    "👩‍👩‍👧",
    "\uffff",
    "a" * 5_000,
    "數" * 3_000,
    "\x1b[31m",
]


@cache
def real() -> OnnxEmbedder:
    return OnnxEmbedder(prepared(DEFAULT_MODEL), threads=2)


@pytest.fixture(params=[HashEmbedder, real], ids=["stand-in", "real"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    embedder: Embedder = request.param()
    return embedder


def test_vectors_have_the_stated_dimension_and_length_one(embedder: Embedder) -> None:
    found = embedder.embed(TEXTS)

    assert found.shape == (len(TEXTS), embedder.dimension)
    assert found.dtype == np.float32
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-4)
    assert np.linalg.norm(embedder.embed_query(TEXTS[0])) == pytest.approx(1, abs=1e-4)


def test_the_same_text_always_gives_the_same_vector(embedder: Embedder) -> None:
    assert np.array_equal(embedder.embed(TEXTS), embedder.embed(TEXTS))


def test_a_text_gets_the_same_vector_alone_and_in_a_batch(embedder: Embedder) -> None:
    many = [f"{text} {n}" for n in range(5) for text in TEXTS]

    together = embedder.embed(many)

    alone = np.concatenate([embedder.embed([text]) for text in many])
    assert np.abs(together - alone).max() < 1e-5


def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimension)


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


def test_sixteen_concurrent_threads_get_the_same_vectors(embedder: Embedder) -> None:
    texts = [text[:100] for text in TEXTS]
    expected = embedder.embed(texts)
    question = embedder.embed_query(TEXTS[0])

    def work(_: int) -> bool:
        same = np.abs(embedder.embed(texts) - expected).max() < 1e-5
        return bool(same and np.abs(embedder.embed_query(TEXTS[0]) - question).max() < 1e-5)

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(work, range(16)))


def test_texts_with_similar_meaning_are_closer_than_others(embedder: Embedder) -> None:
    question, near, far = embedder.embed(["how to stop a worker", "stop a worker like this", "ferry at dawn"])

    assert question @ near > question @ far


def test_the_token_counter_agrees_with_the_model(embedder: Embedder) -> None:
    counter = embedder.tokens()

    assert (counter.limit, counter.count("hello world")) == (254, 2)


def test_the_compiled_model_equals_the_original() -> None:
    from sentence_transformers import SentenceTransformer

    from lore_etl.models.export import SAMPLES, TOLERANCE  # imports torch
    from lore_etl.models.model_cache import model_source

    texts = [*SAMPLES, *TEXTS, *(text for text in ODD if text.strip())]
    original = SentenceTransformer(model_source(DEFAULT_MODEL), device="cpu")

    expected = original.encode(texts, normalize_embeddings=True)

    assert np.abs(real().embed(texts) - expected).max() < TOLERANCE
    assert np.abs(np.stack([real().embed_query(text) for text in texts]) - expected).max() < TOLERANCE


# --- other models ------------------------------------------------------------------------------------------------

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "ferry", "crosses", "at", "dawn", "##s", "a", "b", "."]


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a small model that all workers share. Tests must not change it."""
    return built_once(tmp_path_factory, "tiny-embedder", save_tiny) / "model"


def save_tiny(folder: Path) -> None:
    """Save a BERT with random weights and a small vocabulary in the format of sentence-transformers."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizer

    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=48,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder / "bert")
    BertTokenizer(vocab_file=str(folder / "vocab.txt")).save_pretrained(folder / "bert")
    word = Transformer(str(folder / "bert"), max_seq_length=32)
    whole = SentenceTransformer(modules=[word, Pooling(16)], device="cpu", prompts={"query": "the "})
    whole.save(str(folder / "model"))


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LORE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


SUPERSEDED, RECENT = f"model-{'0' * 16}", f"model-{'1' * 16}"
OTHERS = (f"another-{'2' * 16}", f"model-large-{'3' * 16}")


@pytest.fixture(scope="module")
def shared_compilation(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of a cache in which one worker has compiled the model."""
    compiled = built_once(tmp_path_factory, "compiled-embedder", lambda cache: compile_tiny(tiny_model, cache))
    return Path(shutil.copytree(compiled, tmp_path_factory.mktemp("compiled") / "cache"))


def compile_tiny(tiny_model: Path, cache: Path) -> None:
    """Compile the model in a cache with two models from a week ago."""
    for name in (SUPERSEDED, RECENT, *OTHERS):
        (cache / "models" / name).mkdir(parents=True)
        (cache / "models" / f"{name}.lock").touch()
    for path in (cache / "models" / f"{name}{end}" for name in (SUPERSEDED, *OTHERS) for end in ("", ".lock")):
        os.utime(path, (path.stat().st_atime, path.stat().st_mtime - SUPERSEDED_SECONDS - 60))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LORE_CACHE", str(cache))
        ConfiguredModel(EmbeddingSettings(model=str(tiny_model))).prepare(silent, may_download=False)


@pytest.fixture
def compiled(shared_compilation: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use the cache that contains the compiled model. Tests must not change it."""
    monkeypatch.setenv("LORE_CACHE", str(shared_compilation))
    return shared_compilation


def test_a_model_in_a_folder_gives_the_vectors_of_its_original(tiny_model: Path, compiled: Path) -> None:
    from sentence_transformers import SentenceTransformer

    from lore_etl.models.export import TOLERANCE  # imports torch

    model = ConfiguredModel(EmbeddingSettings(model=str(tiny_model)))
    texts = ["the ferry crosses at dawn", "a", "b . b", "ferrys " * 100]

    model.prepare(silent, may_download=False)
    served = model.open()

    original = SentenceTransformer(str(tiny_model), device="cpu")
    assert (served.dimension, served.tokens().limit) == (16, 30)
    assert np.abs(served.embed(texts) - original.encode(texts, normalize_embeddings=True)).max() < TOLERANCE
    asked = original.encode(["ferry"], prompt_name="query", normalize_embeddings=True)[0]
    assert np.abs(served.embed_query("ferry") - asked).max() < TOLERANCE
    before = {path: path.stat().st_mtime_ns for path in compiled.rglob("*")}
    assert model.open().fingerprint == served.fingerprint == model.fingerprint()
    assert {path: path.stat().st_mtime_ns for path in compiled.rglob("*")} == before


def test_a_copy_of_a_model_at_another_place_needs_no_compilation(tiny_model: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_model, tmp_path / "elsewhere" / tiny_model.name)
    copy, folder = tmp_path / "elsewhere" / tiny_model.name, str(tiny_model)

    assert compiled_folder(str(copy), str(copy), KIND) == compiled_folder(folder, folder, KIND)


def test_a_new_compilation_deletes_unused_copies_older_than_a_week(tiny_model: Path, compiled: Path) -> None:
    current = prepared(str(tiny_model)).folder

    left = {path.name.removesuffix(".lock") for path in current.parent.glob("*-*")}
    assert left == {current.name, RECENT, *OTHERS}


def test_a_compiled_model_that_is_in_use_is_not_deleted(own_cache: Path) -> None:
    source, other = "first/model", "second/model"
    used = compiled_folder(source, source, KIND)
    used.mkdir(parents=True)
    (used / "info.json").touch()
    os.utime(used, (0, 0))

    assert model_cache.compiled(source, source, KIND) == used
    model_cache.remove_superseded(other, compiled_folder(other, other, KIND))

    assert used.exists()


def test_another_model_without_the_extra_names_the_command_that_installs_it(
    tiny_model: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    model = ConfiguredModel(EmbeddingSettings(model=str(tiny_model)))

    with pytest.raises(PackageMissing, match="needs the extra `models`") as found:
        model.prepare(silent, may_download=False)

    assert f"{sys.executable} -m pip install onnxscript torch" in found.value.hint


def test_a_compiled_model_opens_without_the_extra(
    tiny_model: Path, compiled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)

    assert ConfiguredModel(EmbeddingSettings(model=str(tiny_model))).open().dimension == 16


@pytest.mark.long
def test_a_model_compiled_again_is_the_same_model(tiny_model: Path, own_cache: Path) -> None:
    chosen = EmbeddingSettings(model=str(tiny_model))
    before = ConfiguredModel(chosen).fingerprint()
    shutil.rmtree(own_cache)

    assert ConfiguredModel(chosen).fingerprint() == before


@pytest.mark.long
def test_changed_weights_make_another_model(tiny_model: Path, own_cache: Path, tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    shutil.copytree(tiny_model, tmp_path / "model")
    chosen = EmbeddingSettings(model=str(tmp_path / "model"))
    before = ConfiguredModel(chosen).fingerprint()
    weights = next((tmp_path / "model").rglob("model.safetensors"))
    values = load_file(weights)
    save_file({name: value + 0.5 for name, value in values.items()}, weights, metadata={"format": "pt"})

    assert ConfiguredModel(chosen).fingerprint() != before


@pytest.mark.parametrize("name", ["/no/such/folder", "./nor-this", "~/nor-that"])
def test_a_missing_folder_is_a_configuration_error(name: str, own_cache: Path) -> None:
    with pytest.raises(ConfigError, match=r"embedding\.model"):
        prepared(name)


@pytest.mark.long  # the compilation takes seconds; the same error of a reranker is checked in every run
def test_a_folder_without_a_model_is_reported_with_the_reason(tmp_path: Path, own_cache: Path) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(ProviderError, match="cannot be compiled"):
        prepared(str(tmp_path / "empty"))


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
found = QueryService(index).find("how do I stop the boat?", "all")
print(report.embedded, found.ranked[0].source, sorted(report.failed))
index.close()
"""


def test_the_guard_of_the_next_test_kills_processes_that_connect(tmp_path: Path) -> None:
    done = run("import socket; socket.create_connection(('127.0.0.1', 9))", environment=guarded(tmp_path / "guard"))

    assert (done.returncode, "network: " in done.stderr) == (86, True)


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
