"""Turn an outline of definitions into sections that cover every line of a code file."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from lore_etl.chunking.section import IMPORTS, KEYED_KINDS, Section, Span, Symbol

_CLOSING = "()[]{};, \t"
LeadTest = Callable[[int], bool]


@dataclass(frozen=True)
class Definition:
    """A class, function or test with those inside it; `class_name` is that of a method outside its class, as in Go."""

    name: str
    kind: str
    first: int
    last: int
    children: tuple[Definition, ...] = ()
    names: tuple[str, ...] = ()
    class_name: str | None = None

    @property
    def has_members(self) -> bool:
        """Return whether its members become separate sections."""
        return self.kind in ("class", "suite") or bool(self.children)


def sections_of(
    definitions: Sequence[Definition],
    lines: list[str],
    leads: LeadTest,
    symbols: Sequence[Symbol],
    imports: Sequence[Span] = (),
) -> list[Section]:
    """Return all sections of a module: its definitions and the lines between them.

    `leads` returns whether a line (by number) above a definition belongs to it, such as a comment. `symbols` are
    the module's other definitions, by line. `imports` are the lines of import statements.
    """
    sections = _fill(definitions, 1, len(lines), lines, leads, _Owner("", "module", None, symbols))
    return [
        _with_imports(section, imports, lines, leads) if section.kind == "module" else section for section in sections
    ]


def _with_imports(section: Section, imports: Sequence[Span], lines: list[str], leads: LeadTest) -> Section:
    """Add the imports to a section. A section of only imports and comments introduces the next one."""
    start, end = bisect_left(imports, (section.first, 0)), bisect_right(imports, (section.last, len(lines)))
    own = tuple(span for span in imports[start:end] if span[1] <= section.last)
    importing = {number for first, last in own for number in range(first, last + 1)}
    numbers = (number for number in range(section.first, section.last + 1) if lines[number - 1].strip())
    if own and all(number in importing or leads(number) for number in numbers):
        return replace(section, imports=own, kind=IMPORTS, introduces=True)
    return replace(section, imports=own)


@dataclass(frozen=True)
class _Owner:
    """The owner of the lines between definitions: the module or a class."""

    name: str
    kind: str
    class_name: str | None
    symbols: Sequence[Symbol]

    def gap(self, first: int, last: int, is_head: bool, introduces: bool = False) -> Section:
        """Return a section of lines that no definition covers."""
        found = self.assigned(first, last)
        if not self.name:
            anchor = f"module/{found[0].name}" if found else "module"
            return Section(first, last, "module", anchor, symbols=found, group="module", introduces=introduces)
        kind = self.kind if is_head else "attributes"
        anchor = self.name if is_head else f"{self.name}/attributes"
        symbols = ((Symbol(self.name, first, last),) if is_head else ()) + found
        path = _path(self.name)
        return Section(
            first, last, kind, anchor, path, symbols, self.class_name, group=self.name, introduces=introduces
        )

    def assigned(self, first: int, last: int) -> tuple[Symbol, ...]:
        """Return the constants, variables and attributes that begin in these lines."""
        start, end = (
            bisect_left(self.symbols, number, key=lambda symbol: symbol.first) for number in (first, last + 1)
        )
        return tuple(self.symbols[start:end])


def _fill(
    definitions: Sequence[Definition], first: int, last: int, lines: list[str], leads: LeadTest, owner: _Owner
) -> list[Section]:
    found: list[Section] = []
    position = first
    for definition in definitions:
        if definition.last < position:
            continue  # it begins on the last line of the previous definition
        start = max(position, definition.first)
        while start > position and leads(start - 1):
            start -= 1
        between = [number for number in range(position, start) if lines[number - 1].strip()]
        if between:
            introduces = (bool(owner.name) and not found) or all(map(leads, between))
            found.append(owner.gap(position, start - 1, not found, introduces))
        end = max(start, min(definition.last, last))
        found += _sections(definition, start, end, lines, leads, owner)
        position = end + 1
    rest = "".join(lines[position - 1 : last]).strip()
    if rest and found and not rest.strip(_CLOSING):
        found[-1] = found[-1].cut(found[-1].first, last)
    elif rest:
        found.append(owner.gap(position, last, not found))
    return found


def _sections(
    definition: Definition, first: int, last: int, lines: list[str], leads: LeadTest, owner: _Owner
) -> list[Section]:
    if definition.has_members:
        class_name = definition.name if definition.kind == "class" else definition.class_name or owner.class_name
        inner = _Owner(definition.name, definition.kind, class_name, owner.symbols)
        # the line with the name belongs to the head, even if a member begins on it
        members = [child for child in definition.children if child.first > definition.first]
        return _fill(members, first, last, lines, leads, inner)
    symbols = tuple(Symbol(name, first, last) for name in definition.names or (definition.name,))
    if definition.class_name == definition.name or definition.kind in KEYED_KINDS:
        symbols += owner.assigned(first, last)
    section = Section(
        first, last, definition.kind, definition.name, _path(definition.name), symbols,
        definition.class_name or owner.class_name,
        group=owner.name or "module",
    )  # fmt: skip
    return [section]


def _path(name: str) -> tuple[str, ...]:
    """Split `Outer.method` into the heading path (`Outer`, `method`); a test's title is not split."""
    return tuple(name.split(" › ")) if " › " in name else tuple(name.split("."))
