"""The wording by which a question and a sentence are recognized, from `wording.toml`."""

import re
import tomllib
from functools import cache
from pathlib import Path

PART = "part_"


@cache
def _sections() -> dict[str, dict[str, str | list[str]]]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def wording(section: str) -> dict[str, re.Pattern[str]]:
    found = _sections()[section]
    parts = {f"%{name.removeprefix(PART)}%": part for name, part in found.items() if isinstance(part, str)}
    patterns = {}
    for name, forms in found.items():
        if isinstance(forms, list):
            text = re.sub(r"%\w+%", lambda part: parts[part[0]], "|".join(forms))
            patterns[name] = re.compile(text, re.IGNORECASE)
    return patterns
