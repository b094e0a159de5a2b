"""Count the files that a search found by type, folder, language and age."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Mapping
from posixpath import commonprefix, splitext

from lore_server.query.filters import Filters, suffixes_of

MAX_FOLDERS = MAX_SUFFIXES = 20
AGES = (1, 7, 31, 366)  # days until today, which counts as the first


def by_type(types: Iterable[str]) -> list[tuple[str, int]]:
    return _sorted(Counter(types))


def by_folder(sources: Iterable[str]) -> list[tuple[str, int]]:
    """Return (pattern, files) for the entries of the deepest folder that contains all of these files."""
    places = [source.split("/") for source in sources]
    depth = len(commonprefix([parts[:-1] for parts in places]))  # it also takes lists of folders
    counts: Counter[str] = Counter()
    for parts in places:
        place = "/".join(parts[: depth + 1])
        # a pattern that selects exactly these files
        counts[f"{place}/**" if len(parts) > depth + 1 else place if depth else f"/{place}"] += 1
    return _sorted(counts)[:MAX_FOLDERS]


def by_suffix(sources: Iterable[str]) -> list[tuple[str, int]]:
    suffixes = Counter(splitext(source)[1].removeprefix(".").lower() for source in sources)
    return _sorted({suffix: files for suffix, files in suffixes.items() if suffixes_of(suffix)})[:MAX_SUFFIXES]


def by_age(days: Iterable[str], today: datetime.date) -> list[tuple[str, int]]:
    """Return (first day, files), newest first, for the documents of today, this week, this month and this year."""
    dated = [*days]
    since = [today - datetime.timedelta(days=age - 1) for age in AGES]
    return [(day.isoformat(), sum(map(Filters(after=day).accept_day, dated))) for day in since]


def _sorted(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return (value, files), largest first."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
