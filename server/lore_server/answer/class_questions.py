"""Answer questions about classes from the class tree: subclasses, base classes, members, where something is defined."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, product

from lore_etl.core.model import Chunk, ClassNode, KnowledgeType, Member
from lore_etl.core.text import counted, dotted, is_named, last_part, unmarked
from lore_etl.index import Index
from lore_etl.pipeline.extraction import some_of
from lore_etl.relations.classes import Hierarchy
from lore_etl.relations.packages import DECLARATIONS
from lore_etl.sources.source import PROSE, syntax_of
from lore_etl.stores.catalogue_rows import User
from lore_etl.stores.tokenizer import STOPWORDS
from lore_server.query.lineage import NAME, classes_in, package_of
from lore_server.query.parse import looks_like_name
from lore_server.query.reference import DEFINITIONS, spelled
from lore_server.query.wording import wording

_FORM = wording("classes")
extended_class = _FORM["extended"].search
MAX_WORDS = 20  # a longer question describes a situation in which classes extend others
MAX_NAMED = 60
SHOWN_USERS = 10
MAX_MEANT = 5  # definitions of one name
MAX_READ = 500  # passages
DATA = frozenset({"json", "yaml", "toml"})  # whose keys are no headings or definitions
COMMENT = r"\s*(?:#|//|/?\*|--|>>>|iex\S*>|@(?:callback|spec)\b)"  # or an example in one, or a type in Elixir
_KINDS = {"methods": ("method",), "fields": ("attribute", "config")}  # of members

MembersOf = Callable[[ClassNode], Sequence[Member]]
"""Returns the members that a class itself defines, each name once; none of a class outside the project."""
UsersOf = Callable[[str], Mapping[str, Sequence[User]]]
"""Returns the users of each class or function with this name or ending, by its full name."""
IsTest = Callable[[str], bool]
"""Returns whether a file is a test: other files come first, and their classes are rather meant."""


@dataclass(frozen=True)
class DefinedPlace:
    """A definition that an answer cites, or a use: its name, file and lines; of a use, that of its first place."""

    name: str
    source: str
    lines: tuple[int, int]
    is_use: bool = False


@dataclass(frozen=True)
class Fact:
    """One sentence, and the definitions that support it: `[n]` in the text is the citation of definition n, from 1."""

    text: str
    places: tuple[DefinedPlace, ...]
    is_list: bool = False

    def with_ignored_words(self, question: str) -> "Fact":
        """Return a list with the words of the question that did not limit it, such as `abstract`; else this fact."""
        head = self.text.partition(": ")[0]
        words = _FORM["limiting"].findall(dotted(question)) if self.is_list else []
        ignored = " ".join(word for word in words if not spelled(last_part(word), is_whole=True).search(head))
        return replace(self, text=f"{self.text} The list is not limited by “{ignored}”.") if ignored else self


def class_fact(
    question: str, tree: Hierarchy, members_of: MembersOf, users_of: UsersOf, is_test: IsTest = lambda _: False
) -> Fact | None:
    """Return the answer to a question about classes; None for other questions, or if it names no class."""
    if len(question.split()) > MAX_WORDS:
        return None
    question = dotted(question)
    asks = {name for name, form in _FORM.items() if form.search(question)}
    upwards, downwards, asks_place = "upwards" in asks, "downwards" in asks, "defined" in asks
    kinds = asks & {"methods", "fields", "members"}
    asks_origin, asks_list = asks >= {"asks_origin", "inherited"}, "asks_list" in asks and bool(kinds)
    asks_users = "used" in asks and "uses" not in asks
    if not (asks_origin or upwards or downwards or asks_place or asks_users or asks_list):
        return None
    nodes: list[ClassNode] = []
    for token in dict.fromkeys(word.strip("`'\"?!.,:;()[]") for word in question.split()):
        same, count = _called(token, question, tree, is_test)
        if len(same) > 1 and not (asks_place and not (upwards or downwards)):
            places = _places(same)
            return Fact(f"{count}: {_listed(places)}. Which of them do you mean?", places[:MAX_NAMED])
        nodes += same
    if asks_users:
        whole = [one for one in nodes if not re.search(rf"\b{re.escape(last_part(one.name))}\.\w", question)]
        return _users(question, whole, tree, users_of)
    if not nodes:
        return None
    if asks_origin and (fact := _origin(question, nodes, tree, members_of)):
        return fact
    if upwards:
        return _bases(nodes, tree)
    if downwards:
        some = list({one.name: one for one in nodes if tree.below([one.name])[1:]}.values()) or nodes[:1]
        if len(some) > 1:
            return None  # `extends A but not B`, or both
        types = _implementers(some[0], tree, is_test) if "types" in asks else None
        return types or _subclasses(some[0], tree, is_direct="direct" in asks)
    if asks_place:
        return _definition(nodes)
    return _members(nodes, members_of, kinds.pop() if len(kinds) == 1 else "members") if asks_list else None


def _called(token: str, question: str, tree: Hierarchy, is_test: IsTest) -> tuple[list[ClassNode], str]:
    """Return the classes that a word means, by places in the question if there are several, and their number."""
    found = [tree.nodes[name] for name in classes_in(token, tree)]
    if found and "." not in token:
        found = [node for name, node in tree.nodes.items() if is_named(name, token)] or found
    found = [node for node in found if node.source] or found
    found = [node for node in found if not str(node.source).endswith(DECLARATIONS)] or found
    found = [node for node in found if not is_test(str(node.source))] or found
    if len(found) < 2:
        return found, ""
    others = dict.fromkeys(word.casefold() for word in NAME.findall(question) if len(word) > 1 and word != token)
    places = [frozenset(re.split(r"[^a-z0-9]+", f"{node.name} {node.source}".casefold())) for node in found]
    words = [word for word in others if 0 < sum(word in place for place in places) < len(found)]
    chosen = [node for node, place in zip(found, places, strict=True) if words and place.issuperset(words)]
    there = f", {len(chosen)} of them in `{' '.join(words)}`" if chosen else ""
    return chosen or found, f"{len(found)} classes are called `{token}`{there}"


def asked_definition(question: str) -> str:
    """Return the name of which a question asks where it is defined; empty for other questions."""
    is_asked = _FORM["defined"].search(question) and len(question.split()) <= MAX_WORDS
    return next(filter(looks_like_name, NAME.findall(dotted(question))), "") if is_asked else ""


def place_fact(question: str, index: Index) -> Fact | None:
    """Return where a function or value that a question names is defined."""
    name = asked_definition(question)
    own = sorted(definitions(name, index), key=lambda one: (one.source, one.lines)) if name else []
    # a long definition has several chunks, of which the first may be only its comment
    files = [(source, [one.lines for one in some]) for source, some in groupby(own, key=lambda one: one.source)]
    places = tuple(DefinedPlace(name, source, (spans[0][0], spans[-1][1])) for source, spans in files)
    where = " and ".join(f"{place.source} [{n}]" for n, place in enumerate(places, start=1))
    return Fact(f"`{name}` is defined in {where}.", places) if 0 < len(places) <= MAX_MEANT else None


def definitions(name: str, index: Index) -> list[Chunk]:
    """Return the passages that define a name, which may begin with its package, outside of tests if possible."""
    found = index.catalogue.chunks(index.keywords.defining([last_part(name)], DEFINITIONS)).values()
    own = []
    for chunk in found:
        places = f"{chunk.source}:", f"{package_of(index, chunk.source)}."
        if any(is_named(place + full, name) for place, full in product(places, chunk.symbols)):
            own.append(chunk)
    own = [chunk for chunk in own if chunk.type != KnowledgeType.TEST] or own
    return [chunk for chunk in own if not chunk.source.endswith(DECLARATIONS)] or own


def call_of(name: str, not_after: str = "") -> re.Pattern[str]:
    """Return a pattern for lines with a call by this escaped name; definitions and comments are none."""
    no_call = rf"{COMMENT}|(?:{_FORM['begins'].pattern}){name}\b"
    return re.compile(rf"(?!{no_call}).*(?<![\w${not_after}]){name}[?!]?(?:(?:::)?<[^<>()]*>)?\(")


def shown_line(place: DefinedPlace, lines: Sequence[str]) -> int:
    """Return the line that defines the name; of a use, that of a call or else of the name, as it may be an import."""
    first, last, name = *place.lines, re.escape(last_part(place.name))
    no_call = "" if place.is_use else "(?<!->)"
    word, comment = re.compile(rf"(?<![\w$]){no_call}{name}(?![\w$])"), re.compile(COMMENT)
    some = lines[first - 1 : None if place.is_use else last]
    named = [(n, text) for n, text in enumerate(some, start=first) if word.search(text)]
    if not place.is_use:
        begun = re.compile(rf"(?:{_FORM['begins'].pattern}){name}(?![\w$])")
        likely = sorted(named, key=lambda line: not begun.match(line[1]))
        return next((n for n, text in likely if not comment.match(text)), first)
    # a call further down on an object may be one of another function with this name
    calls = (n for n, text in named if call_of(name, "" if n == first else ".:>").match(text))
    return next(calls, named[0][0] if named else first)


def calls_fact(question: str, index: Index) -> Fact | None:
    """Return the lines with calls by a name that a question asks about: on which objects is not recorded."""
    asked = _FORM["called"].search(question) if _FORM["used"].search(question) else None
    name = last_part(asked["name"].rstrip(".:")) if asked else ""
    if not name or name in STOPWORDS or len(question.split()) > MAX_WORDS or _FORM["uses"].search(question):
        return None
    call = call_of(re.escape(name))
    chunks = index.catalogue.chunks(sorted(index.keywords.holding([name.casefold()]))[:MAX_READ]).values()
    code = [chunk for chunk in chunks if syntax_of(chunk.source) not in PROSE]
    code.sort(key=lambda one: (one.type == KnowledgeType.TEST, one.source, one.lines))
    lines = ((one.source, n, text) for one in code for n, text in enumerate(one.text.split("\n"), one.lines[0]))
    found = dict.fromkeys((source, line) for source, line, text in lines if call.match(text))
    places = tuple(DefinedPlace(f"{source}:{line}", source, (line, line)) for source, line in found)
    text = f"`{name}(` is written in at least {counted(len(places), 'line')}; what it is called on is not recorded"
    return Fact(f"{text}: {_listed(places)}.", places[:MAX_NAMED], is_list=True) if places else None


def _subclasses(node: ClassNode, tree: Hierarchy, is_direct: bool) -> Fact | None:
    below, name = tree.below([node.name])[1:], last_part(node.name)
    places = _places(one for one in below if not is_direct or node.name in one.bases)
    if not places:
        own = _places([node])
        return Fact(f"No class that extends `{name}` [1] is recorded.", own) if own else None
    kind = "direct subclass" if is_direct else "subclass"
    count = counted(len(places), kind, f"{kind}es")
    return Fact(f"`{name}` has at least {count}: {_listed(places)}.", places[:MAX_NAMED], is_list=True)


def _implementers(node: ClassNode, tree: Hierarchy, is_test: IsTest) -> Fact | None:
    verb, types = tree.implementers(node.name)
    places = tuple(sorted(_places(types), key=lambda place: is_test(place.source)))
    text = f"`{node.name}` is {verb} by at least {counted(len(places), 'type')}: {_listed(places)}."
    return Fact(text, places[:MAX_NAMED], is_list=True) if places else None


def _users(question: str, nodes: Sequence[ClassNode], tree: Hierarchy, users_of: UsersOf) -> Fact | None:
    """Return the files that use what the question names, and its subclasses if it asks what a change affects."""
    words = dict.fromkeys(word for word in NAME.findall(question) if looks_like_name(word) or f"{word}()" in question)
    names = [node.name for node in nodes if node.source] or list(words)
    found = {full: users for name in names for full, users in users_of(name).items() if users}
    texts, places = list[str](), list[DefinedPlace]()
    for full, users in found.items():
        marks = [f"{user.path} [{number}]" for number, user in enumerate(users, start=len(places) + 1)]
        count = counted(len(users), "file")
        texts.append(f"`{full}` is used by at least {count}: {some_of(marks, SHOWN_USERS)}.")
        places += [DefinedPlace(last_part(full), user.path, (user.line,) * 2, True) for user in users[:SHOWN_USERS]]
    is_affected = _FORM["affected"].search(question) is not None and len(found) == 1
    below = _subclasses(nodes[0], tree, is_direct=False) if is_affected and nodes else None  # a function has none
    if below and len(tree.below([nodes[0].name])) > 1:
        texts.append(re.sub(r"(?<=` )\[(\d+)\]", lambda number: f"[{int(number[1]) + len(places)}]", below.text))
        places += below.places
    return Fact(" ".join(texts), tuple(places), is_list=True) if texts and len(found) <= MAX_MEANT else None


def _bases(nodes: Sequence[ClassNode], tree: Hierarchy) -> Fact | None:
    node = next((one for one in nodes if one.source and (one.bases or one.implements)), None)
    if node is None:
        own = _places(nodes)
        return Fact(f"No base class of `{last_part(nodes[0].name)}` [1] is recorded.", own[:1]) if own else None
    names = sorted(dict.fromkeys((*node.bases, *node.implements)), key=node.verb_of)
    chain = [one.class_name for one in tree.chain(node.name)][1:]
    places = _places(tree.nodes[name] for name in names)
    cited = {place.name: f"`{place.name}` [{number}]" for number, place in enumerate(places, start=1)}
    parts = groupby(names, key=node.verb_of)
    bases = (f"{verb} {' and '.join(cited.get(name, f'`{name}`') for name in some)}" for verb, some in parts)
    further = f"; above it: {' > '.join(f'`{name}`' for name in chain)}" if chain else ""
    shown = node.name if last_part(node.name) in node.bases else last_part(node.name)
    return Fact(f"`{shown}` {' and '.join(bases)}{further}.", places or _places([node]))


def _origin(question: str, nodes: Sequence[ClassNode], tree: Hierarchy, members_of: MembersOf) -> Fact | None:
    """Return the nearest definitions of a member which the question names, in a class or its ancestors."""
    words = dict.fromkeys(reversed(NAME.findall(question)))  # verbs such as `get` come before the member
    for node, word in product(nodes, sorted(words, key=looks_like_name, reverse=True)):
        found = {
            one.name: DefinedPlace(f"{last_part(one.name)}.{word}", member.source or str(one.source), member.lines)
            for one in (tree.nodes[name] for name in _lineage(node.name, tree))
            for member in members_of(one)
            if unmarked(member.name) == word != last_part(one.name)  # a constructor
        }
        hidden = {above for name in found for above in _lineage(name, tree)[1:]}
        if nearest := {name: place for name, place in found.items() if name not in hidden}:
            where = " and ".join(f"`{name}` [{n}]" for n, name in enumerate(nearest, start=1))
            return Fact(f"`{word}` of `{last_part(node.name)}` is defined in {where}.", tuple(nearest.values()))
    return None


def _lineage(name: str, tree: Hierarchy) -> list[str]:
    """Return a class and all its ancestors; interfaces, which bring no members, only of a class that extends none."""
    found = [name]
    for node in map(tree.nodes.__getitem__, found):  # which grows below
        bases = [base for base in node.bases if node.verb_of(base) != "implements"] or node.bases
        found += [base for base in bases if base not in found]
    return found


def _members(nodes: Sequence[ClassNode], members_of: MembersOf, asked: str) -> Fact | None:
    """Return the members of the first class with some: its `methods`, `fields` or `members`, or else all."""
    for node in nodes:
        own, known = str(node.source), members_of(node)
        some = [one for one in known if one.kind in _KINDS.get(asked, (one.kind,))]
        if places := tuple(DefinedPlace(one.name, one.source or own, one.lines) for one in some or known):
            first, *others = dict.fromkeys(place.source for place in places)
            files = f"{first} and {counted(len(others), 'other file')}" if others else first
            kind = asked.removesuffix("s") if some else "member"
            text = f"`{last_part(node.name)}` defines at least {counted(len(places), kind)} in {files}"
            return Fact(f"{text}: {_listed(places)}.", places[:MAX_NAMED], is_list=True)
    return None


def _definition(nodes: Sequence[ClassNode]) -> Fact | None:
    places = _places(nodes)[:MAX_NAMED]
    where = " and ".join(f"{one.source}:{one.lines[0]}-{one.lines[1]} [{n}]" for n, one in enumerate(places, start=1))
    files = list(dict.fromkeys(path for node in nodes for path, _ in node.parts if path != node.source))
    parts = f"; further parts are in {some_of(files, SHOWN_USERS)}" if files else ""
    return Fact(f"`{places[0].name}` is defined in {where}{parts}.", places) if places else None


def _places(nodes: Iterable[ClassNode]) -> tuple[DefinedPlace, ...]:
    return tuple(DefinedPlace(one.name, one.source, one.lines) for one in nodes if one.source and one.lines)


def _listed(places: Sequence[DefinedPlace]) -> str:
    return some_of([f"`{one.name}` [{number}]" for number, one in enumerate(places, start=1)], MAX_NAMED)
