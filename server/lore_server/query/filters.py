"""The filters of a search: which files and passages may be among its results."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import re2

from lore_etl.stores.tokenizer import SPACELESS
from lore_server.query.file_languages import suffixes_of

_WILDCARDS = {"**/": "(?:.*/)?", "/**": "/.*", "*": "[^/]*", "?": "[^/]"}
_WILD = re.compile(r"\*\*/|/\*\*$|\*+|\?")


class _NameFilter:
    """A filter by names: one of the wanted patterns, if there are any, and none of the unwanted ones."""

    def __init__(self, wanted: Sequence[str], unwanted: Sequence[str]) -> None:
        self._wanted = _any_of(wanted) if wanted else None
        self._unwanted = _any_of(unwanted) if unwanted else None

    def accepts(self, name: str) -> bool:
        is_wanted = self._wanted is None or self._wanted.search(name) is not None
        return is_wanted and (self._unwanted is None or self._unwanted.search(name) is None)


@dataclass(frozen=True)
class Filters:
    """All filters of a search. Values of one filter are alternatives; different filters all apply.

    Languages are names or suffixes, `after` is the first day and `before` the day after the last.
    """

    types: tuple[str, ...] = ()
    without_types: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    without_paths: tuple[str, ...] = ()
    langs: tuple[str, ...] = ()
    without_langs: tuple[str, ...] = ()
    after: datetime.date | None = None
    before: datetime.date | None = None
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    @property
    def single_type(self) -> str | None:
        """Return the type if all results are of one type."""
        return self.types[0] if len(self.types) == 1 and not self.without_types else None

    @property
    def is_dated(self) -> bool:
        """Return whether only documents of certain days pass."""
        return self.after is not None or self.before is not None

    def of_any_type(self) -> Filters:
        """Return the same filters without those by type."""
        return replace(self, types=(), without_types=())

    def accept_file(self, path: str, type_: str, suffix: str = "") -> bool:
        """Return whether a file can have matching passages; `suffix` is that of its language if its name has none."""
        if (self.types and type_ not in self.types) or type_ in self.without_types:
            return False
        return self._path.accepts(path) and self._lang.accepts(path + suffix)

    def accept_day(self, day: str) -> bool:
        """Return whether a passage with this date (ISO 8601, possibly with a time) passes."""
        try:
            date = datetime.date.fromisoformat(day[:10])
        except ValueError:
            return False
        return (self.after is None or self.after <= date) and (self.before is None or date < self.before)

    @cached_property
    def _path(self) -> _NameFilter:
        return _NameFilter([*map(_glob, self.paths)], [*map(_glob, self.without_paths)])

    @cached_property
    def _lang(self) -> _NameFilter:
        return _NameFilter(_suffixes(self.langs), _suffixes(self.without_langs))


NO_FILTERS = Filters()


def pattern_of(phrase: str) -> re.Pattern[str]:
    """Compile a phrase: whole words in this order, in any case, with any white space between them."""
    words = r"\s+".join(re.escape(word) for word in phrase.split())
    first, last = phrase[:1], phrase[-1:]
    before = r"(?<!\w)" if _is_bounded(first) else ""
    after = r"(?!\w)" if _is_bounded(last) else ""
    return re.compile(f"{before}{words}{after}", re.IGNORECASE)


def _is_bounded(character: str) -> bool:
    """Return whether a word can be separated from its neighbours, which is impossible in scripts without spaces."""
    return re.fullmatch(rf"[^\W{SPACELESS}]", character) is not None


def _glob(pattern: str) -> str:
    """Return the regular expression of a path pattern, which matches a file or everything below a folder.

    `*` and `?` stop at a slash, `**` does not. Without a slash, the pattern is a name at any depth.
    """
    start, pattern = "^" if "/" in pattern else "(?:^|/)", pattern.removeprefix("/")
    parts, last = [], 0
    for wild in _WILD.finditer(pattern):
        parts.append(re.escape(pattern[last : wild.start()]))
        parts.append(_WILDCARDS.get(wild.group(), ".*"))
        last = wild.end()
    parts.append(re.escape(pattern[last:]))
    return f"{start}{''.join(parts)}(?:/|$)"


def _suffixes(langs: Sequence[str]) -> list[str]:
    return [rf"(?:^|[./]){re.escape(suffix)}$" for lang in langs for suffix in suffixes_of(lang)]


def _any_of(forms: Sequence[str]) -> re.Pattern[str]:
    """Compile alternatives for RE2, which takes linear time, because the patterns come from outside."""
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    compiled: re.Pattern[str] = re2.compile("|".join(forms), options)
    return compiled
