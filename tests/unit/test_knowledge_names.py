"""Names chosen by callers become safe file names or are rejected."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lore_etl.core.errors import InvalidFilename, InvalidGroupId, InvalidProjectId
from lore_server.knowledge.names import checked_project_id, document_name, group_folder, project_slug, slug
from tests.harness.knowledge import HOSTILE_FILENAMES, HOSTILE_IDS, SAFE_FILENAMES


@pytest.mark.parametrize("name", HOSTILE_FILENAMES, ids=ascii)
def test_a_path_or_an_invalid_name_is_rejected(name: str) -> None:
    with pytest.raises(InvalidFilename):
        document_name(name)


@pytest.mark.parametrize(("name", "safe"), SAFE_FILENAMES.items(), ids=ascii)
@pytest.mark.requirement("KB-021")
def test_a_name_with_special_characters_is_made_safe(name: str, safe: str) -> None:
    assert document_name(name) == safe


@pytest.mark.parametrize("name", HOSTILE_IDS, ids=ascii)
@pytest.mark.requirement("KB-047")
def test_an_unreadable_id_of_a_project_or_group_is_rejected(name: str) -> None:
    with pytest.raises(InvalidProjectId):
        checked_project_id(name)
    with pytest.raises(InvalidGroupId):
        group_folder(name)


PROJECT_IDS = "git@host:team/app.git https://host/team/app @scope/app a/b ..x x..y/z v1.2 ~x 日本語 a;b|c -x".split()


@pytest.mark.parametrize("name", [*PROJECT_IDS, "My Project", "👩‍👩‍👧 app", "x" * 200], ids=ascii)
@pytest.mark.requirement("KB-006")
def test_a_project_id_may_contain_any_characters(name: str) -> None:
    assert checked_project_id(f" {name} ") == name


def test_two_unicode_forms_of_an_id_are_the_same_project_and_names_that_look_alike_are_different_files() -> None:
    assert checked_project_id("cafe\u0301") == checked_project_id("caf\u00e9")
    assert len({document_name(name) for name in ("paypal", "p\u0430ypal", "日本", "中国", "?", "！")}) == 6


def test_a_slug_that_is_in_use_gets_a_number() -> None:
    assert project_slug("My Project", set()) == "my-project"
    assert project_slug("my-project", {"my-project"}) == "my-project-1"
    assert project_slug("my project", {"my-project", "my-project-1"}) == "my-project-2"


@pytest.mark.parametrize(
    ("title", "file"),
    [
        ("日本語ガイド", "日本語ガイド.md"),
        ("Руководство по API", "руководство-по-api.md"),
        ("Йод", "йод.md"),
        ("Οδηγός χρήσης", "οδηγόσ-χρήσησ.md"),
        ("दस्तावेज़ १", "दस्तावेज़-१.md"),
        ("คู่มือ", "คู่มือ.md"),
        ("می\u200cخواهم", "می-خواهم.md"),
        ("가이드", "가이드.md"),
        ("한글", "한글.md"),
        ("Größe 日本", "grosse-日本.md"),
        ("❤\ufe0f 日本", "日本.md"),
    ],
    ids=ascii,
)
def test_a_title_in_any_script_gives_a_readable_name(title: str, file: str) -> None:
    expected = unicodedata.normalize("NFC", file)
    assert {document_name(unicodedata.normalize(form, title)) for form in ("NFC", "NFD")} == {expected}


def test_mixed_scripts_and_invisible_letters_are_marked() -> None:
    for name in ("p\u0430ypal", "API設計", "日\u3164本"):
        assert re.fullmatch(r".+-[0-9a-f]{8}\.md", document_name(name)), ascii(name)


def test_a_long_title_in_any_script_fits_every_file_system() -> None:
    names = {document_name(letter * 200 + end) for letter in "a日😀𠀀" for end in "xy"}

    assert len(names) == 8
    assert all(len(name.encode()) < 170 for name in names)


def test_groups_keep_their_existing_folders() -> None:
    assert group_folder("日本語") == "x-77710aed.77710aed"
    assert group_folder("learning") == "learning"


@given(st.text(max_size=255))
def test_every_accepted_name_is_a_plain_file_name_and_stable(name: str) -> None:
    try:
        accepted = document_name(name)
    except InvalidFilename:
        return
    assert accepted.isprintable() and not re.search(r"[^\w\u0300-\U000e01ef-]|^[.-]", accepted.removesuffix(".md"))
    assert len(accepted.encode()) <= 170
    assert unicodedata.is_normalized("NFC", accepted)
    assert accepted == accepted.lower()
    assert document_name(accepted) == accepted


@given(st.text())
def test_making_a_slug_is_idempotent(text: str) -> None:
    assert slug(slug(text)) == slug(text)
