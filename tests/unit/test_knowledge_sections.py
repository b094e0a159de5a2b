"""Sections of the main document, and the list of projects."""

import json

import pytest

from lore_etl.core.errors import InvalidArgument, InvalidContent, SectionExists, SectionNotFound, StorageError
from lore_etl.core.headings import outline
from lore_server.knowledge.chapter_edit import SectionName, add_part, remove_part, update_part
from lore_server.knowledge.registry import index_with, merged_index, read_index

NOW = "2026-01-02T03:04:05.000Z"
MAIN = "# App\r\n\r\n## Build\r\n\r\nmake\r\n\r\n### Deep\r\n\r\nx\r\n\r\n```\r\n## no\r\n```\r\n\r\n## Test\r\n\r\nx"


def section_titles(text: str) -> list[str]:
    return [heading.title for heading in outline(text).headings if heading.level == 2]


def test_a_section_is_replaced_with_its_subsections_and_line_ends_are_kept() -> None:
    text = update_part(SectionName("## Build"), "ninja\n\n### New").change(MAIN, NOW)

    assert text == "# App\r\n\r\n## Build\r\n\r\nninja\r\n\r\n### New\r\n\r\n" + MAIN[MAIN.index("## Test") :]


def test_sections_are_added_and_removed() -> None:
    new, build = SectionName("## New"), SectionName("## Build")

    assert section_titles(add_part(new, "x").change(MAIN, NOW)) == ["Build", "Test", "New"]
    assert section_titles(add_part(new, "x", "before", build).change(MAIN, NOW)) == ["New", "Build", "Test"]
    assert section_titles(add_part(new, "", "after", build).change(MAIN, NOW)) == ["Build", "New", "Test"]
    assert remove_part(SectionName("## Build")).change(MAIN, NOW) == "# App\r\n\r\n" + MAIN[MAIN.index("## Test") :]
    assert remove_part(SectionName("## New")).change(add_part(SectionName("## New"), "x").change("", NOW), NOW) == ""


def test_invalid_existing_or_overlapping_sections_are_rejected() -> None:
    with pytest.raises(SectionNotFound):
        update_part(SectionName("## no"), "x").change(MAIN, NOW)
    with pytest.raises(SectionExists):
        add_part(SectionName("## Build"), "x").change(MAIN, NOW)
    for header in ("Build", "# Build", "### Deep", "##", "## " + "x" * 200, ""):
        with pytest.raises(InvalidArgument):
            update_part(SectionName(header), "x").change(MAIN, NOW)
    for content in ("## Other", "# Other", "```", "\0"):
        with pytest.raises(InvalidContent):
            update_part(SectionName("## Build"), content).change(MAIN, NOW)
    with pytest.raises(InvalidContent):
        add_part(SectionName("## New"), "x").change("```\nopen", NOW)
    with pytest.raises(InvalidArgument):
        update_part(SectionName("## A"), "x").change("## A\n## A\n", NOW)


def test_the_index_keeps_unknown_entries_and_rejects_paths_outside_the_folder() -> None:
    data = json.dumps(
        {"version": 1, "projects": {"a": "a", "b": "../b", "c": "/c", "d": ".git", "e": 5, "f": ""}}
    ).encode()

    assert read_index(data) == {"a": "a"}
    assert json.loads(index_with(data, "new", "new"))["version"] == 1
    assert read_index(index_with(index_with(data, "new", "new"), "a", None)) == {"new": "new"}
    assert read_index(None) == read_index(b"") == {}


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"projects": []}', b"\xff", b"[" * 100_000])
def test_an_unreadable_index_is_an_error_and_not_an_empty_store(data: bytes) -> None:
    with pytest.raises(StorageError):
        read_index(data)


def test_projects_added_on_two_sides_are_merged_unless_they_share_a_folder() -> None:
    base = index_with(None, "a", "a")
    ours, theirs = index_with(base, "b", "b"), index_with(index_with(base, "c", "c"), "a", None)

    assert read_index(merged_index(base, ours, theirs)) == {"b": "b", "c": "c"}
    assert merged_index(base, index_with(base, "B", "b"), ours) is None
    assert merged_index(base, index_with(base, "a", "x"), index_with(base, "a", "y")) is None
