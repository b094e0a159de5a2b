"""The filters of a search: which passages may be among its results, and the counts that suggest further ones."""

import datetime
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import groupby
from posixpath import commonprefix, splitext
from typing import NamedTuple

import re2

from lore_etl.chunking.code_languages import PLAIN_LANGUAGES, code_languages
from lore_etl.core.model import row_id_of
from lore_etl.index import Index
from lore_etl.sources.source import CONVERTED, SYNTAXES, suffix_in
from lore_etl.stores.tokenizer import SPACELESS, phrase_words

MAX_FOLDERS = MAX_SUFFIXES = 20
AGES = (1, 7, 31, 366)  # days until today, which counts as the first
_WILDCARDS = {"**/": "(?:.*/)?", "/**": "/.*", "*": "[^/]*", "?": "[^/]"}  # only `**` does not stop at a slash
_WILD = re.compile(r"(\*\*/|/\*\*$|\*+|\?)")
_BOUNDED = re.compile(rf"[^\W{SPACELESS}]")  # scripts without spaces do not separate a word from its neighbours
_MORE = {"c": (".h",), "text": (".txt",)}
_NAMES = {"tsx": "typescript", CONVERTED: "document"}


@dataclass(frozen=True)
class Filters:
    """All filters of a search. Values of one filter are alternatives; different filters all apply."""

    types: tuple[str, ...] = ()
    without_types: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    without_paths: tuple[str, ...] = ()
    langs: tuple[str, ...] = ()  # names or suffixes
    without_langs: tuple[str, ...] = ()
    after: datetime.date | None = None  # the first day
    before: datetime.date | None = None  # the day after the last
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    @property
    def single_type(self) -> str | None:
        return self.types[0] if len(self.types) == 1 and not self.without_types else None

    def accept_file(self, path: str, type_: str, suffix: str = "") -> bool:
        """Return whether a file can have matching passages; `suffix` is that of its language if its name has none."""
        if (self.types and type_ not in self.types) or type_ in self.without_types:
            return False
        return self._accepts_path(path) and self._accepts_lang(path + suffix)

    def accept_day(self, day: str) -> bool:
        """Return whether a passage with this date (ISO 8601, possibly with a time) passes."""
        try:
            date = datetime.date.fromisoformat(day[:10])
        except ValueError:
            return False
        return (self.after is None or self.after <= date) and (self.before is None or date < self.before)

    @cached_property
    def _accepts_path(self) -> Callable[[str], bool]:
        return _name_filter([*map(_glob, self.paths)], [*map(_glob, self.without_paths)])

    @cached_property
    def _accepts_lang(self) -> Callable[[str], bool]:
        return _name_filter(_suffixes(self.langs), _suffixes(self.without_langs))


NO_FILTERS = Filters()


@dataclass(frozen=True)
class Part:
    """The files below some folders, or some files only. Equal parts compare equal, so that their rows are kept."""

    folders: tuple[str, ...] = ()
    files: frozenset[str] = frozenset()

    def has(self, path: str) -> bool:
        return path in self.files or any(path.startswith(f"{folder}/") for folder in self.folders)


class File(NamedTuple):
    """The type of a file, and its chunks: chunk id -> row in the vector store."""

    type: str
    rows: Mapping[str, str]


Files = Mapping[str, File]


def indexed_files(index: Index) -> Files:
    return {
        source: File(type_, {id_: row_id_of(id_, content) for _, _, id_, content in rows})
        for (source, type_), rows in groupby(index.catalogue.every_row(), key=lambda row: (row[0], row[1]))
    }


def filtered(index: Index, files: Files, filters: Filters) -> dict[str, str]:
    """Return the chunks of these files that pass the filters: chunk id -> row in the vector store."""
    among: dict[str, str] = {}
    scripts = index.catalogue.recipes_of_scripts()
    for source, file in files.items():
        if filters.accept_file(source, file.type, suffix_in(scripts.get(source, ""))):
            among.update(file.rows)
    if filters.after or filters.before:
        among = {
            id_: among[id_] for id_, day in index.catalogue.dates().items() if id_ in among and filters.accept_day(day)
        }
    for phrase in filters.phrases:
        having = _having(index, phrase, among)
        among = {id_: row for id_, row in among.items() if id_ in having}
    for phrase in filters.without:
        having = _having(index, phrase, among)
        among = {id_: row for id_, row in among.items() if id_ not in having}
    return among


def _having(index: Index, phrase: str, among: Mapping[str, str]) -> set[str]:
    """Return the chunks whose text contains a phrase. Keywords limit the texts to read; without any, all are read."""
    words = phrase_words(phrase)
    likely = index.keywords.holding(words) & among.keys() if words else among.keys()
    pattern = pattern_of(phrase)
    return {id_ for id_, text in index.catalogue.texts(likely).items() if pattern.search(text)}


def pattern_of(phrase: str) -> re.Pattern[str]:
    """Compile a phrase: whole words in this order, in any case, with any white space between them."""
    words = r"\s+".join(re.escape(word) for word in phrase.split())
    before = r"(?<!\w)" if _BOUNDED.fullmatch(phrase[:1]) else ""
    after = r"(?!\w)" if _BOUNDED.fullmatch(phrase[-1:]) else ""
    return re.compile(f"{before}{words}{after}", re.IGNORECASE)


def _glob(pattern: str) -> str:
    """Return the pattern of a file, or of everything below a folder; without a slash, of a name at any depth."""
    start = "^" if "/" in pattern else "(?:^|/)"
    parts = _WILD.split(pattern.removeprefix("/"))
    parts[::2] = map(re.escape, parts[::2])
    parts[1::2] = [_WILDCARDS.get(wildcard, ".*") for wildcard in parts[1::2]]
    return f"{start}{''.join(parts)}(?:/|$)"


def _suffixes(langs: Sequence[str]) -> list[str]:
    return [rf"(?:^|[./]){re.escape(suffix)}$" for lang in langs for suffix in suffixes_of(lang)]


def _name_filter(wanted: Sequence[str], unwanted: Sequence[str]) -> Callable[[str], bool]:
    """Return a test whether a name matches a wanted pattern, if there are any, and no unwanted one."""
    options = re2.Options()  # takes linear time: patterns come from outside
    options.case_sensitive = False
    options.log_errors = False
    one, none = (re2.compile("|".join(forms), options) for forms in (wanted, unwanted))
    return lambda name: not (wanted and not one.search(name)) and not (unwanted and none.search(name))


@cache
def file_languages() -> dict[str, tuple[str, ...]]:
    """Return the suffixes, without their dot, and the whole names of the files of each language."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for files_by_name in (
        {name: language.files for name, language in code_languages().items()},
        {"shell": code_languages()["bash"].files},
        {name: files for name, (_, files) in PLAIN_LANGUAGES.items()},
        _MORE,
    ):
        for name, files in files_by_name.items():
            found[name] += files
    for file, syntax in SYNTAXES.items():
        name = _ending(file) if syntax == "component" else _NAMES.get(syntax, syntax)
        found[name].append(file)
    return {name: tuple(dict.fromkeys(map(_ending, files))) for name, files in sorted(found.items())}


def _ending(file: str) -> str:
    return file.removeprefix(".").lower()


def suffixes_of(name: str) -> tuple[str, ...]:
    """Return the suffixes and names of a language, or a suffix itself; empty if neither is known."""
    languages, lowered = file_languages(), name.lower().removeprefix(".")
    is_suffix = any(lowered in suffixes for suffixes in languages.values())
    return languages.get(lowered) or ((lowered,) if is_suffix else ())


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
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
