"""Keep pulled tickets: their records in SQLite, and a Markdown file for each."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

from lore_etl.core.record_file import open_records
from lore_etl.system.durable import sync_all_files
from lore_server.knowledge.safe_files import Files
from lore_server.trackers.ticket_record import TicketRecord, markdown, record_from

HIDDEN = ".lore-pull"
"""The folder of the records, which a sync skips because it is hidden."""
_TABLES = """
CREATE TABLE IF NOT EXISTS record (key TEXT PRIMARY KEY, data TEXT NOT NULL, is_written INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS position (stream TEXT PRIMARY KEY, data TEXT NOT NULL);
"""


class TicketStore:
    """The tickets of one project, below `home`. A pull can be killed at any time.

    The records of a page and the position after it are one transaction. Files are written afterwards; the next pull
    writes those that a killed pull did not write.
    """

    def __init__(self, home: Path, below: str = "") -> None:
        home.mkdir(parents=True, exist_ok=True)
        self._files = Files(home)
        self._below = f"{below}/" if below else ""
        self.hidden = home / below / HIDDEN
        self.changed: set[str] = set()
        self.refused: set[str] = set()
        self._files.write(f"{self._below}{HIDDEN}/.gitignore", b"*\n")  # creates the folder without following symlinks
        file = self.hidden / "records.sqlite"
        self._rows = open_records(file, _TABLES, "Delete it; the next pull reads all tickets again.")

    def close(self) -> None:
        """Discard the records of an incomplete page, and close the store."""
        self._rows.rollback()
        self._rows.close()

    def position(self, stream: str) -> dict[str, str]:
        """Return the position up to which a stream was read."""
        row = self._rows.execute("SELECT data FROM position WHERE stream = ?", (stream,)).fetchone()
        return dict(json.loads(row[0])) if row else {}

    def move_to(self, stream: str, position: dict[str, str]) -> None:
        """Store the pending tickets, and the position up to which the stream was read."""
        self._rows.execute("INSERT OR REPLACE INTO position VALUES (?, ?)", (stream, json.dumps(position)))
        self._rows.commit()

    def get(self, key: str) -> TicketRecord | None:
        """Return a ticket by its key; None if it is unknown."""
        row = self._rows.execute("SELECT data FROM record WHERE key = ?", (key,)).fetchone()
        return record_from(json.loads(row[0])) if row else None

    def put(self, key: str, ticket: TicketRecord) -> None:
        """Store a ticket if it has changed."""
        if self.get(key) != ticket:
            self._rows.execute("INSERT OR REPLACE INTO record VALUES (?, ?, 0)", (key, json.dumps(asdict(ticket))))

    def link(self, key: str, name: str, relation: str, folder: str) -> None:
        """Add a related ticket to a ticket, which may arrive later."""
        ticket = self.get(key) or TicketRecord(folder, key.rpartition("-")[2])
        self.put(key, replace(ticket, links={**ticket.links, name: relation}))

    def write_files(self) -> None:
        """Write the files of all tickets that changed, and record that they are written."""
        self._rows.rollback()
        keys = []
        for key, data in self._rows.execute("SELECT key, data FROM record WHERE NOT is_written").fetchall():
            ticket = record_from(json.loads(data))
            keys.append((key,))
            if ticket.title and ticket.is_safe:  # without a title, only a comment or a link has arrived
                self._files.write(self._below + ticket.path, markdown(ticket).encode(), is_durable=False)
                self.changed.add(ticket.path)
        if keys:
            sync_all_files()
            self._rows.executemany("UPDATE record SET is_written = 1 WHERE key = ?", keys)
            self._rows.commit()
