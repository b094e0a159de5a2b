"""Render the results of the toolset `projects` as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lore_etl.core.json_types import JSON
from lore_etl.core.text import counted
from lore_server.replies.reply_text import ReplyText, noted, nothing, outdated

if TYPE_CHECKING:
    from lore_server.replies import records

SHORT_ID = 10


def projects(result: records.ProjectListRecord) -> ReplyText:
    rows = [project["project_id"] for project in result["projects"]]
    return ReplyText(
        "\n".join(rows) or "No project has knowledge yet.", (f"this project: {result['current']}", *noted(result))
    )


def main(result: records.MainDocumentRecord) -> ReplyText:
    if not result["exists"]:
        missing = f"Project {result['project_id']} has no main document yet: write it with update_project_main."
        return ReplyText(missing, noted(result))
    return ReplyText(result["content"].rstrip("\n"), (_version(result["version"]), *noted(result)))


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
    changed = f", last changed {project['changed']}" if project["changed"] else ""
    used = f"; used by {', '.join(project['folders'])}" if project["folders"] else "; not used by any folder yet"
    return f"`{project['project_id']}` ({project['origin'] or 'no origin recorded'}): {count}{main}{changed}{used}"


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
    rows = [
        f"{file['filename']}  {file['title']}  {file['updated'] or ''}".rstrip() + outdated(file)
        for file in result["files"]
    ]
    return ReplyText("\n".join(rows) or f"Project {result['project_id']} has no documents yet.", noted(result))


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
    return ReplyText(
        f"{'#' * found['level']} {found['title']}\n\n{found['content']}", (place, _version(result["version"]))
    )


def history(result: records.KnowledgeHistoryRecord) -> ReplyText:
    rows = [line for commit in result["commits"] for line in _commit(commit)]
    patch = ["", result["patch"].rstrip("\n")] if "patch" in result else []
    return ReplyText("\n".join([*rows, *patch]).strip("\n") or "No history.")


def _commit(commit: records.KnowledgeHistoryCommitsRecord) -> Iterator[str]:
    session = f" ({commit['session']})" if commit["session"] else ""
    subject = commit["message"].partition("\n")[0]
    yield f"{commit['id'][:SHORT_ID]}  {commit['date']}  {commit['author']}{session}  {subject}"


def reverted(result: records.KnowledgeRevertedRecord) -> ReplyText:
    if result["commit"] is None:
        return ReplyText("There was nothing left to revert.")
    return ReplyText("\n".join([result["message"].partition("\n")[0], *(f"  {path}" for path in result["paths"])]))


def _version(version: str | None) -> str:
    return f"version: {version}"
