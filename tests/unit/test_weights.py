"""Weights go by the names of the followed system, and a wrong name is told."""

from __future__ import annotations

import pytest

from etl.errors import ConfigError
from server.query.weights import CLASSIC, HYBRID, weights


def test_both_rankings_know_the_same_classic_names() -> None:
    assert set(CLASSIC) <= set(HYBRID)


def test_an_override_changes_only_its_weight() -> None:
    assert weights("classic", {"ticketPenalty": -20}) == {**CLASSIC, "ticketPenalty": -20}


def test_an_unknown_weight_is_told_with_the_nearest() -> None:
    with pytest.raises(ConfigError) as caught:
        weights("hybrid", {"ticketPenalti": 1})

    assert "`ticketPenalty`" in caught.value.hint
