from dataclasses import replace
from itertools import pairwise

import pytest

from lore_etl.chunking.fit import CRUMB_TOKENS, HEADER_BYTES, PROSE_TOKENS, embedding_input, fit, header
from lore_etl.chunking.section import Section, Symbol
from lore_etl.core.model import KnowledgeType
from tests.harness.models import counter
from tests.harness.texts import chunks_in, document, input_tokens, words

Piece = tuple[int, int, tuple[int, int] | None]


def pieces(lines: list[str], sections: list[Section], limit: int = 64) -> list[Piece]:
    """Return (first, last, columns) of the pieces that `fit` makes, with about 60 tokens after a short header."""
    text = document("a.md", "\n".join(lines), title="T")
    return [(section.first, section.last, columns) for section, columns in fit(sections, text, counter(limit))]


def section(first: int, last: int, group: str = "g", **more: object) -> Section:
    return Section(first, last, "section", "x", group=group, **more)  # type: ignore[arg-type]


PIECES: dict[str, tuple[list[int], list[Section], list[tuple[int, int]]]] = {
    "sections of sufficient length are not joined": (
        [CRUMB_TOKENS] * 2, [section(1, 1), section(2, 2)], [(1, 1), (2, 2)]
    ),
    "a crumb joins the section below rather than the one above": (
        [30, 5, 30], [section(1, 1), section(2, 2), section(3, 3)], [(1, 1), (2, 3)]
    ),
    "a crumb joins the section above if it does not fit below": (
        [30, 20, 50], [section(1, 1), section(2, 2), section(3, 3)], [(1, 2), (3, 3)]
    ),
    "a crumb does not join another group": ([5, 30], [section(1, 1, "a"), section(2, 2, "b")], [(1, 1), (2, 2)]),
    "a crumb of module code between definitions joins any group": (
        [5, 30], [Section(1, 1, "module", "m", group="a"), section(2, 2, "b")], [(1, 2)]
    ),
    "an introducing crumb joins the next section even if that is then split": (
        [5, *[10] * 6], [section(1, 1, "a", introduces=True), section(2, 7, "b")], [(1, 4), (5, 7)]
    ),
    "a long section is split at a blank line before the limit": (
        [20, 20, 0, 15, 20, 20], [section(1, 6)], [(1, 2), (4, 6)]
    ),
    "a long section leaves no crumb at its end": ([10] * 7, [section(1, 7)], [(1, 4), (5, 7)]),
    "a solid range that fits is never split": (
        [30, *[10] * 4, 30], [section(1, 6, solid=((2, 5),))], [(1, 1), (2, 5), (6, 6)]
    ),
}  # fmt: skip
"""The tokens of each line, the sections, and the lines of the pieces that they give."""


@pytest.mark.parametrize(("sizes", "sections", "expected"), PIECES.values(), ids=PIECES)
def test_small_sections_are_joined_and_long_ones_split(
    sizes: list[int], sections: list[Section], expected: list[tuple[int, int]]
) -> None:
    assert pieces([words(size) for size in sizes], sections) == [(first, last, None) for first, last in expected]


def test_joined_sections_keep_the_name_of_the_longer_section_and_the_symbols_of_both() -> None:
    text = document("a.py", f"{words(5)}\n{words(30)}")
    above = Section(1, 1, "method", "A.a", ("A", "a"), (Symbol("A.a", 1, 1),), group="A")
    below = Section(2, 2, "method", "A.b", ("A", "b"), (Symbol("A.b", 2, 2),), group="A")

    ((joined, _),) = fit([above, below], text, counter())

    assert (joined.anchor, joined.heading, joined.names()) == ("A.b", ("A", "b"), ("A.a", "A.b"))


def test_no_piece_begins_with_a_closing_bracket() -> None:
    lines = ["call(", *[f"    {words(13)}"] * 3, *[f"    {words(4)},"] * 1, ")", *[words(14)] * 3]

    assert all(not lines[first - 1].startswith(")") for first, _, _ in pieces(lines, [section(1, len(lines))]))


def test_a_solid_range_that_is_too_long_is_split_and_stays_with_its_introduction() -> None:
    lines = [words(5), *[words(10)] * 12]

    first, *rest = pieces(lines, [section(1, 13, solid=((2, 13),))])

    assert first[0] == 1
    assert first[1] > 1
    assert rest[-1][1] == 13


def test_a_long_line_is_split_after_a_sentence_into_consecutive_ranges() -> None:
    line = "One sentence that goes on for a while, with a comma. " * 20

    found = pieces([line], [section(1, 1)])

    ranges = [columns for _, _, columns in found if columns]
    assert len(ranges) == len(found) > 3
    assert [ranges[0][0], ranges[-1][1]] == [0, len(line)]
    assert all(span[1] == other[0] for span, other in pairwise(ranges))
    assert all(line[:end].endswith(". ") for _, end in ranges)


def test_a_very_long_word_is_split_and_a_long_header_in_any_script_leaves_room_for_the_passage() -> None:
    chunks = chunks_in("a.txt", "x.y_z-" * 1_000)

    assert "".join(chunk.text for chunk in chunks) == "x.y_z-" * 1_000
    assert max(map(input_tokens, chunks)) <= 256
    for title in ("한국어 제목 " * 60, "漢字" * 200, "." * 400, "🎉" * 100):
        chunks = chunks_in("a.md", f"{words(20)}\n" * 12, title=title)
        assert max(map(input_tokens, chunks)) <= PROSE_TOKENS + 2, title
        assert len(chunks) <= 6, title


def test_a_model_with_a_tiny_input_limit_still_gets_pieces() -> None:
    text = document("a.md", words(100), title=words(30))

    assert len(list(fit([section(1, 1)], text, counter(24)))) == 7


@pytest.mark.parametrize(
    ("path", "text", "title", "header"),
    [
        ("docs/a.md", f"# Guide\n## Setup\n{words(30)}", "Guide", "Guide > Setup\n"),
        ("etl/stores/tokenizer.py", f"def terms():\n    '{words(30)}'", "", "etl/stores/tokenizer.py\n"),
        ("a.md", words(30), "", ""),
    ],
    ids=["a guide with its title and headings", "code with its path", "a text without a title"],
)
def test_a_passage_is_embedded_below_a_header(path: str, text: str, title: str, header: str) -> None:
    (only,) = chunks_in(path, f"{text}\n", title=title)

    assert embedding_input(only) == header + text


def test_a_header_stays_within_its_bytes_and_never_splits_a_character() -> None:
    for title in ("a" * 500, "漢字" * 200, "é" * 200):
        found = header("a.md", title, ("b",))

        assert title.startswith(found)
        assert HEADER_BYTES - 4 < len(found.encode()) <= HEADER_BYTES


def test_the_type_and_tags_of_a_file_are_not_embedded() -> None:
    (one,) = chunks_in("a.md", f"# A\n{words(30)}\n")
    other = replace(one, tags=("x",), lines=(7, 8), type=KnowledgeType.TICKET)

    assert embedding_input(other) == embedding_input(one)
