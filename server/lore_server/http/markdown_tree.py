"""Parse Markdown to a tree of known tags and text. It never produces markup, so no text can become markup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from lore_server.http.colours import coloured

Element = list[Any]
"""`[tag, {attribute: value}, child, …]`; a child is an element or a text."""
Node = Element | str
TAGS = {
    "paragraph": "p", "blockquote": "blockquote", "bullet_list": "ul", "ordered_list": "ol", "list_item": "li",
    "table": "table", "thead": "thead", "tbody": "tbody", "tr": "tr", "th": "th", "td": "td", "em": "em",
    "strong": "strong", "s": "s", "link": "a",
}  # fmt: skip
EMPTY = {"hr": "hr", "hardbreak": "br"}
SCHEMES = ("http", "https", "mailto")
HEADINGS = range(2, 7)  # the page itself has the heading of level 1
NESTED = 30  # maximum nesting of blocks; the parser omits deeper ones, and deeper brackets take longer
DEEPEST = 60  # maximum nesting of elements; deeper content is shown in the deepest element


def elements_of(text: str, line: int = 0) -> list[Node]:
    """Parse a Markdown text. HTML remains text; an image becomes a link.

    A text with excessive nesting is shown as plain text. With the number of the first `line`, the outermost elements
    have the number of theirs as `data-line`.
    """
    tokens = _parser().parse(text)
    if any(token.level >= NESTED - 1 for token in tokens):
        return [["pre", {}, ["code", {}, text]]]
    levels = _levels([int(token.tag[1]) for token in tokens if token.type == "heading_open"])
    root: list[Node] = []
    open_elements: list[list[Any]] = [root]
    is_linked = False
    for token in _flat(tokens):
        if token.type in ("link_open", "link_close"):
            is_linked = token.nesting > 0
        above = open_elements[-1]
        if token.nesting > 0:
            element = _element(token, levels) if not token.hidden and len(open_elements) < DEEPEST else above
            if line and above is root and token.map:
                element[1]["data-line"] = str(line + token.map[0])
            if element is not above:
                above.append(element)
            open_elements.append(element)
        elif token.nesting < 0:
            open_elements.pop()
        else:
            leaf = _leaf(token, is_linked)
            if line and above is root and token.map and not isinstance(leaf, str):
                leaf[1]["data-line"] = str(line + token.map[0])
            above.append(leaf)
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


def _flat(tokens: Iterable[Token]) -> Iterator[Token]:
    for token in tokens:
        if token.type == "inline":
            yield from token.children or ()
        else:
            yield token


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
