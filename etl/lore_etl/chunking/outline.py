"""Turn an outline of definitions into sections that cover every line of a code file."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from lore_etl.chunking.section import IMPORTS, KEYED_KINDS, Section, Span, Symbol

_CLOSING = "()[]{};, \t"


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


@dataclass(frozen=True)
class Outline:
    """The definitions of a module with its lines; `symbols` are its other definitions by line.

    `leads` tells whether a line above a definition belongs to it, such as a comment. `imports` are lines of statements.
    """

    definitions: Sequence[Definition]
    lines: list[str]
    leads: Callable[[int], bool]
    symbols: Sequence[Symbol]
    imports: Sequence[Span] = ()

    def sections(self) -> list[Section]:
        """Return all sections of the module: its definitions and the lines between them."""
        found = self._below(Definition("", "module", 1, len(self.lines)), self.definitions, 1, len(self.lines))
        return [self._with_imports(section) if section.kind == "module" else section for section in found]

    def _with_imports(self, section: Section) -> Section:
        """Add the imports to a section. A section of only imports and comments introduces the next one."""
        start = bisect_left(self.imports, (section.first, 0))
        end = bisect_right(self.imports, (section.last, len(self.lines)))
        own = tuple(span for span in self.imports[start:end] if span[1] <= section.last)
        importing = {number for first, last in own for number in range(first, last + 1)}
        numbers = (number for number in range(section.first, section.last + 1) if self.lines[number - 1].strip())
        if own and all(number in importing or self.leads(number) for number in numbers):
            return replace(section, imports=own, kind=IMPORTS, introduces=True)
        return replace(section, imports=own)

    def _below(self, owner: Definition, members: Sequence[Definition], first: int, last: int) -> list[Section]:
        found: list[Section] = []
        position = first
        for member in members:
            if member.last < position:
                continue  # it begins on the last line of the previous definition
            start = max(position, member.first)
            while start > position and self.leads(start - 1):
                start -= 1
            between = [number for number in range(position, start) if self.lines[number - 1].strip()]
            if between:
                introduces = (bool(owner.name) and not found) or all(map(self.leads, between))
                found.append(self._gap(owner, position, start - 1, not found, introduces))
            end = max(start, min(member.last, last))
            found += self._member(owner, member, start, end)
            position = end + 1
        rest = "".join(self.lines[position - 1 : last]).strip()
        if rest and found and not rest.strip(_CLOSING):
            found[-1] = found[-1].cut(found[-1].first, last)
        elif rest:
            found.append(self._gap(owner, position, last, not found))
        return found

    def _member(self, owner: Definition, member: Definition, first: int, last: int) -> list[Section]:
        name, class_name = member.name, member.class_name or owner.class_name
        if member.kind in ("class", "suite") or member.children:
            inner = replace(member, class_name=name if member.kind == "class" else class_name)
            # the line with the name belongs to the head, even if a member begins on it
            return self._below(inner, [child for child in member.children if child.first > member.first], first, last)
        symbols = tuple(Symbol(own, first, last) for own in member.names or (name,))
        if member.class_name == name or member.kind in KEYED_KINDS:
            symbols += self._assigned(first, last)
        group = owner.name or "module"
        return [Section(first, last, member.kind, name, _path(name), symbols, class_name, group=group)]

    def _gap(self, owner: Definition, first: int, last: int, is_head: bool, introduces: bool = False) -> Section:
        """Return a section of lines that no definition covers."""
        name, symbols = owner.name, self._assigned(first, last)
        if not name:
            anchor = f"module/{symbols[0].name}" if symbols else "module"
            return Section(first, last, "module", anchor, symbols=symbols, group="module", introduces=introduces)
        kind, anchor = "attributes", f"{name}/attributes"
        if is_head:
            kind, anchor, symbols = owner.kind, name, (Symbol(name, first, last), *symbols)
        class_name = owner.class_name
        return Section(first, last, kind, anchor, _path(name), symbols, class_name, group=name, introduces=introduces)

    def _assigned(self, first: int, last: int) -> tuple[Symbol, ...]:
        """Return the constants, variables and attributes that begin in these lines."""
        start, end = (bisect_left(self.symbols, number, key=lambda one: one.first) for number in (first, last + 1))
        return tuple(self.symbols[start:end])


def _path(name: str) -> tuple[str, ...]:
    """Split `Outer.method` into the heading path (`Outer`, `method`); a test's title is not split."""
    return tuple(name.split(" › ")) if " › " in name else tuple(name.split("."))
