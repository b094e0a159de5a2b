"""Render the results of the toolset `insights` as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lore_server.replies.reply_text import ReplyText

if TYPE_CHECKING:
    from lore_server.replies import records

DAY = 10  # characters of a date


def insights(result: records.InsightsRecord) -> ReplyText:
    return ReplyText("\n".join(_lines(result)).strip("\n"))


def _lines(result: records.InsightsRecord) -> Iterator[str]:
    if not result["enabled"]:
        yield "Questions are not logged (insights.log is false)."
    marked = f", useful: {result['useful']:,}; marks: {result['right']} right, {result['wrong']} wrong"
    yield f"questions and searches in the last {result['days']} days: {result['questions']:,}{marked}"
    yield from _questions("unanswered", result["unanswered"])
    yield from _questions("doubtful", result["doubtful"])
    yield from _questions("frequent", result["frequent"])
    files = result["files"]
    if result["questions"] and files["never_found"]:
        yield from ("", f"never found: {files['never_found']:,} of {files['indexed']:,} files, such as")
        yield from (f"  {path}" for path in files["examples"])
    if result["latency"]:
        yield from ("", "milliseconds" + " " * 18 + "calls     p50     p95     p99")
    for row in result["latency"]:
        yield f"  {row['operation']:26}{row['calls']:>7,}{row['p50']:>8,.0f}{row['p95']:>8,.0f}{row['p99']:>8,.0f}"


def _questions(name: str, rows: Sequence[records.AskedQuestionRecord]) -> Iterator[str]:
    if rows:
        yield from ("", f"{name}:")
    for row in rows:
        yield f"  {row['count']:>3} × {row['query']}  ({row['last'][:DAY]})"


def marks(result: records.MarkListRecord) -> ReplyText:
    return ReplyText("\n".join(_mark(row) for row in result["marks"]) or "No result is marked.")


def marked(result: records.MarkRecord) -> ReplyText:
    return ReplyText(_mark(result) if result["verdict"] != "none" else "The mark was removed.")


def _mark(row: records.MarkRecord) -> str:
    return f"{row['verdict']:5}  {row['source']}  {row['query']}"


def cleared(result: records.InsightsClearedRecord) -> ReplyText:
    return ReplyText(f"Deleted: questions {result['questions']:,}, marks {result['marks']:,}.")
