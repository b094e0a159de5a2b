"""Copy a documentation site: find its pages by llms.txt, its sitemap or its links, and read those that changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from urllib.parse import urljoin, urlsplit

from lore_etl.core.errors import NotFound, UsageError
from lore_etl.core.html_markdown import html_as_markdown, links_of
from lore_server.library_docs.doc_folder import DocChanges, DocFolder
from lore_server.library_docs.doc_page import MAX_TEXT, PageOrigin, Readable, markdown_page, readable
from lore_server.library_docs.site_client import SiteClient, SiteReply
from lore_server.library_docs.site_paths import (
    digest,
    file_of,
    folder_of,
    linked_in,
    listed_in,
    normalised,
    origin_of,
    pages_below,
)
from lore_server.library_docs.site_store import SitePage, SiteStore

MAX_SITEMAPS = 50
MAX_LINKS = 2_000  # of a page
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
        listed = self._text_of(urljoin(base, "llms.txt"))
        pages = list(pages_below(self._start, linked_in(listed), base))
        for found in (sitemaps, [urljoin(base, "sitemap.xml")], [urljoin(base, "/sitemap.xml")]):
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

    def _fetched(self, page: SitePage) -> SiteReply:
        if not self._client.allows(page.url):
            return SiteReply(0, problem="robots.txt forbids it")
        is_whole = page.files and not self._is_renewed and all(map(self._folder.exists, page.files))
        etag, modified = (page.etag, page.modified) if is_whole else ("", "")
        return self._client.get(page.url, etag, modified)

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
        """Write the file of a page if it changed, and record it."""
        if reply.status == 304:
            self._changes.unchanged += len(page.files)
            self._store.put(page)
            return page
        problem = reply.problem or (f"status {reply.status}" if reply.status != 200 else "")
        text = Readable("") if problem else _text(page.url, reply)
        if not 0 < len(text.text.strip()) <= MAX_TEXT:
            self._changes.skipped[page.url] = problem or ("it is too long" if text.text.strip() else "it has no text")
            self._store.put(page) if page.files else self._store.drop(page.url)
            return page
        file = self._named(page)
        result = self._folder.write(file, markdown_page(replace(self._origin, url=reply.url or page.url), text))
        self._changes.unchanged += result is None
        self._changes.added += result is True
        self._changes.changed += result is False
        kept = SitePage(page.url, reply.etag, reply.modified, (file,), self._links(reply))
        self._store.put(kept)
        return kept

    def _links(self, reply: SiteReply) -> tuple[str, ...]:
        """Return the pages that a page links, if links are followed."""
        found = pages_below(self._start, links_of(reply.text), reply.url) if self._follows_links else ()
        return tuple(dict.fromkeys(found))[:MAX_LINKS]

    def _named(self, page: SitePage) -> str:
        """Return the file of a page, which on no system is also the file of another page."""
        taken = {file.casefold() for file in self._taken - set(page.files)}
        stem = file_of(self._start, page.url)
        name = f"{stem}.md" if f"{stem}.md".casefold() not in taken else f"{stem}-{digest(page.url)}.md"
        self._taken.add(name)
        return name


def _text(url: str, reply: SiteReply) -> Readable:
    """Return the text of a page; empty if it is of another kind."""
    if reply.is_html:
        return Readable(*html_as_markdown(reply.text.replace("\0", "")))
    if reply.kind in _TEXT_KINDS or urlsplit(url).path.lower().endswith((".md", ".mdx", ".txt")):
        return readable("page.md", reply.text)
    return Readable("")
