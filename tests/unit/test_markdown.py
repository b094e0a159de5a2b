from __future__ import annotations

import pytest

from lore_etl.core.model import KnowledgeType
from tests.harness.texts import chunks_in, outline, words

BODY = words(40)


def test_each_section_has_the_path_of_its_headings() -> None:
    text = f"# Guide\n{BODY}\n## Setup\n{BODY}\n### Linux\n{BODY}\n## Use\n{BODY}\n"

    assert outline(chunks_in("a.md", text)) == [
        ("section", (1, 2), ("Guide",)),
        ("section", (3, 4), ("Guide", "Setup")),
        ("section", (5, 6), ("Guide", "Setup", "Linux")),
        ("section", (7, 8), ("Guide", "Use")),
    ]


def test_a_heading_that_skips_levels_belongs_to_the_nearest_higher_heading() -> None:
    text = f"# A\n{BODY}\n#### D\n{BODY}\n## B\n{BODY}\n"

    assert [chunk.heading for chunk in chunks_in("a.md", text)] == [("A",), ("A", "D"), ("A", "B")]


def test_underlined_headings_are_read_and_closing_marks_are_removed() -> None:
    text = f"Top\n===\n{BODY}\n\nSub\n---\n{BODY}\n\n## Last ##\n{BODY}\n"

    assert [chunk.heading for chunk in chunks_in("a.md", text)] == [("Top",), ("Top", "Sub"), ("Top", "Last")]


def test_a_hash_in_a_fence_quote_or_list_is_not_a_heading() -> None:
    fence = "```sh\n# not a heading\nrun\n```"
    text = f"# A\n{BODY}\n{fence}\n\n> # quoted\n\n- # in a list\n"

    assert outline(chunks_in("a.md", text)) == [("section", (1, 10), ("A",))]


def test_text_before_the_first_heading_is_a_separate_section() -> None:
    assert outline(chunks_in("a.md", f"{BODY}\n\n# A\n{BODY}\n")) == [
        ("section", (1, 1), ()),
        ("section", (3, 4), ("A",)),
    ]


def test_front_matter_is_in_no_chunk_and_lines_count_from_the_top_of_the_file() -> None:
    text = f"---\ntitle: T\n---\n\n# A\n{BODY}\n"

    (only,) = chunks_in("a.md", text)

    assert (only.lines, only.text) == ((5, 6), f"# A\n{BODY}")


def test_a_heading_is_never_separated_from_its_text() -> None:
    text = f"# A\n{words(200)}\n## B\n### C\n" + f"{words(10)}\n" * 25

    first, *rest = chunks_in("a.md", text)

    assert first.heading == ("A",)
    assert [chunk.heading for chunk in rest] == [("A", "B", "C")] * len(rest)
    assert rest[0].text.startswith("## B\n### C\nword word")


def test_a_crumb_joins_the_section_below_and_the_last_crumb_the_section_above() -> None:
    text = f"# A\n{BODY}\n## Short\nFew words.\n## B\n{BODY}\n## End\nBye.\n"

    assert outline(chunks_in("a.md", text)) == [
        ("section", (1, 2), ("A",)),
        ("section", (3, 8), ("A", "B")),
    ]


def test_a_fence_or_table_that_fits_is_never_split() -> None:
    fence = "```py\n" + "\n\n".join(f"value_{n} = {n}" for n in range(25)) + "\n```"
    table = "| a | b |\n|---|---|\n" + "\n".join(f"| {n} | x |" for n in range(25))
    text = f"# A\n{words(120)}\n\n{fence}\n\n{words(100)}\n\n{table}\n\n{words(120)}\n"

    chunks = chunks_in("a.md", text)

    assert len(chunks) >= 3
    assert [fence in chunk.text for chunk in chunks].count(True) == 1
    assert [table in chunk.text for chunk in chunks].count(True) == 1


def test_a_long_fence_is_split_between_lines_and_stays_with_its_introduction() -> None:
    fence = "```py\n" + "\n".join(f"call({n}, {n})" for n in range(100)) + "\n```"

    first, *rest = chunks_in("a.md", f"# A\n\nRun this:\n\n{fence}\n")

    assert first.text.startswith("# A\n\nRun this:\n\n```py\ncall(0, 0)\n")
    assert "\n".join([first.text, *(chunk.text for chunk in rest)]) == f"# A\n\nRun this:\n\n{fence}"


def test_the_body_and_each_dated_comment_of_a_ticket_are_separate_chunks() -> None:
    text = (
        f"# Crash\n{BODY}\n## Comments\n"
        f"### @ann-b - 2024-05-01T10:00:00Z\nShort.\n### @bob — 2024-05-02\n{BODY}\n#### Detail\n{BODY}\n"
    )

    chunks = chunks_in("issues/1.md", text, KnowledgeType.TICKET)

    assert [(chunk.kind, chunk.lines, chunk.created) for chunk in chunks] == [
        ("ticket", (1, 2), None),
        ("comment", (3, 5), "2024-05-01T10:00:00Z"),
        ("comment", (6, 7), "2024-05-02"),
        ("comment", (8, 9), "2024-05-02"),
    ]


def test_the_heading_of_a_comment_is_an_ordinary_heading_in_a_guide() -> None:
    (only,) = chunks_in("a.md", f"# @ann - 2024-05-01\n{BODY}\n")

    assert (only.kind, only.created) == ("section", None)


def test_an_empty_file_gives_no_chunk() -> None:
    assert [chunks_in("a.md", text) for text in ("", "\n\n", "---\n---\n")] == [[], [], []]


@pytest.mark.parametrize("body", ["", "\n", "\n \n\n"])
def test_a_document_with_only_front_matter_is_indexed_with_its_values(body: str) -> None:
    (chunk,) = chunks_in("a.md", f"---\ntitle: Berths\ntags: [night]\n---\n{body}", title="Berths")

    assert (chunk.text, chunk.lines, chunk.title) == ("title: Berths\ntags: [night]", (2, 3), "Berths")
