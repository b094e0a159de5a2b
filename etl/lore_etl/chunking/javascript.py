"""JavaScript and TypeScript by tree-sitter: sections and facts. The rest of Vue and Svelte becomes text by element."""

import re
from collections.abc import Iterable, Iterator, Set
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path, PurePosixPath

from tree_sitter import Node, Parser, Query, QueryCursor

from lore_etl.chunking.code_languages import grammar_named
from lore_etl.chunking.doubt import MAX_DEPTH, has_error_before_body, is_hopeless
from lore_etl.chunking.outline import Definition, Outline
from lore_etl.chunking.section import Parsed, Section, Span, Symbol, counted_uses, parse_plain, whole_lines
from lore_etl.core.model import ClassDefinition, Document, FileFacts, Member

MAX_LINE = 20_000  # longer lines are generated
MAX_OPEN_COMMENTS = 20  # each occurrence makes tree-sitter read to the end of the file
MAX_SUITES = 6  # within each other
_GRAMMARS = {
    "javascript": "tree_sitter_javascript.language",
    "typescript": "tree_sitter_typescript.language_typescript",
    "tsx": "tree_sitter_typescript.language_tsx",
}
_CLASSES = {"class_declaration", "abstract_class_declaration", "class"}
_INTERFACE = "interface_declaration"
_NAMED = {*_CLASSES, _INTERFACE}
_TYPES = {_INTERFACE: "interface", "type_alias_declaration": "type", "enum_declaration": "enum"}
_FUNCTIONS = {"function_declaration", "generator_function_declaration", "function_signature"}
_CALLABLE = {"arrow_function", "function_expression", "function", "generator_function"}
_VARIABLES = {"lexical_declaration", "variable_declaration"}
_METHODS = {"method_definition", "abstract_method_signature", "method_signature"}
_FIELDS = {"field_definition", "public_field_definition", "property_signature"}
_MEMBERS = {"member_expression", "nested_type_identifier"}
_SUITE_CALLS = {"describe", "suite", "context"}
_TEST_CALLS = {"test", "it", "specify"}
_CLASS_NAME = re.compile(r"className\s*:\s*(['\"`])([^'\"`\s{}\x00-\x1f\x7f]{1,200})\1")
_JSDOC_CLASS = re.compile(r"@class\s+([\w.$][\w.$-]{0,199})")
Match = dict[str, list[Node]]
Names = dict[str, tuple[str, str | None]]
"""For each name the module that it is in, empty for the file itself, and its name there; None for the whole module."""
_SCRIPT_TAG = re.compile(r"^[ \t]*<script\b(?P<attributes>[^>]{0,500})>", re.MULTILINE | re.IGNORECASE)
_SCRIPT_END = re.compile(r"</script\s*>", re.IGNORECASE)
_PART = re.compile(r"^<(template|style|script)\b", re.IGNORECASE)


def parse(document: Document) -> Parsed:
    lines = document.lines
    if any(len(line) > MAX_LINE for line in lines):
        return parse_plain(document, "minified code; indexed as plain text")
    if document.text.count("/*", document.text.rfind("*/") + 1) > MAX_OPEN_COMMENTS:
        return parse_plain(document, "unclosed comment; indexed as plain text")
    anywhere, below = _queries(document.syntax)
    root = Parser(grammar_named(_GRAMMARS[document.syntax])).parse(document.text.encode("utf-8")).root_node
    if is_hopeless(root):
        return parse_plain(document, "code that takes too long to parse; indexed as plain text")
    cursor = QueryCursor(anywhere)
    cursor.set_max_start_depth(MAX_DEPTH)  # the time for a name grows with its depth
    found = cursor.captures(root)
    comments = (whole_lines(_lines(node), node.start_point[1], lines) for node in found.get("leading", ()))
    leading = set(chain.from_iterable(comments))
    definitions = tuple(_definitions(root, ""))
    cursor = QueryCursor(below)
    cursor.set_max_start_depth(0)  # each pattern for modules begins with the root
    matches = [match for _, match in cursor.matches(root)]
    variables = [node for match in matches for node in match.get("variable", ())]
    symbols = [Symbol(_text(node), *_lines(node)) for node in sorted(variables, key=lambda node: node.start_byte)]
    spans = sorted({_lines(node) for match in matches for node in match.get("imports", ())})
    outline = Outline(definitions, lines, leading.__contains__, symbols, spans)
    classes = list(_classes(root.named_children, below))
    imports, exports = _imported_and_exported(matches)
    functions = tuple(dict.fromkeys(one.name for one in definitions if one.kind == "function" and "." not in one.name))
    known = {*functions, *(definition.name for definition, _ in classes)}
    facts = FileFacts(
        classes=tuple(definition for definition, _ in classes),
        imports=imports,
        exports=exports,
        members={definition.name: tuple(_members(node)) for definition, node in reversed(classes)},
        functions=functions,
        uses=counted_uses(_uses(found.get("use", ()), known, imports)),
    )
    return Parsed(outline.sections(), facts)


@cache
def _queries(syntax: str) -> tuple[Query, Query]:
    """Return the query for nodes anywhere, and that for the children of a module or a class."""
    text = Path(__file__).with_name("scripts.scm").read_text(encoding="utf-8")
    anywhere, below, *own = text.split(";; part\n")
    own_anywhere, own_below = own[:2] if syntax == "javascript" else own[2:]
    language = grammar_named(_GRAMMARS[syntax])
    return Query(language, anywhere + own_anywhere), Query(language, below + own_below)


def _text(node: Node | None, field: str = "") -> str:
    found = node.child_by_field_name(field) if node is not None and field else node
    return found.text.decode("utf-8", "replace") if found is not None and found.text else ""


def _unquoted(node: Node | None, field: str = "") -> str:
    return _text(node, field).strip("'\"`")


def _name(node: Node) -> str:
    return _text(node, "name") or _text(node, "property")


def _lines(node: Node) -> Span:
    return node.start_point[0] + 1, node.end_point[0] + 1


def _declared(node: Node) -> Node:
    """Return the declaration within an `export`, else the node itself."""
    if node.type in ("export_statement", "ambient_declaration"):
        inner = node.child_by_field_name("declaration") or node.child_by_field_name("value")
        if inner is None:
            inner = next((c for c in node.named_children if c.type not in ("comment", "decorator")), None)
        return _declared(inner) if inner is not None else node
    if node.type == "expression_statement" and node.named_child_count:
        return node.named_children[0]
    return node


def _variables(node: Node) -> list[tuple[str, Node | None]]:
    """Return the names in a declaration of variables with their values; none for any other node."""
    declared = node.named_children if node.type in _VARIABLES else []
    return [(_name(one), one.child_by_field_name("value")) for one in declared if one.type == "variable_declarator"]


def _definitions(parent: Node, prefix: str, depth: int = 0) -> Iterator[Definition]:
    for node in parent.named_children:
        inner, lines = _declared(node), _lines(node)
        name = prefix + (_name(inner) or "default")
        if inner.type in _CLASSES:
            yield Definition(name, "class", *lines, _methods(inner, name))
        elif inner.type in _FUNCTIONS or inner.type in _CALLABLE:
            yield Definition(name, "function", *lines)
        elif inner.type in _TYPES:
            name = prefix + _name(inner)
            class_name = name if inner.type == _INTERFACE else None
            yield Definition(name, _TYPES[inner.type], *lines, class_name=class_name)
        elif inner.type in _VARIABLES:
            yield from _variable(inner, prefix, lines)
        elif inner.type == "assignment_expression":
            value = inner.child_by_field_name("right")
            if value is not None and value.type in _CALLABLE:
                name = _text(inner, "left").replace(".prototype.", ".").removeprefix("exports.")
                yield Definition(name.removeprefix("module.exports.")[:200], "function", *lines)
        elif inner.type == "call_expression" and depth < MAX_SUITES:
            yield from _test(inner, prefix, lines, depth)
        elif inner.type in ("internal_module", "module") and depth < MAX_SUITES:
            body = inner.child_by_field_name("body")
            if body is not None:
                yield from _definitions(body, f"{prefix}{_name(inner)}.", depth + 1)


def _methods(class_node: Node, name: str) -> tuple[Definition, ...]:
    methods = (member for member in _members(class_node) if member.kind == "method")
    return tuple(Definition(f"{name}.{method.name}", "method", *method.lines) for method in methods)


def _variable(node: Node, prefix: str, lines: Span) -> Iterator[Definition]:
    variables = _variables(node)
    names, values = tuple(prefix + name for name, _ in variables), [value for _, value in variables]
    if len(values) == 1 and values[0] is not None and values[0].type in _CLASSES:
        yield Definition(names[0], "class", *lines, _methods(values[0], names[0]))
    elif any(value is not None and value.type in _CALLABLE for value in values):
        yield Definition(names[0], "function", *lines, names=names)


def _test(node: Node, prefix: str, lines: Span, depth: int) -> Iterator[Definition]:
    called = _text(node, "function")[:80].split(".")
    arguments = node.child_by_field_name("arguments")
    values = arguments.named_children if arguments is not None else []
    if len(values) < 2 or values[0].type not in ("string", "template_string"):
        return
    name = prefix + _unquoted(values[0])[:200]
    if _SUITE_CALLS & set(called):
        body = values[-1].child_by_field_name("body")
        children = tuple(_definitions(body, f"{name} › ", depth + 1)) if body is not None else ()
        yield Definition(name, "suite", *lines, children)
    elif called[0] in _TEST_CALLS:
        yield Definition(name, "test", *lines)


def _uses(nodes: Iterable[Node], own: Set[str], imports: Names) -> Iterator[tuple[str, int]]:
    """Yield the imported and own names among these identifiers, with the member if a whole module is imported."""
    for node in nodes:
        name, parent = _text(node), node.parent
        if name in own and parent is not None and parent.child_by_field_name("name") == node:
            continue  # its definition
        if name in imports and imports[name][1] is None and parent is not None and parent.named_children:
            member = parent.named_children[-1]
            name = f"{name}.{_text(member)}" if member != node and parent.type in _MEMBERS else name
        if name in own or name.partition(".")[0] in imports:
            yield name, _lines(node)[0]


def _members(class_node: Node) -> Iterator[Member]:
    """Yield methods, fields and the keys of a `static config`, each with its lines."""
    for node in _body(class_node):
        name, value = _name(node), node.child_by_field_name("value")
        if node.type in _METHODS or (value is not None and value.type in _CALLABLE):
            yield Member(name, "method", _lines(node))
        elif node.type in _FIELDS:
            yield Member(name, "attribute", _lines(node))
            is_config = name == "config" and value is not None and value.type == "object"
            keys = [pair for pair in value.named_children if pair.type == "pair"] if value and is_config else []
            yield from (Member(_unquoted(pair, "key"), "config", _lines(pair)) for pair in keys)


def _body(class_node: Node) -> list[Node]:
    body = class_node.child_by_field_name("body")
    return body.named_children if body is not None else []


def _classes(nodes: list[Node], below: Query, prefix: str = "") -> Iterator[tuple[ClassDefinition, Node]]:
    comment = ""
    for node in nodes:
        inner = _declared(node)
        # `declare module '../store'` adds to the classes of that file
        is_space = inner.type in ("internal_module", "module") and _name(inner)[:1] not in "\"'"
        if is_space and prefix.count(".") < MAX_SUITES:
            yield from _classes(_body(inner), below, f"{prefix}{_name(inner)}.")
        for name, class_node in ((_name(inner) or "default", inner), *_variables(inner)):
            if class_node is None or class_node.type not in _NAMED:
                continue
            bases, implements = _bases(class_node, below)
            full = _full_name(class_node, comment) if class_node == inner else None
            is_interface = class_node.type == _INTERFACE
            yield ClassDefinition(prefix + name, _lines(node), bases, full, "", implements, is_interface), class_node
        comment = _text(node) if node.type == "comment" else ""


def _full_name(node: Node, comment: str) -> str | None:
    """Return the name from `static config = {className}`, the convention of Neo.mjs, or from `@class`."""
    for member in _body(node):
        if member.type in _FIELDS and _name(member) == "config":
            match = _CLASS_NAME.search(_text(member))
            return match[2] if match else None
    documented = _JSDOC_CLASS.search(comment)
    return documented[1] if documented else None


def _bases(node: Node, below: Query) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the classes and interfaces that a class extends, implements or mixes in, and those that it implements."""
    if has_error_before_body(node):
        return (), ()
    cursor = QueryCursor(below)
    cursor.set_max_start_depth(1)  # not the classes within it
    found = cursor.captures(node)  # in any order
    extended, implemented, mixed = (
        [_text(name)[:200] for name in sorted(found.get(kind, ()), key=lambda name: name.start_byte)]
        for kind in ("base", "interface", "mixin")
    )
    return tuple(dict.fromkeys((*extended, *implemented, *mixed))), tuple(dict.fromkeys(implemented))


def _imported_and_exported(matches: list[Match]) -> tuple[Names, Names]:
    """Return the names that a module imports and exports; `* module` stands for all that another module exports."""
    imports, exports = Names(), Names()
    for match in (match for match in matches if not match.keys() & {"imports", "variable"}):
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


def parse_component(document: Document) -> Parsed:
    """Parse a component. Its name, which is the file's, is a symbol of the first section."""
    lines = document.lines
    script, syntax, covered = _script(document)
    parsed = parse(replace(document, text=script, syntax=syntax))
    parts = () if parsed.warning else parsed.sections
    sections = [part for part in parts if covered & {*range(part.first, part.last + 1)}]
    taken = {number for part in sections for number in range(part.first, part.last + 1)}
    sections = sorted((*sections, *_rest(lines, taken)), key=lambda part: part.first)
    if sections:
        name = PurePosixPath(document.source).stem
        first = sections[0]
        sections[0] = replace(first, symbols=(Symbol(name, first.first, first.last), *first.symbols))
    return Parsed(sections, parsed.facts, parsed.warning)


def _script(document: Document) -> tuple[str, str, set[int]]:
    """Return the file with everything but its scripts left blank, their syntax, and their lines."""
    kept = [""] * len(document.lines)
    syntax, covered = "javascript", set[int]()
    for match in _SCRIPT_TAG.finditer(document.text):
        if re.search(r"""\blang\s*=\s*["']?tsx?\b""", match["attributes"]):
            syntax = "tsx" if "tsx" in match["attributes"] else "typescript"
        end = _SCRIPT_END.search(document.text, match.end())
        inner = document.text[match.end() : end.start() if end else len(document.text)].split("\n")
        start = document.text.count("\n", 0, match.end())
        for number, line in enumerate(inner[1:], start + 1):
            kept[number] = line
            covered.add(number + 1)
    return "\n".join(kept), syntax, covered


def _rest(lines: list[str], taken: set[int]) -> list[Section]:
    found: list[Section] = []
    first, element = 1, ""
    for number in range(1, len(lines) + 2):
        match = _PART.match(lines[number - 1]) if number <= len(lines) else None
        if match or number in taken or number > len(lines):
            if any(line.strip() for line in lines[first - 1 : number - 1]):
                kind = "module" if element == "script" else "text"  # a bare tag joins its neighbour
                found.append(Section(first, number - 1, kind, element or "text", group=element))
            first = number + 1 if number in taken else number
            element = match[1].lower() if match else element
    return found
