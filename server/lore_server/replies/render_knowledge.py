"""Render the results of the toolsets `projects`, `memories`, `docs` and `insights` as text."""

from collections.abc import Iterator

from lore_etl.core.json_types import JSON
from lore_etl.core.text import counted
from lore_server.replies import records
from lore_server.replies.render_index import job
from lore_server.replies.reply_text import ReplyText, changed, excerpt, kind, notes, nothing, outdated, span

SHORT_ID = 10
DAY = 10  # characters of a date


def projects(result: records.ProjectListRecord) -> ReplyText:
    rows = [project["project_id"] for project in result["projects"]]
    body = "\n".join(rows) or "No project has knowledge yet."
    return ReplyText(body, (f"this project: {result['current']}", *notes(result)))


def main(result: records.MainDocumentRecord) -> ReplyText:
    if not result["exists"]:
        missing = f"Project {result['project_id']} has no main document yet: write it with update_project_main."
        return ReplyText("", (missing, *notes(result)))
    return ReplyText(result["content"].rstrip("\n"), (_version(result["version"]), *notes(result)))


def proposed(result: JSON) -> str:
    """Render the changes that `lore knowledge adopt` would make."""
    remote = f", remote {result['remote']}" if result["remote"] else ""
    clones = "and all clones of its remote " if result["all_clones"] else ""
    lines = [f"This folder: {result['folder']}{remote}", f"{clones}would use {_holding(result['adopt'])}"]
    left = [f"and leave {_holding(result['leave'])}, which stays unchanged"] if result["leave"] else []
    return "\n".join([*lines, *left])


def _holding(project: JSON) -> str:
    count = f"{counted(project['documents'], 'document')}, {counted(project['memories'], 'memory', 'memories')}"
    main = ", a main document" if project["has_main"] else ""
    edited = f", last changed {project['changed']}" if project["changed"] else ""
    used = f"; used by {', '.join(project['folders'])}" if project["folders"] else "; not used by any folder yet"
    return f"`{project['project_id']}` ({project['origin'] or 'no origin recorded'}): {count}{main}{edited}{used}"


def written(result: records.KnowledgeWrittenRecord) -> ReplyText:
    unchanged = () if result["commit"] else ("Nothing changed.",)
    version = (_version(result["version"]),) if result["version"] else ()
    return ReplyText(result["message"], (*unchanged, *version))


def matches(result: records.KnowledgeMatchesRecord) -> ReplyText:
    rows = [line for number, match in enumerate(result["results"], 1) for line in _match(number, match)]
    return ReplyText("\n".join(rows) or nothing(result), (f"{len(result['results'])} of {result['total_documents']}",))


def _match(number: int, match: records.KnowledgeMatchesResultsRecord) -> Iterator[str]:
    keywords = f"  [{', '.join(match['metadata']['keywords'])}]" if match["metadata"]["keywords"] else ""
    yield f"{number}. {match['file']}  {match['metadata']['title']}{keywords}{outdated(match)}"
    for chapter in match["matching_chapters"]:
        summary = f": {chapter['chapter_summary']}" if chapter["chapter_summary"] else ""
        yield f"   {chapter['chapter']}{summary}"
        for contexts in chapter["match_context"].values():
            yield from (f"     {context}" for context in contexts)


def files(result: records.KnowledgeFileListRecord) -> ReplyText:
    rows = []
    for file in result["files"]:
        rows.append(f"{file['filename']}  {file['title']}  {file['updated'] or ''}".rstrip() + outdated(file))
    none = () if rows else (f"Project {result['project_id']} has no documents yet.",)
    return ReplyText("\n".join(rows), (*none, *notes(result)))


def file(result: records.KnowledgeFileRecord) -> ReplyText:
    return ReplyText(result["document"]["full_content"].rstrip("\n"), (_version(result["version"]),))


def chapters(result: records.ChapterListRecord) -> ReplyText:
    rows = [
        f"{'  ' * (row['level'] - 2)}{row['index']}. {row['title']}{': ' if row['summary'] else ''}{row['summary']}"
        for row in result["chapters"]
    ]
    return ReplyText("\n".join([f"{result['filename']}  {result['title']}", *rows]), (_version(result["version"]),))


def chapter(result: records.OneChapterRecord) -> ReplyText:
    found = result["chapter"]
    place = f"{result['filename']}, chapter {found['index']} of {result['count']} (from 0)"
    body = f"{'#' * found['level']} {found['title']}\n\n{found['content']}"
    return ReplyText(body, (place, _version(result["version"])))


def history(result: records.KnowledgeHistoryRecord) -> ReplyText:
    rows = []
    for commit in result["commits"]:
        session = f" ({commit['session']})" if commit["session"] else ""
        subject = commit["message"].partition("\n")[0]
        rows.append(f"{commit['id'][:SHORT_ID]}  {commit['date']}  {commit['author']}{session}  {subject}")
    patch = ["", result["patch"].rstrip("\n")] if "patch" in result else []
    return ReplyText("\n".join([*rows, *patch]).strip("\n") or "No such commits or changes.", notes(result))


def reverted(result: records.KnowledgeRevertedRecord) -> ReplyText:
    if result["commit"] is None:
        return ReplyText("There was nothing left to revert.")
    return ReplyText("\n".join([result["message"].partition("\n")[0], *(f"  {path}" for path in result["paths"])]))


def _version(version: str | None) -> str:
    return f"version: {version}"


def memory_added(result: records.MemoryAddedRecord) -> ReplyText:
    done = "Already saved" if result["duplicate"] else "Remembered"
    replaced = (f"replaced: {result['replaced']}",) if result["replaced"] else ()
    return ReplyText(f"{done}: {result['name']}\nid: {result['id']}", (*replaced, *notes(result)))


def memory_matches(result: records.MemoryMatchesRecord) -> ReplyText:
    rows = [line for number, match in enumerate(result["results"], start=1) for line in _memory(number, match)]
    return ReplyText("\n".join(rows) or nothing(result), notes(result), is_enough="truncated" not in result)


def _memory(number: int, match: records.MemoryMatchRecord) -> Iterator[str]:
    place = f"id: {match['id']}" if match["id"] else match["path"]
    group = f"  [{match['group_id']}]" if match.get("group_id") else ""
    newer = "  (changed since it was indexed)" if match.get("changed") else ""
    yield f"{number}. {match['name']}{group}  {match['score']:.1f}{newer}{outdated(match)}"
    yield f"   {'  '.join(filter(None, (place, match.get('source'), match.get('created'))))}"
    yield from excerpt(match)
    if (parts := match.get("parts", 1)) > 1 or match.get("cut"):
        yield f"   ({'whole' if parts == 1 else f'this part of {parts}'}: get_source {match['path']})"


def memory_deleted(result: records.MemoryDeletedRecord) -> ReplyText:
    return ReplyText(f"Deleted: {result['name']}\nid: {result['id']}")


def init(result: records.InitResultRecord) -> ReplyText:
    found = [document["path"] for document in result["found"]]
    groups = [f"{count} {name.replace('_', ' ')}" for name, count in result["groups"].items() if count]
    is_framework = ".ce" in found  # missing folders and groups of knowledge are irrelevant to other projects
    listed = {
        "Found": found,
        "Missing": [document["path"] for document in result["missing"]] if is_framework else [],
        "Wrote": result["written"],
        "Kept": result["kept"],
        "Knowledge": groups if is_framework else [],
    }
    rows = [f"{head}: {', '.join(names)}." for head, names in listed.items() if names]
    if (drift := result["drift"])["total"]:
        rows.append(f"Drift: {drift['total']} ({drift['score']:.1%} of the checks failed).")
        rows += [f"  {violation['message']}" for violation in drift["violations"]]
        if (left := drift["total"] - len(drift["violations"])) > 0:
            rows.append(f"  and {left} more")
    done = job(result["job"]) if "job" in result else ReplyText("Next: lore sync")
    warnings = [f"warning: {warning}" for warning in result["warnings"]]
    return ReplyText("\n".join([*rows, done.body]), (*warnings, *done.notes))


def doc(result: records.DocTextRecord) -> ReplyText:
    about = result["metadata"]
    head = f"{result['source']}  {about['title']}{_tags(about['tags'])}  ({about['last_modified']})"
    return ReplyText(f"{head}\n\n{result['content']}", notes(result))


def found(result: records.KnowledgeFoundRecord) -> ReplyText:
    rows = [line for number, match in enumerate(result["results"], start=1) for line in _found(number, match)]
    count = f"{len(result['results'])} of {result['total_found']} in {', '.join(result['sources_searched'])}"
    body = "\n".join(rows) or nothing(result)
    return ReplyText(body, (count, *notes(result)), is_enough="truncated" not in result)


def _found(number: int, result: records.KnowledgeResultRecord) -> Iterator[str]:
    place = f"{result['path']}:{span(result['lines'])}  [{kind(result)}]  {result['score']:.2f}"
    tags = _tags(result["tags"], result.get("tags_total", 0))
    yield f"{number}. {place}  {result['title']}{tags}{changed(result)}{outdated(result)}"
    yield from (f"   {term['value']:+8.3f} {term['term']}" for term in result.get("why", ()))
    yield f"   {result['excerpt']}"
    if result["referenced_by"]:
        left = result.get("referenced_by_total", 0) - len(result["referenced_by"])
        more = f" and {left} more" if left > 0 else ""
        yield f"   referenced by {', '.join(result['referenced_by'])}{more}"


def _tags(tags: list[str], total: int = 0) -> str:
    listed = [*tags, f"and {total - len(tags)} more"] if total > len(tags) else tags
    return f"  [{', '.join(listed)}]" if listed else ""


def insights(result: records.InsightsRecord) -> ReplyText:
    return ReplyText("\n".join(_insights(result)).strip("\n"))


def _insights(result: records.InsightsRecord) -> Iterator[str]:
    if not result["enabled"]:
        yield "Questions are not logged (insights.log is false)."
    marked = f", useful: {result['useful']:,}; marks: {result['right']} right, {result['wrong']} wrong"
    yield f"questions and searches in the last {result['days']} days: {result['questions']:,}{marked}"
    for name, rows in (
        ("unanswered", result["unanswered"]),
        ("doubtful", result["doubtful"]),
        ("frequent", result["frequent"]),
    ):
        if rows:
            yield from ("", f"{name}:")
        yield from (f"  {row['count']:>3} × {row['query']}  ({row['last'][:DAY]})" for row in rows)
    files = result["files"]
    if result["questions"] and files["never_found"]:
        yield from ("", f"never found: {files['never_found']:,} of {files['indexed']:,} files, such as")
        yield from (f"  {path}" for path in files["examples"])
    if result["latency"]:
        yield from ("", "milliseconds" + " " * 18 + "calls     p50     p95     p99")
    for row in result["latency"]:
        yield f"  {row['operation']:26}{row['calls']:>7,}{row['p50']:>8,.0f}{row['p95']:>8,.0f}{row['p99']:>8,.0f}"


def marks(result: records.MarkListRecord) -> ReplyText:
    return ReplyText("\n".join(_mark(row) for row in result["marks"]) or "No result is marked.")


def marked(result: records.MarkRecord) -> ReplyText:
    return ReplyText(_mark(result) if result["verdict"] != "none" else "This result has no mark now.")


def _mark(row: records.MarkRecord) -> str:
    return f"{row['verdict']:5}  {row['source']}  {row['query']}"


def cleared(result: records.InsightsClearedRecord) -> ReplyText:
    return ReplyText(f"Deleted: questions {result['questions']:,}, marks {result['marks']:,}.")
