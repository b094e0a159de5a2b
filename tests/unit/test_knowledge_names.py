"""Names that callers choose become names of files that are safe, or are refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etl.errors import InvalidFilename, InvalidProjectId
from etl.knowledge.names import checked_project_id, document_name, name_from_remote, project_slug, slug
from tests.harness.knowledge import HOSTILE_FILENAMES, HOSTILE_IDS, SAFE_FILENAMES


@pytest.mark.parametrize("name", HOSTILE_FILENAMES, ids=ascii)
def test_a_name_that_is_a_path_or_no_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidFilename):
        document_name(name)


@pytest.mark.parametrize(("name", "safe"), SAFE_FILENAMES.items(), ids=ascii)
def test_a_name_with_special_characters_is_made_safe(name: str, safe: str) -> None:
    assert document_name(name) == safe


@pytest.mark.parametrize("name", HOSTILE_IDS, ids=ascii)
def test_a_project_id_that_cannot_be_read_is_refused(name: str) -> None:
    with pytest.raises(InvalidProjectId):
        checked_project_id(name)


@pytest.mark.parametrize(
    "name", ["My Project", "git@host:team/app.git", "../x", "日本語", "👩‍👩‍👧 app", "a;b|c", "-x", "x" * 200], ids=ascii
)
def test_a_project_id_holds_any_characters(name: str) -> None:
    assert checked_project_id(f" {name} ") == name


def test_one_id_in_two_forms_of_unicode_is_one_project() -> None:
    assert checked_project_id("cafe\u0301") == checked_project_id("caf\u00e9")


def test_names_that_only_look_alike_are_two_files() -> None:
    assert len({document_name(name) for name in ("paypal", "p\u0430ypal", "日本", "中国", "?", "！")}) == 6


def test_slugs_that_are_taken_are_numbered() -> None:
    assert project_slug("My Project", set()) == "my-project"
    assert project_slug("my-project", {"my-project"}) == "my-project-1"
    assert project_slug("my project", {"my-project", "my-project-1"}) == "my-project-2"


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("git@host:team/app.git", "app"),
        ("https://user@host:8443/team/app.git/", "app"),
        ("ssh://git@host/app", "app"),
        ("/srv/git/app.git", "app"),
        ("C:\\git\\app", "app"),
        ("host:app", "app"),
        ("", ""),
        ("https://host", ""),
    ],
)
def test_the_name_of_a_repository_is_found_in_the_address_of_its_remote(address: str, name: str) -> None:
    assert name_from_remote(address) == name


@given(st.text(max_size=255))
def test_whatever_is_accepted_is_one_plain_file_name_and_stays_it(name: str) -> None:
    try:
        made = document_name(name)
    except InvalidFilename:
        return
    assert re.fullmatch(r"[a-z0-9_][a-z0-9_-]*\.md", made)
    assert len(made) <= 100
    assert document_name(made) == made


@given(st.text())
def test_a_slug_is_its_own_slug(text: str) -> None:
    assert slug(slug(text)) == slug(text)
