"""Add, update and remove sets of documentation of one index. One command at a time."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from filelock import FileLock, Timeout

from lore_etl.config.project import private_folder
from lore_etl.core.atomic import write_atomically
from lore_etl.core.errors import Busy, NotFound, StorageError, UsageError
from lore_etl.stores.claim import record_folder
from lore_etl.system.nofollow import read_regular
from lore_server.library_docs.doc_page import markdown_page
from lore_server.library_docs.doc_set import FOLDER, SITE, DocFolder, DocSet, DocSetReport
from lore_server.library_docs.doc_site import SiteCopy, SiteStore
from lore_server.library_docs.local_docs import docs_in_folder, find_package
from lore_server.library_docs.site_client import SiteClient
from lore_server.library_docs.site_paths import version_in

LOCK = "library-docs.lock"
RECORD = "library-docs.json"
MAX_RECORD_BYTES = 1_000_000


class LibraryManager:
    """The documentation of libraries in one index."""

    def __init__(self, index: Path, patience: float = 60.0) -> None:
        self._index = index
        self._patience = patience
        # in the user's state folder, because a record that came with a checkout could name any host or folder
        self._folder = record_folder(index)

    def named(self, name: str | None = None) -> list[DocSet]:
        """Return the set of this name; all sets without a name. Raises NotFound."""
        sets = self._recorded()
        if name is None:
            return list(sets.values())
        if name not in sets:
            known = ", ".join(sets) or "none"
            raise NotFound(f"There is no documentation called `{name}`.", f"Known libraries: {known}.")
        return [sets[name]]

    def update(self, wanted: DocSet, progress: Callable[[str], None]) -> DocSetReport:
        """Update a new or known set. Raises Busy, and UsageError if the name belongs to another documentation."""
        with self._alone():
            before = self._recorded().get(wanted.name)
            places = [(docs.kind, docs.origin, docs.package) for docs in (before or wanted, wanted)]
            if places[0] != places[1]:
                hint = f"Choose another name with --name, or run `lore add-docs --remove {wanted.name}` first."
                raise UsageError(f"`{wanted.name}` is documentation from {places[0][1]}.", hint)
            folder = DocFolder(self._index, wanted.name)
            report = DocSetReport(wanted, f"@{folder.below}")
            progress(wanted.name)
            if wanted.kind == SITE:
                self._copy_site(report, before, folder, progress)
            else:
                _copy_files(report, folder)
            self._record(wanted.name, report.docs)
            return report

    def _copy_site(
        self, report: DocSetReport, before: DocSet | None, folder: DocFolder, progress: Callable[[str], None]
    ) -> None:
        docs = replace(report.docs, version=report.docs.pinned or version_in(report.docs.origin))
        site = SiteClient(docs.origin, self._patience, docs.is_private)
        with closing(site), closing(SiteStore(self._pages_of(docs.name))) as store:
            self._record(docs.name, replace(docs, pages=len(store.files())))
            is_renewed = before is not None and before.version != docs.version
            try:
                pages = SiteCopy(docs, folder, store, site, report, is_renewed).run(progress)
            except (NotFound, UsageError):
                if before is None and not store.files():
                    self._record(docs.name, None)
                raise
        report.docs, report.requests = replace(docs, pages=pages), site.requests
        if not report.docs.pages:
            report.notes.append("The site has no pages below this address that Lore can read.")

    def _pages_of(self, name: str) -> Path:
        return self._folder / f"library-{name}.sqlite"

    def remove(self, name: str) -> int:
        """Delete a set, and return the number of its pages. Raises NotFound, Busy."""
        with self._alone():
            self.named(name)
            count = DocFolder(self._index, name).keep_only(set())
            self._pages_of(name).unlink(missing_ok=True)
            self._record(name, None)
            return count

    def _recorded(self) -> dict[str, DocSet]:
        """Return the sets by name. Raises StorageError."""
        file = self._folder / RECORD
        try:
            return {row["name"]: DocSet(**row) for row in json.loads(read_regular(file, MAX_RECORD_BYTES))}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError) as error:
            hint = "Delete it, and add the documentation again."
            raise StorageError(f"The list of libraries ({file}) cannot be read.", hint) from error

    def _record(self, name: str, docs: DocSet | None) -> None:
        """Record a set, or without one, that the name has none."""
        sets = {**self._recorded(), name: docs}
        rows = [asdict(found) for _, found in sorted(sets.items()) if found is not None]
        write_atomically(self._folder / RECORD, (json.dumps(rows, indent=1), "\n"), mode=0o600)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        try:
            with FileLock(private_folder(self._folder) / LOCK, timeout=0):
                yield
        except Timeout as error:
            raise Busy("Another command is adding documentation to this index.") from error


def _copy_files(report: DocSetReport, folder: DocFolder) -> None:
    wanted, place = report.docs, Path(report.docs.origin)
    if not place.is_dir() or place.resolve() != place:
        hint = "Add the documentation again from its new location."
        raise NotFound(f"{place} no longer exists, or is now a symlink.", hint)
    found = docs_in_folder(place) if wanted.kind == FOLDER else find_package(wanted.package, place)[1]
    if not found.pages:
        raise NotFound(f"No documentation was found in {place}.", "Give a folder that contains Markdown or text files.")
    report.docs = replace(wanted, version=wanted.pinned or found.version, pages=len(found.pages))
    report.skipped.update(found.skipped)
    if found.url:
        report.notes.append(f"Its documentation may be at {found.url}: `lore add-docs URL --name NAME` copies it.")
    origin = (wanted.name, report.docs.version, found.url)
    folder.replace({path: markdown_page(page, *origin) for path, page in found.pages.items()}, report)
