"""The state of a ticket, a decision or a specification, in the words of its front matter or of its beginning."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from lore_etl.core.frontmatter import body_of
from lore_etl.core.text import one_line, shortened, storable

LONGEST_STATE = 40  # characters
_MAX_READ, _MAX_SAID = 20_000, 200  # characters
_HIDDEN = re.compile(  # comments and fenced code, also without an end
    r"<!--(?:(?!-->).)*(?:-->)?|^[ \t]*(```|~~~)(?:(?!^[ \t]*\1).)*(?:^[ \t]*\1)?", re.DOTALL | re.MULTILINE
)
_SECTION = re.compile(r"^#+[ \t]+[*_]*status[*_:]*[ \t]*#*\n((?:(?!^#)[\s\S])*)", re.IGNORECASE | re.MULTILINE)
_OTHER_HEADING = re.compile(r"^#+[ \t](?![*_]*status)", re.IGNORECASE | re.MULTILINE)
_LINE = re.compile(r"^[#>*+_ \t-]*status[*_ ]*:(.*)", re.IGNORECASE | re.MULTILINE)
_TEMPLATE = re.compile(r"[?|{}]|\[[ xX]\]")  # it asks for the state, or lists all that there are
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])?")
_CLAUSE_END = re.compile(r"[,;(]|\s[-–—]\s|(?<!\d)\.(?:\s|$)")
_WORDS = re.compile(r"[^\W\d_][\w ./#:'&+-]*")
_REPLACED_BY = re.compile(r"(?:super[sc]eded|replaced)\b.*\bby\b", re.IGNORECASE)


def ticket_state(front: Mapping[str, Any]) -> str | None:
    state = storable(_value(front)).strip().casefold()[:LONGEST_STATE]
    if front.get("mergedAt") or front.get("merged") is True:
        return "merged"
    return state or ("closed" if front.get("closedAt") else None)


def decision_state(text: str, front: Mapping[str, Any]) -> str | None:
    """Return the state that a Markdown text declares; None if it may be the words of a template."""
    said = [_value(front)] if _value(front) else _declared(body_of(text)[:_MAX_READ])
    is_list = sum(line.startswith(("- ", "* ", "+ ")) for line in said) > 1  # of possible states, or of earlier ones
    if not said or is_list or _TEMPLATE.search(said[0]):
        return None
    clauses = [clause for line in said for clause in _clauses(line)]
    state = next(filter(_REPLACED_BY.match, clauses), clauses[0])  # a replaced decision may still be called accepted
    return shortened(state.casefold(), LONGEST_STATE) if _WORDS.fullmatch(state) else None


def _value(front: Mapping[str, Any]) -> str:
    return next((front[key] for key in ("state", "status") if isinstance(front.get(key), str)), "")


def _declared(text: str) -> list[str]:
    """Return what a line before the second heading says after `Status:`, or the lines of the section `Status`."""
    shown = _HIDDEN.sub("", text)
    if line := _LINE.search("".join(_OTHER_HEADING.split(shown, maxsplit=2)[:2])):
        return [line[1]]
    section = _SECTION.search(shown)
    return [line.strip() for line in section[1].split("\n") if line.strip()] if section else []


def _clauses(line: str) -> Iterator[str]:
    text = one_line(_LINK.sub(r"\1", line[:_MAX_SAID]))
    for clause in _CLAUSE_END.split(text):
        yield re.sub(r"^[\W_]+|[\W_]+$", "", clause)
