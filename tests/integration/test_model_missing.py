"""The model that Lore ships, and one that cannot be loaded: searches use keywords, builds fail, no hub is asked."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from lore_etl.config.settings import EmbeddingSettings, Settings
from lore_etl.core.errors import Cancelled, ConfigError, IndexMissing, LoreError, PackageMissing, ProviderUnavailable
from lore_etl.core.progress import Progress, silent
from lore_etl.models import model_cache
from lore_etl.models.embedder import ConfiguredModel
from lore_etl.models.model_cache import DATA, DEFAULT_MODEL, FOLDER, WEIGHTS, prepared, read_model, weights_folder
from lore_etl.models.onnx_models import OnnxEmbedder
from lore_server.app import App
from lore_server.contract import Contract
from tests.harness.calls import sync_job
from tests.harness.local_server import QuietHandler, listening
from tests.harness.models import HashModel
from tests.harness.processes import run
from tests.harness.projects import write_project
from tests.harness.refusals import refused


class Hub(QuietHandler):
    """A hub without models that counts requests."""

    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send(404, json.dumps({"error": "Repository not found"}).encode(), {"X-Error-Code": "RepoNotFound"})


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Return the paths requested from the hub."""
    asked: list[str] = []
    with listening(type("Asked", (Hub,), {"asked": asked})) as port:
        _point_at(monkeypatch, port)
        yield asked


def _point_at(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    import huggingface_hub.constants
    import huggingface_hub.hf_api

    address = f"http://127.0.0.1:{port}"
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub.hf_api, "ENDPOINT", address, raising=False)
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", address)
    monkeypatch.setattr("huggingface_hub.hf_api.constants.ENDPOINT", address)


def configured(name: str) -> Settings:
    return Settings(embedding=EmbeddingSettings(model=name))


@pytest.fixture
def project(tmp_path: Path, contract: Contract) -> Path:
    """Return a project that was indexed with a working model."""
    project = write_project(tmp_path.resolve() / "project", {"a.md": "# Alpha\n\nThe lighthouse.\n"})
    with closing(App(project, Settings(), contract, HashModel())) as app:
        sync_job(app)
    return project


def damaged(folder: Path) -> str:
    folder.mkdir()
    (folder / "config.json").write_text("garbage", encoding="utf-8")
    return str(folder)


WITHOUT_MODEL = {
    "a name of the hub": ("nobody/no-such-model", ""),
    "a folder that is not there": ("./nowhere", ""),
    "a damaged folder": ("damaged", ""),
    "the default model without its weights": (DEFAULT_MODEL, "weights of the default model"),
}


@pytest.mark.parametrize(("name", "reason"), WITHOUT_MODEL.values(), ids=WITHOUT_MODEL)
def test_a_search_falls_back_to_keywords_and_reports_the_reason(
    project: Path, contract: Contract, hub: list[str], instead: Path, tmp_path: Path, name: str, reason: str
) -> None:
    settings = configured(damaged(tmp_path / "damaged") if name == "damaged" else name)
    with closing(App(project, settings, contract)) as app:
        for _ in range(2):
            reply = app.call("query_documents", {"query": "lighthouse"})
            assert reply["results"][0]["source"] == "a.md"
            assert "Keyword search only" in reply["degraded"]
            assert reason in reply["degraded"]
        embedding = next(check for check in app.call("healthcheck", {})["checks"] if check["part"] == "embedding")
    assert embedding["status"] == "failed"
    assert hub == []


def test_a_sync_asks_the_hub_once_and_later_searches_say_why(project: Path, contract: Contract, hub: list[str]) -> None:
    stages: list[str] = []
    with closing(App(project, configured("nobody/no-such-model"), contract)) as app:
        with pytest.raises(ConfigError, match=r"embedding\.model"):
            sync_job(app)
        reply = app.call("query_documents", {"query": "lighthouse"})
    model = ConfiguredModel(EmbeddingSettings(model="nobody/no-such-model"))
    with pytest.raises(ConfigError):
        model.prepare(lambda stage, *_: stages.append(stage), may_download=True)

    assert "nobody/no-such-model" in reply["degraded"]
    assert len(hub) == 2
    assert stages == ["downloading the model"]


class UninstalledModel(HashModel):
    """A model whose package is not installed until `is_installed` is set."""

    is_installed = False

    def prepare(self, progress: Progress, may_download: bool) -> None:
        if not self.is_installed:
            raise PackageMissing("The weights of the model are not installed.", "Run `pip install weights`.")
        super().prepare(progress, may_download)


def test_an_index_that_a_failed_sync_left_empty_names_cause_and_fix(tmp_path: Path, contract: Contract) -> None:
    root, model = write_project(tmp_path.resolve(), {"a.md": "# Alpha\n\nThe lighthouse.\n"}), UninstalledModel()
    with closing(App(root, Settings(), contract, model)) as app:
        with pytest.raises(PackageMissing):
            sync_job(app)
        with pytest.raises(IndexMissing) as caught:
            app.call("query_documents", {"query": "lighthouse"})
        checks = {check["part"]: check["detail"] for check in app.call("healthcheck", {})["checks"]}
        problem = app.state()["problem"]

        model.is_installed = True
        sync_job(app)
        assert app.call("query_documents", {"query": "lighthouse"})["results"][0]["source"] == "a.md"
        app.call("manage_knowledge_base", {"action": "delete", "confirm": True, "wait_seconds": 600})
        with pytest.raises(IndexMissing) as emptied:
            app.call("query_documents", {"query": "lighthouse"})

    assert "the last sync failed: The weights of the model are not installed." in caught.value.message
    assert caught.value.hint == "Run `pip install weights`. Then sync again."
    assert (problem["message"], problem["hint"]) == (caught.value.message, caught.value.hint)
    assert caught.value.message in checks["collection"]
    assert "failed" not in emptied.value.message


def test_a_hub_that_never_answers_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_cache, "HUB_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        _point_at(monkeypatch, silent.getsockname()[1])
        model = ConfiguredModel(EmbeddingSettings(model="nobody/no-such-model"))

        with pytest.raises(ProviderUnavailable, match="hub does not respond"):
            model.prepare(lambda *_: None, may_download=True)


@pytest.mark.usefixtures("own_cache")
def test_a_build_that_prepares_a_model_can_be_cancelled(tmp_path: Path) -> None:
    def cancel(stage: str, done: int, total: int) -> None:
        raise Cancelled("The build was cancelled.")

    with pytest.raises(Cancelled):
        ConfiguredModel(EmbeddingSettings(model=damaged(tmp_path / "model"))).prepare(cancel, may_download=True)


@pytest.mark.usefixtures("own_cache")
def test_damaged_compiled_model_files_are_reported(tmp_path: Path) -> None:
    folder = model_cache.compiled_folder(damaged(tmp_path / "x"), model_cache.EMBEDDER)
    folder.mkdir(parents=True)
    (folder / "info.json").write_text('{"dimension": 3, "max_tokens": 9, "digest": "d", "query_prompt": ""}')

    model = ConfiguredModel(EmbeddingSettings(model=str(tmp_path / "x")))
    for use in (model.open, model.tokens):
        with pytest.raises(LoreError, match="damaged"):
            use()


TEXTS = ["How does a worker shut down?", "x", "the ferry crosses at dawn " * 60, "Größe 数据库 데이터 🦀"]


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LORE_CACHE", str(tmp_path / "cache"))


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


def test_the_shipped_graph_contains_no_weights_and_the_identity_of_the_model_stays() -> None:
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < 100_000
    assert ConfiguredModel(EmbeddingSettings()).fingerprint == "all-MiniLM-L6-v2:22201214eeda13fa"  # of stored vectors


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


@pytest.mark.usefixtures("own_cache")
def test_weights_behind_a_symlink_are_used(instead: Path) -> None:
    for file in DATA.iterdir():
        (instead / file.name).symlink_to(file.resolve())

    assert ConfiguredModel(EmbeddingSettings()).open().embed_query("ferry").shape == (384,)


@pytest.mark.usefixtures("instead")
def test_missing_weights_are_reported_with_the_way_to_get_them() -> None:
    model = ConfiguredModel(EmbeddingSettings())

    for use in (model.open, lambda: model.prepare(silent, may_download=True)):
        with refused(PackageMissing, match="weights of the default model are missing", hint="Install Lore again"):
            use()


@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("name", [WEIGHTS, "tokenizer.json"])
def test_other_files_are_refused(instead: Path, name: str) -> None:
    for file in (WEIGHTS, "tokenizer.json"):
        shutil.copy(DATA / file, instead / file)
    assert ConfiguredModel(EmbeddingSettings()).fingerprint
    with open(instead / name, "r+b") as changed:
        changed.seek(-9, os.SEEK_END)
        changed.write(b"#")

    with refused(PackageMissing, match=rf"has a different {name} than", hint="Install Lore again"):
        ConfiguredModel(EmbeddingSettings()).open()


def test_a_damaged_graph_is_repaired_by_an_installation_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(FOLDER, tmp_path / "default_model")
    (tmp_path / "default_model" / "model.onnx").write_bytes(b"damage")
    monkeypatch.setattr(model_cache, "FOLDER", tmp_path / "default_model")

    with refused(ProviderUnavailable, match="damaged", hint=model_cache.REINSTALL):
        ConfiguredModel(Settings().embedding).open()
