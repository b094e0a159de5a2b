"""Find a document's tags: in its front matter, else in a line `Tags: a, b`, else in its first headings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from lore_etl.core.text import first_distinct, one_line, storable
from lore_etl.digest.prose_lines import ProseLines

MAX_TAGS = 50
LONGEST = 100  # characters
HEADINGS = 3
_LEVELS = (2, 3)
_INLINE = re.compile(r"^[-*>#/\"' \t_]*tags?[ \t*_]*:[ \t*_]*(\S.*)$", re.IGNORECASE)
_SIGNS = re.compile(r"^\W+")


def tags_of(front: Mapping[str, object], text: ProseLines) -> tuple[str, ...]:
    """Return the tags from the first place that has any. An empty list in the front matter means no tags."""
    listed = front.get("tags")
    if listed is not None:
        return _cleaned(listed if isinstance(listed, list) else str(listed).split(","))
    for _, line in text.prose():
        found = _INLINE.match(line)
        if found and (tags := _cleaned(word.strip("[](){}`*_#\"' \t") for word in found[1].split(","))):
            return tags
    titles = (
        _SIGNS.sub("", text.plain(heading.title)).lower()
        for heading in text.outline.headings
        if heading.level in _LEVELS
    )
    return _cleaned(titles, HEADINGS)


def _cleaned(values: Iterable[object], limit: int = MAX_TAGS) -> tuple[str, ...]:
    plain = (str(value) for value in values if isinstance(value, str | int | float) and not isinstance(value, bool))
    tags = (storable(one_line(value))[:LONGEST].strip() for value in plain)
    return first_distinct(filter(None, tags), limit)
