"""The weights of both rankings, under the names of the system that Lore follows."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from etl.errors import ConfigError

Weights = Mapping[str, float]

CLASSIC: Weights = {
    "baseIncrement": 1,
    "sourcePathMatch": 40,
    "fileNameMatch": 30,
    "classNameMatch": 20,
    "guideMatch": 50,
    "blogMatch": 5,
    "namePartMatch": 30,
    "ticketPenalty": -70,
    "releasePenalty": -50,
    "baseFileBonus": 20,
    "releaseExactMatch": 1000,
    "inheritanceBoost": 80,
    "inheritanceDecay": 0.6,
}
"""Points, added for each matching word and chunk."""

HYBRID: Weights = {
    "baseIncrement": 100,  # what the best fused candidate is worth
    "sourcePathMatch": 4,
    "fileNameMatch": 8,
    "classNameMatch": 8,
    "namePartMatch": 45,  # the chunk defines a name that was asked for
    "guideMatch": 8,
    "sourceMatch": 4,
    "blogMatch": -6,
    "ticketPenalty": -16,
    "releasePenalty": -14,
    "testPenalty": -8,
    "examplePenalty": -2,
    "memoryPenalty": -4,
    "baseFileBonus": 0,
    "releaseExactMatch": 120,
    "inheritanceBoost": 25,
    "inheritanceDecay": 0.6,
    "reasonMatch": 10,  # why: decisions, specs and tickets say it
    "fileCoherence": 0.06,  # share of the next best chunks of the same file
    "recency": 3,
}
"""Points on the scale where the best fused candidate has `baseIncrement`."""


def weights(ranking: str, overrides: Mapping[str, float]) -> Weights:
    """The defaults of a ranking with the user's changes.

    Raises:
        ConfigError: there is no weight of that name.
    """
    defaults = CLASSIC if ranking == "classic" else HYBRID
    for name in overrides:
        if name not in defaults:
            near = difflib.get_close_matches(name, defaults, n=1)
            hint = f"Did you mean `{near[0]}`?" if near else f"Weights: {', '.join(defaults)}."
            raise ConfigError(f"Unknown weight `query.weights.{name}` of the {ranking} ranking.", hint)
    return {**defaults, **overrides}
