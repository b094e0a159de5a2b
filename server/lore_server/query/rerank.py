"""The optional last step: a cross-encoder reads the query together with each of the best passages."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lore_etl.config.settings import QuerySettings
from lore_etl.core.errors import LoreError
from lore_server.query.ranking import Ranked

if TYPE_CHECKING:
    from lore_etl.models.onnx_models import OnnxCrossEncoder

SHARE = 0.5  # weight of the cross-encoder's score in the order of the files that it read


class Reranker:
    """Opens the model at the first query; if that fails, queries return the error until the configuration changes."""

    def __init__(self, settings: QuerySettings, threads: int) -> None:
        self._settings, self._threads = settings, threads
        self._guard = threading.Lock()
        self._model: OnnxCrossEncoder | LoreError | None = None

    def rerank(self, text: str, ranked: Sequence[Ranked]) -> list[Ranked]:
        """Return the best files in a new order, followed by the others. Raises ConfigError, ProviderError."""
        best, rest = ranked[: self._settings.rerank_depth], ranked[self._settings.rerank_depth :]
        if len(best) < 2:
            return list(ranked)
        return [*blend(best, self._opened().score(text, [result.chunk.text for result in best]).tolist()), *rest]

    def _opened(self) -> OnnxCrossEncoder:
        with self._guard:
            if self._model is None:
                from lore_etl.models.onnx_models import open_cross_encoder

                try:
                    self._model = open_cross_encoder(self._settings.reranker, self._threads)
                except LoreError as error:
                    self._model = error
        if isinstance(self._model, LoreError):
            raise self._model
        return self._model


def blend(ranked: Sequence[Ranked], opinions: Sequence[float]) -> list[Ranked]:
    """Order files by the mean of both scores, each scaled to its range; the scores keep their original range."""
    scores = [result.score for result in ranked]
    low, high = min(scores), max(scores)
    ours, theirs = _scaled(scores), _scaled(opinions)
    found = [
        result.at(low + (high - low) * ((1 - SHARE) * mine + SHARE * their), "reranker")
        for result, mine, their in zip(ranked, ours, theirs, strict=True)
    ]
    return sorted(found, key=lambda result: (-result.score, result.source))


def _scaled(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 1.0 for value in values]
