"""Convert commits to and from the formats that git reads and prints. Pure."""

import hashlib
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lore_etl.core.text import one_line
from lore_server.replies.records import KnowledgeHistoryCommitsRecord

EMAIL = "lore@localhost"
COMMITTER = "Lore"
SESSION = "Session: "
FIELDS = ("%H", "%P", "%an", "%cI", "%B")


class Author(NamedTuple):
    """The author of a write: the agent's name and its session."""

    agent: str = ""
    session: str = ""


class WriteRequest(NamedTuple):
    """The place of a write (without a file name, the main document), the version that it must have, and the author."""

    # it is beside `Author`, because commands import the table of operations, which names it, to print a reply
    project_id: str | None = None
    filename: str = ""
    chapter_title: str | None = None
    chapter_index: int | None = None
    expected_version: str | None = None
    author: str | None = None
    session: str | None = None

    @property
    def by(self) -> Author:
        return Author(self.author or "", self.session or "")


@dataclass(frozen=True)
class Commit:
    """A commit of the history; `date` is in ISO 8601 format."""

    id: str
    parents: tuple[str, ...]
    agent: str
    session: str
    date: str
    message: str

    def record(self) -> KnowledgeHistoryCommitsRecord:
        return {
            "id": self.id, "author": self.agent, "session": self.session, "date": self.date, "message": self.message
        }  # fmt: skip


def blob_id(data: bytes, algorithm: str = "sha1") -> str:
    """Return the id that git gives to a blob with this content."""
    return hashlib.new(algorithm, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def import_stream(message: str, author: Author, parents: Sequence[str], lines: Iterable[bytes]) -> bytes:
    """Return the input with which git-fast-import(1) commits `lines`, see `file_line`, and prints the commit's id."""
    now = f"<{EMAIL}> {int(time.time())} +0000"
    agent = _ident(author.agent) or COMMITTER
    text = message.replace("\0", "\N{SYMBOL FOR NULL}").strip("\n") or "Update knowledge"
    if session := one_line(_ident(author.session)):
        text += f"\n\n{SESSION}{session}"
    # `feature done`: the incomplete input of a killed process changes nothing
    head = f"feature done\ncommit HEAD\nmark :1\nauthor {agent} {now}\ncommitter {COMMITTER} {now}\n"
    above = [f"{'merge' if number else 'from'} {parent}\n" for number, parent in enumerate(parents)]
    parts = [head.encode("utf-8", "replace"), _data(f"{text}\n".encode("utf-8", "replace")), "".join(above).encode()]
    return b"".join([*parts, *lines, b"get-mark :1\ndone\n"])


def file_line(path: str, data: bytes | None) -> bytes:
    return b"D %s\n" % _quoted(path) if data is None else b"M 100644 inline %s\n%s" % (_quoted(path), _data(data))


def _data(data: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(data), data)


def _quoted(path: str) -> bytes:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return b'"%s"' % escaped.encode("utf-8", "surrogateescape")


def _ident(name: str) -> str:
    """Return the name without the characters that git does not allow in a name (the rule of git's ident.c)."""
    kept = "".join(letter for letter in name if letter not in "<>" and letter >= " ")
    return kept.strip(" .,:;\"\\'")[:100]


def parsed(fields: Sequence[str]) -> Commit:
    name, parents, agent, date, message = fields
    text, session = message.rstrip("\n"), ""
    before, _, last = text.rpartition("\n\n")
    if last.startswith(SESSION) and "\n" not in last:
        text, session = before, last.removeprefix(SESSION)
    return Commit(name, tuple(parents.split()), agent, session, date, text)
