"""Copy a documentation site. Its pages are recorded: a killed run can continue, a later one reads only changes."""

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from lore_etl.core.errors import NotFound, UsageError
from lore_etl.core.html_markdown import html_as_markdown, links_of
from lore_etl.core.model import sha256
from lore_etl.stores.sqlite_file import Records
from lore_server.library_docs import site_paths
from lore_server.library_docs.doc_page import MAX_TEXT, Readable, markdown_page, readable
from lore_server.library_docs.doc_set import DocFolder, DocSet, DocSetReport
from lore_server.library_docs.site_client import SiteClient, SiteReply

MAX_SITEMAPS = 50
MAX_LINKS = 2_000  # of a page
_GONE = frozenset({404, 410})
_TEXT_KINDS = frozenset({"text/markdown", "text/x-markdown", "text/plain"})
_TABLES = """
CREATE TABLE IF NOT EXISTS page (
    url TEXT PRIMARY KEY, etag TEXT NOT NULL DEFAULT '', modified TEXT NOT NULL DEFAULT '',
    files TEXT NOT NULL DEFAULT '[]', links TEXT NOT NULL DEFAULT '[]',
    is_listed INTEGER NOT NULL DEFAULT 0, is_read INTEGER NOT NULL DEFAULT 0);
"""


class SitePage(NamedTuple):
    """A page: the validators of its last reply, the files written from it, and the pages that it links."""

    url: str
    etag: str = ""
    modified: str = ""
    files: tuple[str, ...] = ()
    links: tuple[str, ...] = ()


class SiteStore:
    """The pages of one site, in the user's state folder."""

    def __init__(self, file: Path) -> None:
        self._rows = Records(file, _TABLES, "Delete it; the next run reads all pages again.")
        self.left_out = set[str]()  # pages beyond the maximum, each of which many pages may link

    def close(self) -> None:
        self._rows.close()

    def begin(self) -> None:
        """Begin a run, unless an interrupted one has left pages to read."""
        if self.next() is None:
            self._rows.execute("UPDATE page SET is_listed = 0, is_read = 0")
            self._rows.commit()

    def finish(self) -> None:
        """Drop the pages that the site no longer has."""
        self._rows.execute("DELETE FROM page WHERE NOT is_listed")
        self._rows.commit()

    def add(self, urls: Collection[str], maximum: int) -> None:
        """Add pages to the run up to the maximum."""
        known = dict(self._rows.execute("SELECT url, is_listed FROM page WHERE is_listed OR is_read"))
        found = [url for url in dict.fromkeys(urls) if url not in known]
        room = max(0, maximum - sum(known.values()))
        statement = "INSERT INTO page (url, is_listed) VALUES (?, 1) ON CONFLICT (url) DO UPDATE SET is_listed = 1"
        self._rows.executemany(statement, [(url,) for url in found[:room]])
        self._rows.commit()
        self.left_out = self.left_out.difference(urls).union(found[room:])

    def next(self) -> SitePage | None:
        return next(self._pages("is_listed AND NOT is_read ORDER BY rowid LIMIT 1"), None)

    def put(self, page: SitePage) -> None:
        self._rows.execute(
            "UPDATE page SET etag = ?, modified = ?, files = ?, links = ?, is_read = 1 WHERE url = ?",
            (page.etag, page.modified, json.dumps(page.files), json.dumps(page.links), page.url),
        )
        self._rows.commit()

    def drop(self, url: str) -> None:
        """Record that a page has no content in this run; its files are removed at the end."""
        self._rows.execute("UPDATE page SET is_listed = 0, is_read = 1 WHERE url = ?", (url,))
        self._rows.commit()

    def files(self) -> set[str]:
        return {file for page in self._pages("1") for file in page.files}

    def _pages(self, condition: str) -> Iterator[SitePage]:
        statement = f"SELECT url, etag, modified, files, links FROM page WHERE {condition}"
        for url, etag, modified, files, links in self._rows.execute(statement):
            yield SitePage(url, etag, modified, tuple(json.loads(files)), tuple(json.loads(links)))


@dataclass
class SiteCopy:
    """A run over the pages of one site. `is_renewed` means that unchanged pages must be rewritten too."""

    docs: DocSet
    folder: DocFolder
    store: SiteStore
    client: SiteClient
    report: DocSetReport
    is_renewed: bool
    _follows_links: bool = False
    _taken: set[str] = field(default_factory=set)

    def run(self, progress: Callable[[str], None]) -> int:
        """Read the pages that may have changed; return the number of all. Raises UsageError, NotFound and others."""
        sitemaps = self.client.read_robots()
        if not self.client.allows(self.docs.origin):
            raise UsageError(f"The site's robots.txt does not allow to read {self.docs.origin}.", "Lore respects that.")
        self.store.begin()
        self._taken = self.store.files()
        self._find_pages(sitemaps)
        count = 0
        while (page := self.store.next()) is not None:
            self._read(page)
            count += 1
            if count % 20 == 0:
                progress(f"page {count:,}")
        if left_out := len(self.store.left_out):
            more = "page was" if left_out == 1 else "pages were"
            self.report.notes.append(f"{left_out:,} more {more} left out; raise the limit with --max-pages.")
        self.store.finish()
        self.report.removed += self.folder.keep_only(self.store.files())
        return len(self.store.files())

    def _find_pages(self, sitemaps: list[str]) -> None:
        """Add the pages that the site lists; if it lists none, its first page, and links are followed."""
        base = urljoin(self.docs.origin, site_paths.folder_of(self.docs.origin))
        listed = self._text_of(urljoin(base, "llms.txt"))
        pages = list(site_paths.pages_below(self.docs.origin, site_paths.linked_in(listed), base))
        for found in (sitemaps, [urljoin(base, "sitemap.xml")], [urljoin(base, "/sitemap.xml")]):
            pages = pages or self._in_sitemaps(list(found))
        self._follows_links = not pages
        self.store.add(pages or [self.docs.origin], self.docs.max_pages)

    def _in_sitemaps(self, waiting: list[str]) -> list[str]:
        origin, found, seen, is_cut = site_paths.origin_of(self.docs.origin), list[str](), set[str](), False
        while waiting and len(seen) < MAX_SITEMAPS:
            address = site_paths.normalised(waiting.pop(0))
            if address is None or address in seen or site_paths.origin_of(address) != origin:
                continue
            seen.add(address)
            text = self._text_of(address)
            if "<sitemapindex" in text[:2000]:
                listed = site_paths.listed_in(text)
                waiting[:0], is_cut = listed[:MAX_SITEMAPS], is_cut or len(listed) > MAX_SITEMAPS
            else:
                found += site_paths.pages_below(self.docs.origin, site_paths.listed_in(text), address)
        if waiting or is_cut:
            self.report.notes.append(f"The site names more sitemaps than the {len(seen)} that were read.")
        return list(dict.fromkeys(found))

    def _text_of(self, address: str) -> str:
        reply = self.client.get(address)
        return "" if reply.status != 200 or reply.is_html else reply.text

    def _read(self, page: SitePage) -> None:
        """Read a page of the run, and add its links if they are followed."""
        is_whole = page.files and not self.is_renewed and all(map(self.folder.exists, page.files))
        known = (page.etag, page.modified) if is_whole else ()
        reply = self.client.get(page.url, *known)
        if page.url == self.docs.origin and self._follows_links and (reply.problem or reply.status in _GONE):
            reason = f"{self.docs.origin} cannot be read: {reply.problem or f'status {reply.status}'}."
            raise NotFound(reason, "Give the address of the documentation itself.")
        if reply.status in _GONE:
            self.store.drop(page.url)
            return
        page = self._keep(page, reply)
        if len(page.links) == MAX_LINKS:
            self.report.notes.append(f"{page.url} has {MAX_LINKS:,} links or more; only so many were followed.")
        if self._follows_links:
            self.store.add(page.links, self.docs.max_pages)

    def _keep(self, page: SitePage, reply: SiteReply) -> SitePage:
        if reply.status == 304:
            self.report.unchanged += len(page.files)
            self.store.put(page)
            return page
        problem = reply.problem or (f"status {reply.status}" if reply.status != 200 else "")
        text = Readable("") if problem else _text(page.url, reply)
        if not 0 < len(text.text.strip()) <= MAX_TEXT:
            reason = problem or ("it is too long" if text.text.strip() else "it has no text")
            self.report.skipped[page.url] = f"{reason}; its earlier copy stays" if page.files else reason
            self.store.put(page) if page.files else self.store.drop(page.url)
            return page
        file = self._named(page)
        whole = markdown_page(text, self.docs.name, self.docs.version, reply.url)
        self.folder.write(file, whole, self.report)
        links = site_paths.pages_below(self.docs.origin, links_of(reply.text), reply.url) if self._follows_links else ()
        kept = SitePage(page.url, reply.etag, reply.modified, (file,), tuple(dict.fromkeys(links))[:MAX_LINKS])
        self.store.put(kept)
        return kept

    def _named(self, page: SitePage) -> str:
        """Return the file of a page, which on no system is also the file of another page."""
        taken = {file.casefold() for file in self._taken - set(page.files)}
        stem = site_paths.file_of(self.docs.origin, page.url)
        name = f"{stem}.md" if f"{stem}.md".casefold() not in taken else f"{stem}-{sha256(page.url)[:8]}.md"
        self._taken.add(name)
        return name


def _text(url: str, reply: SiteReply) -> Readable:
    """Return the text of a page; empty if it is of another kind."""
    if reply.is_html:
        return Readable(*html_as_markdown(reply.text.replace("\0", "")))
    if reply.kind in _TEXT_KINDS or urlsplit(url).path.lower().endswith((".md", ".mdx", ".txt")):
        return readable("page.md", reply.text)
    return Readable("")
