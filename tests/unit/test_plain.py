from __future__ import annotations

from lore_etl.chunking import chunk
from lore_etl.chunking.plain import parse_plain
from tests.harness.models import counter
from tests.harness.texts import chunks_in, document, outline, words

BODY = words(40)


def test_the_level_of_an_rst_title_depends_on_the_first_use_of_its_underline() -> None:
    text = f"Guide\n=====\n{BODY}\n\nSetup\n-----\n{BODY}\n\nLinux\n~~~~~\n{BODY}\n\nUse\n---\n{BODY}\n"

    assert outline(chunks_in("a.rst", text)) == [
        ("section", (1, 3), ("Guide",)),
        ("section", (5, 7), ("Guide", "Setup")),
        ("section", (9, 11), ("Guide", "Setup", "Linux")),
        ("section", (13, 15), ("Guide", "Use")),
    ]


def test_a_short_underline_or_a_transition_is_not_an_rst_title() -> None:
    text = f"Long words\n===\n{BODY}\n\n-----\n\n{BODY}\n"

    assert outline(chunks_in("a.rst", text)) == [("section", (1, 7), ())]


def test_text_before_the_first_rst_title_is_kept() -> None:
    text = f"{BODY}\n\nTitle\n=====\n{BODY}\n"

    assert outline(chunks_in("a.rst", text)) == [("section", (1, 1), ()), ("section", (3, 5), ("Title",))]


def test_an_rst_title_joins_the_first_section_below_it() -> None:
    text = f"Top\n===\n\nSub\n---\n{BODY}\n"

    assert outline(chunks_in("a.rst", text)) == [("section", (1, 6), ("Top", "Sub"))]


def test_text_with_underlined_titles_has_sections_and_other_text_is_one() -> None:
    titled = f"ferry(1)\n========\n\nNAME\n----\n{BODY}\n\nOPTIONS\n-------\n{BODY}\n"

    assert outline(chunks_in("docs/a.txt", titled)) == [
        ("section", (1, 6), ("ferry(1)", "NAME")),
        ("section", (8, 10), ("ferry(1)", "OPTIONS")),
    ]
    assert outline(chunks_in("docs/b.txt", f"{BODY}\n\n----\n\n{BODY}\n")) == [("text", (1, 5), ())]
    assert outline(chunks_in("CMakeLists.txt", f"# Setup\n#######\n{BODY}\n")) == [("text", (1, 3), ())]


def test_other_text_is_split_at_blank_lines() -> None:
    paragraphs = [f"{words(75)}\n{words(20)}" for _ in range(5)]

    chunks = chunks_in("a.go", "\n\n".join(paragraphs))

    assert [chunk.text for chunk in chunks] == [
        "\n\n".join(paragraphs[:2]),
        "\n\n".join(paragraphs[2:4]),
        paragraphs[4],
    ]


def test_a_text_that_failed_to_parse_keeps_its_warning() -> None:
    broken = document("a.py", "def f(:\n    pass\n")

    _, facts, warning = chunk(broken, counter())

    assert warning == "Python syntax error at line 1; indexed as plain text"
    assert facts.classes == ()
    assert parse_plain(broken).warning is None
