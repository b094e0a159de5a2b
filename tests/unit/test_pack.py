"""The passages for a model: the best chunk of each file, then neighbours, then other chunks that were found."""

from collections.abc import Sequence

import pytest

from lore_etl.core.model import Chunk
from lore_server.answer.pack import Passage, fitting, pack, widened
from lore_server.query.ranking import Ranked
from lore_server.replies.budget import CHARACTERS_PER_TOKEN
from tests.harness.chunks import candidate, make_chunk

LENGTH = 60  # characters of a chunk, a whole number of tokens


def file(source: str, count: int = 6) -> list[Chunk]:
    """Return the chunks of a file, each of one line, with a blank line between them."""
    return [
        make_chunk(source, text=f"{source} {n}".ljust(LENGTH, "."), lines=(2 * n + 1, 2 * n + 1), anchor=str(n))
        for n in range(count)
    ]


A, B = file("a.md"), file("b.md")
FILES = {"a.md": A, "b.md": B}


def packed(best: Sequence[Chunk], found: Sequence[Chunk], chunks: int, files: int = 5) -> list[tuple[str, int, int]]:
    """Return the source and lines of each passage, with room for this many chunks."""
    ranked = [Ranked(chunk.source, 1.0, chunk) for chunk in best]
    candidates = [candidate(chunk, vector=1 - n / 10) for n, chunk in enumerate(found)]
    tokens = chunks * LENGTH // CHARACTERS_PER_TOKEN
    passages = pack(ranked, candidates, FILES.__getitem__, files, tokens)
    assert [passage.number for passage in passages] == list(range(1, len(passages) + 1))
    return [(passage.chunk.source, *passage.chunk.lines) for passage in passages]


@pytest.mark.parametrize(
    ("best", "found", "chunks", "files", "expected"),
    [
        ([A[2], B[2]], [], 2, 5, [("a.md", 5, 5), ("b.md", 5, 5)]),  # before any neighbour
        ([A[2]], [A[5]], 2, 5, [("a.md", 5, 7)]),  # the following neighbour first
        ([A[2]], [A[5]], 3, 5, [("a.md", 3, 7)]),  # both neighbours before other chunks
        ([A[2]], [A[5]], 4, 5, [("a.md", 3, 7), ("a.md", 11, 11)]),
        ([A[2], B[2]], [], 1, 1, [("a.md", 5, 5)]),  # a file beyond the limit is left out
        ([A[2], B[2]], [], 0, 5, [("a.md", 5, 5)]),  # the best chunk always fits
    ],
)
def test_the_best_chunk_of_every_file_comes_first_then_the_neighbours_then_other_chunks_up_to_the_limits(
    best: list[Chunk], found: list[Chunk], chunks: int, files: int, expected: list[tuple[str, int, int]]
) -> None:
    assert packed(best, found, chunks, files) == expected


def test_adjacent_chunks_become_one_passage_with_the_lines_between_them() -> None:
    ranked, text = [Ranked("a.md", 1.0, A[0])], f"{A[0].text}\n\n{A[1].text}"
    (passage,) = pack(ranked, [], FILES.__getitem__, 1, 2 * LENGTH // CHARACTERS_PER_TOKEN)

    assert (passage.chunk.text, passage.chunk.lines) == (text, (1, 3))
    assert passage.contains(A[1])
    assert not passage.contains(B[1])


def test_a_passage_that_consists_of_link_targets_is_left_out_unless_it_is_the_only_one() -> None:
    labels = make_chunk("a.rst", text=".. _capstans:\n.. _winches:\n", anchor="labels")
    drum = make_chunk("b.rst", text=".. _drums:\n\nA drum turns.\n", anchor="drum")
    both = [Passage(1, labels), Passage(2, drum)]

    assert widened(both, 0, lambda source: []) == [Passage(1, drum)]
    assert widened(both[:1], 0, lambda source: []) == both[:1]


def test_a_passage_of_few_words_hides_no_other_that_has_them_and_more() -> None:
    title = make_chunk("a.md", text="# Capstan and winch", anchor="title")
    both = make_chunk("b.md", text="A capstan turns upright, and a winch lies on its side.", anchor="both")
    copy = make_chunk("c.md", text="A winch lies on its side.", anchor="copy")

    assert fitting([title, both, copy], 5_000) == [title, both]
