"""Weights are set by name, and an unknown name is reported."""

import pytest

from lore_etl.core.errors import ConfigError
from lore_server.query.ranking import CLASSIC, HYBRID, weights
from tests.harness.projects import ROOT


def test_every_weight_of_the_hybrid_ranking_can_be_looked_up() -> None:
    documented = (ROOT / "docs" / "searching.md").read_text(encoding="utf-8")

    assert [name for name in HYBRID if f"`{name}`" not in documented] == []


def test_an_override_changes_only_its_weight() -> None:
    assert weights("classic", {"ticketPenalty": -20}) == {**CLASSIC, "ticketPenalty": -20}


def test_an_unknown_weight_is_reported_with_the_most_similar_name() -> None:
    with pytest.raises(ConfigError) as caught:
        weights("hybrid", {"ticketPenalti": 1})

    assert "`ticketPenalty`" in caught.value.hint
