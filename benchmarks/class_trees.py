"""Compare class trees with an independent reading: `python -m benchmarks.class_trees SUFFIX=FOLDER …`.

The independent reading finds the headers of classes by regular expressions in the text without comments and strings.
Every class is compared by the last names of its bases. A class of several parts may have the bases of all of them.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from benchmarks.main_job import row
from lore_etl.chunking import parse
from lore_etl.core.model import Document, KnowledgeType
from lore_etl.relations.classes import resolve
from lore_etl.sources.source import syntax_of

MAX_BYTES = 500_000
Bases = dict[tuple[str, str], set[str]]
_COMMENT = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"\"\".*?\"\"\"|\"(?:\\.|[^\"\\\n])*\"|(?<![\w)])'(?:\\.|[^'\\\n])'", re.DOTALL
)
_RUBY_COMMENT = re.compile(r"(?m)#.*$|^=begin.*?^=end", re.DOTALL)
_HEADER = {
    ".java": r"\b(?:class|(?<!@)interface|enum|record)\s+(\w+)([^{};]*)\{",
    ".cs": r"\b(?:class|interface|struct|record)\s+(\w+)([^{};()]*)\{",
    ".php": r"(?m)^\s*(?:abstract\s+|final\s+)*(?:class|interface|trait)\s+(\w+)([^{};()]*)\{",
    ".kt": r"\b(?:class|interface|object)\s+(\w+)()",
    ".swift": r"(?<![.\w])(?:class|struct|protocol|enum|actor|extension)\s+(?!func\b|var\b|let\b)([\w.]+)()",
    ".scala": r"\b(?:class|trait|object)\s+(\w+|[-!#%&*+/:<=>?@\\^|~]+)()",
    ".cc": r"(?<!enum )\b(?:class|struct)\s+(?:\w+_EXPORT\s+)?([\w:]*\w)(?:<[^{};]*?>)?"
    r"((?:\s+final)?\s*(?::[^:{};][^{};]*)?)\{",
    ".rb": r"(?m)^\s*class\s+([\w:]+)([^\n;]*)",
    ".ts": r"(?m)^\s*(?:export\s+|default\s+|declare\s+|abstract\s+)*(?:class|interface)\s+(\w+)([^{};()]*)\{",
    ".dart": r"(?m)^\s*(?:abstract\s+|base\s+|final\s+|sealed\s+|mixin\s+)*(?:class|mixin|enum)\s+(\w+)([^{};()]*)\{",
}
_HEADER[".h"] = _HEADER[".cc"]
_AFTER = {
    ".java": r"\b(?:extends|implements)\b(.*?)(?=\bimplements\b|\bpermits\b|$)",
    ".php": r"\b(?:extends|implements)\b(.*?)(?=\bimplements\b|$)",
    ".scala": r"\b(?:extends|with)\b(.*?)(?=\bwith\b|$)",
    ".rb": r"<(?!<)(.*)",
    ".dart": r"\b(?:extends|implements|with|on)\b(.*?)(?=\b(?:implements|with|on)\b|$)",
}
_AFTER[".ts"] = _AFTER[".java"]
_NESTED = re.compile(r"<[^<>]*>|\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}")
_CONTINUED = re.compile(
    r"\s*(?::|extends\b|with\b|derives\b|\(|(?:private|internal)(?:\s*\[\w+\])?\s*(?:constructor|\()|where\b|\{)"
)
_MODIFIERS = re.compile(r"\b(?:public|private|protected|virtual|final|by\s+\S+)\b|@\w+\s")


def independent(text: str, suffix: str) -> Iterator[tuple[str, set[str]]]:
    """Yield the classes of a file with the last names of their bases."""
    text = (_RUBY_COMMENT if suffix == ".rb" else _COMMENT).sub(" ", text)
    if suffix == ".rs":
        yield from _rust(text)
        return
    if suffix == ".go":
        yield from _go(text)
        return
    if suffix == ".ex":
        yield from _elixir(text)
        return
    for found in re.finditer(_HEADER[suffix], text):
        header = found[2] or _scanned(text[found.end() : found.end() + 3000], "([" if suffix == ".scala" else "([<")
        if suffix == ".scala" and found[0].startswith("object") and _has_companion(text, found[1]):
            continue
        yield _last(found[1]), _bases(header, suffix)
    if suffix == ".php":
        yield from _traits(text)


def _scanned(text: str, opening: str) -> str:
    """Return a header up to its body: a `{` or the end of a line that nothing continues, outside all brackets."""
    depth, shown = 0, ""
    for n, letter in enumerate(text):
        if letter in opening and text[n - 1 : n + 1] != "=<":
            depth += 1
        elif letter in ")]" or (letter == ">" and "<" in opening and text[n - 1] not in "-="):
            depth = max(0, depth - 1)
        elif not depth and (
            letter in "{;}="
            or (letter == "\n" and not _CONTINUED.match(text, n) and not shown.strip().endswith((",", ":")))
        ):
            break
        elif not depth:
            shown += letter
    return shown


def _has_companion(text: str, name: str) -> bool:
    return re.search(rf"\b(?:class|trait)\s+{re.escape(name)}(?!\w)", text) is not None


def _traits(text: str) -> Iterator[tuple[str, set[str]]]:
    """Yield the traits that the classes of a PHP file use."""
    parts = re.split(r"(?m)^\s*(?:abstract\s+|final\s+)*(?:class|interface|trait)\s+(\w+)", text)
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        used = re.findall(r"(?m)^\s+use\s+([\w\\, ]+?)\s*[;{]", body)
        yield name, {re.split(r"\\", one.strip())[-1] for row_ in used for one in row_.split(",")}


def _bases(header: str, suffix: str) -> set[str]:
    while (shorter := _NESTED.sub("", header)) != header:
        header = shorter
    header = re.split(r"\bwhere\b", header)[0]
    if suffix in _AFTER:
        parts = [part for match in re.finditer(_AFTER[suffix], header, re.DOTALL) for part in match[1].split(",")]
    else:
        parts = header.partition(":")[2].split(",")
    names = (_MODIFIERS.sub("", part).strip() for part in parts)
    return {re.split(r"[.:\\#]+", name.split()[0])[-1] for name in names if re.match(r"[\w\\:]", name)}


def _rust(text: str) -> Iterator[tuple[str, set[str]]]:
    text = re.sub("[-=]>", "", text)
    while (shorter := re.sub(r"<[^<>;{}]*>", "", text)) != text:
        text = shorter
    for trait, type_ in re.findall(r"\bimpl\s+!?([\w:]+)\s+for\s+&?(?:mut\s+)?([\w:]+)", text):
        yield type_.split("::")[-1], {trait.split("::")[-1]}
    for name, bases in re.findall(r"\btrait\s+(\w+)\s*:\s*([^{;]*?)(?:\bwhere\b[^{]*)?\{", text):
        yield name, {re.split(r"::", base.strip())[-1] for base in bases.split("+") if base.strip()[:1].isalpha()}


def _elixir(text: str) -> Iterator[tuple[str, set[str]]]:
    parts = re.split(r"(?m)^\s*(?:defmodule|defprotocol)\s+([\w.]+)", re.sub(r'(?s)""".*?"""|#[^\n]*', " ", text))
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        found = re.findall(r"(?m)^\s*(?:use|@behaviour)\s+([A-Z][\w.]*)", body)
        yield name.split(".")[-1], {base.split(".")[-1] for base in found}
    for base, names in re.findall(r"\bdefimpl\s+([\w.]+),\s*for:\s*([A-Z][\w.]*|\[[^\]]*\])", text):
        for name in re.findall(r"(?<![\w.])[A-Z][\w.]*", names):
            yield name.split(".")[-1], {base.split(".")[-1]}


def _go(text: str) -> Iterator[tuple[str, set[str]]]:
    for name, body in re.findall(
        r"(?ms)^type\s+(\w+)(?:\[[^\]]*\])?\s+(?:struct|interface)\s*\{[ \t]*\n(.*?)^\}", text
    ):
        yield name, {one.split(".")[-1] for one in re.findall(r"(?m)^\s*\*?([\w.]+)(?:\s*`.*`)?\s*$", body)}


def measure(suffix: str, folder: Path) -> None:
    """Print how many classes have the same bases in both readings, and each difference."""
    facts, wanted = {}, Bases()
    extended, defined = set[tuple[str, str]](), set[str]()  # Swift: classes outside the project are not counted
    for file in sorted(folder.rglob(f"*{suffix}")):
        if file.stat().st_size > MAX_BYTES or not file.is_file():
            continue
        text = file.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n")
        path = file.relative_to(folder).as_posix()
        facts[path] = parse(Document(path, KnowledgeType.SRC, text, path, syntax_of(path))).facts
        for name, bases in independent(text, suffix):
            wanted.setdefault((path, name), set()).update(bases - {name})
        if suffix == ".swift":
            extended |= {(path, name) for name in re.findall(r"\bextension\s+(?:\w+\.)*(\w+)", text)}
            defined |= set(re.findall(r"\b(?:class|struct|protocol|enum|actor)\s+(\w+)", text))
    wanted = {key: bases for key, bases in wanted.items() if key not in extended or key[1] in defined}
    everywhere: dict[str, set[str]] = defaultdict(set)
    for (_, name), bases in wanted.items():
        everywhere[name] |= bases
    found: dict[str, set[str]] = defaultdict(set)
    own: Bases = {}
    for node in resolve(facts, facts).hierarchy.nodes.values():
        if node.source:
            name = _last(node.name)
            bases = {_last(base) for base in node.bases} - {name}
            found[name] |= bases
            own.setdefault((node.source, name), set()).update(bases)
    missing = {key: bases - found[key[1]] for key, bases in wanted.items() if bases - found[key[1]]}
    invented = {key: bases - everywhere[key[1]] for key, bases in own.items() if bases - everywhere[key[1]]}
    count, based = len(wanted), sum(bool(bases) for bases in wanted.values())
    right = count - len(missing.keys() | (invented.keys() & wanted.keys()))
    row(f"class tree, `{folder.name}` ({suffix})", f"{right} of {count} classes equal, {based} with bases")
    for label, rows in (("missing", missing), ("more", invented)):
        for (path, name), bases in sorted(rows.items()):
            print(f"  {label}: {path} {name}: {', '.join(sorted(bases))}", file=sys.stderr)


def _last(name: str) -> str:
    """Return the last part of a name; an operator is one part."""
    return re.split(r"(?<=\w)[.:\\/#]+(?=\w)|(?<=\w)\.(?=\W)", name)[-1]


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        suffix, _, folder = argument.partition("=")
        measure(suffix, Path(folder))
