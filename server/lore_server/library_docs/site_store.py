"""Record the pages of a site, so that a killed run can continue, and a later run reads only changed pages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lore_etl.core.record_file import open_records

PAGES = "pages.sqlite"
_TABLES = """
CREATE TABLE IF NOT EXISTS page (
    url TEXT PRIMARY KEY, etag TEXT NOT NULL DEFAULT '', modified TEXT NOT NULL DEFAULT '',
    files TEXT NOT NULL DEFAULT '[]', links TEXT NOT NULL DEFAULT '[]',
    is_listed INTEGER NOT NULL DEFAULT 0, is_read INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS run (is_running INTEGER NOT NULL);
"""


@dataclass(frozen=True)
class SitePage:
    """A page: the validators of its last reply, the files written from it, and the pages that it links."""

    url: str
    etag: str = ""
    modified: str = ""
    files: tuple[str, ...] = ()
    links: tuple[str, ...] = ()


class SiteStore:
    """The pages of one site, in the user's state folder."""

    def __init__(self, file: Path) -> None:
        self._rows = open_records(file, _TABLES, "Delete it; the next run reads all pages again.")

    def close(self) -> None:
        self._rows.rollback()
        self._rows.close()

    def begin(self) -> bool:
        """Begin a run, and return whether it continues one that was interrupted."""
        if self._rows.execute("SELECT 1 FROM run").fetchone():
            return True
        self._rows.execute("UPDATE page SET is_listed = 0, is_read = 0")
        self._rows.execute("INSERT INTO run VALUES (1)")
        self._rows.commit()
        return False

    def finish(self) -> None:
        """End the run, and drop the pages that the site no longer has."""
        self._rows.execute("DELETE FROM page WHERE NOT is_listed")
        self._rows.execute("DELETE FROM run")
        self._rows.commit()

    def add(self, urls: Iterable[str], maximum: int) -> int:
        """Add pages to the run up to the maximum, and return how many were left out."""
        left_out = 0
        count = self._rows.execute("SELECT count(*) FROM page WHERE is_listed").fetchone()[0]
        for url in dict.fromkeys(urls):
            if self._rows.execute("SELECT 1 FROM page WHERE url = ? AND (is_listed OR is_read)", (url,)).fetchone():
                continue
            if count >= maximum:
                left_out += 1
                continue
            count += 1
            self._rows.execute(
                "INSERT INTO page (url, is_listed) VALUES (?, 1) ON CONFLICT (url) DO UPDATE SET is_listed = 1", (url,)
            )
        self._rows.commit()
        return left_out

    def next(self) -> SitePage | None:
        """Return a page of this run that has not been read yet."""
        return next(self._pages("is_listed AND NOT is_read ORDER BY rowid LIMIT 1"), None)

    def put(self, page: SitePage) -> None:
        """Record that a page was read in this run."""
        self._rows.execute(
            "UPDATE page SET etag = ?, modified = ?, files = ?, links = ?, is_read = 1 WHERE url = ?",
            (page.etag, page.modified, json.dumps(page.files), json.dumps(page.links), page.url),
        )
        self._rows.commit()

    def drop(self, url: str) -> None:
        """Record that a page has no content in this run; its files are removed at the end."""
        self._rows.execute("UPDATE page SET is_listed = 0, is_read = 1 WHERE url = ?", (url,))
        self._rows.commit()

    def known(self, url: str) -> SitePage | None:
        """Return a page of this or an earlier run."""
        return next(self._pages("url = ?", url), None)

    def files(self) -> set[str]:
        return {file for page in self._pages("1") for file in page.files}

    def _pages(self, condition: str, *values: str) -> Iterator[SitePage]:
        statement = f"SELECT url, etag, modified, files, links FROM page WHERE {condition}"
        for url, etag, modified, files, links in self._rows.execute(statement, values).fetchall():
            yield SitePage(url, etag, modified, tuple(json.loads(files)), tuple(json.loads(links)))
