"""Run a query through the whole pipeline."""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter

from lore_etl.chunking.section import CLASS_KINDS
from lore_etl.core.model import Chunk, KnowledgeType
from lore_etl.core.text import clip
from lore_etl.index import Index
from lore_etl.models.embedder import model_name
from lore_etl.models.model_cache import ENGLISH_ONLY
from lore_etl.pipeline.embed import refuse_wrong
from lore_etl.stores.snapshot import Derived
from lore_etl.stores.tokenizer import phrase_words
from lore_server.query import classic, confidence, hybrid, lineage, outdated, reference, retrieve, similar, subjects
from lore_server.query.filters import NO_FILTERS, Files, Filters, Part, filtered, indexed_files
from lore_server.query.history import History
from lore_server.query.parse import Query, parse
from lore_server.query.ranking import Ranked, Reranker, Weights, weights

SEARCHES = 10  # for one question, while near-copies are all that is found
VERIFIED = 10  # first files and first passages whose shared vectors are recomputed, once: at most 20
LONGEST_DOUBT = 300  # characters, as in the contract


@dataclass(frozen=True)
class Retrieved:
    """A query with its candidates, before ranking. `named` is what it names."""

    query: Query
    type: str | None
    candidates: retrieve.Candidates
    named: Sequence[reference.Reference] = ()


@dataclass(frozen=True)
class SearchOutcome:
    """A ranked list with the data needed to show it."""

    query: Query
    type: str | None
    vector: retrieve.QueryVector
    ranked: list[Ranked]  # each file once
    passages: list[Ranked]  # every candidate
    candidates: list[retrieve.Candidate]
    among: Mapping[str, str] | None  # the searched part of the index: chunk id -> row
    confidence: float
    relevance: float
    unknown: str | None
    degraded: str | None
    today: datetime.date
    similar: Mapping[str, Sequence[str]] = field(default_factory=dict)  # source -> other files with the same text
    is_foreign: bool = False  # the model cannot judge the question's script
    is_quoted: bool = False  # each passage of `among` has the phrases of the query
    named: Sequence[reference.Reference] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)  # of each step

    @property
    def doubt(self) -> str | None:
        if missing := [one.missing for one in self.named if not one.passages]:
            return clip(" ".join(missing), LONGEST_DOUBT)
        if self.is_foreign:
            return confidence.FOREIGN_DOUBT
        if self.unknown:
            return clip(reference.ABSENT.format(self.unknown), LONGEST_DOUBT)
        return confidence.DOUBT if self.confidence < confidence.DOUBTFUL else None


RESULTS = Derived[SearchOutcome]("results", kept=32)  # each holds the texts of its candidates: some 200 kB
PARTS = Derived[Mapping[str, str]]("parts", kept=8)  # some 2 MB each for 10,000 chunks
FILES = Derived[Files]("files")


class QueryService:
    """Answers queries from one index with the configured ranking, which can use the history of the project."""

    def __init__(self, index: Index, history: History | None = None) -> None:
        self._index, self._history = index, history
        self._settings = settings = index.settings.query
        self._weights = weights(settings.ranking, settings.weights)
        threads = index.settings.embedding.threads
        self._reranker = Reranker(settings, threads) if settings.reranker and settings.ranking == "hybrid" else None

    def find(
        self, text: str, part: Part | None = None, filters: Filters = NO_FILTERS, group_copies: bool = False
    ) -> SearchOutcome:
        """Return files by score, best first; with `group_copies`, files with the same text are one result."""
        watch = retrieve.Stopwatch()
        question, query = (text, part, filters, group_copies, datetime.date.today()), parse(text)
        with self._index.gate.reading():
            self._index.require()
            if (found := self._index.snapshot.get(RESULTS, question)) is not None:
                return found
        watch.end("parse")
        vector = retrieve.embedded(self._index, query.text)  # no gate: a slow model would stop every search
        if self._history:
            self._history.refresh()  # nor should git
        watch.end("embed")
        with self._index.gate.reading():
            self._index.require()
            snapshot = self._index.snapshot
            among = self._among(part, filters)
            watch.end("filter")
            retrieved = self.candidates(query, filters.single_type, among, vector, watch)
            found = self._outcome(retrieved, vector, among, bool(filters.phrases))
            watch.end("rank")
            if group_copies and (copies := self._copies(found)):
                found = self._without_copies(found, copies)
            found = self._without_crowd(found)
            watch.end("copies")
        shown = [result.chunk for result in (*found.ranked[:VERIFIED], *found.passages[:VERIFIED])]
        if vector.vector is not None and refuse_wrong(self._index, shown):
            return self.find(text, part, filters, group_copies)
        if self._reranker:
            found = replace(found, ranked=similar.spread(self._reranker.rerank(found.query.text, found.ranked)))
            watch.end("rerank")
        found = replace(found, seconds=watch.seconds)
        if not found.degraded:
            snapshot.put(RESULTS, question, found)
        return found

    def _outcome(
        self, retrieved: Retrieved, vector: retrieve.QueryVector, among: Mapping[str, str] | None, is_quoted: bool
    ) -> SearchOutcome:
        passages, ranked = self._ranked(retrieved, self._settings.ranking, self._weights)
        if among is not None:  # ancestors, relatives and successors may come from anywhere in the index
            ranked = similar.spread([result for result in ranked if result.chunk.id in among])
        candidates = retrieved.candidates
        is_named = is_quoted or any(term == reference.TERM for result in ranked for term, _ in result.why)
        if confidence.finds_nothing(candidates) and not is_named:  # neither by a phrase nor by its path or number
            passages, ranked = [], []
        reads_english_only = model_name(self._index.settings.embedding) in ENGLISH_ONLY
        return SearchOutcome(
            retrieved.query,
            retrieved.type,
            vector,
            ranked,
            passages,
            candidates.found,
            among,
            *self.fit(retrieved),
            candidates.degraded,
            datetime.date.today(),
            is_foreign=reads_english_only and confidence.has_foreign_letters(retrieved.query.text, candidates),
            is_quoted=is_quoted,
            named=retrieved.named,
        )

    def _copies(self, found: SearchOutcome) -> list[list[Ranked]]:
        some = similar.suspects(found.ranked)
        if not some:
            return []
        ids = {result.source: self._all_files()[result.source].rows for result in some}
        texts = self._index.catalogue.texts(id_ for own in ids.values() for id_ in own)
        return similar.copies(some, {source: "\n".join(map(texts.__getitem__, own)) for source, own in ids.items()})

    def _without_copies(self, found: SearchOutcome, copies: list[list[Ranked]]) -> SearchOutcome:
        """Return the results with one of each group; if most candidates were copies, search again without them."""
        rows = {path: file.rows for path, file in self._all_files().items()}
        if found.among is not None:
            rows = {path: own for path, own in rows.items() if not found.among.keys().isdisjoint(own)}
        groups = [similar.members(group, rows) for group in copies]
        ranked = similar.joined(found.ranked, copies)
        if 2 * len(ranked) <= len(found.ranked):
            found = self._again_without([path for group in groups for path in group[1:]], found)
            ranked = similar.joined(found.ranked, self._copies(found))
        shown = {result.source for result in ranked}
        others = {
            path: [other for other in group if other != path] for group in groups for path in group if path in shown
        }
        return replace(found, ranked=ranked, similar=others)

    def _without_crowd(self, found: SearchOutcome) -> SearchOutcome:
        """Search again without near-copies while they are all that was found; they are then the last results."""
        last: list[Ranked] = []
        for _ in range(SEARCHES):
            near = similar.crowd(found.ranked) if len(found.candidates) >= self._settings.nResults else []
            if not near:
                break
            last += near
            again = self._again_without([result.source for result in last], found)
            found = replace(again, among=found.among, similar=found.similar)
        return replace(found, ranked=[*found.ranked, *similar.lowered(last, found.ranked)]) if last else found

    def _again_without(self, sources: Iterable[str], found: SearchOutcome) -> SearchOutcome:
        files = self._all_files()
        gone = {id_ for source in sources for id_ in files[source].rows}
        every = found.among or {id_: row for file in files.values() for id_, row in file.rows.items()}
        among = {id_: row for id_, row in every.items() if id_ not in gone}
        candidates = self.candidates(found.query, found.type, among, found.vector, named=found.named)
        return self._outcome(candidates, found.vector, among, found.is_quoted)

    def _among(self, part: Part | None, filters: Filters) -> Mapping[str, str] | None:
        """Return the chunks in the scope and those that pass the filters, as chunk id -> row; None means all chunks."""
        if part is None and filters == NO_FILTERS:
            return None

        def rows() -> dict[str, str]:
            files = self._all_files()
            if part is not None:
                files = {path: own for path, own in files.items() if part.has(path)}
            return filtered(self._index, files, filters)

        return self._index.snapshot.read(PARTS, (part, filters), rows)

    def _all_files(self) -> Files:
        return self._index.snapshot.read(FILES, None, lambda: indexed_files(self._index))

    def fit(self, retrieved: Retrieved) -> confidence.Fit:
        text, best = retrieved.query.text, [one.chunk for one in retrieved.candidates.best]
        found = self._closeness(text, retrieved.candidates)
        return found._replace(unknown=subjects.unknown(subjects.nouns(text, retrieved.named), best, self._index))

    def _closeness(self, text: str, candidates: retrieve.Candidates) -> confidence.Fit:
        return confidence.fit(text, candidates, self._index.keywords.rarity, subjects.idle(text, self._index))

    def look(self, text: str, filters: Filters = NO_FILTERS) -> confidence.Fit:
        """Return the fit of the best passages of each leg, without a ranking and without a look at unknown names.

        Raises the errors of `candidates`.
        """
        query, type_, vector = parse(text), filters.single_type, retrieve.embedded(self._index, text)
        with self._index.gate.reading():
            self._index.require()
            among = self._among(None, filters)
            kept = retrieve.best_passages(self._index, query.text, vector.vector) if among is None else None
            found = kept or retrieve.retrieve(self._index, query, type_, retrieve.BEST, among, vector)
            if confidence.finds_nothing(found):
                return confidence.Fit(0.0, 0.0)
            return self._closeness(text, found)

    def candidates(
        self,
        query: Query,
        type_: str | None = None,
        among: Mapping[str, str] | None = None,
        vector: retrieve.QueryVector | None = None,
        watch: retrieve.Stopwatch | None = None,
        named: Sequence[reference.Reference] | None = None,
    ) -> Retrieved:
        """Return the candidates for a query; `named` is what it names, if known. Raises the errors of `retrieve`."""
        query = reference.with_defined(query, self._index.keywords)

        def found_in(part: Mapping[str, str] | None, only: str | None) -> retrieve.Candidates:
            if part is None and only is not None:  # Chroma's own filter reads all rows of the type for each search
                part = self._among(None, Filters(types=(only,)))
            return retrieve.retrieve(self._index, query, only, self._settings.nResults, part, vector, watch)

        found = found_in(among, type_)
        for sought in sorted(query.sought_types) if type_ is None else ():
            found = found.joined(found_in(among, sought))
        if type_ is None and hybrid.are_mostly_libraries(found):
            every = self._among(None, Filters(without_types=(KnowledgeType.LIBRARY,))) or {}
            if own := {id_: row for id_, row in every.items() if among is None or id_ in among}:
                found = found.joined(found_in(own, None))
        return Retrieved(query, type_, found, self._named(query) if named is None else named)

    def rank(self, retrieved: Retrieved, ranking: str, weights: Weights) -> tuple[list[Ranked], list[Ranked]]:
        """Return passages and files by score, best first; `ranking` is hybrid, classic, or the name of a leg."""
        passages, files = self._ranked(retrieved, ranking, weights)
        if self._reranker is not None and ranking == "hybrid":
            files = self._reranker.rerank(retrieved.query.text, files)
        return passages, files

    def _ranked(self, retrieved: Retrieved, ranking: str, weights: Weights) -> tuple[list[Ranked], list[Ranked]]:
        query, candidates = retrieved.query, retrieved.candidates
        if ranking in retrieve.LEGS:
            passages = retrieve.passages_of(candidates, ranking)
            return passages, retrieve.best_of_files(passages)
        if ranking == "classic":
            passages = retrieve.passages_of(candidates, "vectors")
            return passages, self._classic(query, passages, retrieved.type or "all", weights)
        passages = hybrid.score(query, candidates, retrieved.type, weights)
        files = hybrid.rank(
            query,
            passages,
            retrieved.type,
            weights,
            datetime.date.today(),
            parents=self._heads(lineage.wanted_ancestors(query, passages)),
            relatives=list(self._heads(lineage.relatives(query.text, self._index.hierarchy)).values()),
            heads=self._openings(passage.chunk.superseded_by for passage in passages),
            named={chunk.source: chunk for one in reversed(retrieved.named) for chunk in reversed(one.passages)},
            changed=self._history.matches(query.text) if self._history else {},
            used=self._used(query.text) if query.asks_definition else {},
        )
        return passages, similar.spread(outdated.below_sources(files, self._index.catalogue.of_source))

    def _used(self, name: str) -> dict[str, int]:
        """Return how many files use, or classes extend, each class or function of this name, by its file."""
        tree, users = self._index.hierarchy, self._index.catalogue.users
        functions = lineage.functions_named(self._index, name.removesuffix("()"))
        places = {full: full.rpartition(":")[0] for full in functions}
        places |= {full: str(tree.nodes[full].source) for full in lineage.classes_in(name, tree)}
        return {source: len(users(full)) + len(tree.children(full)) for full, source in places.items()}

    def _heads(self, classes: Iterable[str]) -> dict[str, Chunk]:
        """Return the chunk that opens each of these classes, by class name."""
        found: dict[str, Chunk] = {}
        for name in classes:
            node = self._index.hierarchy.nodes.get(name)
            if node is None or node.source is None:
                continue
            own = [chunk for chunk in self._index.catalogue.of_source(node.source) if chunk.class_name == name]
            if own:
                found[name] = next((chunk for chunk in own if chunk.kind in CLASS_KINDS), own[0])
        return found

    def _named(self, query: Query) -> list[reference.Reference]:
        catalogue, found = self._index.catalogue, list[reference.Reference]()
        is_own = partial(reference.is_project, index=self._index)
        for one in reference.references(query, catalogue.paths, lambda path: catalogue.of_source(path)[0].text, is_own):
            passages = list(self._openings(one.sources).values())
            if not one.sources and one.kind != "file":
                ids = self._index.keywords.holding(phrase_words(one.name))  # those of `1.2` are also in `v1.2`
                passages = [chunk for chunk in catalogue.chunks(ids).values() if one.is_in(chunk)]
                passages.sort(key=attrgetter("source", "lines"))
            found.append(one._replace(passages=tuple(passages)))
        return found

    def _openings(self, sources: Iterable[str | None]) -> dict[str, Chunk]:
        chunks = {source: self._index.catalogue.of_source(source) for source in dict.fromkeys(sources) if source}
        return {source: own[0] for source, own in chunks.items() if own}

    def _classic(self, query: Query, passages: list[Ranked], type_: str, weights: Weights) -> list[Ranked]:
        best = {passage.source: passage.chunk for passage in reversed(passages)}
        ranked = []
        for source, terms in classic.rank(query.text, type_, [passage.chunk for passage in passages], weights):
            if chunk := best.get(source) or self._openings([source]).get(source):
                ranked.append(Ranked(source, sum(terms.values()), chunk, list(terms.items())))
        return ranked
