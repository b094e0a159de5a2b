"""Search as a reply: ranked passages with excerpts in the budget, and what the index's state is."""

from __future__ import annotations

from typing import Any

from etl.index import Index
from etl.model import sha256
from server import budget
from server.query.excerpt import fit_results
from server.query.freshness import Freshness
from server.query.ranked import Ranked
from server.query.service import QueryService


class SearchService:
    """Shows what the query service finds."""

    def __init__(self, index: Index, queries: QueryService, freshness: Freshness) -> None:
        self._index = index
        self._queries = queries
        self._freshness = freshness

    def query(
        self, text: str, type_: str, limit: int, explain: bool, max_tokens: int, cursor: str | None
    ) -> dict[str, Any]:
        """The result of `query_documents`."""
        self._index.require()
        mark = sha256(f"{text}\0{type_}\0{self._index.catalogue.meta('loaded')}")[:12]
        start = budget.offset_of(cursor, mark)
        found = self._queries.find(text, type_)
        top = found.ranked[start : start + limit]
        changed = self._freshness.changed_of(one.source for one in top)
        results = [_result(one, explain, one.source in changed) for one in top]
        fitting = fit_results(results, [one.chunk.text for one in top], found.query.words, max_tokens)
        reply: dict[str, Any] = {
            "query": text,
            "total": len(found.ranked),
            "results": results[:fitting],
            "confidence": round(found.confidence, 3),
            "freshness": self._freshness.record(),
        }
        if found.doubt and results:
            reply["doubt"] = found.doubt
        if fitting < len(results):
            reply["truncated"] = budget.left_out(len(results) - fitting, "results", max_tokens)
        if start + fitting < len(found.ranked):
            reply["next_cursor"] = budget.cursor(start + fitting, mark)
        if found.degraded:
            reply["degraded"] = found.degraded[:300]
        return reply


def _result(one: Ranked, explain: bool, is_changed: bool) -> dict[str, Any]:
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
    if is_changed:
        result["changed"] = True
    if explain:
        result["why"] = [{"term": term, "value": round(value, 3)} for term, value in one.why]
    return result
