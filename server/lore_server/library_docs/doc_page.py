"""Pages of documentation as Markdown, from documents and the source of modules. Executes nothing, reads no file."""

import ast
import inspect
import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

import yaml

from lore_etl.chunking import parse, title_of
from lore_etl.core.frontmatter import FrontMatterError, body_of, read_front_matter
from lore_etl.core.html_markdown import html_as_markdown
from lore_etl.core.model import Document, KnowledgeType
from lore_etl.core.text import clip, encodable
from lore_etl.sources.source import CONVERTED, PROSE, syntax_of

MAX_TEXT = 1_000_000  # characters
MAX_URL = 2_000
TEXT_SUFFIX = ".txt"
_TESTS = frozenset({"test", "tests", "_vendor", "vendor", "__pycache__"})
_IMPORTED = re.compile(r"^\s*from\s+\.(_\w+)\s+import\b", re.MULTILINE)
_SPECIAL = frozenset({"__init__", "__call__", "__new__"})
_DECLARED = re.compile(r"\.d\.[cm]?ts$")
Outline = dict[str, tuple[str, str]]
"""The signature and docstring of each public name of a module; the module itself has the empty name."""


class Readable(NamedTuple):
    """The text of a page in Markdown, and its title, if it is not among the headings."""

    text: str
    title: str = ""


def is_readable(path: str) -> bool:
    return path.lower().endswith(TEXT_SUFFIX) or (syntax_of(path) in PROSE and syntax_of(path) != CONVERTED)


def page_path(path: str) -> str:
    return path if path.lower().endswith(".md") else f"{path}.md"


def markdown_page(page: Readable, library: str, version: str = "", url: str = "") -> str:
    """Return the Markdown file. Only this front matter counts, so a page cannot claim another origin."""
    front = {"title": clip(page.title, 300), "library": library, "version": version, "url": encodable(url)[:MAX_URL]}
    known = {key: value for key, value in front.items() if value}
    block = yaml.safe_dump(known, allow_unicode=True, sort_keys=False, width=10_000)
    return encodable(f"---\n{block}---\n\n{page.text.strip()}\n")


def readable(path: str, text: str) -> Readable:
    """Return a file as Markdown; the path decides how it is read."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    syntax = syntax_of(path)
    if syntax == "html":
        return Readable(*html_as_markdown(text))
    if syntax == "markdown":
        try:
            title = read_front_matter(text).title
        except FrontMatterError:
            title = None
        return Readable(body_of(text), title or "")
    if syntax not in PROSE or syntax == "text":
        return Readable(text)  # text is often Markdown, such as `llms.txt`
    shown, title = _with_headings(Document(path, KnowledgeType.LIBRARY, text, "", syntax)), title_of(text, syntax) or ""
    return Readable(shown, "" if f"# {title}\n" in shown else title)


def _with_headings(document: Document) -> str:
    """Return a document of another syntax with the headings of Markdown."""
    parsed = parse(document)
    lines = (parsed.text or document.text).split("\n")
    parts = []
    for section in parsed.sections:
        below = lines[section.first - 1 : section.last]
        if section.heading:
            # in reStructuredText, a heading has a line below it and perhaps one above
            below = below[1 if document.syntax != "rst" else 2 + (not any(map(str.isalnum, below[0]))) :]
            parts += ["", f"{'#' * min(len(section.heading), 6)} {section.heading[-1]}", ""]
        parts += below
    return "\n".join(parts)


def is_module(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return path.endswith((".py", ".pyi")) and _TESTS.isdisjoint(parts) and not parts[-1].startswith("test_")


def is_declaration(path: str) -> bool:
    return bool(_DECLARED.search(path)) and _TESTS.isdisjoint(PurePosixPath(path).parts)


def python_pages(texts: Mapping[str, str]) -> Iterator[tuple[str, Readable]]:
    """Yield the pages of modules by path, from their source and their stubs, which decide the signatures."""
    stems: dict[str, list[str]] = {}
    for path in sorted(texts):  # `x.py` before `x.pyi`
        stems.setdefault(path.rpartition(".")[0], []).append(path)
    for stem, paths in stems.items():
        package, _, module = stem.rpartition("/")
        shared = _IMPORTED.findall("".join(texts.get(f"{package}/__init__.{end}", "") for end in ("py", "pyi")))
        # a private module defines public names if its package imports from it
        if _is_private(package) or (_is_private(module) and module not in shared):
            continue
        outline: Outline = {}
        for path in paths:
            for name, (signature, docstring) in _outline(texts[path]).items():
                outline[name] = (signature, docstring or outline.get(name, ("", ""))[1])
        if any(signature or docstring for signature, docstring in outline.values()):
            name = stem.removesuffix("/__init__").replace("/", ".")
            yield f"{stem}.py.md", Readable(_page(name, outline), name)


def declaration_page(path: str, text: str) -> Readable:
    name = _DECLARED.sub("", path)
    document = Document(path, KnowledgeType.LIBRARY, text, "", "typescript")
    blocks = [f"# {name}"]
    for section in parse(document).sections:
        below = "\n".join(document.lines[section.first - 1 : section.last]).strip()
        heading = [f"## {section.heading[-1]}"] if section.heading else []
        blocks += [*heading, f"```ts\n{below}\n```"] if below else []
    return Readable("\n\n".join(blocks), name)


def _is_private(place: str) -> bool:
    return any(part.startswith("_") and not part.endswith("__") for part in place.split("/"))


def _page(name: str, outline: Outline) -> str:
    blocks = [f"# {name}"]
    for inner, (signature, docstring) in outline.items():
        if inner:
            blocks += [f"{'###' if '.' in inner else '##'} {inner}", f"```python\n{signature}\n```"]
        blocks += [docstring] if docstring else []
    return "\n\n".join(blocks)


def _outline(text: str) -> Outline:
    """Return the public names of a module; empty if it does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
        return {"": ("", _docstring(tree)), **dict(_defined(tree.body, ""))}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}


def _defined(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, tuple[str, str]]]:
    for node in body:
        if isinstance(node, ast.If | ast.Try):  # of a version of Python, or for type checkers
            yield from _defined([*node.body, *node.orelse], prefix)
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name.startswith("_") and not (prefix and node.name in _SPECIAL):
                continue
            yield prefix + node.name, (_signature(node), _docstring(node))
            if isinstance(node, ast.ClassDef) and not prefix:
                yield from _defined(node.body, f"{node.name}.")


def _signature(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return the head of a definition with its decorators and, for a class, its annotated attributes."""
    decorators = [f"@{ast.unparse(one)}" for one in node.decorator_list]
    if isinstance(node, ast.ClassDef):
        fields = [f"    {ast.unparse(one)}" for one in node.body if isinstance(one, ast.AnnAssign)]
        bases = ", ".join(map(ast.unparse, [*node.bases, *node.keywords]))
        return "\n".join([*decorators, f"class {node.name}({bases}):" if bases else f"class {node.name}:", *fields])
    head = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return "\n".join([*decorators, f"{head} {node.name}({ast.unparse(node.args)}){returned}"])


def _docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    text = inspect.cleandoc(ast.get_docstring(node, clean=False) or "")
    return re.sub(r"^(#|---)", r"\\\1", text, flags=re.MULTILINE)  # no headings of its own
