"""What a knowledge document may be: the limits of the seed, and what no text of a document holds."""

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


def checked_title(title: str, what: str = "title") -> str:
    """The title on one line.

    Raises:
        InvalidContent: it is empty or too long.
    """
    text = one_line(checked_text(title, TITLE_CHARACTERS * 4, what))
    if not 1 <= len(text) <= TITLE_CHARACTERS:
        raise InvalidContent(f"A {what} must have 1 to {TITLE_CHARACTERS} characters; this one has {len(text)}.")
    return text


def checked_keywords(keywords: Sequence[str]) -> tuple[str, ...]:
    """Keywords without blanks around them, each once.

    Raises:
        InvalidContent: one is empty or too long, or there are too many.
    """
    if len(keywords) > KEYWORDS:
        raise InvalidContent(f"A document can have up to {KEYWORDS} keywords, not {len(keywords)}.")
    words = [one_line(checked_text(word, DOCUMENT_BYTES, "keyword")) for word in keywords]
    for word in words:
        if not 1 <= len(word) <= KEYWORD_CHARACTERS:
            raise InvalidContent(f"A keyword must have 1 to {KEYWORD_CHARACTERS} characters; this one has {len(word)}.")
    return tuple(dict.fromkeys(words))


def checked_day(text: str) -> str:
    """A date, or a time with a zone, as it was given. Raises InvalidContent."""
    if problem := problem_of(text.strip()):
        raise InvalidContent(f"{problem}.")
    return text.strip()


def checked_text(text: str, most: int, what: str) -> str:
    """The text, if a file can hold it and it has no more than `most` bytes in UTF-8.

    Raises:
        InvalidContent: it holds NUL or half a character, or is too long.
    """
    found = _UNWRITABLE.search(text)
    if found:
        name = "NUL" if found[0] == "\0" else "a lone surrogate (invalid Unicode)"
        raise InvalidContent(f"The {what} holds {name} at {found.start()}.")
    return checked_size(text, most, what)


def checked_size(text: str, most: int, what: str) -> str:
    """The text, if it is not too long; bytes of a file that are no UTF-8 may be in it.

    Raises:
        InvalidContent: it is too long.
    """
    size = len(text.encode("utf-8", "surrogateescape"))
    if size > most:
        raise InvalidContent(f"The {what} has {size:,} bytes; the limit is {most:,}.")
    return text
