"""The rules of a file of rules: the lines that demand or forbid something."""

from __future__ import annotations

import re

from pydantic import BaseModel, ConfigDict

from lore_etl.core.text import clip
from lore_etl.digest.prose_lines import ProseLines

LONGEST = 200  # characters
_DEMANDS = re.compile(r"\b(?:MANDATORY|REQUIRED|FORBIDDEN)\b|[✅❌]")
_RIGHT = re.compile(
    r"✅\N{VARIATION SELECTOR-16}?"
)  # the sign for wrong stays: without it a rule would say the reverse
_LEAST = 6  # characters: a bare sign or word is the head of a list, not a rule


class Rule(BaseModel):
    """A rule and the line where it stands, 1-based."""

    model_config = ConfigDict(frozen=True)

    line: int
    text: str


def rules_of(text: ProseLines) -> tuple[Rule, ...]:
    """Each line with MANDATORY, REQUIRED, FORBIDDEN or a sign for right or wrong, in the order of the file."""
    found = []
    for number, line in text.prose():
        if _DEMANDS.search(line):
            said = clip(_RIGHT.sub("", text.plain(line)), LONGEST)
            if len(said) >= _LEAST:
                found.append(Rule(line=number, text=said))
    return tuple(found)
