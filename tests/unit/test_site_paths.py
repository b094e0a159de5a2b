"""The addresses of a documentation site: which belong to it, and the files of its pages."""

import pytest

from lore_etl.core.errors import UsageError
from lore_server.library_docs.site_paths import (
    file_of,
    folder_of,
    linked_in,
    listed_in,
    name_of_site,
    pages_below,
    start_of,
    version_in,
)

START = "https://docs.kit.test/en/guide/"


def test_only_pages_below_the_address_belong_to_the_site() -> None:
    found = pages_below(
        START,
        ["a.html#part", "/en/guide/b?x=1", "../other", "https://docs.kit.test:443/en/guide/c", "http://docs.kit.test/en/guide/d",
         "https://evil.test/en/guide/e", "//evil.test/f", "g.png", "mailto:a@b", "https://docs.kit.test@evil.test/en/guide/h",
         "javascript:x", "print.html", "sub/index.html", "https://[bad", "i\x01j", "k\x7f", ""],
        START,
    )  # fmt: skip

    assert list(found) == [
        f"{START}a.html", f"{START}b", "https://docs.kit.test:443/en/guide/c", f"{START}sub/", START,
    ]  # fmt: skip


@pytest.mark.parametrize("path", ["/docs", "/docs/", "/docs/index.html"])
def test_the_folder_of_a_site_contains_its_first_page(path: str) -> None:
    assert folder_of(f"https://kit.test{path}") == "/docs/"


@pytest.mark.parametrize(
    ("address", "file"),
    [("", "index"), ("a.html", "a"), ("a/", "a"), ("a/b.md", "a/b"), ("%2e%2e/%2fetc/x", "etc/x"),
     ("venv/a", "venv-/a"),
     (".git/config", "git/config"), ("a%00b", "a-b"), ("con%5cfig", "con-fig")],
)  # fmt: skip
def test_a_page_has_a_file_with_a_plain_name(address: str, file: str) -> None:
    assert file_of(START, START + address) == file


def test_a_long_or_foreign_name_is_replaced_and_the_path_names_the_version() -> None:
    versions = [version_in(f"https://a.test/{path}") for path in ("en/1.2/", "v3/x", "3.12", "latest/", "a1/")]

    assert len(file_of(START, START + "x/" * 500)) < 170
    assert file_of(START, START + "%E6%96%87").startswith("p-")
    assert versions == ["1.2", "3", "3.12", "", ""]


@pytest.mark.parametrize(
    ("address", "name"),
    [("https://requests.readthedocs.test/en/latest/", "requests"), ("https://www.starlette.test/", "starlette"),
     ("https://docs.python.test/3/", "python"), ("https://encode.github.io/httpx/", "httpx"),
     ("http://127.0.0.1:80/", "site-127.0.0.1"), ("http://localhost:8000/", "localhost")],
)  # fmt: skip
def test_the_address_names_the_library(address: str, name: str) -> None:
    assert name_of_site(address) == name


@pytest.mark.parametrize("given", ["ftp://a.test", "https://", "https://u:p@a.test/", "file:///etc/passwd", "x" * 3000])
def test_a_text_that_is_not_the_address_of_a_site_is_rejected(given: str) -> None:
    with pytest.raises(UsageError):
        start_of(given)


def test_lists_of_pages_are_read_without_a_parser_for_xml() -> None:
    assert listed_in("<!DOCTYPE x [<!ENTITY a 'b'>]><loc> https://a.test/?x&amp;y </loc><loc>&a;</loc>") == [
        "https://a.test/?x&y", "&a;",
    ]  # fmt: skip
    assert linked_in("- [A](a.md): text\n- [B](<b.md>) [A](a.md)") == ["a.md", "b.md"]
