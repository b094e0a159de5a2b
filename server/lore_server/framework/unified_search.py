"""Search the knowledge of the framework and the project with the product's hybrid search (`knowledge_search`)."""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import cast

from lore_etl.config.settings import DocsSettings
from lore_etl.core.errors import FrameworkNotFound, InvalidArgument
from lore_etl.core.json_types import JSON
from lore_etl.core.model import Chunk, KnowledgeType, canonical_json
from lore_etl.files.indexed import origin_of_file
from lore_etl.index import Index
from lore_etl.stores.catalogue import TAGS, UNREAD
from lore_etl.stores.snapshot import Derived
from lore_server.framework.best_sentence import best_sentence
from lore_server.framework.reading import check_root, framework_folder
from lore_server.framework.view import SOURCES, Entries, View, ViewEntry, group_of, is_system
from lore_server.query.filters import Part
from lore_server.query.freshness import Freshness
from lore_server.query.outdated import lower_outdated, outdated
from lore_server.query.proximity import stems_of
from lore_server.query.query_service import QueryService, SearchOutcome
from lore_server.query.ranking import Ranked, Terms
from lore_server.replies import budget, paging
from lore_server.replies.records import KnowledgeFoundRecord, KnowledgeResultRecord
from lore_server.services.search_service import head

LIMIT = 10  # results
THRESHOLD = 0.3  # the score above which a document is a result, as in PRP-29.3
DAY_SECONDS = 86_400
READ_FOR_EXCERPT = 4  # passages of a file
FRAMEWORK = "framework"
DEFAULT = (FRAMEWORK, "prp", "example", "memory")
LISTED = 20  # maximum number of tags, and of PRPs that name a pattern, in one result


Hit = tuple[Ranked, ViewEntry | None]  # a document that was found, or a single rule of a file


@dataclass(frozen=True)
class Scope:
    """Files, each with the first requested source that it belongs to, and their view."""

    names: tuple[str, ...]
    source_of: Mapping[str, str]
    files: frozenset[str]
    entries: Entries

    @cached_property
    def total(self) -> int:
        """Return the number of documents, counting each rule of a file."""
        return sum(max(1, len(self.entries.by_path.get(path, ()))) for path in self.files)

    def tags(self, chunk: Chunk) -> tuple[str, ...]:
        """Return the tags of a chunk's document: from the view, or from its front matter."""
        known = self.entries.by_path.get(chunk.source)
        return known[0].tags if known else chunk.tags


SCOPES = Derived[Scope]("scopes of knowledge searches", kept=16)  # about 1 MB each for 10,000 files
TAGGED = Derived[Mapping[str, set[str]]]("files by tag")


class UnifiedSearch:
    """A search of some sources with the query service. `clock` returns seconds since 1970."""

    def __init__(
        self,
        index: Index,
        queries: QueryService,
        freshness: Freshness,
        view: View,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._index, self._queries, self._view = index, queries, view
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
            hint = "Pass it only once."
            raise InvalidArgument(f"`{twice[0]}` is given twice: as an argument and in `options`.", hint)
        wanted: JSON = {"sources": [], "tags": [], "limit": LIMIT, **given, **(options or {})}
        sources, tags, limit = wanted["sources"], wanted["tags"], wanted["limit"]
        self._index.require()
        mark = budget.mark_of(canonical_json([query, sources, tags, self._index.catalogue.meta("loaded")]))
        start = budget.offset_of(cursor, mark)
        scope = self.scope(sources, tags)
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
            reply["suggestion"] = self._suggestion()
        return paging.of_rows(reply, "results", rows, paging.Page(start, len(hits), mark), max_tokens)

    def _hits(self, found: SearchOutcome, scope: Scope) -> list[Hit]:
        """Return the documents and rules above the threshold, best first."""
        settings = self._index.settings.docs
        stamps = self._index.catalogue.stamps(result.source for result in found.ranked)
        since = self._clock() - settings.recent_days * DAY_SECONDS
        recent = {path for path, stamp in stamps.items() if _modified(stamp) >= since}
        documents, wanted = boosted(found, scope.tags, recent, settings), stems_of(found.query.text)
        hits = [hit for document in documents for hit in _rules_or_document(document, wanted, scope)]
        hits.sort(key=lambda hit: -hit[0].score)
        return [hit for hit in hits if hit[0].score > THRESHOLD]

    def _suggestion(self) -> str:
        if not self.scope(DEFAULT).total:
            return "This project has no such documents; query_documents searches all indexed files."
        return "Use other or fewer words, more sources or no tags, or query_documents, which searches all files."

    def scope(self, names: Sequence[str], tags: Collection[str] = ()) -> Scope:
        """Return the files of these or the default sources; with tags, only files that have one of them."""
        snapshot, entries = self._index.snapshot, self._view.entries()
        wanted = tuple(dict.fromkeys(names)) or DEFAULT
        scope = snapshot.read(SCOPES, wanted, lambda: self._scope_of(wanted, entries))
        if not tags:
            return scope
        tagged = snapshot.read(TAGGED, None, lambda: self._by_tag(entries))
        having = {path for tag in tags for path in tagged.get(tag.strip().casefold(), ())}
        found = {path: scope.source_of[path] for path in having & scope.files}
        return Scope(wanted, found, frozenset(found), entries)

    def _scope_of(self, names: tuple[str, ...], entries: Entries) -> Scope:
        pages: tuple[str, ...] = ()
        with suppress(FrameworkNotFound):
            pages = (framework_folder(self._index.root, self._index.settings.docs.framework) + "/",)
        found = dict[str, str]()
        for path, type_ in self._index.catalogue.types().items():
            group = group_of(path, KnowledgeType(type_))
            is_framework = is_system(path) or path.startswith(pages)  # including the framework's own pages
            for name in names:
                if group in SOURCES[name] or (name == FRAMEWORK and is_framework):
                    found[path] = name
                    break
        return Scope(names, found, frozenset(found), entries)

    def _by_tag(self, entries: Entries) -> Mapping[str, set[str]]:
        """Return the files by tag in lower case: from the view, or from the front matter."""
        others = self._scope_of(DEFAULT, entries).files - entries.by_path.keys()
        given = [(entry.path, entry.tags) for entry in entries.all]
        found: dict[str, set[str]] = defaultdict(set)
        own = self._index.catalogue.of_sources(TAGS, others).items()
        for path, tags in (*given, *((path, json.loads(tags)) for path, tags in own)):
            for tag in tags:
                found[tag.casefold()].add(path)
        return found


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
        if explain:
            row["why"] = [{"term": term, "value": round(value, 3)} for term, value in result.why]
        totals = {"tags_total": tags, "referenced_by_total": referrers}
        more: JSON = {name: len(all_) for name, all_ in totals.items() if len(all_) > LISTED}
        more |= {"changed": result.source in changed, "outdated": outdated(result.chunk, found.today)}
        rows.append(paging.with_fields(row, **more))
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
    found: SearchOutcome, tags: Callable[[Chunk], Sequence[str]], recent: Collection[str], weights: DocsSettings
) -> list[Ranked]:
    """Return files by `base * (1 + boosts)`, best first and at most 1; superseded ones stay behind their successor."""
    wanted = stems_of(found.query.text)

    def share_in(text: str) -> float:
        return len(wanted & stems_of(text)) / len(wanted) if wanted else 0.0

    similar: dict[str, float] = {}
    for chunk, vector, *_ in found.candidates:
        similar[chunk.source] = max(similar.get(chunk.source, 0.0), vector or 0.0)
    best = max((result.score for result in found.ranked), default=0.0)
    files: dict[str, Ranked] = {}
    for result in found.ranked:
        scale = found.relevance / best if best > 0 else 0.0  # the relevance is that of the best result
        share = max(0.0, result.score * scale)
        base = max(share, similar.get(result.source, 0.0))  # so a score has the same meaning in each reply
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
        files[result.source] = Ranked(result.source, base * (1 + sum(value for _, value in boosts)), result.chunk, why)
    lower_outdated(files, {source: result.chunk for source, result in files.items()}, found.today, _STAYS)
    ordered = sorted(files.values(), key=lambda result: -result.score)
    return [result.at(1.0, "notAboveOne") if result.score > 1 else result for result in ordered]
