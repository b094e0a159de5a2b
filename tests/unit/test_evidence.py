"""A passage of prose is shown with the rest of its section, if that is short."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from lore_etl.core.model import Chunk
from lore_server.answer.pack import WIDE, Passage, whole_blocks, widened
from tests.harness.chunks import make_chunk

SECTION = ("Guide", "Retries")


def section(*texts: str, source: str = "docs/guide.md", heading: tuple[str, ...] = SECTION) -> list[Chunk]:
    """Return chunks of one section, each of one line, with a blank line between them."""
    return [
        make_chunk(source, text=text, heading=heading, lines=(2 * n + 1, 2 * n + 1), anchor=str(n))
        for n, text in enumerate(texts)
    ]


def shown(chunks: Sequence[Chunk], *places: int, characters: int = 5_000) -> list[str]:
    passages = [Passage(number, chunks[place]) for number, place in enumerate(places, start=1)]
    return [passage.chunk.text for passage in widened(passages, characters, lambda _: chunks)]


def test_a_passage_of_prose_is_extended_to_its_section_and_two_passages_of_it_do_not_overlap() -> None:
    (passage,) = widened([Passage(1, section("a", "b", "c")[1])], 5_000, lambda _: section("a", "b", "c"))

    assert (passage.chunk.text, passage.chunk.lines) == ("a\n\nb\n\nc", (1, 5))
    assert shown(section("a", "b", "c", "d"), 0, 2) == ["a\n\nb", "c\n\nd"]


@pytest.mark.parametrize(
    "targets", [".. _sails: sails.html\n.. _oars: oars.html", "[sails]: sails.md\n\n[oars]: oars.md"]
)
def test_the_targets_of_links_are_no_passage(targets: str) -> None:
    passage = make_chunk("docs/guide.md", text=targets, heading=("Guide", "Links"), lines=(9, 11), anchor="links")

    assert shown([section("a")[0], passage], 0, 1) == ["a"]
    assert shown([section("a")[0], passage], 1) == [targets]


def test_a_passage_does_not_grow_beyond_its_section_the_limit_or_the_room() -> None:
    other = make_chunk("docs/guide.md", text="other", heading=("Guide", "Other"), lines=(3, 3), anchor="other")

    assert shown([section("a")[0], other], 0) == ["a"]
    assert shown(section("a", "b" * WIDE), 0) == ["a"]
    assert shown(section("a", "b"), 0, characters=2) == ["a"]


def test_a_passage_of_badges_is_extended_to_the_text_below_them() -> None:
    badge = f"[![build](https://example.org/{'b' * WIDE}.svg)](https://example.org/build)"

    assert shown(section("# Winch", badge, "A winch pulls ropes."), 0) == [
        f"# Winch\n\n{badge}\n\nA winch pulls ropes."
    ]
    assert shown(section("# Winch", badge, "A winch pulls ropes."), 0, characters=WIDE) == ["# Winch"]


def test_the_parts_of_a_function_are_joined_and_other_code_is_not() -> None:
    parts = section("def f():", "    return 1", "def g():", source="pkg/a.py")
    code = [replace(part, symbols=(name,)) for part, name in zip(parts, ("f", "f", "g"), strict=True)]

    assert shown(code, 1) == ["def f():\n\n    return 1"]
    assert shown(code, 2) == ["def g():"]


GUIDE = """# Guide

Wrap the pallet with these steps:

1. Lift it.

2. Turn it.

Then start the machine like this.

```bash
wrap --turn
```

It stops by itself.
"""


@pytest.mark.parametrize(
    ("begin", "end", "first", "last"),
    [
        ("Wrap", "Wrap", "Wrap", "2. Turn it."),
        ("2. Turn", "2. Turn", "Wrap", "2. Turn it."),
        ("Then", "Then", "Then", "```"),
        ("wrap --turn", "It stops", "Then", "It stops by itself."),
        ("It stops", "It stops", "It stops", "It stops by itself."),
    ],
    ids=["a colon", "a part of a list", "prose before code", "a part of code", "a paragraph"],
)
def test_a_passage_has_whole_blocks_and_what_belongs_to_them(begin: str, end: str, first: str, last: str) -> None:
    lines = GUIDE.split("\n")
    span = tuple(next(n for n, line in enumerate(lines, start=1) if line.startswith(word)) for word in (begin, end))

    found = whole_blocks(lines, (span[0], span[1]), (1, len(lines)))

    assert lines[found[0] - 1].startswith(first)
    assert lines[found[1] - 1] == last
