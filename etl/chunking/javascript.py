"""JavaScript and TypeScript with tree-sitter: module, class, method, function and test, each with its comment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from tree_sitter import Language, Node, Parser

from etl.chunking.outline import Definition, sections_of
from etl.chunking.plain import parse_plain
from etl.chunking.section import Parsed, Symbol
from etl.model import ClassDefinition, Document, FileFacts

MAX_LINE = 20_000  # longer lines are written by machines
MAX_OPEN_COMMENTS = 20  # tree-sitter reads to the end of the file for each
MAX_DEPTH = 6  # of suites within suites
_CLASSES = {"class_declaration", "abstract_class_declaration", "class"}
_FUNCTIONS = {"function_declaration", "generator_function_declaration", "function_signature"}
_TYPES = {"interface_declaration": "interface", "type_alias_declaration": "type", "enum_declaration": "enum"}
_MEMBERS = {"method_definition", "abstract_method_signature", "method_signature"}
_CALLABLE = {"arrow_function", "function_expression", "function", "generator_function"}
_SUITE_CALLS = {"describe", "suite", "context"}
_TEST_CALLS = {"test", "it", "specify"}
_CLASS_NAME = re.compile(rb"className\s*:\s*['\"]([\w.$]{1,200})['\"]")
_JSDOC_CLASS = re.compile(r"@class\s+([\w.$]{1,200})")


@cache
def _parser(syntax: str) -> Parser:
    if syntax == "javascript":
        import tree_sitter_javascript

        return Parser(Language(tree_sitter_javascript.language()))
    import tree_sitter_typescript

    is_tsx = syntax == "tsx"
    language = tree_sitter_typescript.language_tsx() if is_tsx else tree_sitter_typescript.language_typescript()
    return Parser(Language(language))


def parse(document: Document) -> Parsed:
    """Sections and classes of a JavaScript or TypeScript module."""
    lines = document.lines
    if any(len(line) > MAX_LINE for line in lines):
        return parse_plain(document, "minified code; indexed as plain text")
    if document.text.count("/*", document.text.rfind("*/") + 1) > MAX_OPEN_COMMENTS:
        return parse_plain(document, "comments without an end; indexed as plain text")
    root = _parser(document.syntax).parse(document.text.encode("utf-8")).root_node
    leading = set(_leading_lines(root, lines))
    definitions = tuple(_definitions(root, ""))
    sections = sections_of(definitions, lines, leads=leading.__contains__, symbols=list(_symbols(root)))
    return Parsed(sections, FileFacts(tuple(_classes(root)), dict(_imports(root))))


def _text(node: Node | None) -> str:
    return node.text.decode("utf-8", "replace") if node is not None and node.text else ""


def _first(node: Node) -> int:
    return int(node.start_point[0]) + 1


def _last(node: Node) -> int:
    return int(node.end_point[0]) + 1


def _declared(node: Node) -> Node:
    """The declaration within an `export`, else the node itself."""
    if node.type in ("export_statement", "ambient_declaration"):
        inner = node.child_by_field_name("declaration") or node.child_by_field_name("value")
        if inner is None:
            inner = next((c for c in node.named_children if c.type not in ("comment", "decorator")), None)
        return _declared(inner) if inner is not None else node
    if node.type == "expression_statement" and node.named_child_count:
        return node.named_children[0]
    return node


def _definitions(parent: Node, prefix: str, depth: int = 0) -> Iterator[Definition]:
    for node in parent.named_children:
        inner = _declared(node)
        first, last = _first(node), _last(node)
        if inner.type in _CLASSES:
            name = prefix + (_text(inner.child_by_field_name("name")) or "default")
            yield Definition(name, "class", first, last, tuple(_members(inner, name)))
        elif inner.type in _FUNCTIONS or inner.type in _CALLABLE:
            name = prefix + (_text(inner.child_by_field_name("name")) or "default")
            yield Definition(name, "function", first, last)
        elif inner.type in _TYPES:
            yield Definition(prefix + _text(inner.child_by_field_name("name")), _TYPES[inner.type], first, last)
        elif inner.type in ("lexical_declaration", "variable_declaration"):
            yield from _variable(inner, prefix, first, last)
        elif inner.type == "assignment_expression":
            yield from _assignment(inner, first, last)
        elif inner.type == "call_expression" and depth < MAX_DEPTH:
            yield from _test(inner, prefix, first, last, depth)
        elif inner.type in ("internal_module", "module") and depth < MAX_DEPTH:
            body = inner.child_by_field_name("body")
            if body is not None:
                yield from _definitions(body, f"{prefix}{_text(inner.child_by_field_name('name'))}.", depth + 1)


def _members(class_node: Node, prefix: str) -> Iterator[Definition]:
    body = class_node.child_by_field_name("body")
    for node in body.named_children if body is not None else ():
        value = node.child_by_field_name("value")
        is_callable = value is not None and value.type in _CALLABLE
        if node.type in _MEMBERS or is_callable:
            name = _text(node.child_by_field_name("name") or node.child_by_field_name("property"))
            yield Definition(f"{prefix}.{name}", "method", _first(node), _last(node))


def _variable(node: Node, prefix: str, first: int, last: int) -> Iterator[Definition]:
    declarators = [c for c in node.named_children if c.type == "variable_declarator"]
    names = tuple(prefix + _text(c.child_by_field_name("name")) for c in declarators)
    values = [c.child_by_field_name("value") for c in declarators]
    if len(values) == 1 and values[0] is not None and values[0].type in _CLASSES:
        yield Definition(names[0], "class", first, last, tuple(_members(values[0], names[0])))
    elif any(value is not None and value.type in _CALLABLE for value in values):
        yield Definition(names[0], "function", first, last, names=names)


def _assignment(node: Node, first: int, last: int) -> Iterator[Definition]:
    value = node.child_by_field_name("right")
    if value is not None and value.type in _CALLABLE:
        name = _text(node.child_by_field_name("left")).replace(".prototype.", ".").removeprefix("exports.")
        yield Definition(name.removeprefix("module.exports.")[:200], "function", first, last)


def _test(node: Node, prefix: str, first: int, last: int, depth: int) -> Iterator[Definition]:
    called = _text(node.child_by_field_name("function"))[:80].split(".")
    arguments = node.child_by_field_name("arguments")
    values = arguments.named_children if arguments is not None else []
    if len(values) < 2 or values[0].type not in ("string", "template_string"):
        return
    name = prefix + _text(values[0]).strip("'\"`")[:200]
    if _SUITE_CALLS & set(called):
        body = values[-1].child_by_field_name("body")
        children = tuple(_definitions(body, f"{name} › ", depth + 1)) if body is not None else ()
        yield Definition(name, "suite", first, last, children)
    elif called[0] in _TEST_CALLS:
        yield Definition(name, "test", first, last)


def _leading_lines(root: Node, lines: list[str]) -> Iterator[int]:
    """Lines that hold nothing but a comment or a decorator."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type in ("comment", "decorator"):
            first = _first(node)
            if not lines[first - 1].encode()[: node.start_point[1]].strip():
                yield from range(first, _last(node) + 1)
        else:
            stack.extend(node.named_children)


def _symbols(root: Node) -> Iterator[Symbol]:
    """The variables of a module, by line."""
    for node in root.named_children:
        inner = _declared(node)
        if inner.type in ("lexical_declaration", "variable_declaration"):
            for child in inner.named_children:
                name = child.child_by_field_name("name")
                if name is not None and name.type == "identifier":
                    yield Symbol(_text(name), _first(child), _first(child))


def _classes(root: Node) -> Iterator[ClassDefinition]:
    comment = ""
    for node in root.named_children:
        inner = _declared(node)
        if inner.type in _CLASSES:
            name = _text(inner.child_by_field_name("name")) or "default"
            yield ClassDefinition(name, (_first(node), _last(node)), _bases(inner), _full_name(inner, comment))
        elif inner.type in ("lexical_declaration", "variable_declaration"):
            for child in inner.named_children:
                value = child.child_by_field_name("value")
                if value is not None and value.type in _CLASSES:
                    name = _text(child.child_by_field_name("name"))
                    yield ClassDefinition(name, (_first(node), _last(node)), _bases(value), None)
        comment = _text(node) if node.type == "comment" else ""


def _full_name(node: Node, comment: str) -> str | None:
    """The name that `static config = {className}` or `@class` gives, as Neo.mjs does."""
    body = node.child_by_field_name("body")
    for member in body.named_children if body is not None else ():
        if member.type == "field_definition" and _text(member.child_by_field_name("property")) == "config":
            match = _CLASS_NAME.search(member.text or b"")
            return match.group(1).decode() if match else None
    match_doc = _JSDOC_CLASS.search(comment)
    return match_doc.group(1) if match_doc else None


def _bases(node: Node) -> tuple[str, ...]:
    heritage = next((c for c in node.named_children if c.type == "class_heritage"), None)
    if heritage is None:
        return ()
    clause = next((c for c in heritage.named_children if c.type == "extends_clause"), heritage)
    base = clause.child_by_field_name("value") or (clause.named_children[0] if clause.named_child_count else None)
    return (_text(base)[:200],) if base is not None and base.type in ("identifier", "member_expression") else ()


def _imports(root: Node) -> Iterator[tuple[str, tuple[str, str | None]]]:
    for node in root.named_children:
        if node.type != "import_statement":
            continue
        module = _text(node.child_by_field_name("source")).strip("'\"`")
        clause = next((c for c in node.named_children if c.type == "import_clause"), None)
        for part in clause.named_children if clause is not None else ():
            if part.type == "identifier":
                yield _text(part), (module, "default")
            elif part.type == "namespace_import":
                yield _text(part.named_children[0]), (module, None)
            elif part.type == "named_imports":
                for item in part.named_children:
                    name = _text(item.child_by_field_name("name"))
                    yield _text(item.child_by_field_name("alias")) or name, (module, name)
