"""JavaScript and TypeScript with tree-sitter: module, class, method, function and test, each with its comment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from tree_sitter import Language, Node, Parser, Query, QueryCursor

from lore_etl.chunking.javascript_facts import (
    CALLABLE,
    CLASSES,
    INTERFACE,
    VARIABLES,
    declarators,
    declared,
    facts_of,
    first_line,
    last_line,
    members_of,
    name_of,
    requires,
    text_of,
    uses_in,
)
from lore_etl.chunking.outline import Definition, sections_of
from lore_etl.chunking.plain import parse_plain
from lore_etl.chunking.section import Parsed, Span, Symbol, counted_uses
from lore_etl.core.model import Document

MAX_LINE = 20_000  # longer lines are generated
MAX_OPEN_COMMENTS = 20  # each occurrence makes tree-sitter read to the end of the file
MAX_DEPTH = 6  # nesting of test suites
_FUNCTIONS = {"function_declaration", "generator_function_declaration", "function_signature"}
_TYPES = {"interface_declaration": "interface", "type_alias_declaration": "type", "enum_declaration": "enum"}
_SUITE_CALLS = {"describe", "suite", "context"}
_TEST_CALLS = {"test", "it", "specify"}


@cache
def _language(syntax: str) -> Language:
    if syntax == "javascript":
        import tree_sitter_javascript

        return Language(tree_sitter_javascript.language())
    import tree_sitter_typescript

    is_tsx = syntax == "tsx"
    return Language(tree_sitter_typescript.language_tsx() if is_tsx else tree_sitter_typescript.language_typescript())


@cache
def _names(syntax: str) -> Query:
    types = "" if syntax == "javascript" else " (type_identifier)"
    return Query(_language(syntax), f"[(identifier) (shorthand_property_identifier){types}] @use")


def parse(document: Document) -> Parsed:
    """Parse a JavaScript or TypeScript module into sections and classes."""
    lines = document.lines
    if any(len(line) > MAX_LINE for line in lines):
        return parse_plain(document, "minified code; indexed as plain text")
    if document.text.count("/*", document.text.rfind("*/") + 1) > MAX_OPEN_COMMENTS:
        return parse_plain(document, "unclosed comment; indexed as plain text")
    language = _language(document.syntax)
    root = Parser(language).parse(document.text.encode("utf-8")).root_node
    leading = set(_leading_lines(root, lines))
    definitions = tuple(_definitions(root, ""))
    sections = sections_of(
        definitions, lines, leads=leading.__contains__, symbols=list(_symbols(root)), imports=list(_imports(root))
    )
    functions = tuple(dict.fromkeys(one.name for one in definitions if one.kind == "function" and "." not in one.name))
    facts = replace(facts_of(root, language), functions=functions)
    nodes = QueryCursor(_names(document.syntax)).captures(root).get("use", ())
    return Parsed(sections, replace(facts, uses=counted_uses(uses_in(nodes, facts))))


def _definitions(parent: Node, prefix: str, depth: int = 0) -> Iterator[Definition]:
    for node in parent.named_children:
        inner = declared(node)
        first, last = first_line(node), last_line(node)
        if inner.type in CLASSES:
            name = prefix + (name_of(inner) or "default")
            yield Definition(name, "class", first, last, _methods(inner, name))
        elif inner.type in _FUNCTIONS or inner.type in CALLABLE:
            name = prefix + (name_of(inner) or "default")
            yield Definition(name, "function", first, last)
        elif inner.type in _TYPES:
            name = prefix + name_of(inner)
            class_name = name if inner.type == INTERFACE else None
            yield Definition(name, _TYPES[inner.type], first, last, class_name=class_name)
        elif inner.type in VARIABLES:
            yield from _variable(inner, prefix, first, last)
        elif inner.type == "assignment_expression":
            yield from _assignment(inner, first, last)
        elif inner.type == "call_expression" and depth < MAX_DEPTH:
            yield from _test(inner, prefix, first, last, depth)
        elif inner.type in ("internal_module", "module") and depth < MAX_DEPTH:
            body = inner.child_by_field_name("body")
            if body is not None:
                yield from _definitions(body, f"{prefix}{name_of(inner)}.", depth + 1)


def _methods(class_node: Node, name: str) -> tuple[Definition, ...]:
    methods = (member for member in members_of(class_node) if member.kind == "method")
    return tuple(Definition(f"{name}.{method.name}", "method", *method.lines) for method in methods)


def _variable(node: Node, prefix: str, first: int, last: int) -> Iterator[Definition]:
    names = tuple(prefix + name_of(variable) for variable in declarators(node))
    values = [variable.child_by_field_name("value") for variable in declarators(node)]
    if len(values) == 1 and values[0] is not None and values[0].type in CLASSES:
        yield Definition(names[0], "class", first, last, _methods(values[0], names[0]))
    elif any(value is not None and value.type in CALLABLE for value in values):
        yield Definition(names[0], "function", first, last, names=names)


def _assignment(node: Node, first: int, last: int) -> Iterator[Definition]:
    value = node.child_by_field_name("right")
    if value is not None and value.type in CALLABLE:
        name = text_of(node.child_by_field_name("left")).replace(".prototype.", ".").removeprefix("exports.")
        yield Definition(name.removeprefix("module.exports.")[:200], "function", first, last)


def _test(node: Node, prefix: str, first: int, last: int, depth: int) -> Iterator[Definition]:
    called = text_of(node.child_by_field_name("function"))[:80].split(".")
    arguments = node.child_by_field_name("arguments")
    values = arguments.named_children if arguments is not None else []
    if len(values) < 2 or values[0].type not in ("string", "template_string"):
        return
    name = prefix + text_of(values[0]).strip("'\"`")[:200]
    if _SUITE_CALLS & set(called):
        body = values[-1].child_by_field_name("body")
        children = tuple(_definitions(body, f"{name} › ", depth + 1)) if body is not None else ()
        yield Definition(name, "suite", first, last, children)
    elif called[0] in _TEST_CALLS:
        yield Definition(name, "test", first, last)


def _leading_lines(root: Node, lines: list[str]) -> Iterator[int]:
    """Return the lines that contain only a comment or a decorator."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type in ("comment", "decorator"):
            first = first_line(node)
            if not lines[first - 1].encode()[: node.start_point[1]].strip():
                yield from range(first, last_line(node) + 1)
        else:
            stack.extend(node.named_children)


def _imports(root: Node) -> Iterator[Span]:
    """Return the lines of each `import` and of each variable assigned by `require`."""
    for node in root.named_children:
        variables = declarators(node)
        if node.type == "import_statement" or (variables and all(map(requires, variables))):
            yield first_line(node), last_line(node)


def _symbols(root: Node) -> Iterator[Symbol]:
    """Return the variables of a module, by line."""
    for variable in (variable for node in root.named_children for variable in declarators(declared(node))):
        name = variable.child_by_field_name("name")
        if name is not None and name.type == "identifier":
            yield Symbol(text_of(name), first_line(variable), first_line(variable))
