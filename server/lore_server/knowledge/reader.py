"""Read the projects, main documents and knowledge documents of a knowledge folder, without locking or writing."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from lore_etl.core.errors import DocumentNotFound, ProjectNotFound
from lore_etl.files.scan import lasting_stamp
from lore_etl.stores.snapshot import Kept
from lore_server.knowledge.document import KnowledgeDocument, Metadata
from lore_server.knowledge.git.commits import blob_id
from lore_server.knowledge.names import SUFFIX, ascii_slug, checked_filename, checked_project_id, slug, stem_of
from lore_server.knowledge.registry import INDEX, read_index
from lore_server.knowledge.safe_files import Files
from lore_server.replies.records import MainDocumentRecord

MAIN = "main.md"
KEPT_DOCUMENTS = 100_000
Known = TypeVar("Known")


@dataclass(frozen=True)
class Project:
    """A project and its paths. `slug` is None if nothing has been written for it yet."""

    id: str
    slug: str | None

    @property
    def exists(self) -> bool:
        return self.slug is not None

    @property
    def main_path(self) -> str:
        return f"projects/{self.slug}/{MAIN}"

    @property
    def knowledge_path(self) -> str:
        return f"projects/{self.slug}/knowledge"

    @property
    def memories_path(self) -> str:
        return f"projects/{self.slug}/memories"


@dataclass(frozen=True)
class DocumentInfo:
    """A document as listed. `version` is git's blob id of its content; `chapters` is the number of chapters."""

    project_id: str
    filename: str
    title: str
    metadata: Metadata
    version: str
    bytes: int
    chapters: int


@dataclass(frozen=True)
class StoredDocument:
    """A document with its content."""

    info: DocumentInfo
    document: KnowledgeDocument


class DocumentReader:
    """The projects and documents in the current files or in a commit; `read` returns the content of a file, if any."""

    def __init__(self, read: Callable[[str], bytes | None]) -> None:
        self._read = read

    def projects(self) -> list[Project]:
        return [Project(name, slug) for name, slug in sorted(read_index(self._read(INDEX)).items())]

    def project(self, project_id: str) -> Project:
        """Return a project, whether it exists or not. Raises InvalidProjectId."""
        name = checked_project_id(project_id)
        return Project(name, read_index(self._read(INDEX)).get(name))

    def main(self, project_id: str) -> MainDocumentRecord:
        """Return a project's main document; a missing one is not an error."""
        project = self.project(project_id)
        data = self._read(project.main_path) if project.exists else None
        return {
            "success": True,
            "project_id": project.id,
            "exists": data is not None,
            "content": "" if data is None else shown(data),
            "version": None if data is None else blob_id(data),
        }

    def document(self, project_id: str, filename: str) -> StoredDocument:
        """Return a knowledge document. Raises DocumentNotFound, or ProjectNotFound if its project is missing too."""
        project = self.project(project_id)
        return described(project, *self.required(project, filename))

    def find(self, project: Project, filename: str) -> tuple[str, bytes] | None:
        """Return name and content of the file of exactly that name, else of its slug. Raises InvalidFilename."""
        names = possible_names(filename)
        for name in names if project.exists else ():
            data = self._read(f"{project.knowledge_path}/{name}")
            if data is not None:
                return name, data
        return None

    def required(self, project: Project, filename: str) -> tuple[str, bytes]:
        """Return the same. Raises DocumentNotFound, or ProjectNotFound if the project is missing too."""
        if found := self.find(project, filename):
            return found
        if not project.exists:
            raise ProjectNotFound(f"There is no project `{project.id}`: nothing has been written for it yet.")
        raise DocumentNotFound(f"Project `{project.id}` has no document `{filename}`.", "List the project's documents.")


class Listing(Generic[Known]):
    """What is known of each document, cached: a document is read again only if its stamp changed. Threads share it."""

    def __init__(
        self,
        files: Callable[[], Files],
        read: Callable[[Project, str, bytes], Known],
        limit: int = KEPT_DOCUMENTS,
        size_of: Callable[[Known], int] = lambda known: 1,
    ) -> None:
        self._files = files
        self._read = read
        self._kept = Kept[tuple[str, str], tuple[str, Known]](limit, lambda kept: size_of(kept[1]))

    def documents(self, project_id: str) -> list[Known]:
        """Return the documents of a project, sorted by file name; an unknown project has no documents."""
        files, found = self._files(), list[Known]()
        project = DocumentReader(files.read).project(project_id)
        entries = sorted(files.entries(project.knowledge_path), key=lambda entry: entry[0]) if project.exists else []
        kept = self._kept.get((project.id, name) for name, _ in entries)
        for name, facts in entries:
            stamp, (before, known) = lasting_stamp(facts, time.time_ns()), kept.get((project.id, name), ("", None))
            if known is not None and before == stamp:
                found.append(known)
            elif is_document(name) and (data := files.read(f"{project.knowledge_path}/{name}")) is not None:
                found.append(self._read(project, name, data))
                if stamp:  # it is empty if the file may change again without a new stamp
                    self._kept.put({(project.id, name): (stamp, found[-1])})
        return found


def possible_names(filename: str) -> list[str]:
    """Return the file names that a given name may refer to, the likeliest first. Raises InvalidFilename."""
    given = checked_filename(filename)
    stem = stem_of(given)
    names = (given if given.endswith(SUFFIX) else given + SUFFIX, slug(stem) + SUFFIX, ascii_slug(stem) + SUFFIX)
    return [name for name in dict.fromkeys(names) if is_document(name)]


def is_document(name: str) -> bool:
    return name.endswith(SUFFIX) and not name.startswith(".") and name.isprintable()


def shown(data: bytes) -> str:
    """Return the text for readers; bytes that are not UTF-8 become U+FFFD."""
    return data.decode("utf-8", "replace")


def exact(data: bytes) -> str:
    """Return the text for editing; bytes that are not UTF-8 become surrogates, so that they can be written back."""
    return data.decode("utf-8", "surrogateescape")


def described(project: Project, name: str, data: bytes) -> StoredDocument:
    document = KnowledgeDocument(shown(data))
    title = document.title or name.removesuffix(SUFFIX)
    chapters = len(document.headings)
    info = DocumentInfo(project.id, name, title, document.metadata, blob_id(data), len(data), chapters)
    return StoredDocument(info, document)
