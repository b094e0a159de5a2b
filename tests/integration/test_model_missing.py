"""A model that cannot be loaded: searches use keywords, builds fail quickly, searches contact no hub."""

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lore_etl.config.settings import EmbeddingSettings, Settings
from lore_etl.core.errors import Cancelled, ConfigError, IndexMissing, LoreError, PackageMissing, ProviderUnavailable
from lore_etl.core.progress import Progress
from lore_etl.models import model_cache
from lore_etl.models.embedder import ConfiguredModel
from lore_server.app import App
from lore_server.contract import Contract
from tests.harness.local_server import QuietHandler, listening
from tests.harness.models import HashModel
from tests.harness.projects import write_project


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
        app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})
    return project


def damaged(folder: Path) -> str:
    folder.mkdir()
    (folder / "config.json").write_text("garbage", encoding="utf-8")
    return str(folder)


@pytest.mark.parametrize("kind", ["a name of the hub", "a folder that is not there", "a damaged folder"])
def test_a_search_falls_back_to_keywords_and_reports_the_reason(
    project: Path, contract: Contract, hub: list[str], tmp_path: Path, kind: str
) -> None:
    name = {
        "a name of the hub": "nobody/no-such-model",
        "a folder that is not there": "./nowhere",
        "a damaged folder": damaged(tmp_path / "damaged"),
    }[kind]
    with closing(App(project, configured(name), contract)) as app:
        for _ in range(2):
            reply = app.call("query_documents", {"query": "lighthouse"})
            assert reply["results"][0]["source"] == "a.md"
            assert "Keyword search only" in reply["degraded"]
        embedding = next(check for check in app.call("healthcheck", {})["checks"] if check["part"] == "embedding")
    assert embedding["status"] == "failed"
    assert hub == []


def test_a_sync_contacts_the_hub_once_and_later_searches_report_the_reason(
    project: Path, contract: Contract, hub: list[str]
) -> None:
    stages: list[str] = []
    with closing(App(project, configured("nobody/no-such-model"), contract)) as app:
        with pytest.raises(ConfigError, match=r"embedding\.model"):
            app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})
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


def test_an_index_that_is_empty_after_a_failed_sync_names_the_cause_and_the_fix(
    tmp_path: Path, contract: Contract
) -> None:
    root, model = write_project(tmp_path.resolve(), {"a.md": "# Alpha\n\nThe lighthouse.\n"}), UninstalledModel()
    with closing(App(root, Settings(), contract, model)) as app:
        with pytest.raises(PackageMissing):
            app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})
        with pytest.raises(IndexMissing) as caught:
            app.call("query_documents", {"query": "lighthouse"})
        checks = {check["part"]: check["detail"] for check in app.call("healthcheck", {})["checks"]}
        problem = app.state()["problem"]

        model.is_installed = True
        app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})
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


def test_a_build_that_prepares_a_model_can_be_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LORE_CACHE", str(tmp_path / "cache"))

    def cancel(stage: str, done: int, total: int) -> None:
        raise Cancelled("The build was cancelled.")

    with pytest.raises(Cancelled):
        ConfiguredModel(EmbeddingSettings(model=damaged(tmp_path / "model"))).prepare(cancel, may_download=True)


def test_damaged_compiled_model_files_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LORE_CACHE", str(tmp_path / "cache"))
    folder = model_cache.compiled_folder("x", damaged(tmp_path / "x"), model_cache.EMBEDDER)
    folder.mkdir(parents=True)
    (folder / "info.json").write_text(
        '{"dimension": 3, "max_tokens": 9, "digest": "d", "query_prompt": ""}', encoding="utf-8"
    )

    model = ConfiguredModel(EmbeddingSettings(model=str(tmp_path / "x")))
    for use in (model.open, model.tokens):
        with pytest.raises(LoreError, match="damaged"):
            use()
