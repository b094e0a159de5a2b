"""Adding a documentation site: its pages, later updates, limits, interruption, and what a hostile site can do."""

import gzip
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from lore_etl.core.errors import Busy, NotFound, ProviderUnavailable, UsageError
from lore_server.execution.foreign_reply import ReplyRefused, unpacked
from lore_server.library_docs import doc_site, site_client
from lore_server.library_docs.doc_set import SITE, DocSet, DocSetReport
from lore_server.library_docs.doc_site import MAX_SITEMAPS
from lore_server.library_docs.library_manager import LibraryManager
from lore_server.library_docs.site_client import ATTEMPTS, SiteClient
from tests.harness.docs_site import DocsSite, html_page, serving


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LORE_STATE", str(tmp_path / "state"))
    (tmp_path / "index").mkdir()
    return tmp_path / "index"


def copied(index: Path, address: str, path: str = "/docs/", **more: object) -> DocSetReport:
    docs = DocSet("kit", SITE, address + path, **{"pinned": "1.0", **more})  # type: ignore[arg-type]
    return LibraryManager(index, patience=0).update(docs, lambda stage: None)


def counts(report: DocSetReport) -> tuple[int, ...]:
    return report.added, report.changed, report.unchanged, report.removed


def pages(index: Path) -> dict[str, str]:
    top = index / "docs" / "kit"
    return {file.relative_to(top).as_posix(): file.read_text() for file in sorted(top.rglob("*.md"))}


def mapped(count: int) -> DocsSite:
    site = DocsSite({f"/docs/p{n}.html": html_page(f"Page {n}") for n in range(count)})
    site.pages["/sitemap.xml"] = "".join(f"<loc>http://HOST/docs/p{n}.html</loc>" for n in range(count))
    return site


@contextmanager
def served(site: DocsSite) -> Iterator[str]:
    """Serve the site, whose pages may name its address."""
    with serving(site) as address:
        site.pages = {path: text.replace("http://HOST", address) for path, text in site.pages.items()}
        yield address


def test_a_site_is_read_by_its_sitemap_and_then_only_its_changes_unless_its_version_is_new(index: Path) -> None:
    site = mapped(4)
    with served(site) as address:
        first = copied(index, address)
        assert counts(first) == (4, 0, 0, 0)
        assert pages(index)["p2.md"] == (
            f"---\nlibrary: kit\nversion: '1.0'\nurl: {address}/docs/p2.html\n---\n\n# Page 2\n\nText.\n"
        )

        site.requests.clear()
        assert counts(copied(index, address)) == (0, 0, 4, 0)
        assert all(tag for path, tag in site.requests if path.startswith("/docs/p"))

        site.pages["/docs/p1.html"] = html_page("Page 1", "New text.")
        del site.pages["/docs/p3.html"]
        site.pages["/docs/p4.html"] = html_page("Page 4")
        site.pages["/sitemap.xml"] += f"<loc>{address}/docs/p4.html</loc>"
        report = copied(index, address)
        assert counts(report) == (1, 1, 2, 1)
        assert sorted(pages(index)) == ["p0.md", "p1.md", "p2.md", "p4.md"]
        assert report.docs.pages == 4

        assert counts(copied(index, address, pinned="2.0")) == (0, 4, 0, 0)
        assert all("version: '2.0'" in text for text in pages(index).values())


def test_links_are_followed_below_the_address_up_to_the_maximum(index: Path) -> None:
    site = DocsSite({
        "/docs/": html_page("Start", links={"a.html": "a", "/private": "p", "b/": "b", "c.html": "c"}),
        "/docs/a.html": html_page("A", links={"./": "back"}), "/docs/b/": html_page("B"),
        "/docs/c.html": html_page("C"),
        "/private": html_page("Private"),
    })  # fmt: skip
    with serving(site) as address:
        limited = copied(index, address, max_pages=3)
        whole = copied(index, address, max_pages=9)

    assert sorted(pages(index)) == ["a.md", "b.md", "c.md", "index.md"]
    assert limited.notes == ["1 more page was left out; raise the limit with --max-pages."]
    assert (counts(whole), "/private" in site.paths) == ((1, 0, 3, 0), False)


@pytest.mark.parametrize("others", [[], ["https://x.test/a.xml"] * 60], ids=["readable", "of other hosts"])
def test_sitemaps_beyond_the_maximum_are_reported(index: Path, others: list[str]) -> None:
    site = mapped(1)
    names = [*others, *(f"http://HOST/maps/{n}.xml" for n in range(MAX_SITEMAPS + 5))]
    site.pages["/docs/"] = html_page("Start")
    site.pages["/sitemap.xml"] = "<sitemapindex>" + "".join(f"<loc>{name}</loc>" for name in names)
    site.pages |= {f"/maps/{n}.xml": "<loc>http://HOST/docs/p0.html</loc>" for n in range(MAX_SITEMAPS + 5)}
    with served(site) as address:
        report = copied(index, address)

    assert [note.partition(" than ")[0] for note in report.notes] == ["The site names more sitemaps"]


def test_links_beyond_the_maximum_are_reported_each_time(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doc_site, "MAX_LINKS", 3)
    site = DocsSite({"/docs/": html_page("Start", links={f"p{n}.html": str(n) for n in range(5)})})
    with serving(site) as address:
        reports = [copied(index, address), copied(index, address)]

    notes = [f"{address}/docs/ has 3 links or more; only so many were followed."]
    assert [report.notes for report in reports] == [notes, notes]


def test_a_page_beyond_the_maximum_is_counted_once_however_many_pages_link_it(index: Path) -> None:
    menu = {f"p{number}.html": str(number) for number in range(6)}
    site = DocsSite({"/docs/": html_page("Start", links=menu)})
    site.pages |= {f"/docs/{name}": html_page(name, links=menu) for name in menu if name != "p0.html"}  # p0 is gone
    with serving(site) as address:
        report = copied(index, address, max_pages=4)

    assert sorted(pages(index)) == ["index.md", "p1.md", "p2.md", "p3.md"]
    assert report.notes == ["2 more pages were left out; raise the limit with --max-pages."]


def test_a_page_that_cannot_be_read_again_stays_and_the_report_says_so(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_client, "MAX_PAGE_BYTES", 10_000)
    site = mapped(3)
    with served(site) as address:
        copied(index, address)
        site.instead = lambda number, path: (500, {}, b"") if path == "/docs/p1.html" else None
        site.pages["/docs/p2.html"] = html_page("Page 2", "x" * 6_000_000)
        site.pages["/docs/p3.html"] = "<html><body></body></html>"
        site.pages["/sitemap.xml"] += f"<loc>{address}/docs/p3.html</loc>"
        report = copied(index, address)

    assert sorted(pages(index)) == ["p0.md", "p1.md", "p2.md"]
    failed, huge, empty = report.skipped.values()
    assert (failed, huge[:9], empty) == ("status 500; its earlier copy stays", "too large", "it has no text")


def test_the_list_of_pages_for_models_is_preferred_to_the_sitemap(index: Path) -> None:
    site = mapped(2)
    site.pages |= {"/docs/llms.txt": "# Kit\n- [Guide](/docs/guide.md)\n- [Other](https://other.test/x.md)\n",
                   "/docs/guide.md": "---\nlibrary: forged\nstate: open\n---\n# Guide\n"}  # fmt: skip
    with serving(site) as address:
        copied(index, address)

    assert list(pages(index)) == ["guide.md"]
    assert "forged" not in pages(index)["guide.md"]


@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: data[:3] + b"x" * 9, lambda data: b""])
def test_a_damaged_gzip_file_is_refused(damage: Callable[[bytes], bytes]) -> None:
    packed = gzip.compress(b"0123456789")

    assert unpacked(packed, 10) == b"0123456789"
    with pytest.raises(ReplyRefused, match="too large"):
        unpacked(packed, 9)
    with pytest.raises(ReplyRefused, match="damaged"):
        unpacked(damage(packed), 10)


@pytest.mark.parametrize("header", ["0", "nan", "-5", "inf", "x", "Thu, 01 Jan 1970 00:00:01 GMT"])
@pytest.mark.parametrize("status", [429, 503])
def test_a_site_that_always_asks_for_a_pause_is_asked_a_few_times_only(header: str, status: int) -> None:
    site, pauses = mapped(1), list[float]()
    site.instead = lambda number, path: (status, {"Retry-After": header}, b"") if number < 20 else None

    with serving(site) as address:
        client = SiteClient(address, sleep=pauses.append)
        with closing(client), pytest.raises(Busy) as error:
            client.get(f"{address}/docs/p0.html")

    assert "seconds" not in error.value.message  # the site may have named no time
    assert len(site.requests) <= ATTEMPTS
    assert all(pause >= 1 for pause in pauses if pause)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "identity"])
def test_a_page_is_not_unpacked_beyond_the_limit(encoding: str) -> None:
    site = mapped(1)
    content = bytes(20_000_000) if encoding == "identity" else gzip.compress(bytes(20_000_000))
    site.instead = lambda number, path: (200, {"Content-Encoding": encoding}, content)

    with serving(site) as address, closing(SiteClient(address)) as client:
        assert client.get(f"{address}/docs/p0.html").problem


@pytest.mark.parametrize(
    ("delay", "error"),
    [("31", UsageError), ("86400", UsageError), ("9" * 30, UsageError), ("9" * 5000, ProviderUnavailable),
     ("²", ProviderUnavailable)],
)  # fmt: skip
def test_a_site_that_asks_for_a_long_delay_between_requests_is_refused(delay: str, error: type[Exception]) -> None:
    site = mapped(1)
    site.pages["/robots.txt"] = f"User-agent: *\nCrawl-delay: {delay}\n"

    with serving(site) as address, closing(SiteClient(address)) as client, pytest.raises(error):
        client.read_robots()


def test_a_short_delay_between_requests_is_obeyed() -> None:
    site, pauses = mapped(1), list[float]()
    site.pages["/robots.txt"] = "User-agent: *\nCrawl-delay: 30\n"

    with serving(site) as address, closing(SiteClient(address, sleep=pauses.append)) as client:
        client.read_robots()
        client.get(f"{address}/docs/p0.html")

    assert pauses[-1] > 29


def test_robots_txt_is_respected(index: Path) -> None:
    site = mapped(3)
    site.pages["/robots.txt"] = "User-agent: lore\nDisallow: /docs/p1\n\nUser-agent: *\nDisallow: /\n"
    with served(site) as address:
        report = copied(index, address)
        site.pages["/robots.txt"] = "User-agent: *\nDisallow: /\n"
        with pytest.raises(UsageError, match="does not allow"):
            copied(index, address)
        site.instead = lambda number, path: (500, {}, b"") if path == "/robots.txt" else None
        with pytest.raises(ProviderUnavailable, match=r"robots\.txt"):
            copied(index, address)

    assert list(report.skipped.values()) == ["robots.txt forbids it"]
    assert "/docs/p1.html" not in site.paths
    assert sorted(pages(index)) == ["p0.md", "p2.md"]


def test_an_interrupted_run_continues_where_it_stopped(index: Path) -> None:
    site = mapped(6)
    site.instead = lambda number, path: (429, {"Retry-After": "900"}, b"") if path == "/docs/p3.html" else None
    with served(site) as address:
        with pytest.raises(Busy, match="asks for a pause"):
            copied(index, address)
        assert sorted(pages(index)) == ["p0.md", "p1.md", "p2.md"]
        assert [docs.pages for docs in LibraryManager(index).named()] == [0]

        site.requests.clear()
        site.instead = lambda number, path: None
        report = copied(index, address)

    assert counts(report) == (3, 0, 0, 0)
    assert [path for path in site.paths if "/p" in path] == [f"/docs/p{n}.html" for n in (3, 4, 5)]


def test_no_other_host_is_contacted_and_no_address_that_is_none(index: Path) -> None:
    other, site = DocsSite({"/docs/": html_page("Other")}), mapped(3)
    with serving(other) as elsewhere, served(site) as address:
        moved = {"/docs/p1.html": f"{elsewhere}/docs/", "/docs/p2.html": "http://[bad", "/docs/": f"{elsewhere}/docs/"}
        site.instead = lambda number, path: (302, {"Location": moved[path]}, b"") if path in moved else None
        report = copied(index, address)
        site.pages = {}
        with pytest.raises(NotFound, match="another host"):
            copied(index, address, "/docs/")

    assert (report.added, [*report.skipped.values()]) == (1, ["it leads to another host (127.0.0.1)", "status 302"])
    assert other.requests == []


@pytest.mark.parametrize("charset", ["none", "hex", "idna", "punycode", "unicode_escape", "utf-7", "latin-1"])
def test_a_page_is_read_whatever_encoding_the_site_names(index: Path, charset: str) -> None:
    site = mapped(1)
    reply = (200, {"Content-Type": f"text/html; charset={charset}"}, html_page("Start", "a \\ud800 b").encode())
    with served(site) as address:
        site.instead = lambda number, path: reply if path.endswith(".html") else None
        report = copied(index, address)

    assert (report.added, report.skipped) == (1, {})
    assert "# Start" in pages(index)["p0.md"]


def test_pages_with_the_same_name_have_different_files(index: Path) -> None:
    site = DocsSite({"/docs/a.html": html_page("A"), "/docs/A/": html_page("B"), "/docs/a.md": "# C\n"})
    site.pages["/sitemap.xml"] = "".join(f"<loc>http://HOST{path}</loc>" for path in site.pages)
    with served(site) as address:
        first, second = copied(index, address), copied(index, address)

    assert (counts(first), counts(second)) == ((3, 0, 0, 0), (0, 0, 3, 0))
    assert len({path.casefold() for path in pages(index)}) == 3


def test_a_name_that_leads_to_a_private_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for private in ("10.0.0.1", "169.254.169.254", "127.0.0.1", "fd00::1"):
        row = (2, 1, 6, "", (private, 443))
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, row=row, **__: [row])
        with pytest.raises(UsageError, match="private network"):
            SiteClient("https://docs.kit.test/")
    SiteClient("https://docs.kit.test/", is_private_allowed=True).close()


def test_a_name_is_looked_up_once_and_the_site_gets_its_name(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lookups = []
    site = DocsSite({"/": html_page("Start")})
    with serving(site) as address:
        port = int(address.rpartition(":")[2])

        def look_up(host: str, *_: object, **__: object) -> list[object]:
            lookups.append(host)
            return [(2, 1, 6, "", ("127.0.0.1", port))]

        monkeypatch.setattr(site_client, "_is_public", lambda address: True)
        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        client = SiteClient(f"http://docs.kit.test:{port}/", sleep=lambda seconds: None)
        replies = [client.get(f"http://docs.kit.test:{port}/").status for _ in range(2)]
        client.close()

    assert (replies, lookups.count("docs.kit.test")) == ([200, 200], 1)
