"""Extract the classes, members, imports and exports that other files need from a JavaScript or TypeScript module."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tree_sitter import Language, Node, Query, QueryCursor

from lore_etl.chunking.doubt import has_error_before_body
from lore_etl.core.model import ClassDefinition, FileFacts, Member

CLASSES = {"class_declaration", "abstract_class_declaration", "class"}
INTERFACE = "interface_declaration"
METHODS = {"method_definition", "abstract_method_signature", "method_signature"}
CALLABLE = {"arrow_function", "function_expression", "function", "generator_function"}
_CLASS_NAME = re.compile(r"className\s*:\s*(['\"`])([^'\"`\s{}\x00-\x1f\x7f]{1,200})\1")
_JSDOC_CLASS = re.compile(r"@class\s+([\w.$][\w.$-]{0,199})")
_FIELDS = {"field_definition", "public_field_definition", "property_signature"}
_TYPE_CLAUSES = {"implements_clause", "extends_type_clause"}
_MEMBERS = {"member_expression", "nested_type_identifier"}
_TYPE_NAMES = {"type_identifier", "nested_type_identifier"}
VARIABLES = {"lexical_declaration", "variable_declaration"}
_NAMES = Path(__file__).with_name("script_names.scm")
Names = dict[str, tuple[str, str | None]]
"""For each name the module that it is in, empty for the file itself, and its name there; None for the whole module."""


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


def facts_of(root: Node, language: Language) -> FileFacts:
    found = list(_classes(root))
    imports, exports = _imported_and_exported(root, language)
    return FileFacts(
        classes=tuple(definition for definition, _ in found),
        imports=imports,
        exports=exports,
        members={definition.name: tuple(members_of(node)) for definition, node in reversed(found)},
    )


def uses_in(nodes: Iterable[Node], facts: FileFacts) -> Iterator[tuple[str, int]]:
    """Yield the imported and own names among these identifiers, with the member if a whole module is imported."""
    own = {*facts.functions, *(class_.name for class_ in facts.classes)}
    for node in nodes:
        name, parent = text_of(node), node.parent
        if name in own and parent is not None and parent.child_by_field_name("name") == node:
            continue  # its definition
        if name in facts.imports and facts.imports[name][1] is None and parent is not None and parent.named_children:
            member = parent.named_children[-1]
            name = f"{name}.{text_of(member)}" if member != node and parent.type in _MEMBERS else name
        if name in own or name.partition(".")[0] in facts.imports:
            yield name, first_line(node)


def requires(declarator: Node) -> bool:
    """Return whether `require` gives a variable its value."""
    value = declarator.child_by_field_name("value")
    return value is not None and value.type == "call_expression" and _text(value, "function") == "require"


def name_of(node: Node) -> str:
    """Return the name of a definition or a member."""
    return _text(node, "name") or _text(node, "property")


def declarators(node: Node) -> list[Node]:
    """Return the variables of a declaration; none for any other node."""
    is_variable = node.type in VARIABLES
    return [child for child in node.named_children if child.type == "variable_declarator"] if is_variable else []


def members_of(class_node: Node) -> Iterator[Member]:
    """Return methods, fields and the keys of a `static config`, each with its lines."""
    for node in _body(class_node):
        name, lines, value = name_of(node), (first_line(node), last_line(node)), node.child_by_field_name("value")
        if node.type in METHODS or (value is not None and value.type in CALLABLE):
            yield Member(name, "method", lines)
        elif node.type in _FIELDS:
            yield Member(name, "attribute", lines)
            for pair in _configs(node):
                key = _unquoted(pair.child_by_field_name("key"))
                yield Member(key, "config", (first_line(pair), last_line(pair)))


def _configs(member: Node) -> list[Node]:
    """Return the keys with values if a member is the `static config` of a class."""
    value = member.child_by_field_name("value") if member.type in _FIELDS and name_of(member) == "config" else None
    is_object = value is not None and value.type == "object"
    return [pair for pair in value.named_children if pair.type == "pair"] if value and is_object else []


def _text(node: Node, field: str) -> str:
    return text_of(node.child_by_field_name(field))


def _unquoted(node: Node | None) -> str:
    return text_of(node).strip("'\"`")


def _classes(root: Node) -> Iterator[tuple[ClassDefinition, Node]]:
    comment = ""
    for node in root.named_children:
        inner, lines = declared(node), (first_line(node), last_line(node))
        if inner.type in CLASSES or inner.type == INTERFACE:
            bases, implements = _bases(inner)
            full, is_interface = _full_name(inner, comment), inner.type == INTERFACE
            name = name_of(inner) or "default"
            yield ClassDefinition(name, lines, bases, full, "", implements, is_interface), inner
        for child in declarators(inner):
            value = child.child_by_field_name("value")
            if value is not None and value.type in CLASSES:
                bases, implements = _bases(value)
                yield ClassDefinition(name_of(child), lines, bases, implements=implements), value
        comment = text_of(node) if node.type == "comment" else ""


def _body(class_node: Node) -> list[Node]:
    body = class_node.child_by_field_name("body")
    return body.named_children if body is not None else []


def _full_name(node: Node, comment: str) -> str | None:
    """Return the name from `static config = {className}`, the convention of Neo.mjs, or from `@class`."""
    for member in _body(node):
        if member.type in _FIELDS and name_of(member) == "config":
            match = _CLASS_NAME.search(text_of(member))
            return match.group(2) if match else None
    match_doc = _JSDOC_CLASS.search(comment)
    return match_doc.group(1) if match_doc else None


def _bases(node: Node) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the classes and interfaces that a class extends, implements or mixes in, and those that it implements."""
    bases, implements = dict[str, None](), dict[str, None]()
    if has_error_before_body(node):
        return (), ()
    for part in node.named_children:
        is_heritage = part.type == "class_heritage"
        for clause in part.named_children if is_heritage else [part]:
            if clause.type in _TYPE_CLAUSES:
                types = dict.fromkeys(filter(None, map(_type_name, clause.named_children)))
                bases |= types
                implements |= types if clause.type == "implements_clause" else {}
            elif is_heritage:
                base = clause.child_by_field_name("value") if clause.type == "extends_clause" else clause
                if base is not None and base.type in ("identifier", "member_expression"):
                    bases[text_of(base)[:200]] = None
    return tuple(bases | dict.fromkeys(_mixed_in(node))), tuple(implements)


def _mixed_in(class_node: Node) -> Iterator[str]:
    """Yield the classes in `static config = {mixins: [A, B]}`, the convention of Neo.mjs."""
    for pair in (pair for member in _body(class_node) for pair in _configs(member)):
        value = pair.child_by_field_name("value")
        if _unquoted(pair.child_by_field_name("key")) == "mixins" and value is not None and value.type == "array":
            yield from (text_of(item)[:200] for item in value.named_children if item.type == "identifier")


def _type_name(node: Node) -> str:
    """Return the name of a type without its arguments; empty for a type that has no name."""
    named = node.child_by_field_name("name") if node.type == "generic_type" else node
    return text_of(named)[:200] if named is not None and named.type in _TYPE_NAMES else ""


@cache
def _names(language: Language) -> Query:
    return Query(language, _NAMES.read_text(encoding="utf-8"))


def _imported_and_exported(root: Node, language: Language) -> tuple[Names, Names]:
    """Return the names that a module imports and exports; `* module` stands for all that another module exports."""
    imports, exports = Names(), Names()
    cursor = QueryCursor(_names(language))
    cursor.set_max_start_depth(0)  # each pattern begins with the root
    for _, match in cursor.matches(root):
        found = {key: _unquoted(nodes[0]) for key, nodes in match.items() if key != "import"}
        module = found.get("module", "")
        names = imports if "import" in match else exports
        if "default" in found:
            names[found["default"]] = module, "default"
        elif "whole" in found:
            names[found["whole"]] = module, None
        elif "all" in found:
            names[f"* {module}"] = module, None
        elif "name" in found:
            names[found.get("alias") or found["name"]] = module, found["name"]
        else:
            names.setdefault("default", ("", found.get("main", "default")))
    return imports, exports
