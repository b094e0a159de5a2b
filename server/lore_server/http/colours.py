"""Colour code with Pygments: spans of known classes and text, as for Markdown, so no code can become markup."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class_by_name, find_lexer_class_for_filename
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType
from pygments.util import ClassNotFound

CLASSES = {
    Comment: "c", Keyword.Type: "t", Keyword: "k", Operator.Word: "k", String: "s", Number: "n", Name.Function: "f",
    Name.Class: "f", Name.Decorator: "f", Name.Builtin: "t", Name.Tag: "k", Name.Attribute: "t",
}  # fmt: skip
LONGEST = 100_000  # characters; the rest has no colour
LONGEST_LINE = 2_000  # longer lines are data, and some patterns take quadratic time for them
SECONDS = 0.5


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
    while token is not None:
        if token in CLASSES:
            return CLASSES[token]
        token = token.parent
    return ""


@lru_cache(maxsize=100)
def _lexer(name: str) -> Lexer | None:
    try:
        found = find_lexer_class_for_filename(name) or find_lexer_class_by_name(name)
    except ClassNotFound:
        return None
    return found()
