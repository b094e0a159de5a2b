"""Detect whether a question is in a script that the documents do not use."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable
from functools import lru_cache

_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())
COMMON = 0.05  # minimum share of a text's letters for a script to count
_JOINED = {"HIRAGANA": "CJK", "KATAKANA": "CJK", "KATAKANA-HIRAGANA": "CJK"}


def scripts(text: str) -> Counter[str]:
    """Return the number of letters of each script in a text, such as LATIN, CYRILLIC or CJK (with Japanese)."""
    if text.isascii():
        letters = len(text.encode("ascii").translate(None, _NO_LETTERS))
        return Counter(LATIN=letters) if letters else Counter()
    found: Counter[str] = Counter()
    for letter, count in Counter(text).items():
        if (script := _script(letter)) is not None:
            found[script] += count
    return found


def written_in(texts: Iterable[str]) -> frozenset[str]:
    """Return the scripts of texts, without those of a few quoted words."""
    found: Counter[str] = Counter()
    for text in texts:
        found += scripts(text)
    return frozenset(script for script, count in found.items() if count >= COMMON * found.total())


def native(text: str, known: Collection[str]) -> str:
    """Return a text with spaces instead of letters of unknown scripts."""
    return "".join(
        " " if (script := _script(letter)) is not None and script not in known else letter for letter in text
    )


@lru_cache(4_096)
def _script(letter: str) -> str | None:
    if letter.isascii():
        return "LATIN" if letter.isalpha() else None
    if not letter.isalpha():
        return None
    script = unicodedata.name(letter, "").partition(" ")[0]
    return _JOINED.get(script, script)
