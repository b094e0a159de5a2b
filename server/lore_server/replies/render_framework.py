"""Render the results of the toolset `docs` as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lore_server.replies.render_index import job
from lore_server.replies.reply_text import ReplyText, notes, nothing, outdated, shown, span

if TYPE_CHECKING:
    from lore_server.replies import records


def init(result: records.InitResultRecord) -> ReplyText:
    found = [document["path"] for document in result["found"]]
    groups = [f"{count} {name.replace('_', ' ')}" for name, count in result["groups"].items() if count]
    is_framework = ".ce" in found  # missing folders and groups of knowledge are irrelevant to other projects
    rows = [
        _listed("Found", found),
        _listed("Missing", [document["path"] for document in result["missing"]] if is_framework else []),
        _listed("Wrote", result["written"]),
        _listed("Kept", result["kept"]),
        _listed("Knowledge", groups if is_framework else []),
        _drift(result["drift"]),
    ]
    done = job(result["job"]) if "job" in result else ReplyText("Next: lore sync")
    warnings = [f"warning: {warning}" for warning in result["warnings"]]
    return ReplyText("\n".join([*filter(None, rows), done.body]), (*warnings, *done.notes))


def _listed(head: str, names: list[str]) -> str:
    return f"{head}: {', '.join(names)}." if names else ""


def _drift(drift: records.DriftRecord) -> str:
    if not drift["total"]:
        return ""
    rows = [f"  {violation['message']}" for violation in drift["violations"]]
    more = [f"  and {drift['total'] - len(rows)} more"] if drift["total"] > len(rows) else []
    return "\n".join([f"Drift: {drift['total']} ({drift['score']:.1%} of the checks failed).", *rows, *more])


def document(result: records.DocTextRecord) -> ReplyText:
    about = result["metadata"]
    head = f"{result['source']}  {about['title']}{_tags(about['tags'])}  ({about['last_modified']})"
    return ReplyText(f"{head}\n\n{result['content']}", notes(result))


def search(result: records.KnowledgeFoundRecord) -> ReplyText:
    rows = [line for number, found in enumerate(result["results"], start=1) for line in _result(number, found)]
    count = f"{len(result['results'])} of {result['total_found']} in {', '.join(result['sources_searched'])}"
    body = "\n".join(rows) or nothing(result)
    return ReplyText(body, (count, *notes(result)), is_enough="truncated" not in result)


def _result(number: int, result: records.KnowledgeResultRecord) -> Iterator[str]:
    changed = "  (changed since the last sync)" if result.get("changed") else ""
    kind = ", ".join(filter(None, (result["source_type"], shown(result["origin"], result["source_type"]))))
    place = f"{result['path']}:{span(result['lines'])}  [{kind}]  {result['score']:.2f}"
    tags = _tags(result["tags"], result.get("tags_total", 0))
    yield f"{number}. {place}  {result['title']}{tags}{changed}{outdated(result)}"
    for term in result.get("why", ()):
        yield f"   {term['value']:+8.3f} {term['term']}"
    yield f"   {result['excerpt']}"
    if result["referenced_by"]:
        left = result.get("referenced_by_total", 0) - len(result["referenced_by"])
        more = f" and {left} more" if left > 0 else ""
        yield f"   referenced by {', '.join(result['referenced_by'])}{more}"


def _tags(tags: list[str], total: int = 0) -> str:
    left = total - len(tags)
    listed = [*tags, *([f"and {left} more"] if left > 0 else [])]
    return f"  [{', '.join(listed)}]" if listed else ""
