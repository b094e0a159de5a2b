"""Helpers of the JavaScript parser: kinds of syntax nodes, their text and lines."""

from __future__ import annotations

from tree_sitter import Node

CLASSES = {"class_declaration", "abstract_class_declaration", "class"}
INTERFACE = "interface_declaration"
METHODS = {"method_definition", "abstract_method_signature", "method_signature"}
CALLABLE = {"arrow_function", "function_expression", "function", "generator_function"}


def text_of(node: Node | None) -> str:
    """Return the source text of a node, or an empty text for None."""
    return node.text.decode("utf-8", "replace") if node is not None and node.text else ""


def first_line(node: Node) -> int:
    """Return the 1-based first line of a node."""
    return int(node.start_point[0]) + 1


def last_line(node: Node) -> int:
    """Return the 1-based last line of a node."""
    return int(node.end_point[0]) + 1


def declared(node: Node) -> Node:
    """Return the declaration within an `export`, else the node itself."""
    if node.type in ("export_statement", "ambient_declaration"):
        inner = node.child_by_field_name("declaration") or node.child_by_field_name("value")
        if inner is None:
            inner = next((c for c in node.named_children if c.type not in ("comment", "decorator")), None)
        return declared(inner) if inner is not None else node
    if node.type == "expression_statement" and node.named_child_count:
        return node.named_children[0]
    return node
