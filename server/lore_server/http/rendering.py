"""Render the texts of the page as trees of known tags and text, so that no text and no code can become markup.

Code is coloured with Pygments: spans of known classes and text. Rendering reads no data, so its route is no operation.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from itertools import chain
from pathlib import PurePosixPath
from typing import Any

import anyio
import anyio.to_thread
from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class_by_name, find_lexer_class_for_filename
from pygments.token import _TokenType, string_to_tokentype
from pygments.util import ClassNotFound
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lore_etl.core.errors import InvalidArgument, LoreError
from lore_etl.core.frontmatter import FrontMatterError, body_of, front_matter_lines, front_matter_values
from lore_etl.core.json_types import JSON
from lore_etl.core.tables import table
from lore_etl.sources.source import syntax_of
from lore_server.http.arguments import json_of
from lore_server.http.guard import refused
from lore_server.knowledge.document import DOCUMENT_BYTES, KnowledgeDocument, checked_text
from lore_server.services.chapters import metadata_of

Element = list[Any]
"""`[tag, {attribute: value}, child, …]`; a child is an element or a text."""
Node = Element | str
_DATA = table(__file__)
TAGS, EMPTY = _DATA["tags"], _DATA["empty"]
CLASSES = {string_to_tokentype(name): kind for name, kind in _DATA["classes"].items()}
SCHEMES = ("http", "https", "mailto")
HEADINGS = range(2, 7)  # the page itself has the heading of level 1
NESTED = 30  # maximum nesting of blocks; the parser omits deeper ones, and deeper brackets take longer
DEEPEST = 60  # maximum nesting of elements; deeper content is shown in the deepest element
MARKDOWN = "/page/markdown"
MAX_BYTES = 32_000_000
LONGEST = 100_000  # characters: prose takes 0.3 s, the worst case (brackets) 3 s; code after it has no colour
AT_ONCE = 2
LONGEST_LINE = 2_000  # longer lines are data, and some patterns take quadratic time for them
SECONDS = 0.5


def rendering_route() -> Route:
    working = anyio.CapacityLimiter(AT_ONCE)

    async def markdown(request: Request) -> Response:
        """Render a document, or `parts` of files: Markdown, or code by the name of its file."""
        try:
            given = await json_of(request, MAX_BYTES)
            text, parts = given.get("text"), given.get("parts")
            if isinstance(parts, list):
                return JSONResponse({"parts": await anyio.to_thread.run_sync(_rendered_parts, parts, limiter=working)})
            if not isinstance(text, str):
                raise InvalidArgument("`text` is missing or not a string.")
            checked_text(text, DOCUMENT_BYTES, "document")
            return JSONResponse(await anyio.to_thread.run_sync(rendered, text, limiter=working))
        except LoreError as error:
            return refused(error)

    return Route(MARKDOWN, markdown, methods=["POST"])


def _rendered_parts(parts: list[Any]) -> list[list[Any]]:
    """Return the elements of each part, `{"text": …, "path": …}`. Raises InvalidArgument."""
    found, left = [], LONGEST
    for part in parts:
        match part:
            case {"text": str(text), "path": str(path)} if not path or syntax_of(path) == "markdown":
                found.append(elements_of(text[:left]))
            case {"text": str(text), "path": str(path)}:
                found.append([["pre", {}, ["code", {}, *coloured(text, path)]]])
            case _:
                raise InvalidArgument("A part has a `text` and a `path`.")
        left = max(0, left - len(text))
    return found


def rendered(text: str) -> JSON:
    """Return the front matter, the elements of the text, and the rest if it is too long to render."""
    document = KnowledgeDocument(text)
    body = body_of(text)
    end = len(body) if len(body) <= LONGEST else body.rfind("\n", 0, LONGEST) + 1 or LONGEST
    front: JSON = {}
    with suppress(FrontMatterError):
        front = front_matter_values(text, as_text=True)
    metadata = metadata_of(document.title, document.metadata)
    elements = elements_of(body[:end], front_matter_lines(text) + 1)
    return {"metadata": metadata, "front": front, "elements": elements, "rest": body[end:]}


def elements_of(text: str, line: int = 0) -> list[Node]:
    """Parse a Markdown text; HTML and text with excessive nesting remain text, and an image becomes a link.

    With the number of the first `line`, the outermost elements have the number of theirs as `data-line`.
    """
    tokens = _parser().parse(text)
    if any(token.level >= NESTED - 1 for token in tokens):
        return [["pre", {}, ["code", {}, text]]]
    levels = _levels([int(token.tag[1]) for token in tokens if token.type == "heading_open"])
    root: list[Node] = []
    open_elements: list[list[Any]] = [root]
    is_linked = False
    parts = ((token.children or ()) if token.type == "inline" else (token,) for token in tokens)
    for token in chain.from_iterable(parts):
        if token.type in ("link_open", "link_close"):
            is_linked = token.nesting > 0
        above = open_elements[-1]
        if token.nesting > 0:
            is_shown = not token.hidden and len(open_elements) < DEEPEST
            open_elements.append(_element(token, levels) if is_shown else above)
            node: Node = open_elements[-1]
        elif token.nesting < 0:
            open_elements.pop()
            continue
        else:
            node = _leaf(token, is_linked)
        if line and above is root and token.map and not isinstance(node, str):
            node[1]["data-line"] = str(line + token.map[0])
        if node is not above:
            above.append(node)
    return root


def is_safe(address: str) -> bool:
    """Return whether a link target is allowed: a web address, a mailbox, or a relative path."""
    before_path = address.partition("?")[0].partition("#")[0].partition("/")[0]
    scheme, colon, _ = before_path.partition(":")
    return scheme.lower() in SCHEMES if colon else not address.startswith("//")


class _PageMarkdown(MarkdownIt):
    def validateLink(self, url: str) -> bool:
        return is_safe(url)


@cache
def _parser() -> MarkdownIt:
    return _PageMarkdown("commonmark", {"html": False, "maxNesting": NESTED}).enable(["table", "strikethrough"])


def _element(token: Token, levels: Iterator[int]) -> Element:
    kind = token.type.removesuffix("_open")
    match kind:
        case "heading":
            return [f"h{next(levels)}", {}]
        case "link":
            return ["a", {"href": str(token.attrs["href"])}]
        case "ordered_list" if "start" in token.attrs:
            return ["ol", {"start": str(token.attrs["start"])}]
        case "th" | "td" if "style" in token.attrs:
            return [kind, {"class": str(token.attrs["style"]).removeprefix("text-align:")}]
    return [TAGS[kind], {}]


def _leaf(token: Token, is_linked: bool) -> Node:
    match token.type:
        case "fence" | "code_block":
            language = token.info.split()[:1]
            parts = coloured(token.content, language[0]) if language else [token.content]
            return ["pre", {"data-language": language[0]} if language else {}, ["code", {}, *parts]]
        case "code_inline":
            return ["code", {}, token.content]
        case "image":
            name = token.content or "image"
            return name if is_linked else ["a", {"href": str(token.attrs["src"])}, name]
        case "softbreak":
            return "\n"
    return [EMPTY[token.type], {}] if token.type in EMPTY else token.content


def _levels(written: Sequence[int]) -> Iterator[int]:
    """Yield heading levels without gaps, whatever the text contains."""
    above: list[int] = []
    for level in written:
        while above and above[-1] >= level:
            above.pop()
        above.append(level)
        yield HEADINGS[min(len(above), len(HEADINGS)) - 1]


def coloured(text: str, name: str) -> list[Any]:
    """Return the text as parts, `["span", {"class": …}, text]` or text; `name` is a file's name or a language."""
    path = PurePosixPath(name)
    lexer = _lexer(f"_{path.suffix}" if path.suffix else path.name)
    if lexer is None or max(map(len, text.split("\n"))) > LONGEST_LINE:
        return [text]
    parts: list[tuple[str, str]] = []
    for kind, value in _within_time(lexer, text):
        if parts and (parts[-1][0] == kind or value.isspace()):
            parts[-1] = parts[-1][0], parts[-1][1] + value
        else:
            parts.append((kind, value))
    return [["span", {"class": f"tok-{kind}"}, value] if kind else value for kind, value in parts]


def _within_time(lexer: Lexer, text: str) -> Iterator[tuple[str, str]]:
    """Yield the class and the text of each token until the time is over, then the rest without a class."""
    end, done = time.monotonic() + SECONDS, 0
    for at, token, value in lexer.get_tokens_unprocessed(text[:LONGEST]):
        if at != done or time.monotonic() > end:
            break
        yield _class_of(token), value
        done += len(value)
    if done < len(text):
        yield "", text[done:]


@lru_cache(maxsize=1000)
def _class_of(token: _TokenType | None) -> str:
    return "" if token is None else CLASSES.get(token) or _class_of(token.parent)


@lru_cache(maxsize=100)
def _lexer(name: str) -> Lexer | None:
    try:
        found = find_lexer_class_for_filename(name) or find_lexer_class_by_name(name)
    except ClassNotFound:
        return None
    return found()
