"""JavaScript and TypeScript: their imports, exports and names. The rest of Vue and Svelte becomes text by element."""

import re
from collections.abc import Iterable, Iterator, Set
from dataclasses import replace
from functools import cache
from pathlib import Path, PurePosixPath

from tree_sitter import Node

from lore_etl.chunking.captured import Captured
from lore_etl.chunking.code_languages import USES, CodeLanguage
from lore_etl.chunking.grammar import parse_as
from lore_etl.chunking.section import Parsed, Section, Symbol, counted_uses, parse_plain
from lore_etl.core.model import ClassDefinition, Document, FileFacts, Names

MAX_OPEN_COMMENTS = 20  # each occurrence makes tree-sitter read to the end of the file
_GRAMMARS = {
    "javascript": "tree_sitter_javascript.language",
    "typescript": "tree_sitter_typescript.language_typescript",
    "tsx": "tree_sitter_typescript.language_tsx",
}
_CLASS_NAME = re.compile(r"className\s*:\s*(['\"`])([^'\"`\s{}\x00-\x1f\x7f]{1,200})\1")
_JSDOC_CLASS = re.compile(r"@class\s+([\w.$][\w.$-]{0,199})")
_EXPORTS = re.compile(rb"(?:module\.)?exports\b")
_MEMBERS = {"member_expression", "nested_type_identifier"}
_ABOUT_NAMES = {"default", "whole", "all", "part", "member", "main", "unnamed"}
_SCRIPT_TAG = re.compile(r"^[ \t]*<script\b(?P<attributes>[^>]{0,500})>", re.MULTILINE | re.IGNORECASE)
_SCRIPT_END = re.compile(r"</script\s*>", re.IGNORECASE)
_PART = re.compile(r"^<(template|style|script)\b", re.IGNORECASE)


def parse(document: Document) -> Parsed:
    if document.text.count("/*", document.text.rfind("*/") + 1) > MAX_OPEN_COMMENTS:
        return parse_plain(document, "unclosed comment; indexed as plain text")
    lines = document.lines

    def complete(found: Captured, facts: FileFacts) -> FileFacts:
        imports, exports = _imported_and_exported(found)
        functions = tuple(name for name in facts.functions if "." not in name)
        known = {*functions, *(one.name for one in facts.classes)}
        comments = {mark.lines[1]: mark.lines[0] for match in found.matches for mark in match.get("doc", ())}
        return replace(
            facts,
            classes=tuple(_with_full_name(one, facts, lines, comments) for one in facts.classes),
            imports=imports,
            exports=exports,
            functions=functions,
            uses=counted_uses(_uses(found.used, known, imports)),
        )

    return parse_as(document, _language(document.syntax), complete)


@cache
def _language(syntax: str) -> CodeLanguage:
    text = Path(__file__).with_name("scripts.scm").read_text(encoding="utf-8")
    definitions, uses, *own = text.split(";; part\n")
    own = own[:2] if syntax == "javascript" else own[2:]
    text = "".join((definitions, own[0], USES, uses, own[1]))
    title = "JavaScript" if syntax == "javascript" else "TypeScript"
    return CodeLanguage(syntax, title, (), _GRAMMARS[syntax], "", text)


def _uses(used: Iterable[tuple[bytes, Node]], own: Set[str], imports: Names) -> Iterator[tuple[str, int]]:
    """Yield the imported and own names among these identifiers, with the member if a whole module is imported."""
    known = {name.encode(): name for name in (*own, *imports)}
    wholes = {name for name, (_, member) in imports.items() if member is None}
    for name, node in ((known[text], node) for text, node in used if text in known):
        parent = node.parent if name in own or name in wholes else None  # which takes time
        if name in own and parent is not None and (parent.child_by_field_name("name") == node or _is_exported(node)):
            continue  # its definition
        if name in wholes and parent is not None and parent.type in _MEMBERS:
            inner = parent.named_children[-1]
            yield f"{name}.{inner.text.decode()}" if inner != node and inner.text else name, node.start_point[0] + 1
        else:
            yield name, node.start_point[0] + 1


def _is_exported(node: Node) -> bool:
    """Return whether a module exports an identifier, alone or in an object."""
    while (parent := node.parent) and parent.type in ("object", "pair"):
        node = parent
    left = parent.child_by_field_name("left") if parent and parent.type == "assignment_expression" else None
    return bool(left and _EXPORTS.match(left.text or b"")) or bool(parent and parent.type == "export_statement")


def _with_full_name(
    class_: ClassDefinition, facts: FileFacts, lines: list[str], comments: dict[int, int]
) -> ClassDefinition:
    """Add the name from `static config = {className}`, the convention of Neo.mjs, or from `@class` in its comment."""
    spans = (member.lines for member in facts.members.get(class_.name, ()) if member.name == "config")
    config, first = next(spans, None), class_.lines[0]
    if config is not None:
        match = _CLASS_NAME.search("\n".join(lines[config[0] - 1 : config[1]]))
        return replace(class_, full_name=match[2] if match else None)
    last = next((number for number in range(first - 1, 0, -1) if lines[number - 1].strip()), 0)
    documented = _JSDOC_CLASS.search("\n".join(lines[comments.get(last, first) - 1 : last]))
    return replace(class_, full_name=documented[1] if documented else None)


def _imported_and_exported(found: Captured) -> tuple[Names, Names]:
    """Return the names that a module imports and exports; `* module` stands for all that another module exports."""
    imports, exports = Names(), Names()
    lists = {match["parts"][0].start: match for match in found.matches if "parts" in match and "part" not in match}
    for match in (match for match in found.matches if not match.keys().isdisjoint(_ABOUT_NAMES)):
        statement = lists.get(match["parts"][0].start) if "part" in match else match
        if statement is None:
            continue  # parts of a parameter or variable
        texts = {key: marks[0].text.strip("'\"`") for key, marks in {**statement, **match}.items()}
        module = texts.get("module", "")
        names = exports if statement.keys().isdisjoint(("from", "imports")) else imports
        if "default" in texts:
            names[texts["default"]] = module, "default"
        elif "whole" in texts:
            names[texts["whole"]] = module, None
        elif "all" in texts:
            names[f"* {module}"] = module, None
        elif member := texts.get("part", texts.get("member")):
            names[texts.get("local") or member] = module, member
        else:
            names.setdefault("default", ("", texts.get("main", "default")))
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
