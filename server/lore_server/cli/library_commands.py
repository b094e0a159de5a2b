"""`lore pull` and `lore add-docs`: copy tickets, and the documentation of libraries, into the index."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from lore_etl.core.errors import IndexMissing, UsageError
from lore_etl.core.text import counted
from lore_server.cli.command import command
from lore_server.console import output
from lore_server.owner.session import Session

if TYPE_CHECKING:
    from lore_server.library_docs.doc_set import DocSet, DocSetReport
    from lore_server.library_docs.library_manager import LibraryManager

_FROM = "For an installed package, name its folder: `lore add-docs PACKAGE --from .venv`, or --from node_modules."


@command
def pull(
    session: Session,
    tracker: Annotated[str, Argument(help="github or gitlab.")],
    repository: Annotated[str, Argument(help="OWNER/REPO or GROUP/PROJECT.")],
    to: Annotated[
        Path | None, Option(help="Folder for the tickets; default: in the index folder.", metavar="FOLDER")
    ] = None,
    url: Annotated[str | None, Option(help="URL of your own server's API.", metavar="URL")] = None,
    wait: Annotated[int, Option(help="Maximum seconds to wait for the rate limit.", min=0)] = 60,
    sync: Annotated[bool, Option(help="Index the tickets.")] = True,
) -> None:
    """Copy a project's tickets, comments and releases from GitHub or GitLab, and index them.

    Later pulls read only tickets that have changed. A token is read only from GITHUB_TOKEN or GITLAB_TOKEN.
    """
    from lore_server.trackers.pull import PullRequest, check_project
    from lore_server.trackers.pull import pull as pull_project

    check_project(tracker, repository)
    if to is None and not session.has_index:
        raise IndexMissing("This project has no index.", "Run `lore sync` first, or give a folder with --to.")
    home = to.resolve() if to else session.place.folder
    wanted = PullRequest(tracker, repository, home, to is None, url, wait, os.environ)
    folder = home / wanted.below
    report = pull_project(wanted, session.show_stage)
    files = counted(len(report.changed), "file")
    record = {**report.record(), "folder": str(folder)}
    session.show(record, f"{files} changed in {folder}; {counted(report.requests, 'request')}.")
    for note in () if session.as_json else report.notes:
        output.note(note)
    if sync and report.changed:
        session.sync()


@command
def add_docs(
    session: Session,
    source: Annotated[
        str | None, Argument(help="A URL, a folder, or a package with --from; with --update, a library.")
    ] = None,
    from_: Annotated[
        Path | None, Option("--from", help="Folder of installed packages: .venv, node_modules.", metavar="FOLDER")
    ] = None,
    name: Annotated[str | None, Option(help="Name of the library.")] = None,
    version: Annotated[str | None, Option(help="Version of the library, if Lore cannot find it.")] = None,
    list_: Annotated[bool, Option("--list", help="List the added libraries.")] = False,
    update: Annotated[bool, Option("--update", help="Update a library, or all libraries if no name is given.")] = False,
    remove: Annotated[str | None, Option(help="Remove a library.", metavar="NAME")] = None,
    max_pages: Annotated[int, Option(help="Maximum pages of a site.", min=1, max=20_000)] = 500,
    private: Annotated[bool, Option("--private", help="The site may be in a private network.")] = False,
    wait: Annotated[int, Option(help="Maximum seconds to pause at a site's request.", min=0)] = 60,
    sync: Annotated[bool, Option(help="Index the documentation.")] = True,
) -> None:
    """Copy the documentation of a library from a site, a folder or an installed package, and index it.

    Only this command contacts a site, and only the host that you name. Results of other types rank above it, unless the
    query names the library or asks for the type `library`.
    """
    from lore_server.library_docs.library_manager import LibraryManager

    if [list_, remove is not None, update or source is not None].count(True) != 1:
        raise UsageError("Give either documentation to add, or --list, --update or --remove.")
    if not session.has_index:
        raise IndexMissing("This project has no index.", "Run `lore sync` first.")
    manager = LibraryManager(session.place.folder, wait)
    if list_ or (update and not manager.named(source)):  # there is nothing to update
        _list(session, manager)
        return
    if remove is not None:
        pages = manager.remove(remove)
        session.show({"removed": remove, "pages": pages}, f"Removed {remove}: {counted(pages, 'page')}.")
        is_change = pages > 0
    elif update:
        is_change = _update(session, manager, manager.named(source))
    else:
        docs = _wanted(session.root, str(source), from_, name, version, max_pages, private)
        is_change = _update(session, manager, [docs])
    if sync and is_change:
        session.sync()


def _wanted(
    root: Path, source: str, from_: Path | None, name: str | None, version: str | None, max_pages: int, is_private: bool
) -> DocSet:
    """Return the documentation that the arguments describe. Raises UsageError."""
    from lore_server.library_docs.doc_set import FOLDER, SITE, DocSet, as_name, as_version, checked_name
    from lore_server.library_docs.local_docs import check_package, find_package, name_of_folder
    from lore_server.library_docs.site_paths import name_of_site, start_of

    pinned = as_version(version)
    if "://" in source:
        start = start_of(source)
        library = checked_name(name or as_name(name_of_site(start)))
        return DocSet(library, SITE, start, pinned=pinned, max_pages=max_pages, is_private=is_private)
    if from_ is not None:
        place = _folder(root, from_)
        check_package(source)
        kind, _ = find_package(source, place)
        return DocSet(checked_name(name or as_name(source)), kind, str(place), source, pinned=pinned)
    if not Path(source).expanduser().exists():
        raise UsageError(f"There is no folder `{source}`.", _FROM)
    place = _folder(root, Path(source))
    return DocSet(checked_name(name or as_name(name_of_folder(place))), FOLDER, str(place), pinned=pinned)


def _folder(root: Path, given: Path) -> Path:
    """Return a folder that the user named. A symlink of the project must not decide which files outside it are read."""
    place = Path(os.path.abspath(given.expanduser()))  # noqa: PTH100 - follows no symlink
    real = place.resolve()
    if not real.is_dir():
        raise UsageError(f"There is no folder `{given}`.")
    if (place.is_relative_to(root) or place.parent.resolve().is_relative_to(root)) and not real.is_relative_to(root):
        raise UsageError(f"`{given}` is a symlink that leads outside the project.", f"Name its target: {real}")
    return real


def _list(session: Session, manager: LibraryManager) -> None:
    sets = manager.named()
    rows = (
        f"{_titled(docs)}  {counted(docs.pages, 'page')}  {f'{docs.package} in ' if docs.package else ''}{docs.origin}"
        for docs in sets
    )
    none = "No documentation of libraries was added to this index."
    session.show({"libraries": [docs.record() for docs in sets]}, *rows, empty=none)


def _update(session: Session, manager: LibraryManager, sets: list[DocSet]) -> bool:
    """Add or update these sets, and return whether any page changed."""
    reports = []
    for docs in sets:
        report = manager.update(docs, session.show_stage)
        reports.append(report)
        if not session.as_json:
            _print_report(report)
    session.show({"libraries": [report.record() for report in reports]})
    return any(report.is_change for report in reports)


def _print_report(report: DocSetReport) -> None:
    numbers = {
        "new": report.added, "changed": report.changed, "unchanged": report.unchanged, "removed": report.removed,
        "left out": len(report.skipped),
    }  # fmt: skip
    counts = ", ".join(f"{count:,} {name}" for name, count in numbers.items() if count)
    pages = counted(report.docs.pages, "page")
    output.line(f"{_titled(report.docs)}: {pages} in {report.folder} ({counts or 'nothing changed'}).")
    for skipped in report.record()["skipped_pages"]:
        output.note(f"left out: {skipped['page']}: {skipped['reason']}")
    if report.requests:
        output.note(f"{report.requests:,} requests")
    for note in report.notes:
        output.note(note)


def _titled(docs: DocSet) -> str:
    return f"{docs.name} {docs.version}".rstrip()
