"""Copy a documentation site: find its pages by llms.txt, its sitemap or its links, and read those that changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from urllib.parse import urljoin, urlsplit

from lore_etl.core.errors import NotFound, UsageError
from lore_etl.core.html_markdown import html_as_markdown, is_unlisted, links_of
from lore_server.library_docs.doc_folder import DocChanges, DocFolder
from lore_server.library_docs.doc_page import MAX_TEXT, PageOrigin, Readable, markdown_page, readable
from lore_server.library_docs.site_client import MAX_WHOLE_BYTES, SiteClient, SiteReply
from lore_server.library_docs.site_paths import (
    digest,
    file_of,
    folder_of,
    linked_in,
    listed_in,
    normalised,
    origin_of,
    pages_below,
    parts_of,
)
from lore_server.library_docs.site_store import SitePage, SiteStore

MAX_SITEMAPS = 50
MAX_LINKS = 2_000  # of a page
WHOLE, LISTED = "llms-full.txt", "llms.txt"
_GONE = frozenset({404, 410})
_TEXT_KINDS = frozenset({"text/markdown", "text/x-markdown", "text/plain"})


class SiteCopy:
    """A run over the pages of one site. `is_renewed` means that unchanged pages must be rewritten too."""

    def __init__(
        self,
        start: str,
        origin: PageOrigin,
        folder: DocFolder,
        store: SiteStore,
        client: SiteClient,
        changes: DocChanges,
        max_pages: int,
        is_renewed: bool = False,
    ) -> None:
        self._start, self._origin, self._folder, self._store = start, origin, folder, store
        self._client, self._changes, self._max_pages, self._is_renewed = client, changes, max_pages, is_renewed
        self._follows_links = False
        self._taken = store.files()

    def run(self, progress: Callable[[str], None]) -> int:
        """Read all pages that are not known to be unchanged, and return the number of pages.

        Raises:
            Busy, ProviderUnavailable: see `SiteClient.get`. The next run continues.
            UsageError, NotFound: robots.txt forbids the site, or it has no pages.
        """
        sitemaps = self._client.read_robots()
        if not self._client.allows(self._start):
            raise UsageError(f"The site's robots.txt does not allow to read {self._start}.", "Lore respects that.")
        self._store.begin()
        left_out = self._find_pages(sitemaps)
        count = 0
        while (page := self._store.next()) is not None:
            left_out += self._read(page)
            count += 1
            if count % 20 == 0:
                progress(f"page {count:,}")
        if left_out:
            more = "page was" if left_out == 1 else "pages were"
            self._changes.notes.append(f"{left_out:,} more {more} left out; raise the limit with --max-pages.")
        self._store.finish()
        self._changes.removed += self._folder.keep_only(self._store.files())
        return len(self._store.files())

    def _find_pages(self, sitemaps: list[str]) -> int:
        """Add the pages that the site lists; if it lists none, its first page, and links are followed."""
        base = urljoin(self._start, folder_of(self._start))
        whole = urljoin(base, WHOLE)
        known = self._store.known(whole) or SitePage(whole)
        reply = self._fetched(known, MAX_WHOLE_BYTES)
        if reply.status == 304 or (
            reply.status == 200 and not reply.problem and not reply.is_html and reply.text.strip()
        ):
            left_out = self._store.add([whole], self._max_pages)
            self._keep(known, reply)
            return left_out
        listed = self._text_of(urljoin(base, LISTED))
        pages = list(pages_below(self._start, linked_in(listed), base))
        for found in (
            sitemaps,
            [urljoin(base, "sitemap.xml")],
            [urljoin(base, "sitemap.xml.gz")],
            [urljoin(base, "/sitemap.xml")],
            [urljoin(base, "/sitemap.xml.gz")],
        ):
            pages = pages or self._in_sitemaps(list(found))
        self._follows_links = not pages
        return self._store.add(pages or [self._start], self._max_pages)

    def _in_sitemaps(self, waiting: list[str]) -> list[str]:
        found: list[str] = []
        seen: set[str] = set()
        while waiting and len(seen) < MAX_SITEMAPS:
            address = normalised(waiting.pop(0))
            if address is None or address in seen or origin_of(address) != origin_of(self._start):
                continue
            seen.add(address)
            text = self._text_of(address)
            if "<sitemapindex" in text[:2000]:
                waiting[:0] = listed_in(text)[:MAX_SITEMAPS]
            else:
                found += pages_below(self._start, listed_in(text), address)
        return list(dict.fromkeys(found))

    def _text_of(self, address: str) -> str:
        if not self._client.allows(address):
            return ""
        reply = self._client.get(address)
        return "" if reply.status != 200 or reply.is_html else reply.text

    def _fetched(self, page: SitePage, limit: int | None = None) -> SiteReply:
        if not self._client.allows(page.url):
            return SiteReply(0, problem="robots.txt forbids it")
        is_whole = page.files and not self._is_renewed and all(map(self._folder.exists, page.files))
        etag, modified = (page.etag, page.modified) if is_whole else ("", "")
        return self._client.get(page.url, etag, modified, limit)

    def _read(self, page: SitePage) -> int:
        """Read a page of the run, and return how many of its links exceed the limit of pages."""
        reply = self._fetched(page)
        if page.url == self._start and self._follows_links and (reply.problem or reply.status in _GONE):
            reason = reply.problem or f"status {reply.status}"
            raise NotFound(f"{self._start} cannot be read: {reason}.", "Give the address of the documentation itself.")
        if reply.status in _GONE:
            self._store.drop(page.url)
            return 0
        page = self._keep(page, reply)
        return self._store.add(page.links, self._max_pages) if self._follows_links else 0

    def _keep(self, page: SitePage, reply: SiteReply) -> SitePage:
        """Write the files of a page if it changed, and record it."""
        if reply.status == 304:
            self._changes.unchanged += len(page.files)
            self._store.put(page)
            return page
        if reply.is_unlisted or (reply.is_html and is_unlisted(reply.text)):
            self._changes.skipped[page.url] = "the page asks not to be indexed"
            unlisted = SitePage(page.url, links=self._links(reply))
            self._store.drop(page.url)
            return unlisted
        problem = reply.problem or (f"status {reply.status}" if reply.status != 200 else "")
        parts = [] if problem else self._parts(page.url, reply)
        if not parts:
            self._changes.skipped[page.url] = problem or (
                "it is too long" if len(reply.text) > MAX_TEXT else "it has no text"
            )
            self._store.put(page) if page.files else self._store.drop(page.url)
            return page
        files = self._named(page, parts)
        results = [
            self._folder.write(file, markdown_page(replace(self._origin, url=reply.url or page.url), text))
            for file, (_, text) in zip(files, parts, strict=True)
        ]
        self._changes.unchanged += results.count(None)
        self._changes.added += results.count(True)
        self._changes.changed += results.count(False)
        kept = SitePage(page.url, reply.etag, reply.modified, tuple(files), self._links(reply))
        self._store.put(kept)
        return kept

    def _links(self, reply: SiteReply) -> tuple[str, ...]:
        """Return the pages that a page links, if links are followed."""
        found = pages_below(self._start, links_of(reply.text), reply.url) if self._follows_links else ()
        return tuple(dict.fromkeys(found))[:MAX_LINKS]

    def _parts(self, url: str, reply: SiteReply) -> list[tuple[str, Readable]]:
        """Return the texts of a page with the names of their parts; the name of a whole page is empty."""
        path = urlsplit(url).path.lower()
        if reply.is_html:
            page = Readable(*html_as_markdown(reply.text.replace("\0", "")))
            return [("", page)] if 0 < len(page.text.strip()) <= MAX_TEXT else []
        if reply.kind not in _TEXT_KINDS and not path.endswith((".md", ".mdx", ".txt")):
            return []
        page = readable("page.md", reply.text)
        if path.endswith(f"/{WHOLE}"):
            return [
                (f"{n:04}-{title}", Readable(text, title)) for n, (title, text) in enumerate(parts_of(page.text), 1)
            ]
        return [("", page)] if 0 < len(page.text.strip()) <= MAX_TEXT else []

    def _named(self, page: SitePage, parts: list[tuple[str, Readable]]) -> list[str]:
        """Return a file for each part, which on no system is also the file of another page."""
        taken = {file.casefold() for file in self._taken - set(page.files)}
        names = []
        for part, _ in parts:
            stem = file_of(self._start, urljoin(page.url, part) if part else page.url)
            stem = f"{WHOLE.removesuffix('.txt')}/{stem}" if part else stem
            name = f"{stem}.md"
            if name.casefold() in taken:
                name = f"{stem}-{digest(page.url)}.md"
            taken.add(name.casefold())
            names.append(name)
        self._taken |= set(names)
        return names
