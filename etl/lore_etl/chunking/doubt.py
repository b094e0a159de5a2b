"""Find the parts of classes whose bases a parser may have guessed, because the code around them does not parse."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import NamedTuple

from tree_sitter import Node

from lore_etl.chunking.section import Span

MAX_PARTS = 20  # with more doubtful parts, a whole class is in doubt
_BODY = re.compile(r"(?:_body|_block|_declaration_list|(?:struct|interface)_type)$")


class _Place(NamedTuple):
    """A node within a class: whether it belongs to the body, and the statement of the body around it."""

    node: Node
    owner: Node | None
    is_inside: bool
    statement: Node | None


def doubts_of(root: Node, classes: Collection[int]) -> dict[Span, list[Span]]:
    """Return the doubtful bytes of each class by its own bytes; `classes` are the ids of their nodes.

    An error between the name and the body puts the whole class in doubt, one between two members the rest of its
    body, and one within a member only that member.
    """
    found: dict[Span, list[Span]] = defaultdict(list)
    for owner, doubt in _doubts(root, classes):
        parts = found[owner.byte_range]
        if len(parts) < MAX_PARTS:
            parts.append(doubt if len(parts) < MAX_PARTS - 1 else owner.byte_range)
    return found


def has_error_before_body(class_node: Node) -> bool:
    """Return whether the head of a class does not parse."""
    body = class_node.child_by_field_name("body")
    return class_node.has_error and any(child.has_error for child in class_node.children if child != body)


def _doubts(root: Node, classes: Collection[int]) -> Iterator[tuple[Node, Span]]:
    """Yield each class with a doubtful part. Only nodes that contain errors are visited."""
    stack = [_Place(root, None, False, None)] if root.has_error else []
    while stack:
        place = stack.pop()
        body = place.node.child_by_field_name("body")
        for child in place.node.children:
            if not child.has_error:
                continue
            if place.owner is not None and (child.is_error or child.is_missing):
                yield from _doubt(place, place.owner, child)
            stack.append(_below(place, child, child.id in classes, child == body))


def _below(place: _Place, child: Node, is_class: bool, is_body: bool) -> _Place:
    if is_class:
        return _Place(child, child, False, None)
    if place.statement is not None or place.owner is None:
        return place._replace(node=child)
    if is_body or _BODY.search(child.type):
        return place._replace(node=child, is_inside=True)
    return place._replace(node=child, statement=child if place.is_inside else None)


def _doubt(place: _Place, owner: Node, error: Node) -> Iterator[tuple[Node, Span]]:
    if not place.is_inside:
        name = owner.child_by_field_name("name")
        if name is None or error.start_byte >= name.start_byte:  # an annotation before the name changes nothing
            yield owner, owner.byte_range
    elif place.statement is None:
        yield owner, (error.start_byte, owner.end_byte)
    else:
        yield owner, place.statement.byte_range
