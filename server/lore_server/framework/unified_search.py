"""Search the knowledge of the framework and the project with the product's hybrid search (`knowledge_search`)."""

from __future__ import annotations

import datetime
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, cast

from lore_etl.config.settings import DocsSettings
from lore_etl.core.errors import InvalidArgument
from lore_etl.core.json_types import JSON
from lore_etl.core.model import Chunk, canonical_json, sha256
from lore_etl.index import Index
from lore_etl.sources.source import origin_of_file
from lore_etl.stores.catalogue import UNREAD
from lore_server.framework.best_sentence import best_sentence
from lore_server.framework.reading import check_root
from lore_server.framework.search_scope import DEFAULT, Scope, Scopes
from lore_server.framework.view import ViewEntry
from lore_server.query.filters import Part
from lore_server.query.freshness import Freshness
from lore_server.query.outdated import lower_outdated, outdated
from lore_server.query.proximity import stems_of
from lore_server.query.query_service import QueryService, SearchOutcome
from lore_server.query.ranking import Ranked, Terms
from lore_server.replies import budget, paging
from lore_server.services.search_service import head

if TYPE_CHECKING:
    from lore_server.replies.records import KnowledgeFoundRecord, KnowledgeResultRecord


LIMIT = 10  # results
THRESHOLD = 0.3  # the score above which a document is a result, as in PRP-29.3
DAY_SECONDS = 86_400
READ_FOR_EXCERPT = 4  # passages of a file
LISTED = 20  # maximum number of tags, and of PRPs that name a pattern, in one result


Hit = tuple[Ranked, ViewEntry | None]
"""A document that was found, or a single rule of a file."""


class UnifiedSearch:
    """A search of some sources with the query service. `clock` returns seconds since 1970."""

    def __init__(
        self,
        index: Index,
        queries: QueryService,
        freshness: Freshness,
        scopes: Scopes,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._index, self._queries, self._scopes = index, queries, scopes
        self._freshness, self._clock = freshness, clock

    def search(
        self,
        *,
        query: str,
        explain: bool,
        max_tokens: int,
        sources: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        limit: int | None = None,
        project_root: str | None = None,
        options: Mapping[str, object] | None = None,
        cursor: str | None = None,
    ) -> KnowledgeFoundRecord:
        """Return the best documents; `options` can have the arguments (PRP-29.2). Raises InvalidArgument."""
        check_root(self._index.root, project_root, "Omit it, or use the server of that project.")
        arguments = {"sources": sources, "tags": tags, "limit": limit}
        given = {name: value for name, value in arguments.items() if value is not None}
        if twice := sorted(given.keys() & (options or {}).keys()):
            raise InvalidArgument(
                f"`{twice[0]}` is given twice: as an argument and in `options`.", "Pass it only once."
            )
        wanted: JSON = {"sources": [], "tags": [], "limit": LIMIT, **given, **(options or {})}
        sources, tags, limit = wanted["sources"], wanted["tags"], wanted["limit"]
        self._index.require()
        mark = sha256(canonical_json([query, sources, tags, self._index.catalogue.meta("loaded")]))[:12]
        start = budget.offset_of(cursor, mark)
        scope = self._scopes.of(sources, tags)
        found = self._queries.find(query, part=Part(files=scope.files))
        hits = self._hits(found, scope)
        top = hits[start : start + limit]
        changed = self._freshness.changed_of(result.source for result, _ in top)
        rows = _rows(top, changed, found, scope, explain)
        fields = head(query, found, len(hits), bool(top), self._freshness.record(changed), max_tokens)
        kept = {name: value for name, value in fields.items() if name != "total"}
        counts = {"total_found": len(hits), "total_indexed": scope.total}
        reply = cast("KnowledgeFoundRecord", {"success": True, **counts, **kept, "sources_searched": list(scope.names)})
        if not hits:
            reply["suggestion"] = self._suggestion(query, tags)
        shown = budget.some(rows, budget.room(max_tokens, reply), "The next of the results", max_tokens)
        page = paging.Page(start, len(hits), mark)
        return paging.with_rows(reply, "results", shown, page, len(rows) - len(shown))

    def _hits(self, found: SearchOutcome, scope: Scope) -> list[Hit]:
        """Return the documents and rules above the threshold, best first."""
        settings = self._index.settings.docs
        stamps = self._index.catalogue.stamps(result.source for result in found.ranked)
        since = self._clock() - settings.recent_days * DAY_SECONDS
        recent = {path for path, stamp in stamps.items() if _modified(stamp) >= since}
        similar: dict[str, float] = {}
        for chunk, vector, *_ in found.candidates:
            similar[chunk.source] = max(similar.get(chunk.source, 0.0), vector or 0.0)
        asked = found.query.text
        documents = boosted(asked, found.ranked, found.relevance, similar, scope.tags, recent, found.today, settings)
        wanted = stems_of(asked)
        hits = [hit for document in documents for hit in _rules_or_document(document, wanted, scope)]
        hits.sort(key=lambda hit: -hit[0].score)
        return [hit for hit in hits if hit[0].score > THRESHOLD]

    def _suggestion(self, query: str, tags: Sequence[str]) -> str:
        """Return other sources that contain the words, or advice for another search."""
        for fields, with_tags in (("Other sources contain these words", tags), ("Without the tags there are", ())):
            scope = self._scopes.of(DEFAULT, with_tags)
            holding = {
                candidate.chunk.source
                for candidate in self._queries.find(query, part=Part(files=scope.files)).candidates
                if candidate.keyword
            }
            if holding:
                counts = Counter(scope.source_of[path] for path in sorted(holding))
                return f"{fields}: {', '.join(f'{name} ({count})' for name, count in counts.most_common())}."
        return "Use other or fewer words, or query_documents, which searches all indexed files."


def _rows(
    top: Sequence[Hit], changed: Set[str], found: SearchOutcome, scope: Scope, explain: bool
) -> list[KnowledgeResultRecord]:
    wanted = stems_of(found.query.text)
    passages = {result.source: [result.chunk] for result, _ in top}  # the one that decided the rank first
    for candidate in found.candidates:
        chunk = candidate.chunk
        if chunk.source in passages and chunk.id != passages[chunk.source][0].id:
            passages[chunk.source].append(chunk)
    rows = []
    for result, rule in top:
        entries = scope.entries.by_path.get(result.source)
        tags, referrers = scope.tags(result.chunk), entries[0].referenced_by if entries else ()
        row: KnowledgeResultRecord = {
            "origin": origin_of_file(result.source),
            "source_type": scope.source_of[result.source],
            "title": result.chunk.title,
            "path": result.source,
            "excerpt": best_sentence(wanted, passages[result.source][:READ_FOR_EXCERPT]),
            "score": round(result.score, 3),
            "tags": list(tags[:LISTED]),
            "referenced_by": list(referrers[:LISTED]),
            "lines": list(result.chunk.lines),
        }
        if rule and rule.line:
            row["title"], row["excerpt"], row["lines"] = rule.title, rule.excerpt, [rule.line, rule.line]
        if len(tags) > LISTED:
            row["tags_total"] = len(tags)
        if len(referrers) > LISTED:
            row["referenced_by_total"] = len(referrers)
        if result.source in changed:
            row["changed"] = True
        if record := outdated(result.chunk, found.today):
            row["outdated"] = record
        if explain:
            row["why"] = [{"term": term, "value": round(value, 3)} for term, value in result.why]
        rows.append(row)
    return rows


def _rules_or_document(document: Ranked, wanted: frozenset[str], scope: Scope) -> Iterator[Hit]:
    """Yield the rules of a file that have a word of the query, scored by the share of the words; else the document."""
    rules = [entry for entry in scope.entries.by_path.get(document.source, ()) if entry.line]
    shared = [len(wanted & stems_of(rule.excerpt)) for rule in rules]
    most = max(shared, default=0)
    if not most:
        yield document, None
    for rule, count in zip(rules, shared, strict=True):
        if count:
            result = replace(document)
            result.add("ruleMatch", document.score * (count / most - 1))
            yield result, rule


def _modified(stamp: str) -> float:
    """Return the modification time of a file from its stamp, in seconds since 1970."""
    parts = stamp.removeprefix(UNREAD).split(":")
    return int(parts[1]) / 1e9 if len(parts) > 1 else 0.0


_STAYS = {"expiredPenalty": 0.0, "supersededPenalty": 0.0}  # the ranking has already subtracted these points


def boosted(
    question: str,
    ranked: Sequence[Ranked],
    relevance: float,
    similar: Mapping[str, float],
    tags: Callable[[Chunk], Sequence[str]],
    recent: Collection[str],
    today: datetime.date,
    weights: DocsSettings,
) -> list[Ranked]:
    """Return files by `base * (1 + boosts)`, best first and at most 1.

    The base is the file's share of the best score, times `relevance`, that of the best result; or its similarity in
    `similar` if that is higher, so that a score has the same meaning in each reply.

    A boost for tags or title is weighted by the share of the question's significant words in them. `recent` are the
    recently changed files. A superseded document stays behind its replacement.
    """
    wanted = stems_of(question)

    def share_in(text: str) -> float:
        return len(wanted & stems_of(text)) / len(wanted) if wanted else 0.0

    best = max((result.score for result in ranked), default=0.0)
    found: dict[str, Ranked] = {}
    for result in ranked:
        scale = relevance / best if best > 0 else 0.0
        share = max(0.0, result.score * scale)
        base = max(share, similar.get(result.source, 0.0))
        why: Terms = [(term, value * scale) for term, value in result.why] if scale else []
        why += [("notBelowZero", -sum(value for _, value in why))] if not share else []
        why += [("similarity", base - share)] if base > share else []
        # the title of code is its path, of which folders match too often
        title = result.chunk.title if result.chunk.title != result.source else PurePosixPath(result.source).stem
        boosts = (
            ("tagMatch", weights.tag_weight * share_in(" ".join(tags(result.chunk)))),
            ("titleMatch", weights.title_weight * share_in(title)),
            ("recentlyChanged", weights.recent_weight * (result.source in recent)),
        )
        why += [(term, base * value) for term, value in boosts if base * value]
        found[result.source] = Ranked(result.source, base * (1 + sum(value for _, value in boosts)), result.chunk, why)
    lower_outdated(found, {source: result.chunk for source, result in found.items()}, today, _STAYS)
    ordered = sorted(found.values(), key=lambda result: -result.score)
    return [result.at(1.0, "notAboveOne") if result.score > 1 else result for result in ordered]
