"""Find documents that a query names: a file by its path, a ticket (`#8156`) or release (`11.20`) by its number."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePosixPath

from lore_etl.core.model import Chunk, KnowledgeType
from lore_server.query.parse import Query
from lore_server.query.ranking import Ranked

_TICKET = re.compile(r"(?:^|[^\w&/])(?:#|(?:issue|ticket|pull request|pr|bug|gh)[ #-]{1,2})(\d{1,9})\b", re.IGNORECASE)
_LAST_NUMBER = re.compile(r"(?:^|\D)(\d+)$")
_PATH = re.compile(r"(?<![\w/])[\w.@+~-]*(?:/[\w.@+~-]+)+")
TERM = "referenceMatch"  # of a document that the query names
_VERSION = re.compile(r"v?\d+(?:\.\d+)+", re.IGNORECASE)


def tickets(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(number.lstrip("0") or "0" for number in _TICKET.findall(text)))


def is_version(asked: str, have: str) -> bool:
    """Return whether a version equals the queried one or belongs to its series: 11.20.0 and 11.20.3 for 11.20."""
    return have == asked or have.startswith(f"{asked}.") or asked == f"{have}.0"


def written_paths(text: str) -> tuple[str, ...]:
    """Return the paths with a folder that a text contains, in lower case and without a leading `./` or `/`."""
    found = (path.casefold().rstrip(".").lstrip("./") for path in _PATH.findall(text))
    return tuple(dict.fromkeys(path for path in found if "/" in path))


def named_documents(query: Query, paths_of: Callable[[str | None], Iterable[str]]) -> list[str]:
    """Return the files that the query names; `paths_of` returns the files of a type, or all for None.

    A path in the query may lack its first folders, or have more, as in the error messages of another machine.
    """
    found: list[str] = []
    if written := written_paths(query.text):
        found += [path for path in paths_of(None) if _is_written(path, written)]
    if numbers := tickets(query.text):
        found += [path for path in paths_of(KnowledgeType.TICKET) if _number(path) in numbers]
    if query.releases:
        found += [path for path in paths_of(KnowledgeType.RELEASE) if _is_release(path, query.releases)]
    return found


def lead_with_named(query: Query, by_source: dict[str, Ranked], named: Mapping[str, Chunk]) -> None:
    """Rank the named documents above all others, in their own order.

    `named` are their first chunks by source. A ticket shows its own text, not a line elsewhere that mentions its
    number.
    """
    mentions = re.compile("|".join(rf"#{number}\b" for number in tickets(query.text)) or r"(?!)")
    for source, head in named.items():
        have = by_source.get(source)
        if have is None:
            by_source[source] = Ranked(source, 0.0, head)
        elif mentions.search(have.chunk.text):
            by_source[source] = Ranked(source, have.score, head, have.why)
    lead(by_source, TERM, [result for source, result in by_source.items() if source in named])


def lead_with_sought(query: Query, by_source: dict[str, Ranked]) -> None:
    """Rank the best document of the requested type (which ticket …) above all others."""
    lead(by_source, "soughtMatch", [result for result in by_source.values() if result.chunk.type in query.sought_types])


def lead(by_source: Mapping[str, Ranked], term: str, leaders: list[Ranked]) -> None:
    """Raise the scores of some files by the amount their best file needs to rank first, keeping their distances."""
    if not leaders:
        return
    chosen = {result.source for result in leaders}
    others = max((result.score for result in by_source.values() if result.source not in chosen), default=0.0)
    points = others + 1.0 - max(result.score for result in leaders)
    if points > 0:
        for result in leaders:
            result.score += points
            result.why = [*result.why, (term, points)]


def _is_written(path: str, written: tuple[str, ...]) -> bool:
    end = f"/{path.casefold()}"
    return any(end.endswith(f"/{other}") or ("/" in path and f"/{other}".endswith(end)) for other in written)


def _number(path: str) -> str | None:
    """Return the ticket number in a file name: `issue-8156.md`, `8156.md`, `0042-title.md`."""
    stem = PurePosixPath(path).stem
    match = _LAST_NUMBER.search(stem) or re.match(r"(\d+)\D", stem)
    return match.group(1).lstrip("0") or "0" if match else None


def _is_release(path: str, versions: tuple[str, ...]) -> bool:
    found = _VERSION.match(PurePosixPath(path).stem)
    return found is not None and any(
        is_version(asked, found.group().casefold().removeprefix("v")) for asked in versions
    )
