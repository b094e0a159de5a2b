"""From an outline of definitions to sections that cover every line of a code file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from etl.chunking.section import Section

LeadTest = Callable[[int], bool]


@dataclass(frozen=True)
class Definition:
    """A class, function or test of a file, with the definitions inside it."""

    name: str
    kind: str
    first: int
    last: int
    children: tuple[Definition, ...] = ()
    symbols: tuple[str, ...] = ()

    @property
    def holds_members(self) -> bool:
        """Whether its members become sections of their own."""
        return self.kind in ("class", "suite")


def sections_of(
    definitions: Sequence[Definition], lines: list[str], leads: LeadTest, globals_: GlobalNames
) -> list[Section]:
    """All sections of a module: its definitions, and what stands between them.

    `leads` tells whether a line (by number) above a definition belongs to it: a comment. `globals_` names what
    the lines of a range define at module level.
    """
    return list(_fill(definitions, 1, len(lines), lines, leads, _Owner("", None, globals_)))


GlobalNames = Callable[[int, int], tuple[str, ...]]


@dataclass(frozen=True)
class _Owner:
    """What the lines between definitions belong to: the module, or a class."""

    name: str
    class_name: str | None
    globals_: GlobalNames

    def gap(self, first: int, last: int, is_head: bool) -> Section:
        """The section of lines that no definition covers."""
        if not self.name:
            names = self.globals_(first, last)
            anchor = f"module/{names[0]}" if names else "module"
            return Section(first, last, "module", anchor, symbols=names, group="module")
        kind = ("class" if self.class_name == self.name else "suite") if is_head else "attributes"
        anchor = self.name if is_head else f"{self.name}/attributes"
        symbols = (self.name,) if is_head else ()
        return Section(first, last, kind, anchor, _path(self.name), symbols, self.class_name, group=self.name)


def _fill(
    definitions: Sequence[Definition], first: int, last: int, lines: list[str], leads: LeadTest, owner: _Owner
) -> Iterator[Section]:
    position, is_head = first, True
    for definition in definitions:
        start = max(position, _lead(definition.first, position, leads))
        if start > position and any(line.strip() for line in lines[position - 1 : start - 1]):
            yield owner.gap(position, start - 1, is_head)
            is_head = False
        end = max(start, min(definition.last, last))
        yield from _sections(definition, start, end, lines, leads, owner)
        position = end + 1
    if position <= last and any(line.strip() for line in lines[position - 1 : last]):
        yield owner.gap(position, last, is_head)


def _sections(
    definition: Definition, first: int, last: int, lines: list[str], leads: LeadTest, owner: _Owner
) -> Iterator[Section]:
    if definition.holds_members:
        class_name = definition.name if definition.kind == "class" else owner.class_name
        inner = _Owner(definition.name, class_name, owner.globals_)
        yield from _fill(definition.children, first, last, lines, leads, inner)
        return
    names = definition.symbols or (definition.name,)
    yield Section(
        first, last, definition.kind, definition.name, _path(definition.name), names, owner.class_name,
        group=owner.name or "module",
    )  # fmt: skip


def _lead(first: int, floor: int, leads: LeadTest) -> int:
    while first > floor and leads(first - 1):
        first -= 1
    return first


def _path(name: str) -> tuple[str, ...]:
    """`Outer.method` as the heading path (`Outer`, `method`); a test's title is one step."""
    return tuple(name.split(" › ")) if " › " in name else tuple(name.split("."))
