"""The query service: runs a query through the whole pipeline."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from lore_etl.core.model import Chunk
from lore_etl.index import Index
from lore_server.query import classic, hybrid, lineage, outdated, reference, single_leg, structure
from lore_server.query.confidence import DOUBT, DOUBTFUL, confidence
from lore_server.query.parse import Query, parse
from lore_server.query.ranking import Ranked
from lore_server.query.rerank import Reranker
from lore_server.query.result_cache import Recent, State
from lore_server.query.retrieve import Candidate, Candidates, QueryVector, embedded, retrieve
from lore_server.query.scope import Part, type_or_none
from lore_server.query.weights import Weights, weights

KEPT_PARTS = 8  # some 2 MB each for 10,000 chunks


@dataclass(frozen=True)
class Retrieved:
    """A query with its candidates, before ranking."""

    query: Query
    type: str | None
    candidates: Candidates


@dataclass(frozen=True)
class SearchOutcome:
    """A ranked list with the data needed to show it."""

    query: Query
    ranked: list[Ranked]
    candidates: list[Candidate]
    confidence: float
    degraded: str | None
    today: datetime.date

    @property
    def doubt(self) -> str | None:
        """Return a warning if the index may not answer the query."""
        return DOUBT if self.confidence < DOUBTFUL else None


class QueryService:
    """Answers queries from one index with the configured ranking."""

    def __init__(self, index: Index, today: Callable[[], datetime.date] = datetime.date.today) -> None:
        self._today = today
        settings = index.settings.query
        self._index = index
        self._ranking = settings.ranking
        self._depth = settings.nResults
        self._recent = Recent[SearchOutcome](index)
        self._parts = Recent[Mapping[str, str]](index, KEPT_PARTS)
        self._weights = weights(settings.ranking, settings.weights)
        threads = index.settings.embedding.threads
        self._reranker = Reranker(settings, threads) if settings.reranker and settings.ranking == "hybrid" else None

    def find(self, text: str, type_: str = "all", part: Part | None = None) -> SearchOutcome:
        """Return files by score, best first, from the whole index or a scope of it.

        Raises:
            IndexMissing, IndexDamaged, ModelMismatch: see `candidates`.
        """
        question, query, chosen = (text, type_, part), parse(text), type_or_none(type_)
        with self._index.gate.reading():
            self._index.require()
            if (found := self._recent.get(question, self._recent.state(self._today()))) is not None:
                return found
        vector = embedded(self._index, query.text)  # no gate: a slow model would stop every search
        with self._index.gate.reading():
            self._index.require()
            state = self._recent.state(self._today())
            among = None if part is None else self._rows(part, chosen, state)
            found = self._outcome(self.candidates(query, chosen, among, vector), among)
        if self._reranker:
            found = replace(found, ranked=self._reranker.rerank(found.query.text, found.ranked))
        self._recent.put(question, None if found.degraded else state, found)
        return found

    def _outcome(self, retrieved: Retrieved, among: Mapping[str, str] | None) -> SearchOutcome:
        _, ranked = self._ranked(retrieved, self._ranking, self._weights)
        if among is not None:  # ancestors, relatives and successors come along from anywhere
            ranked = [one for one in ranked if one.chunk.id in among]
        candidates = retrieved.candidates
        return SearchOutcome(
            retrieved.query, ranked, candidates.found, self.confidence(retrieved), candidates.degraded, self._today()
        )

    def _rows(self, part: Part, type_: str | None, state: State | None) -> Mapping[str, str]:
        rows = self._parts.get((part, type_), state)
        if rows is None:
            rows = part.rows(self._index.catalogue, type_)
            self._parts.put((part, type_), state, rows)
        return rows

    def confidence(self, retrieved: Retrieved) -> float:
        """Return the confidence, from 0 to 1, that the index answers the query."""
        return confidence(retrieved.query.text, retrieved.candidates, self._index.keywords.rarity)

    def candidates(
        self,
        query: Query,
        type_: str | None = None,
        among: Mapping[str, str] | None = None,
        vector: QueryVector | None = None,
    ) -> Retrieved:
        """Return the candidates for a query. Raises IndexMissing, IndexDamaged, ModelMismatch."""
        found = retrieve(self._index, query.text, type_, self._depth, among, vector)
        for sought in sorted(query.sought_types) if type_ is None else ():
            found = found.joined(retrieve(self._index, query.text, sought, self._depth, among, vector))
        return Retrieved(query, type_, found)

    def rank(self, retrieved: Retrieved, ranking: str, weights: Weights) -> tuple[list[Ranked], list[Ranked]]:
        """Return passages and files by score, best first; `ranking` is hybrid, classic, or the name of a leg."""
        passages, files = self._ranked(retrieved, ranking, weights)
        if self._reranker is not None and ranking == "hybrid":
            files = self._reranker.rerank(retrieved.query.text, files)
        return passages, files

    def _ranked(self, retrieved: Retrieved, ranking: str, weights: Weights) -> tuple[list[Ranked], list[Ranked]]:
        query, candidates = retrieved.query, retrieved.candidates
        if ranking in single_leg.LEGS:
            passages = single_leg.passages(candidates, ranking)
            return passages, single_leg.files(passages)
        if ranking == "classic":
            passages = single_leg.passages(candidates, "vectors")
            return passages, self._classic(query, passages, retrieved.type or "all", weights)
        passages = hybrid.score(query, candidates, retrieved.type, weights)
        parents = self._heads(lineage.wanted_ancestors(query, passages))
        relatives = self._heads(structure.relatives(query.text, self._index.hierarchy))
        heads = self._openings(outdated.successors(passages))
        named = self._openings(reference.named_documents(query, self._index.catalogue.paths))
        files = hybrid.rank(
            query, passages, retrieved.type, weights, parents, list(relatives.values()), heads, self._today(), named
        )
        return passages, files

    def _heads(self, classes: Iterable[str]) -> dict[str, Chunk]:
        """Return the chunk that opens each of these classes, by class name."""
        found: dict[str, Chunk] = {}
        for name in classes:
            node = self._index.hierarchy.nodes.get(name)
            if node is None or node.source is None:
                continue
            own = [chunk for chunk in self._index.catalogue.of_source(node.source) if chunk.class_name == name]
            if own:
                found[name] = next((chunk for chunk in own if chunk.kind == "class"), own[0])
        return found

    def _openings(self, sources: Iterable[str]) -> dict[str, Chunk]:
        """Return the first chunk of each of these files."""
        found = ((source, next(iter(self._index.catalogue.of_source(source)), None)) for source in sources)
        return {source: chunk for source, chunk in found if chunk is not None}

    def _classic(self, query: Query, passages: list[Ranked], type_: str, weights: Weights) -> list[Ranked]:
        best = {one.source: one.chunk for one in reversed(passages)}
        rows = [classic.row_of(one.chunk) for one in passages]
        ranked = []
        for source, terms in classic.rank(query.text, type_, rows, weights):
            chunk = best.get(source) or next(iter(self._index.catalogue.of_source(source)), None)
            if chunk is not None:
                ranked.append(Ranked(source, classic.total(terms), chunk, list(terms.items())))
        return ranked
