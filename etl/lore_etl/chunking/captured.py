"""Run a language's query over a file and arrange its captures: nested definitions, bases, names and imports."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from tree_sitter import Node, Parser, QueryCursor

from lore_etl.chunking.code_languages import CodeLanguage, grammar_named
from lore_etl.chunking.doubt import MAX_DEPTH, doubts_of, is_hopeless
from lore_etl.chunking.section import CLASS_KINDS, KEYED_KINDS, Span, whole_lines
from lore_etl.core.text import one_line

PARSE_SECONDS = 5.0  # per file; usual code takes 0.2 s per MB
READ_BYTES = 1 << 12  # each text of a predicate costs a copy of as many
FRAGMENT_BYTES = 1_000  # about one chunk
SCRIPT_DEPTH = 3  # of the body of an exported class; functions in functions, which most code is in, are not read
MATCH_LIMIT = 1 << 12  # unfinished matches at a time
MAX_NESTED = 20  # classes within classes
MAX_KEYS = 3  # keys within keys
MAX_NAME = 200
CONTAINERS = CLASS_KINDS | KEYED_KINDS | {"suite"}
SPACES = frozenset({"scope", "namespace"})  # names in a namespace begin with its own
FIELDS = frozenset("variable global attribute promoted config signature declaration".split())  # without definitions
_UNNAMED = CLASS_KINDS | {"anonymous", "literal"}
EXTENSIONS = frozenset({"impl", "extension"})  # they add to a class defined elsewhere
LOCAL = frozenset({"function", "method", "literal"})  # their inner classes do not become chunks
TITLED = frozenset({"test", "suite", "config"})  # their names are texts
_HELPERS = frozenset(
    "name owner alias path all prefix base implements mixin asserted of parameters result partial doc import package"
    " actual group start end anonymous literal receiver inside".split()
)
_GENERICS = re.compile(r"<[^<>]*>|\[[^\[\]]*\]|\([^()]*\)")
_OPERATOR = re.compile(
    r"((?:\w+(?:\.|::))*)`?([!#%&*+\-/:<=>?@\\^|~]+|\w+[?!]|\[\]=?|operator ?(?:\(\)|\[\]))`?(?:\[.*)?", re.DOTALL
)
_BASE = re.compile(r"[\w.$]+")
_ABSOLUTE = re.compile(r"(?:(?:global)?::|\\)(?=\w)")
_SEPARATOR = re.compile(r"\s*(?:::|\\|->|[.:/#])\s*")
_MAJOR = re.compile(r"[/.]v\d+(?=\"$)")  # of a Go module; its package has the name before it


class NotParsed(Exception):
    """The error for a file that becomes plain text; its message is the warning, if there is one."""


class Mark(NamedTuple):
    """A captured node: its bytes, its lines, its first column, the beginning of its text, and whether a dot follows."""

    start: int
    end: int
    lines: Span
    column: int
    text: str
    is_prefix: bool


Match = dict[str, list[Mark]]
Nodes = dict[str, list[Node]]
Doubts = Mapping[Span, Sequence[Span]]


@dataclass(slots=True)
class Item:
    """A definition in a file, with the definitions, bases and variables inside it.

    `name` begins with the classes around it, `spaces` are its namespaces. Bases in `doubts` may be another class's.
    """

    kind: str
    start: int
    end: int
    lines: Span
    names: list[str]
    owner: str = ""
    name: str = ""
    part: str = ""
    depth: int = 0
    spaces: tuple[str, ...] = ()
    inner: list[Item] = field(default_factory=list)
    bases: list[str] = field(default_factory=list)
    implements: list[str] = field(default_factory=list)
    mixins: list[str] = field(default_factory=list)
    signature: tuple[str, str] | None = None
    doubts: Sequence[Span] = ()

    @property
    def is_container(self) -> bool:
        return self.kind in CONTAINERS

    @property
    def classes(self) -> list[str]:
        """Return the names of the classes that it defines or extends; other names of a class are synonyms."""
        return self.names if self.kind in EXTENSIONS else self.names[:1]


@dataclass
class Captured:
    """Everything that a query captured. `top` are the outermost definitions that are not namespaces.

    `local` are classes within functions. They contain only classes. `asserted` are types with an interface of each,
    `uses` the names of other definitions, each with its line. Of scripts, `used` are all names, and `matches` have
    those that modules import and export.
    """

    top: list[Item] = field(default_factory=list)
    local: list[Item] = field(default_factory=list)
    package: str = ""
    imports: list[Span] = field(default_factory=list)
    names: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    asserted: list[tuple[str, str, Span]] = field(default_factory=list)
    leading: set[int] = field(default_factory=set)
    paths: set[Mark] = field(default_factory=set)
    uses: list[tuple[str, int]] = field(default_factory=list)
    matches: Sequence[Match] = ()
    used: Sequence[tuple[bytes, Node]] = ()


def captured(text: str, lines: list[str], language: CodeLanguage) -> Captured:
    """Return all that a language's query captures. Raises NotParsed, ImportError."""
    data = language.readable(text.encode("utf-8"))
    matches, doubts, nodes = _matches(data, language)
    found = Captured(matches=matches)
    clean = _spelled if language.is_script else _cleaned_name
    groups = [(match["group"][0], _path(match["prefix"][0].text)) for match in matches if "group" in match]
    for match in matches:
        for mark in match.get("doc", ()):
            found.leading.update(whole_lines(mark.lines, mark.column, lines))
        if "asserted" in match:
            of, interface = match["of"][0], match["asserted"][0]
            found.asserted.append((cleaned(of.text), cleaned(interface.text), interface.lines))
        found.imports += [mark.lines for mark in match.get("imports", ())]
        if "import" in match or "alias" in match:
            _add_import(match, groups, found)
        elif "package" in match and not found.package:
            found.package = cleaned(match["name"][0].text)
    _nest(list(_items(matches, doubts, clean)), found)
    _add_bases(matches, found, clean)
    found.imports = sorted(set(found.imports))
    if language.is_script:
        found.used = [(data[slice(*node.byte_range)], node) for node in nodes]
        return found
    names = {(mark.start, mark.end) for match in matches for mark in match.get("name", ())}
    uses = [(*node.byte_range, node.start_point[0] + 1, _text(data, *node.byte_range)) for node in nodes]
    importing = {number for first, last in found.imports for number in range(first, last + 1)}
    last = 0
    for start, end, line, name in sorted(uses, key=lambda use: (use[0], -use[1])):
        if end > last and (start, end) not in names and line not in importing:
            last = end
            found.uses.append((_referred(name, cleaned), line))
    return found


@lru_cache(maxsize=1 << 12)
def cleaned(name: str) -> str:
    """Return a name with dots between its parts, and without type parameters, pointers and quotes."""
    short = name[: 4 * MAX_NAME]
    if "operator" not in short:
        for _ in range(4):
            short = _GENERICS.sub("", short)
    parts = (part.strip("\"'`*&?@$!;,()<>[]{} \t\n") for part in _SEPARATOR.split(short))
    return " ".join(".".join(filter(None, parts)).split())[:MAX_NAME]


def _cleaned_name(name: str) -> str:
    """Return the name of a definition as `cleaned` does, but leave operators, and names such as `empty?`, unchanged."""
    operator = _OPERATOR.fullmatch(name[: 4 * MAX_NAME])
    return ".".join(filter(None, (cleaned(operator[1]), operator[2])))[:MAX_NAME] if operator else cleaned(name)


def _referred(name: str, clean: Callable[[str], str]) -> str:
    """Return the name of another definition, with a dot before one that begins at the root, such as `\\A` and `::A`."""
    root = _ABSOLUTE.match(name)
    return f".{clean(name[root.end() :])}" if root else clean(name)


def _spelled(name: str) -> str:
    """Return the name of a definition of a script, which may be assigned to another one, without spaces."""
    name = "".join(name.split()).replace(".prototype.", ".").removeprefix("exports.")
    return name.removeprefix("module.exports.")[:MAX_NAME]


def _matches(data: bytes, language: CodeLanguage) -> tuple[list[Match], Doubts, list[Node]]:
    """Return all matches in the order of their patterns, the doubtful parts of the classes among them, and the uses."""
    ends = time.monotonic() + PARSE_SECONDS

    def is_over(*_: object) -> bool:
        return time.monotonic() > ends

    def read(offset: int, _: object) -> bytes:
        return data[offset : offset + READ_BYTES]

    def mark(name: str, node: Node) -> Mark:
        (row, column), (last, end_column) = node.start_point, node.end_point
        last += 1 if end_column or last == row else 0  # some nodes end with their line break
        start, end = node.byte_range
        text = "" if name == "doc" else _text(data, start, end)  # which may be long
        if name in ("parameters", "result"):
            text = ",".join(_types(node, data))
        return Mark(start, end, (row + 1, last), column, text, data[end : end + 1] == b".")

    try:
        root = Parser(grammar_named(language.grammar)).parse(read, progress_callback=is_over).root_node
    except ValueError:
        root = None
    if root is None or is_hopeless(root):
        raise NotParsed(f"{language.title} that takes too long to parse; indexed as plain text")
    if root.has_error and len(data) <= FRAGMENT_BYTES:
        is_unbalanced = any(data.count(opening) != data.count(closing) for opening, closing in (b"{}", b"()", b"[]"))
        if is_unbalanced or any(node.is_error for node in (root, *root.children)):
            raise NotParsed  # a text that begins or ends within a definition, which its definitions would break up
    # a progress callback for `matches` crashes tree-sitter 0.26.1
    definitions, use = language.queries
    cursor, found, bodies = QueryCursor(definitions, match_limit=MATCH_LIMIT), list[tuple[int, Nodes]](), [root]
    cursor.set_max_start_depth(SCRIPT_DEPTH if language.is_script else MAX_DEPTH)
    known = {root.id}
    for body in bodies:  # which grows below
        inside = cursor.matches(body)
        found += inside
        more = {node.id: node for _, match in inside for node in match.get("inside", ()) if node.id not in known}
        bodies += more.values()
        known.update(more)
    found.sort(key=lambda match: match[0])  # the order of the patterns
    captures = found if root.has_error else ()
    classes = {node.id for _, match in captures for kind in match.keys() & CLASS_KINDS for node in match[kind]}
    marks = [
        {name: [mark(name, node) for node in nodes] for name, nodes in match.items() if name[0] != "_"}
        for _, match in found
    ]
    cursor = QueryCursor(use)
    cursor.set_max_start_depth(MAX_DEPTH)  # the time for a name grows with its depth
    return marks, doubts_of(root, classes), cursor.captures(root).get("use", [])


def _path(text: str) -> str:
    words = text.partition("{")[0].split()
    return words[-1].rstrip("_*.") if words else ""


def _text(data: bytes, start: int, end: int) -> str:
    return data[start : min(end, start + 4 * MAX_NAME)].decode("utf-8", "replace")


def _types(parameters: Node, data: bytes) -> Iterator[str]:
    """Yield the types of the parameters of Go, of which several may share one, or the type of a result."""
    if parameters.type != "parameter_list":
        yield data[slice(*parameters.byte_range)].decode("utf-8", "replace")
        return
    for one in parameters.named_children:
        if type_ := one.child_by_field_name("type"):
            dots = "..." if one.type == "variadic_parameter_declaration" else ""
            text = dots + data[slice(*type_.byte_range)].decode("utf-8", "replace")
            yield from [text] * max(1, len(one.children_by_field_name("name")))


def _items(matches: list[Match], doubts: Doubts, clean: Callable[[str], str]) -> Iterator[Item]:
    """Yield the definitions; if patterns match the same node, the first counts."""
    seen: set[tuple[int, int, int]] = set()
    for match in (match for match in matches if "name" in match):
        kind = next((key for key in match if key not in _HELPERS), "")
        read = _title if kind in TITLED else cleaned if kind == "key" else clean
        names = [name for mark in match["name"] if (name := read(mark.text))]
        if not kind or not names:
            continue
        if kind == "key":
            names = [".".join(names)]
        mark = match[kind][0]
        key = mark.start, mark.end, match["name"][0].start if kind == "variable" else -1
        if key in seen or (mark.start, mark.end, -1) in seen:
            continue
        seen.add(key)
        part = "extension" if kind in EXTENSIONS else next((one for one in ("actual", "partial") if one in match), "")
        owner = cleaned(match["owner"][0].text) if "owner" in match else ""
        start, end = (match.get(edge, [mark])[0] for edge in ("start", "end"))  # its parts outside its node
        item = Item(kind, start.start, end.end, (start.lines[0], end.lines[1]), names, owner, part=part)
        item.doubts = doubts.get((mark.start, mark.end), ())
        if "parameters" in match:
            item.signature = match["parameters"][0].text, match["result"][0].text if "result" in match else ""
        yield item
    for mark in (mark for match in matches for mark in match.get("literal", ())):
        yield Item("literal", mark.start, mark.end, mark.lines, [])


def _title(text: str) -> str:
    return one_line(text).strip("'\"`")[:MAX_NAME]


def _nest(items: list[Item], found: Captured) -> None:
    """Put each definition into the class around it; those inside functions are left out."""
    around: list[Item] = []
    for item in sorted(items, key=lambda item: (item.start, -item.end)):
        while around and around[-1].end <= item.start:
            around.pop()
        above = around[-1] if around else None
        if item.kind == "promoted":  # a parameter of a constructor, which is a field of its class
            item.kind, above = "attribute", around[-2] if len(around) > 1 else None
        if item.kind not in FIELDS:
            around.append(item)
        if item.kind == "literal":
            outer = above or item
            item.name, item.depth, item.spaces = outer.name, outer.depth, outer.spaces
        elif above is not None and item.kind == "global":  # of the same statement
            around[0].names += item.names
        elif above is None or ((above.is_container or above.kind in SPACES) and above.name):
            _place(item, above, found)
        elif above.name and above.kind in LOCAL and item.kind in CLASS_KINDS:
            item.depth, item.spaces = above.depth + 1, above.spaces
            if item.depth <= MAX_NESTED:
                item.name = f"{above.name}.{item.names[0]}"  # it is named after the function around it
                item.names = [item.name]
                found.local.append(item)


def _place(item: Item, above: Item | None, found: Captured) -> None:
    """Name a definition after those around it. Without a name, its own inner definitions are left out."""
    item.depth = above.depth + 1 if above else 0
    if item.depth > (MAX_KEYS if item.kind == "key" else MAX_NESTED):
        return
    if item.owner:
        item.names = [f"{item.owner}.{name}" for name in item.names]
    if above is not None and above.kind in SPACES:
        item.spaces = (*above.spaces, above.name)
    elif above is not None:
        item.spaces = above.spaces
        above.inner.append(item)
    if above is not None and above.kind != "scope":
        dot = " › " if above.kind == "suite" else "."
        item.names = [f"{above.name}{dot}{name}" for name in item.names]
    item.name = item.names[0]
    if item.kind not in SPACES and (above is None or above.kind in SPACES):
        found.top.append(item)


def _add_bases(matches: list[Match], found: Captured, clean: Callable[[str], str]) -> None:
    """Give each base to the innermost definition around it, if that is a class."""
    bases = [mark for match in matches for mark in match.get("base", ()) if not mark.is_prefix]
    bases += [mark for match in matches for mark in match.get("receiver", ())]
    bases.sort()
    interfaces = {mark for match in matches for mark in match.get("implements", ())}
    mixed = {mark for match in matches for mark in match.get("mixin", ())}
    # nodes with bases but no name in the class tree, such as anonymous classes
    unnamed = {
        mark
        for match in matches
        for kind in match.keys() & _UNNAMED
        if not any(clean(mark.text) for mark in match.get("name", ()))
        for mark in match[kind]
    }
    items = [*_all([*found.top, *found.local]), *(Item("", mark.start, mark.end, mark.lines, []) for mark in unnamed)]
    items.sort(key=lambda item: (item.start, -item.end))
    around, seen = list[Item](), set[tuple[int, str]]()
    position = 0
    for base in bases:
        while position < len(items) and items[position].start <= base.start:
            around.append(items[position])
            position += 1
        while around and around[-1].end <= base.start:
            around.pop()
        holder = next((item for item in reversed(around) if item.end > base.start), None)
        name = _referred(base.text, clean)
        if holder is None or not holder.is_container or any(first <= base.start < end for first, end in holder.doubts):
            continue
        if (_BASE.fullmatch(name) or _OPERATOR.fullmatch(name)) and (id(holder), name) not in seen:
            seen.add((id(holder), name))
            holder.bases.append(name)
            if base in interfaces:
                holder.implements.append(name)
            if base in mixed:
                holder.mixins.append(name)


def _all(items: list[Item]) -> Iterator[Item]:
    stack = list(items)
    while stack:
        item = stack.pop()
        if item.kind not in FIELDS:
            yield item
        stack += item.inner


def _add_import(match: Match, groups: list[tuple[Mark, str]], found: Captured) -> None:
    """Record the lines and the name of an import; after its most specific pattern, other names are ignored."""
    found.imports += [mark.lines for mark in match.get("import", ())]
    mark = match["path"][0] if "path" in match else None
    if mark is None or mark in found.paths:
        return
    found.paths.add(mark)
    prefixes = [prefix for group, prefix in groups if group.start <= mark.start and mark.end <= group.end]
    path, named = (cleaned("/".join((*prefixes, _path(text)))) for text in (mark.text, _MAJOR.sub("", mark.text)))
    alias = cleaned(match["alias"][0].text) if "alias" in match else named.rpartition(".")[2]
    if path:
        whole = f"{'**' if 'shared' in match else '*'} {path}"  # also for other files
        found.names.setdefault(whole if "all" in match else alias, (path, None))
        found.uses += [(alias, mark.lines[0])] if "import" in match else []
