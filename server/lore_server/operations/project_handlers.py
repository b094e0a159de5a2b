"""The handlers of the toolset `projects`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lore_server.execution.progress import Listener
from lore_server.knowledge.chapter_edit import NewChapter, Place, Which
from lore_server.knowledge.git.commits import Author
from lore_server.operations.query_handlers import Services, handles

JSON = dict[str, Any]


def _author(author: str | None, session: str | None) -> Author:
    return Author(author or "", session or "")


def _reference(chapter: str | None, index: int | None) -> Which | None:
    return None if chapter is None and index is None else Which(chapter, index)


@handles
def list_projects(services: Services, listener: Listener) -> JSON:
    """All projects."""
    return services.projects.all()


@handles
def get_project_main(
    services: Services, listener: Listener, *, project_id: str | None = None, commit: str | None = None
) -> JSON:
    """A main document."""
    return services.projects.main(project_id, commit)


@handles
def update_project_main(
    services: Services,
    listener: Listener,
    *,
    content: str,
    project_id: str | None = None,
    expected_version: str | None = None,
    author: str | None = None,
    session: str | None = None,
) -> JSON:
    """A main document replaced."""
    return services.projects.write(project_id, content, expected_version, _author(author, session))


@handles
def update_project_section(
    services: Services,
    listener: Listener,
    *,
    section_header: str,
    new_content: str,
    project_id: str | None = None,
    expected_version: str | None = None,
    author: str | None = None,
    session: str | None = None,
) -> JSON:
    """A section replaced."""
    return services.projects.update_section(
        project_id, section_header, new_content, expected_version, _author(author, session)
    )


@handles
def add_project_section(
    services: Services,
    listener: Listener,
    *,
    section_header: str,
    content: str,
    position: Place,
    project_id: str | None = None,
    reference_header: str | None = None,
    expected_version: str | None = None,
    author: str | None = None,
    session: str | None = None,
) -> JSON:
    """A new section."""
    return services.projects.add_section(
        project_id, section_header, content, position, reference_header, expected_version, _author(author, session)
    )


@handles
def remove_project_section(
    services: Services,
    listener: Listener,
    *,
    section_header: str,
    project_id: str | None = None,
    expected_version: str | None = None,
    author: str | None = None,
    session: str | None = None,
) -> JSON:
    """A section removed."""
    return services.projects.remove_section(project_id, section_header, expected_version, _author(author, session))


@handles
def search_knowledge(
    services: Services, listener: Listener, *, query: str, limit: int, project_id: str | None = None
) -> JSON:
    """Documents that hold the words."""
    return services.knowledge.search(project_id, query, limit)


@handles
def list_knowledge_files(services: Services, listener: Listener, *, project_id: str | None = None) -> JSON:
    """The documents of a project."""
    return services.chapters.files(project_id)


@handles
def create_knowledge_file(
    services: Services,
    listener: Listener,
    *,
    filename: str,
    title: str,
    introduction: str,
    keywords: Sequence[str],
    chapters: Sequence[Mapping[str, str]],
    supersedes: Sequence[str],
    project_id: str | None = None,
    valid_until: str | None = None,
    author: str | None = None,
    session: str | None = None,
) -> JSON:
    """A new document."""
    return services.chapters.create(
        project_id, filename, title, introduction, keywords, chapters, supersedes, valid_until, _author(author, session)
    )


@handles
def get_knowledge_file(
    services: Services,
    listener: Listener,
    *,
    filename: str,
    project_id: str | None = None,
    commit: str | None = None,
) -> JSON:
    """A whole document."""
    return services.chapters.file(project_id, filename, commit)


@handles
def write_knowledge_file(
    services: Services,
    listener: Listener,
    *,
    filename: str,
    content: str,
    project_id: str | None = None,
    expected_version: str | None = None,
    author: str | None = None,
    session: str | None = None,
) -> JSON:
    """A document's text replaced."""
    return services.chapters.write(project_id, filename, content, expected_version, _author(author, session))


@handles
def delete_knowledge_file(
    services: Services,
    listener: Listener,
    *,
    filename: str,
    project_id: str | None = None,
    expected_version: str | None = None,
    author: str | None = None,
    session: str | None = None,
) -> JSON:
    """A document deleted."""
    return services.chapters.delete(project_id, filename, expected_version, _author(author, session))


@handles
def list_chapters(services: Services, listener: Listener, *, filename: str, project_id: str | None = None) -> JSON:
    """The chapters of a document."""
    return services.chapters.chapters(project_id, filename)


@handles
def get_chapter(
    services: Services,
    listener: Listener,
    *,
    filename: str,
    project_id: str | None = None,
    chapter_title: str | None = None,
    chapter_index: int | None = None,
) -> JSON:
    """One chapter."""
    return services.chapters.chapter(project_id, filename, Which(chapter_title, chapter_index))


@handles
def update_chapter(
    services: Services,
    listener: Listener,
    *,
    filename: str,
    new_content: str,
    project_id: str | None = None,
    chapter_title: str | None = None,
    chapter_index: int | None = None,
    new_summary: str | None = None,
    expected_version: str | None = None,
    author: str | None = None,
    session: str | None = None,
) -> JSON:
    """A chapter's text replaced."""
    return services.chapters.update(
        project_id,
        filename,
        Which(chapter_title, chapter_index),
        new_content,
        new_summary,
        expected_version,
        _author(author, session),
    )


@handles
def add_chapter(
    services: Services,
    listener: Listener,
    *,
    filename: str,
    chapter_title: str,
    content: str,
    position: Place,
    project_id: str | None = None,
    summary: str | None = None,
    reference_chapter: str | None = None,
    reference_index: int | None = None,
    expected_version: str | None = None,
    author: str | None = None,
    session: str | None = None,
) -> JSON:
    """A new chapter."""
    return services.chapters.add(
        project_id,
        filename,
        NewChapter(chapter_title, content, summary or ""),
        position,
        _reference(reference_chapter, reference_index),
        expected_version,
        _author(author, session),
    )


@handles
def remove_chapter(
    services: Services,
    listener: Listener,
    *,
    filename: str,
    project_id: str | None = None,
    chapter_title: str | None = None,
    chapter_index: int | None = None,
    expected_version: str | None = None,
    author: str | None = None,
    session: str | None = None,
) -> JSON:
    """A chapter removed."""
    return services.chapters.remove(
        project_id, filename, Which(chapter_title, chapter_index), expected_version, _author(author, session)
    )


@handles
def delete_project(
    services: Services, listener: Listener, *, project_id: str, author: str | None = None, session: str | None = None
) -> JSON:
    """A project deleted."""
    return services.projects.delete(project_id, _author(author, session))


@handles
def get_knowledge_history(
    services: Services,
    listener: Listener,
    *,
    main: bool,
    everything: bool,
    limit: int,
    skip: int,
    project_id: str | None = None,
    filename: str | None = None,
    commit: str | None = None,
    since: str | None = None,
) -> JSON:
    """Commits, or what one changed."""
    return services.storage.history(project_id, filename, main, everything, commit, since, limit, skip)


@handles
def revert_knowledge(
    services: Services, listener: Listener, *, commit: str, author: str | None = None, session: str | None = None
) -> JSON:
    """A commit taken back."""
    return services.storage.revert(commit, _author(author, session))


@handles
def get_server_info(services: Services, listener: Listener) -> JSON:
    """Name, version, folder."""
    return services.storage.info()


@handles
def get_storage_status(services: Services, listener: Listener) -> JSON:
    """The repository's state."""
    return services.storage.status()


@handles
def sync_storage(
    services: Services, listener: Listener, *, author: str | None = None, session: str | None = None
) -> JSON:
    """Committed, pulled, pushed."""
    return services.storage.sync(_author(author, session))
