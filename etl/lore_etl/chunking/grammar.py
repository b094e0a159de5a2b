"""Parse code with a tree-sitter grammar and the query file of its language."""

import re
from collections.abc import Callable, Iterator

from lore_etl.chunking.captured import FIELDS, Captured, Item, NotParsed, captured
from lore_etl.chunking.code_languages import CodeLanguage, code_languages
from lore_etl.chunking.outline import Definition, Outline
from lore_etl.chunking.section import CLASS_KINDS, KEYED_KINDS, Parsed, Symbol, counted_uses, parse_plain
from lore_etl.core.model import OWN_PACKAGE, ClassDefinition, Document, FileFacts, Member, Names
from lore_etl.core.text import unmarked

KEY_LINES = 12  # a value that is shorter stays whole
MAX_LINE = 20_000  # longer lines are generated
_FUNCTIONS = frozenset({"function", "macro"})
_INTERFACES = frozenset({"interface", "protocol", "trait"})
_MEMBER_KINDS = {"variable": "attribute", "attribute": "attribute", "config": "config", "type": "type"}
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ANY = re.compile(r"\binterface\s*\{\s*\}")
_WORD = re.compile(r"[A-Za-z_]\w*(?:\s*\.\s*\w+)?")
_ALIASES = {"byte": "uint8", "rune": "int32"}
_PREDECLARED = frozenset(
    "any bool chan comparable complex128 complex64 error float32 float64 func int int16 int32 int64 int8 interface map"
    " string struct uint uint16 uint32 uint64 uint8 uintptr".split()
)


def parse(document: Document) -> Parsed:
    return parse_as(document, code_languages()[document.syntax], lambda found, facts: facts)


def parse_as(
    document: Document, language: CodeLanguage, complete: Callable[[Captured, FileFacts], FileFacts]
) -> Parsed:
    """Parse a code file into sections and facts. Code that does not parse in time becomes text, with a warning."""
    lines = document.lines
    if any(len(line) > MAX_LINE for line in lines):
        return parse_plain(document, "minified code; indexed as plain text")
    try:
        found = captured(document.text, lines, language)
    except NotParsed as reason:
        return parse_plain(document, str(reason) or None)
    except ImportError:
        return parse_plain(document, f"the grammar of {language.title} is not installed; indexed as plain text")
    definitions = [_definition(item, language) for item in found.top if item.kind not in FIELDS]
    symbols = sorted(_symbols(found.top), key=lambda symbol: symbol.first)
    outline = Outline(definitions, lines, found.leading.__contains__, symbols, found.imports)
    return Parsed(outline.sections(), complete(found, _facts(found, language)))


def _definition(item: Item, language: CodeLanguage) -> Definition:
    """Return a definition with its members. A method outside its class has a dotted name."""
    is_short = item.kind == "key" and item.lines[1] - item.lines[0] < KEY_LINES
    inside = (inner for inner in item.inner if inner.kind not in FIELDS and not is_short)
    children = tuple(_definition(inner, language) for inner in inside)
    class_name = item.name if item.kind in CLASS_KINDS else item.name.rpartition(".")[0] or None
    if item.kind in KEYED_KINDS or (language.is_script and item.kind not in CLASS_KINDS):
        class_name = None
    kind = "method" if item.kind == "function" and class_name else item.kind
    names = tuple(dict.fromkeys(map(unmarked, item.names)))
    return Definition(item.name, kind, *item.lines, children, names, class_name)


def _symbols(items: list[Item]) -> Iterator[Symbol]:
    for item in items:
        if item.kind in ("variable", "declaration", "global", "key"):
            yield from (Symbol(name, *item.lines) for name in item.names)
        yield from _symbols(item.inner)


def _facts(found: Captured, language: CodeLanguage) -> FileFacts:
    items = [*_containers(found.top), *(() if language.is_script else _containers(found.local))]
    # `declare module '../store'` adds to the classes of that file
    items = [item for item in items if not any(space[:1] in "'\"" for space in item.spaces)]
    members: dict[str, tuple[Member, ...]] = {}
    # a companion object, or another branch of a conditional compilation, is the same class
    same: dict[tuple[str, object], list[Item]] = {}
    for item in sorted(items, key=lambda item: item.start):
        same.setdefault((item.name, item.part and item.start), []).append(item)
    classes = [class_ for group in same.values() for class_ in _classes(group, found.package)]
    known = {class_.name for class_ in classes}
    # a type of Go that is neither struct nor interface is a class if it has methods
    types = {
        item.name: class_ for item in found.top if item.kind == "type" for class_ in _classes([item], found.package)
    }
    for item in items:
        for name in item.classes:
            members[name] = members.get(name, ()) + tuple(_members(item))
    dotted = [item for item in found.top if not item.is_container and "." in item.name]
    for method in () if language.is_script else dotted:
        owner, _, name = method.name.rpartition(".")
        members[owner] = (*members.get(owner, ()), Member(name, "method", method.lines))
        if owner not in known:
            known.add(owner)
            classes.append(types.get(owner) or ClassDefinition(owner, method.lines, part="extension"))
    for of, interface, lines in found.asserted:
        classes.append(ClassDefinition(of, lines, part="extension", implements=(interface,)))
    functions = (item.names for item in found.top if item.kind in _FUNCTIONS)
    # the other names of a script's function are variables
    names = (name for names in functions for name in (names[:1] if language.is_script else names))
    return FileFacts(
        classes=tuple(classes),
        imports=found.names,
        members=members,
        family=language.family,
        package=found.package,
        methods=_signatures([*items, *found.top], found),
        functions=tuple(dict.fromkeys(names)),
        uses=counted_uses(use for use in found.uses if _is_definite(use[0], found, language)),
    )


def _is_definite(name: str, found: Captured, language: CodeLanguage) -> bool:
    """Return whether a name may be that of a definition: in Go, not if a variable or a package precedes its dot."""
    first, dot, _ = name.partition(".")
    return bool(name) and (language.name != "go" or (first in found.names) == bool(dot))


def _signatures(items: list[Item], found: Captured) -> dict[str, tuple[str, ...]]:
    """Return the signatures of the methods of each type, for languages that compare types by them."""
    methods = dict[str, tuple[str, ...]]()
    for item in (inner for outer in items for inner in ([outer] if "." in outer.name else outer.inner)):
        if item.signature:
            owner, _, name = item.name.rpartition(".")
            methods[owner] = (*methods.get(owner, ()), _signature(name, *item.signature, found.names))
    return methods


def _classes(same: list[Item], package: str) -> Iterator[ClassDefinition]:
    """Yield the class of definitions with one name, or each that one extends; a companion object gives it no bases."""
    own = [item for item in same if item.kind != "object"] or same
    bases = tuple(dict.fromkeys(base for item in own for base in item.bases))
    implements = tuple(dict.fromkeys(base for item in own for base in item.implements))
    mixins = tuple(dict.fromkeys(base for item in own for base in item.mixins))
    for name in own[0].classes:
        full = ".".join(filter(None, (package, *own[0].spaces, name)))
        is_interface = all(item.kind in _INTERFACES for item in own)
        yield ClassDefinition(name, own[0].lines, bases, full, own[0].part, implements, is_interface, mixins)


def _containers(items: list[Item]) -> Iterator[Item]:
    for item in items:
        if item.kind in CLASS_KINDS:
            yield item
            yield from _containers(item.inner)


def _members(item: Item) -> Iterator[Member]:
    for inner in item.inner:
        if not inner.is_container:
            kind = _MEMBER_KINDS.get(inner.kind, "method")
            yield from (Member(name.removeprefix(f"{item.name}."), kind, inner.lines) for name in inner.names)


def _signature(name: str, parameters: str, result: str, imports: Names) -> str:
    """Spell the signature of a Go method comparably, as `Name(type,…)(type,…)`: its types with their packages."""

    def spelled(word: re.Match[str]) -> str:
        first, _, inner = "".join(word[0].split()).partition(".")
        if inner:
            return f"{imports[first][0]}.{inner}" if first in imports else f"{first}.{inner}"
        plain = _ALIASES.get(first, first)
        return plain if plain in _PREDECLARED else OWN_PACKAGE + plain

    def plain(types: str) -> str:
        return "".join(_WORD.sub(spelled, _ANY.sub("any", _COMMENT.sub(" ", types))).split())

    shown = name if name[:1].isupper() else OWN_PACKAGE + name
    return f"{shown}({plain(parameters)})({plain(result)})"
