"""A model that waits at one step of a sync, or with one query, until the test lets it continue."""

import threading
from collections.abc import Sequence
from typing import Any

from lore_etl.core.progress import Progress
from lore_etl.models.embedder import Vectors
from lore_server.app import App
from tests.harness.calls import JSON
from tests.harness.models import HashEmbedder, HashModel


class PausedModel(HashModel):
    """Waits, from `hold` until `free` is set, at the step `prepare`, `read`, `embed`, or `query: ` and its words."""

    def __init__(self) -> None:
        super().__init__()
        self.embedder = _PausedEmbedder(self)
        self.reached, self.free = threading.Event(), threading.Event()
        self._at = "nothing"

    def hold(self, at: str) -> None:
        self._at = at
        self.reached.clear()
        self.free.clear()

    def pause(self, step: str) -> None:
        if step.startswith(self._at):
            self.reached.set()
            assert self.free.wait(600)

    def prepare(self, progress: Progress, may_download: bool) -> None:
        self.pause("prepare")

    def tokens(self) -> Any:
        self.pause("read")
        return super().tokens()


class _PausedEmbedder(HashEmbedder):
    def __init__(self, model: PausedModel) -> None:
        super().__init__()
        self._model = model

    def embed_query(self, text: str) -> Vectors:
        self._model.pause(f"query: {text}")
        return super().embed_query(text)

    def embed(self, texts: Sequence[str]) -> Vectors:
        self._model.pause("embed")
        return super().embed(texts)


def manage(app: App, action: str = "sync", **more: Any) -> JSON:
    """Run an action on the knowledge base."""
    return app.call("manage_knowledge_base", {"action": action, **more})


def start_paused_sync(app: App, model: PausedModel, step: str = "embed") -> JSON:
    """Start a sync, wait until it pauses at this step, and return its job."""
    model.hold(step)
    job = manage(app, wait_seconds=0)
    assert model.reached.wait(120)
    return job


def ended(app: App, id_: str = "latest") -> JSON:
    """Return a job after its end."""
    return app.call("get_job", {"id": id_, "wait_seconds": 600})
