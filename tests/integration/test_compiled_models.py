"""Small random models, compiled like real models, against their originals; no network access."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lore_etl.config.project import cache_folder
from lore_etl.config.settings import EmbeddingSettings, QuerySettings, Settings
from lore_etl.core.errors import ConfigError, LoreError, PackageMissing, ProviderError, ProviderUnavailable
from lore_etl.core.progress import silent
from lore_etl.index import Index
from lore_etl.models import model_cache
from lore_etl.models.embedder import ConfiguredModel
from lore_etl.models.model_cache import EMBEDDER, SUPERSEDED_SECONDS, compiled_folder, weights_folder
from lore_etl.models.onnx_models import OnnxCrossEncoder, open_cross_encoder
from lore_etl.pipeline.sync import sync
from lore_server.query.query_service import QueryService, SearchOutcome
from tests.harness.commands import Commands
from tests.harness.processes import child, guarded
from tests.harness.projects import ROOT, open_index, write_project
from tests.harness.refusals import refused
from tests.integration.test_embedder import ODD, TEXTS, real

pytestmark = pytest.mark.later
QUERIES = ["the ferry", "", "how does a boat stop " * 40, "Größe 数据库 🦀", "e\u0301 \0 \u202e"]
PASSAGES = [
    "",
    " ",
    "a",
    "the ferry crosses at dawn",
    "ferrys " * 500,
    "Größe 데이터 👩‍👩‍👧",
    "dawn . b " * 9,
    "數" * 3_000,
]
COMPILERS = {"tests.harness.originals", "lore_etl.models.export"}
IMPORTED = ("sentence_transformers", "onnxscript", "torch.onnx.ops", "torch._dynamo")


class Torch:
    """A process that has imported torch and forks the compilations; it and they end if they connect to a network."""

    def __init__(self, python: str) -> None:
        self._python = python
        self.samples, self.tolerance = self.run("samples", Path())

    def run(self, step: str, model: Path, *given: object) -> Any:
        """Run a step of `tests.harness.originals`."""
        command = [self._python, "-P", "-m", "tests.harness.originals", step, str(model)]
        done = subprocess.run(command, input=json.dumps(given), stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def torch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Torch]:
    """Fork whatever needs torch from one process: to import it takes longer than to compile a model."""
    guard = guarded(tmp_path_factory.mktemp("guard") / "guard")
    variables = {"HF_HUB_OFFLINE": "0", "PYTHONPATH": os.pathsep.join((guard["PYTHONPATH"], str(ROOT)))}
    parent = Commands(*IMPORTED, programs=COMPILERS, environment={**os.environ, **variables})
    with closing(parent), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "executable", parent.python())
        patch.setenv("PYTHONPATH", variables["PYTHONPATH"])
        yield Torch(parent.python())


@pytest.fixture(scope="module")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Use a cache folder for all tests of this module."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        (folder / "secrets").symlink_to(cache_folder() / "secrets")  # the compiled rules, which take seconds
        patch.setenv("LORE_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="module", params=["bert", pytest.param("qwen", marks=pytest.mark.long)])
def model(request: pytest.FixtureRequest, torch: Torch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a small cross-encoder. Tests must not change it."""
    folder = tmp_path_factory.mktemp("reranker") / "tiny"
    torch.run(request.param, folder)
    return folder


# --- cross-encoders ----------------------------------------------------------------------------------------------

OPEN = """
import sys
model, sys.executable = sys.argv[1:]
started = []
sys.addaudithook(lambda event, given: started.append(given[1]) if event == "subprocess.Popen" else None)
from lore_etl.models.onnx_models import open_cross_encoder
scores = open_cross_encoder(model, threads=1).score("the ferry", ["at dawn", "a boat"])
print(scores.tolist(), "torch" in sys.modules, sum("lore_etl.models.export" in command for command in started))
"""


@pytest.fixture(scope="module")
def opened(model: Path, shared_cache: Path) -> list[list[str]]:
    """Open the model in two processes; return the scores, whether torch was loaded, and the compilations of each."""
    guard = {"PYTHONPATH": os.environ["PYTHONPATH"].removesuffix(f"{os.pathsep}{ROOT}"), "HF_HUB_OFFLINE": "0"}
    with (
        child(OPEN, model, sys.executable, environment=guard) as first,
        child(OPEN, model, sys.executable, environment=guard) as second,
    ):
        return [process.communicate(timeout=300)[0].rsplit(" ", 2) for process in (first, second)]


def test_two_processes_compile_a_model_once_without_torch_or_the_network(opened: list[list[str]]) -> None:
    assert opened[0][0] == opened[1][0]
    assert [reply[1] for reply in opened] == ["False", "False"]
    assert sorted(int(reply[2]) for reply in opened) == [0, 1]


@pytest.fixture(scope="module")
def served(model: Path, opened: list[list[str]]) -> OnnxCrossEncoder:
    """Return the model that the processes compiled."""
    return open_cross_encoder(str(model), threads=2)


def test_the_compiled_model_gives_the_scores_of_its_original(
    model: Path, served: OnnxCrossEncoder, torch: Torch
) -> None:
    expected = np.asarray(torch.run("predict", model, QUERIES, PASSAGES))

    found = [served.score(query, PASSAGES) for query in QUERIES]
    none = served.score("the ferry", [])

    assert {(scores.dtype, scores.shape) for scores in found} == {(np.dtype(np.float32), (len(PASSAGES),))}
    assert (none.dtype, none.shape) == (np.float32, (0,))
    assert served.name == str(model)
    assert np.abs(np.stack(found) - expected).max() < torch.tolerance
    assert min(map(np.ptp, found)) > 10 * torch.tolerance


def test_a_passage_gets_the_same_score_alone_among_others_and_in_concurrent_threads(served: OnnxCrossEncoder) -> None:
    many = [f"{text} {'b ' * (n % 7)}" for n in range(20) for text in PASSAGES]
    together = served.score("the ferry", many)
    alone = np.concatenate([served.score("the ferry", [passage]) for passage in many])
    assert np.abs(together - alone).max() < 1e-5

    expected = served.score("the ferry", PASSAGES)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: served.score("the ferry", PASSAGES), range(24)))
    assert max(np.abs(scored - expected).max() for scored in found) < 1e-5


def test_a_compiled_model_is_not_compiled_again(model: Path, served: OnnxCrossEncoder, shared_cache: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in shared_cache.rglob("*")}

    again = open_cross_encoder(str(model)).score("the ferry", PASSAGES)

    assert np.abs(again - served.score("the ferry", PASSAGES)).max() < 1e-5
    assert {path: path.stat().st_mtime_ns for path in shared_cache.rglob("*")} == before


# --- rejected models ---------------------------------------------------------------------------------------------


def assert_refused(name: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=r"^Configuration key `query\.reranker`: ") as found:
        open_cross_encoder(name)

    assert reason in found.value.message
    assert "Name a cross-encoder that gives one score" in found.value.hint


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        *((folder, f"there is no folder {folder}") for folder in ("/no/such/folder", "./nor-this", "~/nor-that")),
        ("no such model", "a model on the hub named no such model"),
    ],
)
def test_a_missing_folder_or_a_name_unknown_to_the_hub_is_a_configuration_error(name: str, reason: str) -> None:
    assert_refused(name, reason)


@pytest.mark.parametrize(
    ("options", "reason"),
    [((3,), "the model gives 3 labels, not a single score"), ((1, False), "not trained to score pairs")],
    ids=["several labels", "no trained scores"],
)
def test_an_unsuitable_model_is_rejected_with_the_reason(
    torch: Torch, tmp_path: Path, own_cache: Path, options: tuple[object, ...], reason: str
) -> None:
    torch.run("bert", tmp_path / "model", *options)

    assert_refused(str(tmp_path / "model"), reason)

    assert [path for path in own_cache.glob("models/*") if path.suffix != ".lock"] == []


@pytest.mark.parametrize(
    ("use", "error", "reason"),
    [
        (open_cross_encoder, ConfigError, r"cannot be loaded: .*model_type"),
        (model_cache.prepared, ProviderError, "cannot be compiled"),
    ],
    ids=["cross-encoder", "embedding model"],
)
def test_a_folder_without_a_model_is_rejected_with_the_reason(
    torch: Torch, tmp_path: Path, own_cache: Path, use: Callable[[str], object], error: type[LoreError], reason: str
) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(error, match=reason):
        use(str(tmp_path / "empty"))


def searched(root: Path, reranker: str, depth: int = 5) -> SearchOutcome:
    """Search a small project with this reranker."""
    index = open_index(root, Settings(query=QuerySettings(reranker=reranker, rerank_depth=depth)))
    try:
        sync(index)
        return QueryService(index).find("how does the ferry stop at dawn")
    finally:
        index.close()


def test_a_configured_cross_encoder_reranks_the_best_files_and_explains_it_and_a_missing_one_fails_every_search(
    model: Path, served: OnnxCrossEncoder, tmp_path: Path
) -> None:
    root = write_project(
        tmp_path, {f"docs/{n}.md": f"# Ferry {n}\n\nthe ferry crosses at dawn {n}\n" for n in range(8)}
    )
    plain, read = searched(root, ""), searched(root, str(model))
    assert {result.source for result in read.ranked} == {result.source for result in plain.ranked}
    assert [result.source for result in read.ranked[5:]] == [result.source for result in plain.ranked[5:]]
    assert all("reranker" in dict(result.why) for result in read.ranked[:5])
    assert not any("reranker" in dict(result.why) for result in (*read.ranked[5:], *plain.ranked))

    with pytest.raises(ConfigError, match=r"query\.reranker"):
        searched(root, str(tmp_path / "nowhere"))


# --- embedding models --------------------------------------------------------------------------------------------


def test_the_shipped_model_equals_the_original(torch: Torch) -> None:
    texts = [*torch.samples, *TEXTS, *(text for text in ODD if text.strip())]

    expected = np.asarray(torch.run("encode", weights_folder(), texts))

    assert np.abs(real().embed(texts) - expected).max() < torch.tolerance
    assert np.abs(np.stack([real().embed_query(text) for text in texts]) - expected).max() < torch.tolerance


@pytest.fixture(scope="module")
def tiny_model(torch: Torch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a small embedding model. Tests must not change it."""
    folder = tmp_path_factory.mktemp("embedder") / "model"
    torch.run("embedder", folder)
    return folder


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LORE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


SUPERSEDED, RECENT = f"model-{'0' * 16}", f"model-{'1' * 16}"
OTHERS = (f"another-{'2' * 16}", f"model-large-{'3' * 16}")


@pytest.fixture(scope="module")
def embedder_cache(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the model in a cache with two models from a week ago."""
    cache = tmp_path_factory.mktemp("compiled") / "cache"
    for name in (SUPERSEDED, RECENT, *OTHERS):
        (cache / "models" / name).mkdir(parents=True)
        (cache / "models" / f"{name}.lock").touch()
    for path in (cache / "models" / f"{name}{end}" for name in (SUPERSEDED, *OTHERS) for end in ("", ".lock")):
        os.utime(path, (path.stat().st_atime, path.stat().st_mtime - SUPERSEDED_SECONDS - 60))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LORE_CACHE", str(cache))
        ConfiguredModel(EmbeddingSettings(model=str(tiny_model))).prepare(silent, may_download=False)
    return cache


@pytest.fixture
def compiled(embedder_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use the cache that contains the compiled model. Tests must not change it."""
    monkeypatch.setenv("LORE_CACHE", str(embedder_cache))
    return embedder_cache


def test_a_model_in_a_folder_gives_the_vectors_of_its_original_and_opens_without_the_extra(
    tiny_model: Path, compiled: Path, torch: Torch, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ConfiguredModel(EmbeddingSettings(model=str(tiny_model)))
    texts = ["the ferry crosses at dawn", "a", "b . b", "ferrys " * 100]
    model.prepare(silent, may_download=False)
    served = model.open()
    assert (served.dimension, served.tokens().limit) == (16, 30)
    assert np.abs(served.embed(texts) - torch.run("encode", tiny_model, texts)).max() < torch.tolerance
    asked = torch.run("encode", tiny_model, ["ferry"], "query")[0]
    assert np.abs(served.embed_query("ferry") - asked).max() < torch.tolerance
    before = {path: path.stat().st_mtime_ns for path in compiled.rglob("*")}
    assert model.open().fingerprint == served.fingerprint == model.fingerprint
    assert {path: path.stat().st_mtime_ns for path in compiled.rglob("*")} == before

    monkeypatch.setitem(sys.modules, "torch", None)
    assert ConfiguredModel(EmbeddingSettings(model=str(tiny_model))).open().dimension == 16


def test_a_copy_of_a_model_at_another_place_needs_no_compilation(tiny_model: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_model, tmp_path / "elsewhere" / tiny_model.name)
    copy, folder = tmp_path / "elsewhere" / tiny_model.name, str(tiny_model)

    assert compiled_folder(str(copy), EMBEDDER) == compiled_folder(folder, EMBEDDER)


def test_a_new_compilation_deletes_unused_copies_older_than_a_week(tiny_model: Path, compiled: Path) -> None:
    current = model_cache.prepared(str(tiny_model)).folder

    left = {path.name.removesuffix(".lock") for path in current.parent.glob("*-*")}
    assert left == {current.name, RECENT, *OTHERS}


def test_a_compiled_model_that_is_in_use_is_not_deleted(own_cache: Path) -> None:
    source, other = "first/model", "second/model"
    used = compiled_folder(source, EMBEDDER)
    used.mkdir(parents=True)
    (used / "info.json").touch()
    os.utime(used, (0, 0))

    assert model_cache.compile_once(source, EMBEDDER) == used
    model_cache.remove_superseded(other, compiled_folder(other, EMBEDDER))

    assert used.exists()


def test_another_model_without_the_extra_names_the_command_that_installs_it(
    tiny_model: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    model = ConfiguredModel(EmbeddingSettings(model=str(tiny_model)))

    with refused(PackageMissing, match="needs the extra `models`", hint="[documents,models,eval,openai,team"):
        model.prepare(silent, may_download=False)


def test_one_sync_compiles_a_model_that_is_missing_or_was_deleted_because_of_damage(
    tiny_model: Path, own_cache: Path, tmp_path: Path
) -> None:
    settings = Settings(embedding=EmbeddingSettings(model=str(tiny_model)))
    project = write_project(tmp_path.resolve() / "project", {"a.md": "# Ferry\n\nIt crosses at dawn.\n"})
    for hint in ("Run `lore sync` to compile the model", "then run `lore sync` to compile the model again"):
        with closing(Index(project, settings)) as index:
            with refused(ProviderUnavailable, hint=hint):
                index.embedder.embed_query("ferry")
            shutil.rmtree(own_cache, ignore_errors=True)  # as the second hint asks

            sync(index)

            assert index.embedder.embed_query("ferry").shape == (16,)
        (model_cache.prepared(str(tiny_model)).folder / "model.onnx").write_bytes(b"damage")


@pytest.mark.long
def test_a_model_compiled_again_is_the_same_model_unless_its_weights_have_changed(
    tiny_model: Path, own_cache: Path, tmp_path: Path
) -> None:
    first = model_cache.prepared(str(tiny_model)).fingerprint
    shutil.rmtree(own_cache)
    assert model_cache.prepared(str(tiny_model)).fingerprint == first

    from safetensors.numpy import load_file, save_file

    shutil.copytree(tiny_model, tmp_path / "model")
    before = model_cache.prepared(str(tmp_path / "model")).fingerprint
    weights = next((tmp_path / "model").rglob("model.safetensors"))
    values = load_file(weights)
    save_file({name: value + 0.5 for name, value in values.items()}, weights, metadata={"format": "pt"})
    assert model_cache.prepared(str(tmp_path / "model")).fingerprint != before
