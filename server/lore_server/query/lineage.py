"""Use the class tree: answer questions about inheritance, add the ancestors that explain found classes, tell users."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from pathlib import PurePosixPath
from typing import NamedTuple

from lore_etl.chunking.code_languages import code_languages
from lore_etl.chunking.section import CLASS_KINDS
from lore_etl.core.model import Chunk, KnowledgeType
from lore_etl.core.text import counted, dotted, is_named, last_part
from lore_etl.index import Index
from lore_etl.relations.classes import Hierarchy
from lore_etl.sources.source import syntax_of
from lore_etl.stores.catalogue_rows import check
from lore_server.query.parse import Query, looks_like_name
from lore_server.query.ranking import Ranked, Weights
from lore_server.query.wording import wording

MAX_ANCESTORS = 6  # of one class, nearest first
FOUND = 5  # the best files, whose ancestors are added
MAX_ADDED = 2  # at most this many
LAST_PLACE = 10  # and their last rank, below the answers
NAMING_WORDS = 4  # a longer text mentions classes in passing
STEP = 1e-6  # so close that no other result fits between
MAX_FILES = 50
SHOWN = 3  # users in a short line
NOT_COVERED = "calls of methods through objects, dynamic calls, and names that several definitions share"
MAX_WORDS = 16  # a longer text describes a situation in which classes extend others
_FORM = wording("classes")
NAME = re.compile(r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*(?:-[\w$]+)*)*")
_HYPHENATED = re.compile(r"(?<![\w$.-])[A-Za-z_$][\w$]*(?:-[\w$]+)+(?:\.[\w$-]+)*")  # `my-view`; most are words


class Export(NamedTuple):
    """A class or function, as other projects import it."""

    package: str
    name: str


def named_classes(query: Query, passages: Sequence[Ranked]) -> list[Chunk]:
    """Return the best passage for each class that a short query names; the word `grid` is a topic, not `Grid`."""
    if len(query.text.split()) > NAMING_WORDS:  # their ancestors cost tickets .02 nDCG@10
        return []
    longest = [name for name in query.names if not any(is_named(other, name) for other in query.names if other != name)]
    found: dict[str, Chunk] = {}
    for chunk, name in product((passage.chunk for passage in passages), longest):
        class_ = chunk.class_name or ""
        is_written = "." in name or last_part(class_) in query.text
        if is_written and is_named(class_.casefold(), name):
            found.setdefault(name, chunk)
    return list(found.values())


def wanted_ancestors(query: Query, passages: Sequence[Ranked]) -> list[str]:
    """Return the names of ancestors to add: those of named classes and of the top results."""
    sources = islice(dict.fromkeys(passage.source for passage in passages), LAST_PLACE)
    first = [next(passage.chunk for passage in passages if passage.source == source) for source in sources]
    chunks = [*named_classes(query, passages), *first]
    return list(dict.fromkeys(name for chunk in chunks for name, _ in _ancestors(chunk)))


def add_ancestors(
    query: Query, passages: Sequence[Ranked], by_source: dict[str, Ranked], heads: Mapping[str, Chunk], weights: Weights
) -> None:
    """Insert the ancestors of named classes directly below these, and some of those of found classes further down."""
    share = min(1.0, max(0.0, weights["inheritanceBoost"]))
    if not (share and heads):
        return
    named = named_classes(query, passages)
    fixed = {chunk.source for chunk in named}
    for chunk in named:
        target = by_source[chunk.source].score
        for name, source in _ancestors(chunk):
            if name in heads and source not in fixed:
                target -= STEP
                fixed.add(source)
                _move(by_source, heads[name], target, share)
    ranked = sorted(by_source.values(), key=lambda result: (-result.score, result.source))
    present = {result.source for result in ranked[:LAST_PLACE]}
    votes = _votes(ranked[:FOUND], weights["inheritanceDecay"])
    coming = [name for name in votes if name in heads and heads[name].source not in present][:MAX_ADDED]
    others = [result for result in ranked if result.source not in {heads[name].source for name in coming}]
    above = others[: LAST_PLACE - len(coming)]
    for number, name in enumerate(coming, start=1):
        _move(by_source, heads[name], above[-1].score - number * STEP, share)


def _ancestors(chunk: Chunk) -> Iterator[tuple[str, str]]:
    """Yield (class, source) of the ancestors that are defined in other files, nearest first."""
    others = (
        (ancestor.class_name, ancestor.source)
        for ancestor in chunk.chain
        if ancestor.source and ancestor.source != chunk.source
    )
    return islice(others, MAX_ANCESTORS)


def _votes(found: Sequence[Ranked], decay: float) -> list[str]:
    """Return the ancestors that found classes share, by number of descendants, then by distance."""
    votes: dict[str, float] = {}
    for result in found:
        if result.chunk.type == KnowledgeType.SRC:
            for depth, (name, _) in enumerate(_ancestors(result.chunk)):
                votes[name] = votes.get(name, 0.0) + decay**depth
    return sorted((name for name, number in votes.items() if number > 1), key=lambda name: -votes[name])


def _move(by_source: dict[str, Ranked], chunk: Chunk, target: float, share: float) -> None:
    have = by_source.setdefault(chunk.source, Ranked(chunk.source, 0.0, chunk))
    have.add("inheritanceBoost", share * (target - have.score))


def relatives(text: str, hierarchy: Hierarchy) -> list[str]:
    """Return the classes below, or for such questions above, the classes that a question names, nearest first."""
    asks_upwards = bool(_FORM["above"].search(text))
    if len(text.split()) > MAX_WORDS or not (asks_upwards or _FORM["below"].search(text)):
        return []
    found: dict[str, str] = {}
    for name in classes_in(text, hierarchy):
        above = [ancestor.class_name for ancestor in hierarchy.chain(name)]
        below = [node.name for node in hierarchy.below([name])][1:]
        for other in above if asks_upwards else below:
            if source := hierarchy.nodes[other].source:
                found.setdefault(source, other)  # a result is a file
    return list(found.values())[:MAX_FILES]


def classes_in(text: str, hierarchy: Hierarchy) -> list[str]:
    """Return the project's classes that the text names: capitalized, dotted, or with a name that is not a word."""
    words = [word for word in NAME.findall(text) if word[0].isupper() or looks_like_name(word)]
    tokens = [*_HYPHENATED.findall(text), *words]
    named = (name for token in dict.fromkeys(tokens) for name in hierarchy.named(token) if is_named(name, token))
    return list(dict.fromkeys(named))


def functions_named(index: Index, name: str) -> list[str]:
    """Return the full names of the functions that are used and have this name, perhaps after a package or module."""
    folded = ".".join(dotted(name).split(".")[-2:])
    found = (one for one in index.catalogue.used_names(last_part(folded)) if one not in index.hierarchy.nodes)
    return [one for one in found if is_named(one, folded)]


def not_covered(source: str | None) -> str:
    """Return what the numbers of users leave out."""
    syntax = syntax_of(source or "")
    language = code_languages().get(syntax)
    is_recorded = language.has_uses if language else syntax != "plain"
    return NOT_COVERED if is_recorded else "uses, which are not recorded in this language"


def defined_by(chunk: Chunk) -> str | None:
    """Return the full name of the class or function that a chunk defines."""
    if chunk.kind == "function" and chunk.symbols:
        return f"{chunk.source}:{chunk.symbols[0]}"
    return chunk.class_name if chunk.kind in CLASS_KINDS else None


def relations_of(index: Index, chunk: Chunk) -> str:
    """Return the relations of the class or function that a chunk defines in a short line, if it has any."""
    if not (name := defined_by(chunk)):
        return ""
    users = [user.path for user in index.catalogue.users(name)]
    verb, nodes = index.hierarchy.implementers(name)
    types = f"{verb} by at least {len(nodes)}", [last_part(node.name) for node in nodes]
    found = (f"used by at least {counted(len(users), 'file')}", users), types
    return "; ".join(_shortly(text, some) for text, some in found if some)


def exported_by(index: Index, chunk_id: str) -> Export | None:
    """Return how other projects import the class or function that a chunk defines; None if that may be another one."""
    chunk = index.catalogue.kept_chunks([chunk_id]).get(chunk_id)
    full = chunk and defined_by(chunk)
    if not (chunk and full and (package := package_of(index, chunk.source))):
        return None
    name = last_part(full)
    defining = index.catalogue.kept_chunks(index.keywords.defining([name], MAX_FILES)).values()
    others = {one.source for one in defining if name in one.symbols and one.source != chunk.source}
    return Export(package, name) if package not in (package_of(index, other) for other in others) else None


def package_of(index: Index, source: str) -> str:
    """Return the name by which other projects import what a file defines, or nothing if it is unknown."""
    path = PurePosixPath(source)
    if path.suffix == ".py":
        start = "src/" * source.startswith("src/")
        top, below, _ = source.removeprefix(start).partition("/")
        return "" if below and not index.catalogue.stamps([f"{start}{top}/__init__.py"]) else top.removesuffix(".py")
    manifest = "go.mod" if path.suffix == ".go" else "package.json"
    facts = index.catalogue.facts(str(folder / manifest) for folder in path.parents)
    folder = next((one for one in path.parents if facts.get(str(one / manifest))), None)
    if folder is None:
        return ""
    below = str(path.parent.relative_to(folder)) if manifest == "go.mod" else "."
    return str(PurePosixPath(check(facts[str(folder / manifest)]).package, below)).replace("/", ".")


def importers_of(index: Index, export: Export) -> str:
    """Return the files that import a class or function of another project in a short line, if any do."""
    paths = index.catalogue.importers(*export)
    return _shortly(f"imported by at least {counted(len(paths), 'file')}", paths) if paths else ""


def _shortly(text: str, some: Sequence[str]) -> str:
    return f"{text}: {', '.join(some[:SHOWN])}{', …' * (len(some) > SHOWN)}"
