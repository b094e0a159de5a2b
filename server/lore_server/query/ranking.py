"""The weights of both rankings, named as by Lore's predecessor; ranked files; the optional cross-encoder."""

from __future__ import annotations

import difflib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lore_etl.config.settings import QuerySettings
from lore_etl.core.errors import ConfigError, LoreError
from lore_etl.core.model import Chunk

if TYPE_CHECKING:
    from lore_etl.models.onnx_models import OnnxCrossEncoder

Terms = list[tuple[str, float]]
Weights = Mapping[str, float]
SHARE = 0.5  # weight of the cross-encoder's score in the order of the files that it read

CLASSIC: Weights = {
    "baseIncrement": 1,
    "sourcePathMatch": 40,
    "fileNameMatch": 30,
    "classNameMatch": 20,
    "guideMatch": 50,
    "blogMatch": 5,
    "namePartMatch": 30,
    "ticketPenalty": -70,
    "releasePenalty": -50,
    "libraryPenalty": -70,
    "baseFileBonus": 20,
    "releaseExactMatch": 1000,
    "inheritanceBoost": 80,
    "inheritanceDecay": 0.6,
}
"""Points, added for each matching word and chunk."""

HYBRID: Weights = {
    "baseIncrement": 100,  # points of a candidate that is the best of both legs
    "vectorShare": 0.5,  # share of the vector leg if words discriminate or no passage is close
    "adaptedShare": 10,  # more for few words, the more equally they fit and the closer the best passage is
    "furtherPassages": 0.6,  # maximum share of its keyword score that the next passage of a file adds
    "furtherCode": 1,  # the same if code is best and the wording of the question suggests no type
    "proximity": 120,  # all words of the question close together, times the share of the keyword leg
    "sourcePathMatch": 20,  # the path that fits the words best, if it shares enough of them
    "fileNameMatch": 12,  # the query has all words of the file's name
    "topicMatch": 30,  # the few words of the query name the place of the file
    "formerPenalty": -30,  # the file is of an earlier version or another project, or a translation
    "namePartMatch": 45,  # the chunk defines a name in the query
    "symbolMatch": 10,  # the query has all words of a longer name that the chunk defines
    "historyMatch": 25,  # source files and guides, or files of the asked types, whose commits match best
    "guideMatch": 0,
    "sourceMatch": 4,
    "codeMatch": 5,  # code, not data, if the wording of the question suggests no type
    "testPenalty": -8,
    "ticketPenalty": -36,
    "releasePenalty": -24,
    "libraryPenalty": -60,  # documentation of a library that the question does not name
    "releaseExactMatch": 120,
    "inheritanceBoost": 1,  # how far ancestors are raised to their place below the classes found: 0 to 1
    "inheritanceDecay": 0.6,  # which ancestors are added: each step upwards counts this share of the one before
    "structureMatch": 1,  # how far classes that answer a question about inheritance are raised to the best: 0 to 1
    "intentMatch": 16,  # the question asks for this kind of document
    "recency": 3,
    "supersededPenalty": -20,  # another document replaced this one
    "expiredPenalty": -20,  # its `valid_until` has passed
}
"""Points on the scale where the best fused candidate has `baseIncrement`."""


def weights(ranking: str, overrides: Mapping[str, float]) -> Weights:
    """Return the weights of a ranking, updated with the user's. Raises ConfigError for an unknown weight."""
    defaults = CLASSIC if ranking == "classic" else HYBRID
    for name in overrides:
        if name not in defaults:
            near = difflib.get_close_matches(name, defaults, n=1)
            hint = f"Did you mean `{near[0]}`?" if near else f"Weights: {', '.join(defaults)}."
            raise ConfigError(f"Unknown weight `query.weights.{name}` of the {ranking} ranking.", hint)
    return {**defaults, **overrides}


@dataclass(slots=True)
class Ranked:
    """A file or passage in the result: its score, its (best) chunk and its score terms."""

    source: str
    score: float
    chunk: Chunk
    why: Terms = field(default_factory=list)

    def add(self, term: str, points: float) -> None:
        if points:
            self.score += points
            self.why = [*self.why, (term, points)]

    def at(self, score: float, term: str) -> Ranked:
        """Return the same result with exactly this score, and the reason for the difference."""
        return replace(self, score=score, why=[*self.why, (term, score - self.score)])


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
        return [*blend(best, self._open().score(text, [result.chunk.text for result in best]).tolist()), *rest]

    def _open(self) -> OnnxCrossEncoder:
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
