"""Measure when the first statement of an answer arrives, beyond retrieval and the model's own time.

`python -m benchmarks.first_token` indexes the sample project and asks a local server in both wire formats. It sends a
whole statement as its first token. The time from the request to that token is the model's own and is subtracted.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from lore_etl.config.settings import AnswerSettings, Settings
from lore_etl.core.progress import Listener
from lore_etl.index import Index
from lore_etl.pipeline.sync import sync
from lore_server.answer.answer_service import AnswerService
from lore_server.answer.kept_answers import KeptAnswers
from lore_server.answer.written_answers import ModelAnswers
from lore_server.query.freshness import Freshness
from lore_server.query.query_service import QueryService
from tests.harness import model_server
from tests.harness.local_server import QuietHandler
from tests.harness.model_server import GEMINI, OPENAI, Wire, honest

SAMPLE = Path(__file__).resolve().parents[1] / "data" / "sample"
QUESTIONS = (
    "How long does Ferry wait between retries?", "Where are jobs stored?", "How do I schedule a job?",
    "What happens to dead jobs?", "How does a worker shut down?", "How are jobs made unique?",
    "What does the dashboard show?", "How do I test a job?", "How is a payload encoded?", "What is a pool worker?",
)  # fmt: skip
THINKING = 0.1  # seconds before the first token


class TimedModel:
    """A model that writes its first statement after a while, and notes how long that took."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.seconds = 0.0

    def reply(self, handler: QuietHandler, body: dict[str, Any]) -> None:
        started = time.perf_counter()
        time.sleep(THINKING)
        self.seconds = time.perf_counter() - started
        self._wire.stream(honest("It is so.", "More."), size=10_000)(handler, body)


def measured(index: Index, wire: Wire) -> list[float]:
    """Return the milliseconds of each question beyond retrieval and the model."""
    found = []
    timed = TimedModel(wire)
    with model_server.serving(timed.reply) as fake:
        settings = AnswerSettings(
            provider="gemini" if wire is GEMINI else "openai", model="fake", base_url=fake.url, requests_per_minute=0
        )
        model = ModelAnswers(settings)
        service = AnswerService(index, QueryService(index), Freshness(index, lambda: None), KeptAnswers(), model)
        for question in QUESTIONS:
            found.append(_beyond(service, index, question, timed))
        model.close()
    return found


def _beyond(service: AnswerService, index: Index, question: str, timed: TimedModel) -> float:
    started = time.perf_counter()
    QueryService(index).find(question, group_copies=True)
    retrieval = time.perf_counter() - started
    heard: list[float] = []

    def hear(text: str) -> None:
        heard.append(time.perf_counter())

    started = time.perf_counter()
    service.ask(query=question, type="all", limit=5, max_tokens=3000, brief=False, listener=Listener(text=hear))
    return 1000 * (heard[0] - started - retrieval - timed.seconds)


def main() -> None:
    os.environ.setdefault("GEMINI_API_KEY", "unused")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LORE_STATE"], os.environ["LORE_HOME"] = f"{folder}/state", f"{folder}/home"
        project = Path(folder) / "ferry"
        shutil.copytree(SAMPLE, project)
        index = Index(project, Settings())
        sync(index)
        for wire in (GEMINI, OPENAI):
            first, *rest = measured(index, wire)
            spread = f"median {statistics.median(rest):.0f} ms, maximum {max(rest):.0f} ms"
            print(f"{wire.name}: {spread}; first question of the process {first:.0f} ms")
        index.close()


if __name__ == "__main__":
    main()
