"""Find where code does not parse: in the parts of classes whose bases a parser may have guessed, or all over."""

import re
from collections import defaultdict
from collections.abc import Collection

from tree_sitter import Node

from lore_etl.chunking.section import Span

MAX_PARTS = 20  # with more doubtful parts, a whole class is in doubt
MAX_DEPTH = 1000  # of syntax with errors; usual code has 50
MAX_TOKENS = 2000  # that the grammar finds no place for, side by side
_BODY = re.compile(r"(?:_body|_block|_declaration_list|(?:struct|interface)_type)$")


def is_hopeless(root: Node) -> bool:
    """Return whether an error has so many unnamed tokens in a row that a query, quadratic in them, takes minutes."""
    cursor = root.walk()
    for index in range(0, root.descendant_count if root.has_error else 0, MAX_TOKENS):
        cursor.goto_descendant(index)
        if cursor.depth > MAX_DEPTH:
            return True
        while cursor.goto_parent():
            if cursor.node is not None and cursor.node.is_error and cursor.node.child_count > 2 * MAX_TOKENS:
                return True
    return False


def doubts_of(root: Node, classes: Collection[int]) -> dict[Span, list[Span]]:
    """Return the doubtful bytes of each class by its own bytes; `classes` are the ids of their nodes.

    An error in the head puts the class in doubt, one between members the rest of the body, one in a member only it.
    """
    found: dict[Span, list[Span]] = defaultdict(list)
    # a node with the class around it, whether it belongs to the body, and the statement of the body around it
    stack: list[tuple[Node, Node | None, bool, Node | None]] = [(root, None, False, None)]
    while stack:
        node, owner, is_inside, statement = stack.pop()
        body = node.child_by_field_name("body")
        for child in node.children if node.has_error else ():
            if not child.has_error:
                continue
            if owner is not None and (child.is_error or child.is_missing):
                doubt = _doubt(child, owner, is_inside, statement)
                parts = found[owner.byte_range]
                if doubt and len(parts) < MAX_PARTS:
                    parts.append(doubt if len(parts) < MAX_PARTS - 1 else owner.byte_range)
            if child.id in classes:
                stack.append((child, child, False, None))
            elif owner is None or statement is not None:
                stack.append((child, owner, is_inside, statement))
            elif child == body or _BODY.search(child.type):
                stack.append((child, owner, True, None))
            else:
                stack.append((child, owner, is_inside, child if is_inside else None))
    return found


def _doubt(error: Node, owner: Node, is_inside: bool, statement: Node | None) -> Span | None:
    if statement is not None:
        return statement.byte_range
    if is_inside or (error.children and error.children[0].type == "{"):  # a body that was not recognized
        return error.start_byte, owner.end_byte
    name = owner.child_by_field_name("name")
    is_before = name is not None and error.start_byte < name.start_byte  # an annotation there changes nothing
    return None if is_before else owner.byte_range
