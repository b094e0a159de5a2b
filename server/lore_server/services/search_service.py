"""Reply to a search with ranked passages, their excerpts within the budget, and the state of the index."""

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from lore_etl.core.errors import DocumentNotFound, InvalidArgument
from lore_etl.core.model import Chunk, canonical_json
from lore_etl.files.indexed import origin_of_file
from lore_etl.index import Index
from lore_server.query.confidence import SUGGESTION, Fit
from lore_server.query.filters import Filters, by_age, by_folder, by_suffix, by_type
from lore_server.query.freshness import Freshness, urgent
from lore_server.query.lineage import relations_of
from lore_server.query.outdated import outdated
from lore_server.query.query_service import QueryService, SearchOutcome
from lore_server.query.ranking import Ranked
from lore_server.query.retrieve import Stopwatch
from lore_server.query.syntax import ALL, Request, read_request
from lore_server.replies import budget, paging, records
from lore_server.replies.paging import fitting_excerpt, place_of, without_gaps
from lore_server.services.question_log import BETWEEN

_LIKE = re.compile(r'(?<!\S)like:(?P<place>"[^"]+"|\S+)')
LONGEST_LIKE = 2000  # characters of a passage
LONGEST_ECHO = 300  # the maximum number of characters of the question in the reply
SMALL_BUDGET = 500  # tokens; below this, optional fields are shortened or omitted
SHORT_NOTE = 40
FURTHER_CHARACTERS = 300  # of the excerpt of a further passage
SIMILAR_LISTED, SIMILAR_SHOWN = 20, 5  # paths of copies in an explained result, and in others
LONGEST_STEP = 99_999.9  # milliseconds; the place that a step takes in the budget before its end is known
FACETS_SHARE = 3  # facets take at most this part of the budget
POINTS = 100.0  # of a file that is the best for all phrasings


class SearchService:
    """The search for passages, with replies that fit their token budget."""

    def __init__(self, index: Index, queries: QueryService, freshness: Freshness) -> None:
        self._index = index
        self._queries = queries
        self._freshness = freshness

    def passages(
        self,
        *,
        query: str | Sequence[str],
        type: str | Sequence[str],
        limit: int,
        passages: int,
        facets: bool,
        explain: bool,
        brief: bool,
        max_tokens: int,
        path: str | Sequence[str] = (),
        lang: str | Sequence[str] = (),
        after: str | None = None,
        before: str | None = None,
        cursor: str | None = None,
    ) -> records.QueryResultRecord:
        """Return the passages that answer a question, in one or several phrasings. Raises InvalidArgument."""
        if max_tokens < SMALL_BUDGET:
            facets, explain, passages = False, False, 0
        phrasings = [query] if isinstance(query, str) else list(dict.fromkeys(query))
        requests = [self._request(phrasing, type, path, lang, after, before) for phrasing in phrasings]
        request = requests[0]
        if any(other.filters != request.filters for other in requests):
            raise InvalidArgument("Only some phrasings have filters.", "Pass filters as arguments, not in a phrasing.")
        found = fused([self._find(one, one.filters) for one in requests])
        watch = Stopwatch()
        state = self._index.catalogue.meta("loaded")
        mark = budget.mark_of(canonical_json([query, type, path, lang, after, before, state]))
        start = budget.offset_of(cursor, mark)
        top = found.ranked[start : start + limit]
        changed = self._freshness.changed_of(result.source for result in top)
        results = [_result(result, explain, result.source in changed, found.today) for result in top]
        for file, result in zip(top, results, strict=True):
            if relations := relations_of(self._index, file.chunk):
                result["relations"] = budget.clipped(relations, 300)
            if copies := found.similar.get(file.source):
                result["similar"] = len(copies)
                result["similar_sources"] = list(copies[: SIMILAR_LISTED if explain else SIMILAR_SHOWN])
            if others := further_passages(self._index, found, file, passages) if passages else []:
                result["passages"] = [_further(chunk, found.query.words, brief) for chunk in others]
        page = paging.Page(start, len(found.ranked), mark)
        reply = head(
            BETWEEN.join(phrasings), found, len(found.ranked), bool(top), self._freshness.record(changed), max_tokens
        )
        if facets:
            of_any_type = fused([self._find(one, replace(one.filters, types=(), without_types=())) for one in requests])
            reply["facets"] = _facets(found, of_any_type, max_tokens)
        if explain:
            reply["timings"] = _timings(found.seconds, LONGEST_STEP)
        if brief:
            reply = paging.of_rows(reply, "results", results, page, max_tokens)
        else:
            texts = [without_gaps(result.source, result.chunk.text) for result in top]
            reply = paging.of_passages(reply, results, texts, found.query.words, page, max_tokens)
        if "timings" in reply:
            watch.end("reply")
            reply["timings"] = _timings(found.seconds, 1000 * watch.seconds["reply"])
        return reply

    def fit(self, query: str | Sequence[str], **arguments: Any) -> Fit:
        """Return how well the index answers a search, before it is made. Raises InvalidArgument for wrong syntax."""
        defaults = {"type": ALL, "path": (), "lang": (), "after": None, "before": None}
        filters: list[Any] = [arguments.get(name, default) for name, default in defaults.items()]
        requests = [read_request(phrasing, *filters) for phrasing in ([query] if isinstance(query, str) else query)]
        return max(self._queries.look(one.text, one.filters) for one in requests)

    def _request(self, text: str, *filters: Any) -> Request:
        """Return the request of a phrasing; `like:` searches with the text of that chunk. Raises DocumentNotFound."""
        like = _LIKE.search(text)
        if like is None:
            return read_request(text, *filters)
        id_, (path, asked) = like["place"].strip('"'), place_of(like["place"].strip('"'))
        chunks = [*self._index.catalogue.chunks([id_]).values()] or self._index.catalogue.of_source(path)
        inside = [chunk for chunk in chunks if asked is None or chunk.lines[1] >= asked[0]]
        if not inside:
            raise DocumentNotFound(f"There is no passage `{id_}`.", "Give like: the id or `path:lines` of a result.")
        chunk = inside[0]
        others = f'{_LIKE.sub("like", text)} -path:"{chunk.source}"'
        found = f"{chunk.title} {' '.join(chunk.heading)}\n{chunk.text}"[:LONGEST_LIKE]
        return replace(read_request(others, *filters), text=found)

    def _find(self, request: Request, filters: Filters) -> SearchOutcome:
        return self._queries.find(request.text, filters=filters, group_copies=True)


def _facets(found: SearchOutcome, of_any_type: SearchOutcome, max_tokens: int) -> records.FacetsRecord:
    room = max_tokens * budget.CHARACTERS_PER_TOKEN // FACETS_SHARE
    types = by_type(file.chunk.type.value for file in of_any_type.ranked)
    folders = by_folder(file.source for file in found.ranked)
    suffixes = by_suffix(file.source for file in found.ranked)
    ages = by_age((file.chunk.day for file in found.ranked), found.today)
    return {
        "types": budget.fitting([{"type": type_, "files": number} for type_, number in types], room // 3),
        "folders": budget.fitting([{"path": path, "files": number} for path, number in folders], room // 3),
        "langs": budget.fitting([{"lang": suffix, "files": number} for suffix, number in suffixes], room // 6),
        "ages": budget.fitting([{"after": day, "files": number} for day, number in ages], room // 6),
    }


def _timings(seconds: Mapping[str, float], reply: float) -> records.TimingsRecord:
    steps = {step: 1000 * taken for step, taken in seconds.items()} | {"reply": reply}
    return cast("records.TimingsRecord", {step: round(min(taken, LONGEST_STEP), 1) for step, taken in steps.items()})


def _further(chunk: Chunk, words: Sequence[str], is_brief: bool) -> records.FurtherPassageRecord:
    heading, lines = " > ".join(chunk.heading), list(chunk.lines)
    text = without_gaps(chunk.source, chunk.text)
    shown = "" if is_brief else fitting_excerpt(text, words, FURTHER_CHARACTERS)
    passage = records.FurtherPassageRecord(id=chunk.id, heading=heading, lines=lines, excerpt=shown)
    return paging.with_fields(passage, cut=shown != text and not is_brief)


def head(
    text: str, found: SearchOutcome, total: int, has_results: bool, freshness: records.FreshnessRecord, max_tokens: int
) -> records.QueryResultRecord:
    """Return the reply without its results; with a small budget it contains only the essential fields."""
    is_small = max_tokens < SMALL_BUDGET
    reply: records.QueryResultRecord = {
        "query": budget.clipped(text, max_tokens // 10 if is_small else LONGEST_ECHO),
        "total": total,
        "results": [],
        "confidence": round(found.confidence, 3),
        "freshness": urgent(freshness) if is_small else freshness,
    }
    notes = {"doubt": found.doubt} if has_results else {"suggestion": SUGGESTION}
    longest = SHORT_NOTE if is_small else 300
    notes = {name: budget.clipped(text or "", longest) for name, text in {**notes, "degraded": found.degraded}.items()}
    return paging.with_fields(reply, **notes)


def _result(ranked: Ranked, explain: bool, is_changed: bool, today: datetime.date) -> records.ResultRecord:
    chunk = ranked.chunk
    result: records.ResultRecord = {
        "id": chunk.id,
        "source": chunk.source,
        "origin": origin_of_file(chunk.source),
        "type": chunk.type.value,
        "title": chunk.title,
        "heading": " > ".join(chunk.heading),
        "lines": list(chunk.lines),
        "excerpt": "",
        "score": round(ranked.score, 3),
    }
    if explain:
        result["why"] = [{"term": term, "value": round(value, 3)} for term, value in ranked.why]
    return paging.with_fields(
        result, state=chunk.state, library=chunk.library, changed=is_changed, outdated=outdated(chunk, today)
    )


def further_passages(index: Index, found: SearchOutcome, result: Ranked, number: int) -> list[Chunk]:
    """Return up to this many passages of a file: other candidates, then those that contain a word of the query."""
    chosen = {result.chunk.id: result.chunk}
    chosen |= {other.chunk.id: other.chunk for other in found.passages if other.source == result.source}
    if len(chosen) <= number:
        own = {chunk.id: chunk for chunk in index.catalogue.of_source(result.source)}
        within = own.keys() if found.among is None else own.keys() & found.among.keys()
        chosen |= {id_: own[id_] for id_, _ in index.keywords.search(found.query.text, number + 1, only=within)}
    return list(chosen.values())[1 : number + 1]


def fused(outcomes: Sequence[SearchOutcome]) -> SearchOutcome:
    """Return the files by their mean share of the best score over all phrasings, with the passage that fits best."""
    first, *others = outcomes
    if not others:
        return first
    ranked: dict[str, Ranked] = {}
    fit: dict[str, float] = {}
    for number, outcome in enumerate(outcomes, start=1):
        best = outcome.ranked[0].score if outcome.ranked else 0.0
        for file in outcome.ranked:
            share = max(0.0, file.score / best) if best > 0 else 0.0
            have = ranked.setdefault(file.source, Ranked(file.source, 0.0, file.chunk))
            have.why.append((f"phrasing {number}", POINTS * share / len(outcomes)))
            if share > fit.get(file.source, -1.0):
                fit[file.source], have.chunk = share, file.chunk
    for file in ranked.values():
        file.score = sum(points for _, points in file.why)
    return replace(
        first,
        query=replace(
            first.query,
            text=" ".join(one.query.text for one in outcomes),
            words=tuple(dict.fromkeys(word for one in outcomes for word in one.query.words)),
        ),
        ranked=sorted(ranked.values(), key=lambda file: (-file.score, file.source)),
        passages=list({passage.chunk.id: passage for one in outcomes for passage in one.passages}.values()),
        candidates=list({found.chunk.id: found for one in outcomes for found in one.candidates}.values()),
        confidence=max(one.confidence for one in outcomes),
        relevance=max(one.relevance for one in outcomes),
        degraded=next((one.degraded for one in outcomes if one.degraded), None),
        similar={source: paths for one in outcomes for source, paths in one.similar.items()},
        is_foreign=all(one.is_foreign for one in outcomes),
        seconds={step: sum(one.seconds.get(step, 0.0) for one in outcomes) for step in first.seconds},
    )
