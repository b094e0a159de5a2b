"""Parse the Markdown of an answer, and add citations where they are rendered as text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

NESTED = 30  # maximum nesting of blocks and marks; the parser ignores deeper content
_SEPARATORS = (" ", "\n", "\n\n")


class _AnswerMarkdown(MarkdownIt):
    def validateLink(self, url: str) -> bool:
        return True  # texts that other programs may show as links count as well


@cache
def _parser() -> MarkdownIt:
    parser = _AnswerMarkdown("commonmark", {"html": True, "maxNesting": NESTED})
    return parser.enable(["table", "strikethrough"]).disable("text_join")


def parsed(text: str, environment: dict[str, Any] | None = None) -> list[Token]:
    """Return the tokens of a text; `environment` receives its definitions of links."""
    return _parser().parse(text, environment)


def with_closed_fence(text: str) -> str:
    """Return the text, with its last fence closed if it is open."""
    tokens = parsed(text)
    if not tokens or tokens[-1].type != "fence":  # a fence in a list or a quotation ends with it
        return text
    closed = f"{text}\n{tokens[-1].markup}"
    return closed if len(parsed(closed)) == len(tokens) else text  # otherwise it has opened another fence


def with_citation(text: str, citation: str) -> str:
    """Return the text with the citation after it: on its last line, unless that is code or a table."""
    written = [f"{text}{separator}{citation}" for separator in _SEPARATORS]
    return next((markdown for markdown in written if _is_shown(parsed(markdown), citation)), written[-1])


def _is_shown(tokens: Sequence[Token], citation: str) -> bool:
    """Return whether the last block is a text that ends with the citation."""
    last = next((at for at in reversed(range(len(tokens))) if not tokens[at].type.endswith("_close")), None)
    if last is None or tokens[last].type != "inline" or not tokens[last].content.endswith(citation):
        return False
    return tokens[last + 1].type not in ("td_close", "th_close")
