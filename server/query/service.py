"""The query service: one question through the whole pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from etl.index import Index
from etl.model import Chunk
from server.query import classic, hybrid
from server.query.excerpt import fit_results
from server.query.freshness import Freshness
from server.query.parse import Query, parse
from server.query.ranked import Ranked
from server.query.retrieve import Candidate, retrieve
from server.query.weights import weights


@dataclass(frozen=True)
class Found:
    """A ranked list with what is needed to show it."""

    query: Query
    ranked: list[Ranked]
    candidates: list[Candidate]
    degraded: str | None


class QueryService:
    """Answers questions from one index with the configured ranking."""

    def __init__(self, index: Index) -> None:
        settings = index.settings.query
        self._index = index
        self._ranking = settings.ranking
        self._depth = settings.nResults
        self._weights = weights(settings.ranking, settings.weights)
        self.freshness = Freshness(index)

    def find(self, text: str, type_: str) -> Found:
        """Files by score, best first. Raises IndexMissing, IndexDamaged, ModelMismatch."""
        query = parse(text)
        wanted = None if type_ == "all" else type_
        candidates = retrieve(self._index, query.text, wanted, self._depth)
        if self._ranking == "classic":
            ranked = self._classic(query, candidates.found, type_)
        else:
            parents = self._parents(hybrid.asked_classes(query, candidates.found))
            ranked = hybrid.rank(query, candidates.found, wanted, self._weights, parents)
        return Found(query, ranked, candidates.found, candidates.degraded)

    def query(self, text: str, type_: str, limit: int, explain: bool, max_tokens: int) -> dict[str, Any]:
        """The result of `query_documents`."""
        found = self.find(text, type_)
        top = found.ranked[:limit]
        results = [_result(one, explain) for one in top]
        fitting = fit_results(results, [one.chunk.text for one in top], found.query.words, max_tokens)
        reply: dict[str, Any] = {
            "query": text,
            "total": len(found.ranked),
            "results": results[:fitting],
            "freshness": self.freshness.record(),
        }
        if fitting < len(results):
            reply["truncated"] = (
                f"{len(results) - fitting} of {len(results)} results were left out to stay under {max_tokens} tokens; "
                "raise max_tokens or narrow the type."
            )
        if found.degraded:
            reply["degraded"] = found.degraded[:300]
        return reply

    def _parents(self, classes: list[Chunk]) -> dict[str, Chunk]:
        """The chunk that opens each ancestor of these classes, by class name."""
        wanted = {one.class_name: one.source for chunk in classes for one in chunk.chain if one.source}
        found: dict[str, Chunk] = {}
        for name, source in wanted.items():
            chunks = self._index.catalogue.of_source(source)
            heads = [chunk for chunk in chunks if chunk.class_name == name]
            if heads:
                found[name] = next((chunk for chunk in heads if chunk.kind == "class"), heads[0])
        return found

    def _classic(self, query: Query, candidates: list[Candidate], type_: str) -> list[Ranked]:
        by_meaning = sorted((one for one in candidates if one.vector is not None), key=lambda one: -(one.vector or 0))
        best: dict[str, Chunk] = {}
        for one in by_meaning:
            best.setdefault(one.chunk.source, one.chunk)
        rows = [classic.row_of(one.chunk) for one in by_meaning]
        ranked = []
        for source, terms in classic.rank(query.text, type_, rows, self._weights):
            chunk = best.get(source) or next(iter(self._index.catalogue.of_source(source)), None)
            if chunk is not None:
                ranked.append(Ranked(source, classic.total(terms), chunk, list(terms.items())))
        return ranked


def _result(one: Ranked, explain: bool) -> dict[str, Any]:
    chunk = one.chunk
    result: dict[str, Any] = {
        "id": chunk.id,
        "source": chunk.source,
        "type": chunk.type.value,
        "title": chunk.title,
        "heading": " > ".join(chunk.heading),
        "lines": list(chunk.lines),
        "excerpt": "",
        "score": round(one.score, 3),
    }
    if explain:
        result["why"] = [{"term": term, "value": round(value, 3)} for term, value in one.why]
    return result
