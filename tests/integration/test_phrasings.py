"""A search takes several phrasings of one question and fuses their results."""

from typing import Any

import pytest

from lore_etl.core.errors import InvalidArgument
from lore_server.app import App
from tests.harness.calls import app_fixture

PROJECT = {
    "docs/mooring.md": "# Mooring\n\nTie the rope to the bollard.\n",
    "docs/anchor.md": "# Anchor\n\nDrop the anchor and wait.\n",
    "docs/berth.md": "# Berth\n\nTie the rope, then drop the anchor in the berth.\n",
    "docs/bread.md": "# Bread\n\nBake the bread for an hour.\n",
    "src/crew.py": "def tie_rope(bollard):\n    return bollard\n",
}
app = app_fixture(PROJECT)


def sources(reply: Any) -> list[str]:
    return [result["source"] for result in reply["results"]]


def test_a_file_that_fits_all_phrasings_is_first(app: App) -> None:
    reply = app.call("query_documents", {"query": ["tie the rope", "drop the anchor"], "explain": True})

    assert sources(reply)[0] == "docs/berth.md"
    assert {"docs/mooring.md", "docs/anchor.md"} <= set(sources(reply))
    assert reply["query"] == "tie the rope | drop the anchor"
    for result in reply["results"]:
        assert result["score"] == pytest.approx(sum(term["value"] for term in result["why"]), abs=0.01)


def test_one_phrasing_is_a_question_like_any_other_and_one_that_finds_nothing_takes_nothing_away(app: App) -> None:
    alone = app.call("query_documents", {"query": "tie the rope"})["results"]
    for query in (["tie the rope"], ["tie the rope", "tie the rope"]):
        assert app.call("query_documents", {"query": query})["results"] == alone

    first = sources(app.call("query_documents", {"query": "tie_rope"}))[0]
    assert sources(app.call("query_documents", {"query": ["tie_rope", "zqxv"]}))[0] == first


def test_pages_of_several_phrasings_have_each_file_once(app: App) -> None:
    asked = {"query": ["tie the rope", "drop the anchor"], "limit": 1}
    first = app.call("query_documents", asked)
    second = app.call("query_documents", {**asked, "cursor": first["next_cursor"]})

    assert not set(sources(first)) & set(sources(second))


def test_filters_apply_to_all_phrasings(app: App) -> None:
    reply = app.call("query_documents", {"query": ["tie the rope", "drop the anchor"], "type": "src"})

    assert sources(reply) == ["src/crew.py"]
    with pytest.raises(InvalidArgument, match="Only some phrasings have filters"):
        app.call("query_documents", {"query": ["tie the rope", "anchor type:guide"]})


@pytest.mark.parametrize("query", [[], [""], ["rope"] * 5, ["rope", "  "], ["rope", 3], "", {"text": "rope"}])
def test_a_wrong_list_of_phrasings_is_refused(app: App, query: object) -> None:
    with pytest.raises(InvalidArgument):
        app.call("query_documents", {"query": query})
