"""Keep a private log of questions, in the user's state folder: bounded, without secrets, written in the background."""

import json
import logging
import os
import re
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from lore_etl.config.project import private_folder, user_state_folder
from lore_etl.config.settings import InsightsSettings
from lore_etl.core.atomic import put_aside
from lore_etl.core.dates import timestamp
from lore_etl.core.errors import StorageError
from lore_etl.core.model import sha256
from lore_etl.core.text import one_line
from lore_etl.stores.sqlite_file import is_damage
from lore_etl.system.nofollow import open_regular
from lore_server.answer.kept_answers import EarlierAnswer
from lore_server.replies.records import MarkRecord

log = logging.getLogger(__name__)
FOLDER = "insights"
BETWEEN = " | "  # phrasings of one question
ASK, SEARCH, READ = "ask_knowledge_base", "query_documents", "read"
READS = ("get_source", "get_document_by_id", "get_user_doc", "get_system_doc")
USED_SECONDS = 600  # within which reading a file that a question has found shows that it was useful
MAX_MARKS = 5_000
MAX_SOURCES = 20  # of a question
MAX_CHARACTERS = 4_000
TYPING_SECONDS = 10
DAY_SECONDS = 86_400
TOGETHER_SECONDS = 1.0  # questions within this time are written in one transaction, which costs as much as one
_SCHEMA = """
PRAGMA secure_delete = ON;
CREATE TABLE IF NOT EXISTS asked (
    number INTEGER PRIMARY KEY, at TEXT, operation TEXT, query TEXT, searched TEXT, answer TEXT, found INTEGER,
    doubtful INTEGER, milliseconds REAL, sources TEXT, cited TEXT);
CREATE TABLE IF NOT EXISTS mark (query TEXT, source TEXT, is_right INTEGER, at TEXT, PRIMARY KEY (query, source));
"""
_PLAIN = re.compile(r"[\"'(\[`*]*(?:[a-zA-Z]{1,15}|[^\W\d_a-zA-Z]+)(?:[-'’/][a-zA-Z]{1,15}){0,2}[\"')\]`*?.,!;]*")
T = TypeVar("T")


class AskedQuestion(NamedTuple):
    """A question or search, and its outcome. The fields are the columns of the log."""

    at: str
    operation: str
    query: str
    searched: str
    answer: str
    found: bool
    doubtful: bool
    milliseconds: float
    sources: tuple[str, ...]
    cited: tuple[str, ...]


COLUMNS = ", ".join(AskedQuestion._fields)
_SELECT = f"SELECT {COLUMNS} FROM asked WHERE"


class QuestionLog:
    """The questions about one project and the marks of their results. All methods but `note` raise StorageError."""

    def __init__(self, root: Path, settings: InsightsSettings, now: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._path = user_state_folder() / FOLDER / f"{sha256(str(root))[:32]}.sqlite"
        self._now = now
        self._writer = ThreadPoolExecutor(1, "insights")
        self._hurry = threading.Event()
        self._waiting = deque[AskedQuestion]()
        self.is_enabled = settings.log

    def note(self, operation: str, arguments: Mapping[str, Any], reply: Mapping[str, Any], seconds: float) -> None:
        """Store a question or a read in the background; requests for another page or an explanation do not count."""
        is_repeated = arguments.get("cursor") or arguments.get("explain")
        if self.is_enabled and operation in (ASK, SEARCH, *READS) and not is_repeated:
            self._waiting.append(asked_question(timestamp(self._now()), operation, arguments, reply, seconds))
            with suppress(RuntimeError):  # the application was closed meanwhile
                self._writer.submit(self._write)

    def rows(self, days: int) -> list[AskedQuestion]:
        """Return the questions of the last days and the files that were read after them (`READ`), oldest first."""
        since = timestamp(self._now() - min(days, self._settings.days) * DAY_SECONDS)
        return [_question(row) for row in self._all(f"{_SELECT} at >= ? ORDER BY number", since)]

    def earlier(self, answer: str) -> EarlierAnswer | None:
        """Return the question of a logged answer, with the ids of the chunks that it cited."""
        rows = self._all(f"{_SELECT} answer = ? ORDER BY number DESC LIMIT 1", answer)
        return next((EarlierAnswer(one.searched, one.cited) for one in map(_question, rows)), None)

    def mark(self, query: str, source: str, verdict: str) -> str:
        """Record a verdict, or with `none` remove it; return the question as stored, without secrets."""
        query = without_secrets(one_line(query))[:MAX_CHARACTERS]

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM mark WHERE query = ? AND source = ?", (query, source))
            if verdict != "none":
                row = query, source, verdict == "right", timestamp(self._now())
                connection.execute("INSERT INTO mark VALUES (?, ?, ?, ?)", row)
                oldest = "SELECT rowid FROM mark ORDER BY rowid DESC LIMIT -1 OFFSET ?"
                connection.execute(f"DELETE FROM mark WHERE rowid IN ({oldest})", (MAX_MARKS,))

        self._run(write, may_create=True)
        return query

    def marks(self) -> list[MarkRecord]:
        """Return all marks, oldest first."""
        rows = self._all("SELECT query, source, is_right FROM mark ORDER BY rowid")
        return [
            {"query": query, "source": source, "verdict": "right" if is_right else "wrong"}
            for query, source, is_right in rows
        ]

    def clear(self) -> tuple[int, int]:
        """Delete everything; return the numbers of questions and marks."""
        counts = self._all("SELECT (SELECT count(*) FROM asked), (SELECT count(*) FROM mark)")
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise _log_error(error) from error
        return counts[0] if counts else (0, 0)

    def close(self) -> None:
        """Write all pending questions."""
        self._hurry.set()
        self._writer.shutdown()

    def _all(self, sql: str, *values: str) -> list[Any]:
        return self._run(lambda connection: connection.execute(sql, values).fetchall()) or []

    def _run(self, work: Callable[[sqlite3.Connection], T], may_create: bool = False) -> T | None:
        """Run after all earlier writes; return None if there is no log yet."""

        def run() -> T | None:
            if not may_create and not self._path.exists():
                return None
            with self._connect() as connection:
                return work(connection)

        self._hurry.set()
        try:
            return self._writer.submit(run).result()
        except (OSError, sqlite3.Error) as error:
            raise _log_error(error) from error

    def _write(self) -> None:
        """Write the pending questions, after waiting a moment for more unless a caller waits for them."""
        if not self._waiting:
            return
        self._hurry.wait(TOGETHER_SECONDS)
        self._hurry.clear()
        rows = [_row(self._waiting.popleft()) for _ in range(len(self._waiting))]
        try:
            try:
                self._add(rows)
            except sqlite3.DatabaseError:  # a damaged file was set aside
                self._add(rows)
        except (OSError, sqlite3.Error) as error:
            log.info("questions were not logged: %s", type(error).__name__)

    def _add(self, rows: Sequence[tuple[Any, ...]]) -> None:
        with self._connect() as connection:
            for row in rows:
                if row[1] == READ and not _is_found(connection, row[-2], self._now()):
                    continue
                if row[1] == SEARCH:
                    _forget_unfinished(connection, row[2], self._now())
                connection.execute(f"INSERT INTO asked ({COLUMNS}) VALUES ({', '.join('?' * len(row))})", row)
            since = timestamp(self._now() - self._settings.days * DAY_SECONDS)
            connection.execute("DELETE FROM asked WHERE at < ?", (since,))
            newest = "SELECT number FROM asked ORDER BY number DESC LIMIT 1 OFFSET ?"
            connection.execute(f"DELETE FROM asked WHERE number <= ({newest})", (self._settings.max_questions,))

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        """Open the file, which only this user can read; a damaged file is set aside. Raises OSError, sqlite3.Error."""
        private_folder(self._path.parent)
        os.close(open_regular(self._path, os.O_RDWR | os.O_CREAT))
        try:
            with closing(sqlite3.connect(self._path)) as connection, connection:
                connection.executescript(_SCHEMA)
                yield connection
        except sqlite3.Error as error:
            if is_damage(error):
                put_aside(self._path)
            raise


def asked_question(
    at: str, operation: str, arguments: Mapping[str, Any], reply: Mapping[str, Any], seconds: float
) -> AskedQuestion:
    """Return the log's record of a call; of a read, its file alone."""
    if operation in READS:
        return AskedQuestion(at, READ, "", "", "", True, False, 0.0, (reply["source"],), ())
    asked, found = arguments["query"], reply.get("references") or reply.get("results", ())
    query = one_line(asked if isinstance(asked, str) else BETWEEN.join(asked))
    cited = reply.get("citations", ())
    return AskedQuestion(
        at=at,
        operation=operation,
        query=query,
        searched=reply.get("searched", query),
        answer=reply.get("id", "") if operation == ASK else "",
        found=bool(reply["found"] if operation == ASK else found),
        doubtful="doubt" in reply,
        milliseconds=round(1000 * seconds, 1),
        sources=tuple(dict.fromkeys(row["source"] for row in (*found, *cited)))[:MAX_SOURCES],
        cited=tuple(dict.fromkeys(row["id"] for row in cited))[:MAX_SOURCES],
    )


def without_secrets(text: str) -> str:
    """Return a text without secrets. The rules, which take a second to load, are not needed for prose."""
    if is_prose(text):
        return text
    from lore_etl.files.redaction import redact

    return redact(text)[0]


def is_prose(text: str) -> bool:
    """Return whether a text consists of short words without digits, which cannot be secrets."""
    return all(_PLAIN.fullmatch(word) for word in text.split())


def _forget_unfinished(connection: sqlite3.Connection, query: str, now: float) -> None:
    """Delete the last search if this one continues it: the page searches while a person types."""
    row = connection.execute("SELECT number, at, operation, query FROM asked ORDER BY number DESC LIMIT 1").fetchone()
    if row is None:
        return
    number, at, operation, earlier = row
    is_recent = at >= timestamp(now - TYPING_SECONDS)
    shorter, longer = sorted((query.casefold(), earlier.casefold()), key=len)
    if operation == SEARCH and is_recent and shorter != longer and longer.startswith(shorter):
        connection.execute("DELETE FROM asked WHERE number = ?", (number,))


def _is_found(connection: sqlite3.Connection, sources: str, now: float) -> bool:
    """Return whether a recent question has found the only one of these sources."""
    sql = "SELECT 1 FROM asked WHERE at >= ? AND operation <> ? AND instr(sources, ?)"
    return connection.execute(sql, (timestamp(now - USED_SECONDS), READ, sources[1:-1])).fetchone() is not None


def _row(asked: AskedQuestion) -> tuple[Any, ...]:
    """Return the columns of a question, without secrets."""
    query, searched = (without_secrets(text)[:MAX_CHARACTERS] for text in (asked.query, asked.searched))
    lists = {name: json.dumps(getattr(asked, name)) for name in ("sources", "cited")}
    return asked._replace(query=query, searched=searched, **lists)  # type: ignore[arg-type]


def _question(row: tuple[Any, ...]) -> AskedQuestion:
    asked = AskedQuestion._make(row)
    lists = {name: tuple(json.loads(getattr(asked, name))) for name in ("sources", "cited")}
    return asked._replace(found=bool(asked.found), doubtful=bool(asked.doubtful), **lists)  # type: ignore[arg-type]


def _log_error(error: Exception) -> StorageError:
    message = f"The log of questions cannot be used: {type(error).__name__}."
    return StorageError(message, "Check the user's state folder.")
