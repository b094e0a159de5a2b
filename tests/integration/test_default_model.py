"""The default model: the graph that Lore ships, and the weights that are installed with it."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from lore_etl.config.settings import EmbeddingSettings, Settings
from lore_etl.core.errors import PackageMissing, ProviderUnavailable
from lore_etl.core.progress import silent
from lore_etl.models import model_cache
from lore_etl.models.embedder import ConfiguredModel
from lore_etl.models.model_cache import DATA, DEFAULT_MODEL, FOLDER, WEIGHTS, prepared, read_model, weights_folder
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
def instead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder that is used instead of the installed weights."""
    folder = tmp_path / "weights"
    folder.mkdir()
    monkeypatch.setattr(model_cache, "DATA", folder)
    return folder


@pytest.mark.long  # test_the_compiled_model_equals_the_original checks the shipped graph in every run
def test_the_exporter_writes_the_graph_that_lore_ships(tmp_path: Path) -> None:
    """The exporter compares its vectors with those of sentence-transformers."""
    command = [sys.executable, "-m", "tests.golden.default_model", str(tmp_path / "again")]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    shipped, again = (json.loads((folder / "info.json").read_text("utf-8")) for folder in (FOLDER, tmp_path / "again"))
    assert again == shipped
    found = OnnxEmbedder(read_model(tmp_path / "again", weights_folder())).embed(TEXTS)
    assert np.abs(found - OnnxEmbedder(prepared(DEFAULT_MODEL)).embed(TEXTS)).max() < 1e-5


def test_the_shipped_graph_contains_no_weights() -> None:
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < 100_000


def test_the_identity_of_the_model_stays_so_that_its_vectors_stay_in_use() -> None:
    assert ConfiguredModel(EmbeddingSettings()).fingerprint == "all-MiniLM-L6-v2:22201214eeda13fa"


USE = """
import sys
from lore_etl.config.settings import EmbeddingSettings
from lore_etl.models.embedder import ConfiguredModel
model = ConfiguredModel(EmbeddingSettings())
model.prepare(lambda stage, *_: print(stage), may_download=False)
model.open().embed(["a"])
print(sorted(sys.modules.keys() & {"torch", "transformers", "sentence_transformers", "onnx"}))
"""


def test_the_first_use_checks_the_weights_and_loads_nothing_that_compiles(tmp_path: Path) -> None:
    environment = {"LORE_CACHE": str(tmp_path)}

    first, second = run(USE, environment=environment), run(USE, environment=environment)

    assert (first.stdout, second.stdout) == (f"checking {WEIGHTS}\n[]\n", "[]\n"), first.stderr
    assert sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file()) < 1_000


def test_weights_behind_a_symlink_are_used(instead: Path, own_cache: Path) -> None:
    for file in DATA.iterdir():
        (instead / file.name).symlink_to(file.resolve())

    assert ConfiguredModel(EmbeddingSettings()).open().embed_query("ferry").shape == (384,)


@pytest.mark.usefixtures("instead")
def test_missing_weights_are_reported_with_the_way_to_get_them() -> None:
    model = ConfiguredModel(EmbeddingSettings())

    for use in (model.open, lambda: model.prepare(silent, may_download=True)):
        with pytest.raises(PackageMissing, match="weights of the default model are missing") as found:
            use()
        assert "Install Lore again" in found.value.hint


@pytest.mark.parametrize("name", [WEIGHTS, "tokenizer.json"])
def test_other_files_are_refused(instead: Path, own_cache: Path, name: str) -> None:
    for file in (WEIGHTS, "tokenizer.json"):
        shutil.copy(DATA / file, instead / file)
    assert ConfiguredModel(EmbeddingSettings()).fingerprint
    with open(instead / name, "r+b") as changed:
        changed.seek(-9, os.SEEK_END)
        changed.write(b"#")

    with pytest.raises(PackageMissing, match=rf"has a different {name} than") as found:
        ConfiguredModel(EmbeddingSettings()).open()

    assert "Install Lore again" in found.value.hint


def test_a_damaged_graph_of_the_default_model_is_repaired_by_an_installation_not_a_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(FOLDER, tmp_path / "default_model")
    (tmp_path / "default_model" / "model.onnx").write_bytes(b"damage")
    monkeypatch.setattr(model_cache, "FOLDER", tmp_path / "default_model")

    with pytest.raises(ProviderUnavailable, match="damaged") as found:
        ConfiguredModel(Settings().embedding).open()

    assert found.value.hint == model_cache.REINSTALL


def test_a_search_without_the_weights_uses_keywords_and_names_them(
    tmp_path: Path, contract: Contract, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = write_project(tmp_path.resolve() / "project", {"a.md": "# Alpha\n\nThe lighthouse.\n"})
    with closing(App(project, Settings(), contract, HashModel())) as app:
        app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})
    monkeypatch.setattr(model_cache, "DATA", tmp_path)

    with closing(App(project, Settings(), contract)) as app:
        reply = app.call("query_documents", {"query": "lighthouse"})

    assert reply["results"][0]["source"] == "a.md"
    assert "weights of the default model" in reply["degraded"]
