"""Check the texts of knowledge documents for length and for characters that a file cannot contain."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lore_etl.core.dates import problem_of
from lore_etl.core.errors import InvalidContent
from lore_etl.core.text import SURROGATES, one_line

DOCUMENT_BYTES = 10_000_000
CHAPTER_BYTES = 1_000_000
CHAPTERS = 50
TITLE_CHARACTERS = 200
INTRODUCTION_CHARACTERS = 2_000
SUMMARY_CHARACTERS = 500
MEMORY_NAME_CHARACTERS = 200
MEMORY_PART_CHARACTERS = 5_000
QUERY_CHARACTERS = 200
QUERY_TERMS = 20
KEYWORDS = 50
KEYWORD_CHARACTERS = 50
_UNWRITABLE = re.compile(f"[\x00{SURROGATES}]")


def checked_title(title: str, label: str = "title") -> str:
    """Return the title on one line. Raises InvalidContent if it is empty or too long."""
    text = one_line(checked_text(title, TITLE_CHARACTERS * 4, label))
    if not 1 <= len(text) <= TITLE_CHARACTERS:
        raise InvalidContent(f"A {label} must have 1 to {TITLE_CHARACTERS} characters; this one has {len(text)}.")
    return text


def checked_keywords(keywords: Sequence[str]) -> tuple[str, ...]:
    """Return the keywords stripped and without duplicates. Raises InvalidContent."""
    if len(keywords) > KEYWORDS:
        raise InvalidContent(f"A document can have up to {KEYWORDS} keywords, not {len(keywords)}.")
    words = [one_line(checked_text(word, DOCUMENT_BYTES, "keyword")) for word in keywords]
    for word in words:
        if not 1 <= len(word) <= KEYWORD_CHARACTERS:
            raise InvalidContent(f"A keyword must have 1 to {KEYWORD_CHARACTERS} characters; this one has {len(word)}.")
    return tuple(dict.fromkeys(words))


def checked_day(text: str) -> str:
    """Return the text stripped, if it is a date, or a time with a time zone. Raises InvalidContent."""
    if problem := problem_of(text.strip()):
        raise InvalidContent(f"{problem}.")
    return text.strip()


def checked_text(text: str, maximum: int, label: str) -> str:
    """Return the text, if it has no NUL, no lone surrogate, and at most `maximum` bytes. Raises InvalidContent."""
    if found := _UNWRITABLE.search(text):
        name = "NUL" if found[0] == "\0" else "a lone surrogate (invalid Unicode)"
        raise InvalidContent(f"The {label} contains {name} at character {found.start()}.")
    return checked_size(text, maximum, label)


def checked_size(text: str, maximum: int, label: str) -> str:
    """Return the text, if it has at most `maximum` bytes, some of them perhaps as surrogates. Raises InvalidContent."""
    size = len(text.encode("utf-8", "surrogateescape"))
    if size > maximum:
        raise InvalidContent(f"The {label} has {size:,} bytes; the limit is {maximum:,}.")
    return text
