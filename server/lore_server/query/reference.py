"""Find what a query names: a file by its path, a ticket (`#8156`) or release (`11.20`) by its number, a quotation."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import NamedTuple

from lore_etl.core.headings import without_markup
from lore_etl.core.model import Chunk, KnowledgeType
from lore_etl.index import Index
from lore_etl.sources.source import PROSE, syntax_of
from lore_etl.stores.keywords import KeywordStore
from lore_etl.stores.tokenizer import STOPWORDS, name_parts, phrase_words
from lore_server.changes.ticket_names import number_of_file
from lore_server.query.parse import MAX_WORDS, Query
from lore_server.query.path_words import TOPIC_WORDS
from lore_server.query.ranking import Ranked
from lore_server.query.wording import wording

_TICKET = re.compile(r"(?:^|[^\w&/])(?:#|(?:issue|ticket|pull request|pr|bug|gh)[ #-]{1,2})(\d{1,9})\b", re.IGNORECASE)
_PATH = re.compile(r"(?<![\w/.:-])[\w.@+~-]*(?:/[\w.@+~-]+)+")
TERM = "referenceMatch"  # of a document that the query names
_VERSION = re.compile(r"v?\d+(?:\.\d+)+(?:-[\w.]+)?", re.IGNORECASE)
# before a version in a title; the names of products have several words, such as `Apache Commons CLI`
BEFORE_VERSION = r"(?:[A-Za-z][\w.-]* |(?-i:[A-Z][\w.-]* ){2,4})?(?:(?:release|version|in|for|with) ){0,2}v?"
_TITLE = re.compile(
    r"(?mi)^#+\s+(.+)|^={1,6} ([^\s=].*)|^(\w.+)\n[-=~^]{3,}$|^[*#+]{4,}\n *(\w.+)\n[*#+]{4,}$"
    r"|<h[1-6]\b[^<>]*>\s*+(.*?\S)\s*+</h[1-6]>|^((?:release|version) v?\d+(?:\.\d+)+)$"
    rf"|(?<![^\n]\n)^({BEFORE_VERSION}\d+(?:\.\d+)+[^\n.]{{0,40}})\n(?=\n|\s*[-*+] )"
)
_FILE = re.compile(r"(?<![\w/.:@-])(?:[\w.@+~-]*/)*[\w@+~-][\w.@+~-]*\.[A-Za-z][A-Za-z0-9]{0,4}(?![\w/(-])")
_CHANGED_IN, ASKING = map(wording("references").__getitem__, ("changed_in", "asking"))
_QUOTED = re.compile(r"(?<!`)`([\w$-][^`\n]{1,78}[^`\s])`(?!`)|\bcommand ([\w-]+(?: [\w-]+){1,3}) (?:do|mean)\b")
ABSENT = "`{}` occurs nowhere in this knowledge base."
DEFINITIONS = 20  # more chunks that define a name do not tell which is meant
SERIES = 3  # numbered documents of a kind, of which another number may be missing
_KIND_AND_NUMBER = re.compile(r"(?<![\w/.-])([A-Za-z]{2,})[ -]#?(\d{1,5})(?![\w/-]|\.\w)")
_NUMBERED = re.compile(r"((?:[A-Za-z]+[-_ ])*)0*(\d+)(?![\d.])")  # the beginning of a file name
# whatever their folder
_TYPES = {**dict.fromkeys(("adr", "madr", "decision"), KnowledgeType.ADR), "prp": KnowledgeType.PRP}
Paths = Callable[[str | None], Iterable[str]]
_CAPITALIZED = re.compile(r"(?<![\w./$-])[A-Z][a-z]\w*(?![\w./$-])")


class Reference(NamedTuple):
    """A ticket, release, file or quoted text that a query names, and its files."""

    kind: str
    name: str
    sources: tuple[str, ...] = ()
    passages: tuple[Chunk, ...] = ()  # begin these files; without files, they contain the name

    @property
    def missing(self) -> str:
        if self.kind == "text":
            return ABSENT.format(self.name)
        if self.kind == "file":
            return f"There is no file `{self.name}` in this knowledge base, which leaves out ignored files."
        return f"There is no {'note of ' * (self.kind == 'release')}{self.kind} {self.name} in this knowledge base."

    def is_in(self, chunk: Chunk) -> bool:
        """Return whether a passage mentions the ticket, or is under the heading of the release."""
        if self.kind == "ticket":
            return re.search(rf"(?i:#|\bgh-|/(?:issues|pull)/){self.name[1:]}\b", chunk.text) is not None
        if self.kind == "text":
            return spelled(self.name).search(" ".join((chunk.text, chunk.title, *chunk.heading))) is not None
        places = (*chunk.heading, *(titles(f"{chunk.text}\n\n") if syntax_of(chunk.source) in PROSE else ()))
        return any(is_version(self.name, found[0].removeprefix("v")) for t in places for found in _VERSION.finditer(t))


def titles(text: str) -> Iterator[str]:
    """Yield the headings in most kinds of markup, and the lines of plain text that name a release."""
    yield from (title for _, title in titled_lines(text))


def titled_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield such titles with their lines, from 1."""
    number, place = 1, 0
    for match in _TITLE.finditer(text):
        number, place = number + text.count("\n", place, match.start()), match.start()
        yield number, without_markup(match[match.lastindex or 0])


def spelled(name: str, is_whole: bool = False) -> re.Pattern[str]:
    """Return a pattern for a name, also as a plural or in parts; a whole one is no part of a longer name."""
    parts = r"[^A-Za-z0-9]*(?:v(?=\d))?".join(map(re.escape, name_parts(name)))  # `Ruby v2.4` is Ruby 2.4
    forms = "|".join(form.removesuffix("s") for form in (re.escape(name), parts) if form)
    own = r"(?<!\w)(?<!\w-)(?:(?<!\W\.)|(?=[\w$]+\())"  # `.env` is another name than `env`, `.parse()` is `parse`
    before, after = (own, r"(?!\w|-\w)") if is_whole else (r"(?<![^\W_])", r"(?![^\W_])")
    return re.compile(rf"{before}(?:{forms})s?{after}", re.IGNORECASE)


def tickets(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(number.lstrip("0") or "0" for number in _TICKET.findall(text)))


def is_project(name: str, index: Index) -> bool:
    """Return whether a name is that of the project: of its folder, or the last word of the title of a README."""
    readmes = (path for path in index.catalogue.paths() if path.casefold().startswith("readme"))
    known = [index.root.name, *(index.catalogue.of_source(path)[0].title for path in readmes)]
    ends = (re.split(r"[^\w\s.-]", title)[0].casefold().split()[-1:] for title in known)
    return name.casefold() in ("it", "this", "project") or [name.casefold()] in ends


def is_version(asked: str, have: str) -> bool:
    """Return whether a version equals the queried one or belongs to its series: 11.20.0 and 11.20.3 for 11.20."""
    return have == asked or have.startswith(f"{asked}.") or asked == f"{have}.0"


def written_paths(text: str) -> tuple[str, ...]:
    """Return the paths with a folder that a text contains, in lower case and without a leading `./` or `/`."""
    found = (path.casefold().rstrip(".").lstrip("./") for path in _PATH.findall(text))
    return tuple(dict.fromkeys(path for path in found if "/" in path))


def references(
    query: Query,
    paths_of: Paths,
    opening_of: Callable[[str], str] = lambda _: "",
    is_own: Callable[[str], bool] = lambda _: False,  # the name of the project, which may be before a version
) -> list[Reference]:
    """Return what the query names; `paths_of` has the files of a type, or all for None, `opening_of` how one begins."""
    written = written_paths(query.text)
    named = [*written, *(name.casefold() for name in _FILE.findall(query.text) if "/" not in name)]
    paths = list(paths_of(None)) if named else []
    found = []
    for name in named:
        # a name may lack its first folders or, as in errors of another machine, have more
        own = tuple(path for path in paths if _is_written(path, name))
        # `and/or` is no path, and the name of a file without its folder may be that of many
        if len(own) == 1 or ("/" in name and (own or _FILE.fullmatch(name))):
            found.append(Reference("file", name, own))
    for number in tickets(query.text):
        own = tuple(path for path in paths_of(KnowledgeType.TICKET) if number_of_file(path) == number)
        found.append(Reference("ticket", f"#{number}", own))
    found += _numbered(query, paths_of, opening_of)
    versions = [version for name, version in _CHANGED_IN.findall(query.text) if not name or is_own(name)]
    changed_in = [version.casefold().rstrip(".") for version in versions]
    for version in dict.fromkeys((*query.releases, *changed_in)):
        own = tuple(path for path in paths_of(KnowledgeType.RELEASE) if _is_release(path, version))
        found.append(Reference("release", version, own))
    for name in map("".join, _QUOTED.findall(query.text)):
        quoted = Reference("text", name)
        is_new = len(phrase_words(name)) > 1 and not _FILE.search(name) and name.casefold() not in named
        # a statement mentions `web.Request`, a question is about it
        if is_new and (" " in name or asks_only_for(query, [quoted])):
            found.append(quoted)
    if len(query.text.split()) <= MAX_WORDS:  # a longer text names documents in passing
        return found
    return [one for one in found if one.sources and (one.kind != "file" or "/" in one.name)]


def _numbered(query: Query, paths_of: Paths, opening_of: Callable[[str], str]) -> Iterator[Reference]:
    """Yield documents named by number and kind, that is a type or a word of their path or beginning: `RFC 37`."""
    for kind, number in _KIND_AND_NUMBER.findall(query.text):
        asked, plain = kind.casefold().removesuffix("s"), number.lstrip("0") or "0"
        if kind.casefold() in STOPWORDS or plain in tickets(query.text):
            continue
        typed = set(paths_of(_TYPES[asked])) if asked in _TYPES else set()
        likely = (path for path in paths_of(None) if path in typed or asked in path.casefold())
        parts = ((path, part) for path in likely if (part := _number_and_words(path)))
        those = {path: has for path, (has, words) in parts if path in typed or {asked, f"{asked}s"} & words}
        if not those:
            begins = re.compile(rf"(?=\d{{3}})0*{plain}[-_]")  # a shorter number is rarely the name of a document
            begun = (path for path in paths_of(None) if begins.match(PurePosixPath(path).name))
            those = {path: plain for path in begun if re.search(rf"(?i)\b{kind}\b", opening_of(path))}
        same = {path: PurePosixPath(path).stem.casefold() for path, has in those.items() if has == plain}
        # the other files in a numbered folder are its plan, tasks, …
        best = [path for path, stem in same.items() if _NUMBERED.match(stem) or stem == asked]
        own = Reference("document", f"{kind} {number}", tuple(best or same))
        if own.sources or (len(those) >= SERIES and (plain != number or asks_only_for(query, [own]))):
            yield own


def _number_and_words(path: str) -> tuple[str, set[str]] | None:
    """Return the number with which the name of a file begins, or else its folder's, and the words before it."""
    whole = PurePosixPath(path).with_suffix("")
    for place in (whole, whole.parent):
        if found := _NUMBERED.match(place.name):
            return found[2], {*name_parts(f"{place.parent.name} {found[1]}")}
    return None


def asks_only_for(query: Query, named: Iterable[Reference]) -> bool:
    """Return whether a query has no subject besides what it names."""
    text = query.text.casefold()
    for one in named:
        text = text.replace(one.name.casefold().lstrip("#"), " ")
    return not any(len(word) > 1 and word not in STOPWORDS for word in re.findall(r"[^\W_]+", ASKING.sub(" ", text)))


def lead_with_named(query: Query, by_source: dict[str, Ranked], named: Mapping[str, Chunk]) -> None:
    """Rank the documents with these first chunks above all others, in their own order."""
    mentions = re.compile("|".join(rf"#{number}\b" for number in tickets(query.text)) or r"(?!)")
    for source, head in named.items():
        have = by_source.get(source)
        if have is None:
            by_source[source] = Ranked(source, 0.0, head)
        elif mentions.search(have.chunk.text):  # show a ticket, not a line elsewhere that mentions its number
            by_source[source] = Ranked(source, have.score, head, have.why)
    lead(by_source, TERM, [result for source, result in by_source.items() if source in named])


def lead(by_source: Mapping[str, Ranked], term: str, leaders: list[Ranked]) -> None:
    """Raise the scores of some files by the amount their best file needs to rank first, keeping their distances."""
    if not leaders:
        return
    chosen = {result.source for result in leaders}
    others = max((result.score for result in by_source.values() if result.source not in chosen), default=0.0)
    points = others + 1.0 - max(result.score for result in leaders)
    if points > 0:
        for result in leaders:
            result.add(term, points)


def _is_written(path: str, written: str) -> bool:
    end = f"/{path.casefold()}"
    return end.endswith(f"/{written}") or ("/" in path and f"/{written}".endswith(end))


def _is_release(path: str, version: str) -> bool:
    found = _VERSION.match(PurePosixPath(path).stem)
    return found is not None and is_version(version, found.group().casefold().removeprefix("v"))


def with_defined(query: Query, keywords: KeywordStore) -> Query:
    """Return a short query with the further names in it that a chunk defines; a sentence mentions names."""
    # each of the names in a sentence would outweigh its subject: that cost questions about code .003 nDCG@10
    if not query.words or len(query.words) > TOPIC_WORDS or query.is_bare_name:
        return query
    joined = () if query.names else ("".join(query.words), "_".join(query.words))
    found = keywords.defined(dict.fromkeys((*_CAPITALIZED.findall(query.text), *joined)))
    return replace(query, names=tuple(dict.fromkeys((*query.names, *(name.casefold() for name in found)))))


def definitions(query: Query, keywords: KeywordStore) -> list[str]:
    """Return the ids of chunks that define the names in the query: as it writes them, or else in any case."""
    folded = {name.rpartition(".")[2] for name in query.names}
    written = {word for word in re.findall(r"[\w$]+", query.text) if word.casefold() in folded}
    return keywords.defining(written, DEFINITIONS) or keywords.defining(folded, DEFINITIONS)
