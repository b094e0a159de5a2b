"""Parse questions about the reason for a change: "why was FILE:10-20 changed", "which commit fixed #12"."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from lore_etl.core.model import Chunk, ClassNode
from lore_etl.core.text import is_named
from lore_etl.relations.classes import Hierarchy
from lore_server.answer.class_questions import MembersOf
from lore_server.changes.ticket_names import names

_CHANGED = (
    r"(?:chang(?:ed?|es)|modif(?:y|ied|ies)|edit(?:ed)?|touch(?:ed)?|rewritten|rewrote|fix(?:ed)?|renamed?|moved?)"
)
_PLACE = (
    r"(?:the )?(?:(?:file|class|function|method|interface|struct|trait) )?[`'\"]?(?P<place>[\w$./@:-]+)(?:\(\))?[`'\"]?"
)
_LINES = r"(?:lines? (?P<first>\d+)(?:(?:-| to | and )(?P<last>\d+))? (?:of|in) )?"
_CAUSE = r"(?:commits?|tickets?|issues?|changes?)"
_QUESTIONS = tuple(
    re.compile(rf"\W*{pattern}\W*", re.IGNORECASE)
    for pattern in (
        rf"(?:why|when)(?: and (?:why|when))? (?:was|were|is|are|has|have|did|does) {_LINES}{_PLACE} "
        rf"(?:been )?(?:last |recently )?{_CHANGED}(?: last)?",
        rf"(?:which|what|who)(?: {_CAUSE})? (?:last |recently )?{_CHANGED} {_LINES}{_PLACE}(?: last)?",
        rf"(?:which|what) {_CAUSE} (?:led to|caused|explains?) {_LINES}{_PLACE}",
        rf"history of {_LINES}{_PLACE}",
    )
)
_OF_TICKET = re.compile(
    r"\W*(?:which|what) commits? (?:clos|fix|resolv|mention|nam|refer|belong|implement)\w*(?: to)?"
    r" (?:the )?(?:ticket |issue )?(?P<ticket>#?\d+|[A-Za-z][A-Za-z0-9]+-\d+)\W*",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(.+):(\d+)(?:-(\d+))?")


class ChangedPlace(NamedTuple):
    """The subject of such a question: a file, some of its lines, or the definition of a name."""

    name: str
    source: str
    lines: tuple[int, int] | None = None


def ticket_of(question: str) -> str | None:
    """Return the name of the ticket in a question about its commits."""
    found = _OF_TICKET.fullmatch(question)
    if found is None:
        return None
    name = found["ticket"]
    return next(iter(names(f"#{name}" if name.isdecimal() else name if name.startswith("#") else name.upper())), None)


def changed_place(
    question: str, paths: Callable[[], Collection[str]], tree: Hierarchy, members_of: MembersOf, chunks: Iterable[Chunk]
) -> ChangedPlace | None:
    """Return the place in a question about its changes; None for other questions and unknown places.

    `chunks` are the results of a search for the question; they may define the name if the class tree does not.
    """
    found = next((match for pattern in _QUESTIONS if (match := pattern.fullmatch(question))), None)
    if found is None:
        return None
    given = found["place"].rstrip(".:")
    lines = (int(found["first"]), int(found["last"] or found["first"])) if found["first"] else None
    if numbered := _NUMBERED.fullmatch(given):
        given, lines = numbered[1], (int(numbered[2]), int(numbered[3] or numbered[2]))
    if (source := _file(given, paths())) is not None:
        return ChangedPlace(source, source, lines)
    return None if lines else defined_place(given, tree, members_of, chunks)


def defined_place(given: str, tree: Hierarchy, members_of: MembersOf, chunks: Iterable[Chunk]) -> ChangedPlace | None:
    """Return the only definition of a name, in the class tree or in these chunks."""
    return _class(given, tree, members_of) or _symbol(given, chunks)


def _file(given: str, paths: Collection[str]) -> str | None:
    if given in paths:
        return given
    ending = [path for path in paths if path.endswith(f"/{given}")] if "." in given else []
    return ending[0] if len(ending) == 1 else None


def _class(given: str, tree: Hierarchy, members_of: MembersOf) -> ChangedPlace | None:
    if node := _node(given, tree):
        return ChangedPlace(given, str(node.source), node.lines)
    class_, _, member = given.rpartition(".")
    holder = _node(class_, tree) if class_ else None
    lines = next((one.lines for one in members_of(holder) if one.name == member), None) if holder else None
    return ChangedPlace(given, str(holder.source), lines) if holder and lines else None


def _node(name: str, tree: Hierarchy) -> ClassNode | None:
    named = (tree.nodes[full] for full in tree.named(name) if is_named(full, name))
    own = [node for node in named if node.source and node.lines]
    return own[0] if len(own) == 1 else None


def _symbol(given: str, chunks: Iterable[Chunk]) -> ChangedPlace | None:
    """Return the part of the only file that defines the name."""
    own = [chunk for chunk in chunks if any(name == given or name.endswith(f".{given}") for name in chunk.symbols)]
    if len({chunk.source for chunk in own}) != 1:
        return None
    lines = min(chunk.lines[0] for chunk in own), max(chunk.lines[1] for chunk in own)
    return ChangedPlace(given, own[0].source, lines)
