"""Rank saved answers below the documents that they quote; otherwise they would outrank them for their question."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from lore_etl.core.model import Chunk, KnowledgeType
from lore_server.query.ranking import Ranked

LOOKED_AT = 20  # best files
JUST_BELOW = 0.01
_OPENING = re.compile(r"^Answer of \d{4}-\d\d-\d\d to the question: ", re.MULTILINE)
_CITED = re.compile(r"^\[\d+\] `([^`\n]+):\d+(?:-\d+)?`", re.MULTILINE)


def below_sources(files: Sequence[Ranked], chunks_of: Callable[[str], Sequence[Chunk]]) -> list[Ranked]:
    """Return the files, best first, with each top saved answer below all top files that it cites."""
    best = list(files[:LOOKED_AT])
    by_source = {file.source: file for file in best}
    for file in best:
        if file.chunk.type != KnowledgeType.KNOWLEDGE:
            continue
        text = "\n".join(chunk.text for chunk in chunks_of(file.source))
        cited = [by_source[name] for name in _CITED.findall(text) if name in by_source and name != file.source]
        points = min((one.score for one in cited), default=file.score) - JUST_BELOW - file.score
        if cited and points < 0 and _OPENING.search(text):
            file.score += points
            file.why = [*file.why, ("savedAnswer", points)]
    return [*sorted(best, key=lambda file: (-file.score, file.source)), *files[LOOKED_AT:]]
