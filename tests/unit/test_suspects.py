"""Only files whose passages are the same are read to find copies."""

import pytest

from lore_server.query.ranking import Ranked
from lore_server.query.similar import suspects
from tests.harness.chunks import make_chunk

TEXT = "# Install v1.2\n\nPull the anchor, then [start](a.md) the engine.\n\nThe end of this page is long enough."


def result(source: str, text: str, type_: str = "guide") -> Ranked:
    return Ranked(source, 1.0, make_chunk(source, type_, text), [])


@pytest.mark.parametrize("other", [TEXT, TEXT.replace("1.2", "2.0"), TEXT.replace("a.md", "b.md"), TEXT.upper()])
def test_results_with_the_same_passage_may_be_copies(other: str) -> None:
    found = suspects([result("a.md", TEXT), result("b.md", other), result("c.md", "Another page.")])

    assert [each.source for each in found] == ["a.md", "b.md"]


@pytest.mark.parametrize(
    ("text", "type_"), [(TEXT.replace("anchor", "rope"), "guide"), (TEXT, "blog"), (f"{TEXT} More.", "guide")]
)
def test_passages_that_only_end_alike_or_have_another_type_are_not_compared(text: str, type_: str) -> None:
    assert suspects([result("a.md", TEXT), result("b.md", text, type_)]) == []
