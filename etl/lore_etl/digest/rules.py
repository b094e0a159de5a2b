"""Extract the rules of a rule file: the lines that demand or forbid something."""

from __future__ import annotations

import re

from pydantic import BaseModel, ConfigDict

from lore_etl.core.text import clip
from lore_etl.digest.prose_lines import ProseLines

LONGEST = 200  # characters
_DEMANDS = re.compile(r"\b(?:MANDATORY|REQUIRED|FORBIDDEN)\b|[✅❌]")
# the sign for wrong is kept; without it, the rule would have the opposite meaning
_RIGHT = re.compile(r"✅\N{VARIATION SELECTOR-16}?")
_MIN_LENGTH = 6  # characters; a bare sign or word heads a list and is not a rule


class Rule(BaseModel):
    """A rule and its 1-based line."""

    model_config = ConfigDict(frozen=True)

    line: int
    text: str


def rules_of(text: ProseLines) -> tuple[Rule, ...]:
    """Return each line with MANDATORY, REQUIRED, FORBIDDEN, ✅ or ❌, in file order."""
    found = []
    for number, line in text.prose():
        if _DEMANDS.search(line):
            rule = clip(_RIGHT.sub("", text.plain(line)), LONGEST)
            if len(rule) >= _MIN_LENGTH:
                found.append(Rule(line=number, text=rule))
    return tuple(found)
