"""Extract the classes, members, imports and exports that other files need from a JavaScript or TypeScript module."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from tree_sitter import Node

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
_VARIABLES = {"lexical_declaration", "variable_declaration"}
Target = tuple[str, str | None]


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


def facts_of(root: Node) -> FileFacts:
    found = list(_classes(root))
    return FileFacts(
        classes=tuple(definition for definition, _ in found),
        imports=dict(_imports(root)),
        exports=dict(_exports(root)),
        members={definition.name: tuple(_members(node)) for definition, node in reversed(found)},
    )


def requires(declarator: Node) -> str | None:
    """Return the module that `require` assigns to a variable, if any."""
    value = declarator.child_by_field_name("value")
    if value is None or value.type != "call_expression" or text_of(value.child_by_field_name("function")) != "require":
        return None
    arguments = value.child_by_field_name("arguments")
    first = arguments.named_children[0] if arguments is not None and arguments.named_children else None
    return _unquoted(first) if first is not None and first.type == "string" else None


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


def _unquoted(node: Node | None) -> str:
    return text_of(node).strip("'\"`")


def _declarators(node: Node) -> list[Node]:
    is_variable = node.type in _VARIABLES
    return [child for child in node.named_children if child.type == "variable_declarator"] if is_variable else []


def _classes(root: Node) -> Iterator[tuple[ClassDefinition, Node]]:
    comment = ""
    for node in root.named_children:
        inner, lines = declared(node), (first_line(node), last_line(node))
        if inner.type in CLASSES or inner.type == INTERFACE:
            name = text_of(inner.child_by_field_name("name")) or "default"
            full, implements, is_interface = _full_name(inner, comment), _implemented(inner), inner.type == INTERFACE
            definition = ClassDefinition(name, lines, _bases(inner), full, "", implements, is_interface)
            yield definition, inner
        for child in _declarators(inner):
            value = child.child_by_field_name("value")
            if value is not None and value.type in CLASSES:
                variable, implements = text_of(child.child_by_field_name("name")), _implemented(value)
                yield ClassDefinition(variable, lines, _bases(value), implements=implements), value
        comment = text_of(node) if node.type == "comment" else ""


def _body(class_node: Node) -> list[Node]:
    body = class_node.child_by_field_name("body")
    return body.named_children if body is not None else []


def _name(node: Node) -> str:
    return text_of(node.child_by_field_name("name") or node.child_by_field_name("property"))


def _full_name(node: Node, comment: str) -> str | None:
    """Return the name from `static config = {className}`, the convention of Neo.mjs, or from `@class`."""
    for member in _body(node):
        if member.type in _FIELDS and _name(member) == "config":
            match = _CLASS_NAME.search(text_of(member))
            return match.group(2) if match else None
    match_doc = _JSDOC_CLASS.search(comment)
    return match_doc.group(1) if match_doc else None


def _members(class_node: Node) -> Iterator[Member]:
    """Return methods, fields and the keys of a `static config`, each with its lines."""
    for node in _body(class_node):
        value = node.child_by_field_name("value")
        lines = first_line(node), last_line(node)
        if node.type in METHODS or (value is not None and value.type in CALLABLE):
            yield Member(_name(node), "method", lines)
        elif node.type in _FIELDS:
            yield Member(_name(node), "attribute", lines)
            if _name(node) == "config" and value is not None and value.type == "object":
                for pair in value.named_children:
                    if pair.type == "pair":
                        key = _unquoted(pair.child_by_field_name("key"))
                        yield Member(key, "config", (first_line(pair), last_line(pair)))


def _bases(node: Node) -> tuple[str, ...]:
    """Return the class that a class extends, and the interfaces that it implements or an interface extends."""
    if has_error_before_body(node):
        return ()
    return tuple(dict.fromkeys((*_extended(node), *_types_in(node, _TYPE_CLAUSES))))


def _implemented(node: Node) -> tuple[str, ...]:
    return () if has_error_before_body(node) else tuple(dict.fromkeys(_types_in(node, {"implements_clause"})))


def _types_in(node: Node, clauses: Collection[str]) -> Iterator[str]:
    """Yield the names of the types in these clauses of a class."""
    for part in node.named_children:
        inner = part.named_children if part.type == "class_heritage" else [part]
        yield from (
            name
            for clause in inner
            if clause.type in clauses
            for name in map(_type_name, clause.named_children)
            if name
        )


def _type_name(node: Node) -> str:
    """Return the name of a type without its arguments; empty for a type that has no name."""
    named = node.child_by_field_name("name") if node.type == "generic_type" else node
    return text_of(named)[:200] if named is not None and named.type in _TYPE_NAMES else ""


def _extended(node: Node) -> tuple[str, ...]:
    heritage = next((c for c in node.named_children if c.type == "class_heritage"), None)
    if heritage is None:
        return ()
    clause = next((c for c in heritage.named_children if c.type == "extends_clause"), None)
    if clause is None and any(c.type in _TYPE_CLAUSES for c in heritage.named_children):
        return ()
    clause = clause or heritage
    base = clause.child_by_field_name("value") or (clause.named_children[0] if clause.named_child_count else None)
    return (text_of(base)[:200],) if base is not None and base.type in ("identifier", "member_expression") else ()


def _imports(root: Node) -> Iterator[tuple[str, Target]]:
    """Map each local name to (module, name in it); the name is None for a whole module."""
    for node in root.named_children:
        for child in _declarators(node):
            if module := requires(child):
                yield from _required(child.child_by_field_name("name"), module)
        if node.type != "import_statement":
            continue
        module = _unquoted(node.child_by_field_name("source"))
        clause = next((c for c in node.named_children if c.type == "import_clause"), None)
        for part in clause.named_children if clause is not None else ():
            if part.type == "identifier":
                yield text_of(part), (module, "default")
            elif part.type == "namespace_import":
                yield text_of(part.named_children[0]), (module, None)
            elif part.type == "named_imports":
                for name, alias in _specifiers(part):
                    yield alias, (module, name)


def _required(pattern: Node | None, module: str) -> Iterator[tuple[str, Target]]:
    if pattern is not None and pattern.type == "identifier":
        yield text_of(pattern), (module, "default")
    for item in pattern.named_children if pattern is not None and pattern.type == "object_pattern" else ():
        if item.type == "shorthand_property_identifier_pattern":
            yield text_of(item), (module, text_of(item))
        elif item.type == "pair_pattern":
            local = text_of(item.child_by_field_name("value"))
            yield local, (module, text_of(item.child_by_field_name("key")))


def _specifiers(clause: Node) -> Iterator[tuple[str, str]]:
    """Yield (name, alias or name) of each item in `{…}`."""
    for item in clause.named_children:
        if name := _unquoted(item.child_by_field_name("name")):
            yield name, _unquoted(item.child_by_field_name("alias")) or name


def _exports(root: Node) -> Iterator[tuple[str, Target]]:
    """Map exported names to (module or empty, name in it); `* module` stands for all that another module exports."""
    for node in root.named_children:
        if node.type == "expression_statement" and node.named_child_count:
            yield from _common_exports(node.named_children[0])
        if node.type != "export_statement":
            continue
        module = _unquoted(node.child_by_field_name("source"))
        clause = next((c for c in node.named_children if c.type in ("export_clause", "namespace_export")), None)
        if clause is not None and clause.type == "export_clause":
            for name, alias in _specifiers(clause):
                yield alias, (module, name)
        elif clause is not None:
            yield text_of(clause.named_children[0]), (module, None)
        elif module:
            yield f"* {module}", (module, None)
        elif any(child.type == "default" for child in node.children) and (local := _default(declared(node))):
            yield "default", ("", local)


def _default(node: Node) -> str | None:
    """Return the name of the default export: a class, a variable, or the argument of a wrapper (`setup(Base)`)."""
    if node.type == "identifier":
        return text_of(node)
    if node.type in CLASSES or node.type == INTERFACE or node.type.endswith("function_declaration"):
        return text_of(node.child_by_field_name("name")) or "default"
    if node.type == "call_expression":
        arguments = node.child_by_field_name("arguments")
        values = arguments.named_children if arguments is not None else ()
        return next((text_of(value) for value in values if value.type == "identifier"), None)
    return None


def _common_exports(node: Node) -> Iterator[tuple[str, Target]]:
    """Return the names in `module.exports = Name` and `module.exports = {Name}`."""
    if node.type != "assignment_expression" or text_of(node.child_by_field_name("left")) != "module.exports":
        return
    value = node.child_by_field_name("right")
    if value is not None and value.type == "object":
        for item in value.named_children:
            if item.type == "shorthand_property_identifier":
                yield text_of(item), ("", text_of(item))
    elif value is not None and (name := _default(value)):
        yield "default", ("", name)
