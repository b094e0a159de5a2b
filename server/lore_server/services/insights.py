"""Summarize the logged questions: which were unanswered, which files no question found, which results are marked."""

import math
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from lore_etl.core.errors import ConfirmationRequired, DocumentNotFound
from lore_etl.core.model import KnowledgeType
from lore_etl.index import Index
from lore_server.query.proximity import stems_of
from lore_server.replies import records
from lore_server.services.question_log import READ, USED_SECONDS, AskedQuestion, QuestionLog

AGAIN_SECONDS = 300  # within which a question with the same words means that the first had no answer
SAME = 0.5  # share of the words
CODE = (KnowledgeType.SRC, KnowledgeType.TEST, KnowledgeType.EXAMPLE)


class InsightsService:
    """The log of questions of one project, summarized, and the marks of results."""

    def __init__(self, index: Index, log: QuestionLog) -> None:
        self._index = index
        self._log = log

    def get(self, *, days: int, limit: int) -> records.InsightsRecord:
        rows, marks = self._log.rows(days), self._log.marks()
        asked = [row for row in rows if row.operation != READ]
        useful, again = followed(rows)
        others = [one for one in asked if one not in useful]
        types = self._index.catalogue.types() if self._index.exists() else {}
        return {
            "enabled": self._log.is_enabled,
            "days": days,
            "questions": len(asked),
            "frequent": grouped(asked, limit, fewest=2),
            "doubtful": grouped((one for one in others if one.found and one.doubtful), limit),
            "unanswered": grouped((one for one in others if not one.found or one in again), limit),
            "useful": sum(one in useful for one in asked),
            "files": unfound(asked, types, limit),
            "latency": latencies(asked),
            "right": sum(mark["verdict"] == "right" for mark in marks),
            "wrong": sum(mark["verdict"] == "wrong" for mark in marks),
        }

    def mark(self, *, query: str, source: str, verdict: str) -> records.MarkRecord:
        """Mark a file as right or wrong for a question, or remove the mark. Raises DocumentNotFound, IndexMissing."""
        self._index.require()
        if verdict != "none" and not self._index.catalogue.of_source(source):
            raise DocumentNotFound(f"`{source[:200]}` is not indexed.", "list_sources lists the indexed files.")
        return {"query": self._log.mark(query, source, verdict), "source": source, "verdict": verdict}

    def marks(self) -> records.MarkListRecord:
        return {"marks": self._log.marks()}

    def clear(self, *, confirm: bool) -> records.InsightsClearedRecord:
        """Delete the log and the marks. Raises ConfirmationRequired."""
        if not confirm:
            raise ConfirmationRequired("This deletes all logged questions and marks.", "Set confirm=true.")
        questions, marks = self._log.clear()
        return {"questions": questions, "marks": marks}


def grouped(asked: Iterable[AskedQuestion], limit: int, fewest: int = 1) -> list[records.AskedQuestionRecord]:
    """Return distinct questions that were asked so often, most frequent and most recent first."""
    groups: dict[str, list[AskedQuestion]] = defaultdict(list)
    for one in asked:
        groups[" ".join(one.query.casefold().strip(" ?!.").split())].append(one)
    kept = [group for group in groups.values() if len(group) >= fewest]
    kept.sort(key=lambda group: (len(group), group[-1].at), reverse=True)
    return [{"query": group[-1].query, "count": len(group), "last": group[-1].at} for group in kept[:limit]]


def followed(rows: Iterable[AskedQuestion]) -> tuple[set[AskedQuestion], set[AskedQuestion]]:
    """Return the questions after which a file that they found was read, and those soon asked again in other words."""
    useful, again = set[AskedQuestion](), set[AskedQuestion]()
    recent = deque[tuple[float, AskedQuestion, frozenset[str]]]()
    for row in rows:
        now, words = datetime.fromisoformat(row.at).timestamp(), stems_of(row.query)
        while recent and now - recent[0][0] > USED_SECONDS:
            recent.popleft()
        for at, one, before in recent:
            if row.operation == READ:
                useful |= {one} if row.sources[0] in one.sources else set()
            elif row.searched == row.query and now - at <= AGAIN_SECONDS:
                common, fewer = len(words & before), min(len(words), len(before))
                if fewer > common >= max(2, SAME * fewer):  # each has a word that the other one has not
                    again.add(one)
        if row.operation != READ:
            recent.append((now, row, words))
    return useful, again


def unfound(asked: Sequence[AskedQuestion], types: Mapping[str, str], limit: int) -> records.InsightsFilesRecord:
    """Return how many indexed files no question found, with examples: documents first, then code."""
    seen = {source for one in asked for source in one.sources}
    never = sorted((path for path in types if path not in seen), key=lambda path: (types[path] in CODE, path))
    return {"indexed": len(types), "never_found": len(never), "examples": never[:limit]}


def latencies(asked: Iterable[AskedQuestion]) -> list[records.LatencyRecord]:
    """Return percentiles of each operation's latency in milliseconds: values that 50, 95 and 99 % do not exceed."""
    groups: dict[str, list[float]] = defaultdict(list)
    for one in asked:
        groups[one.operation].append(one.milliseconds)
    rows: list[records.LatencyRecord] = []
    for operation, values in sorted(groups.items()):
        values.sort()
        p50, p95, p99 = (values[math.ceil(share * len(values)) - 1] for share in (0.50, 0.95, 0.99))
        rows.append({"operation": operation, "calls": len(values), "p50": p50, "p95": p95, "p99": p99})
    return rows
