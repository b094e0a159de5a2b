"""Read JSON with comments, and add one value to its text without changing anything else."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)
_VISIBLE = re.compile(r"[^\r\n]")
_DECODER = json.JSONDecoder()


class NotAnObject(ValueError):
    """Raised if a value that must be an object is not; the message is its path."""


@dataclass(frozen=True)
class _Object:
    """The position of an object in the text: its braces, and the keys and values of its members."""

    start: int
    end: int
    keys: dict[str, int]
    values: dict[str, tuple[int, int]]


def loads(text: str) -> object:
    """Parse the text. Raises ValueError, RecursionError."""
    return json.loads(_plain(text))


def is_blank(text: str) -> bool:
    """Return whether the text contains only white space and comments."""
    return not _without_comments(text).strip()


def with_value(text: str, path: Sequence[str], value: object) -> str:
    """Add a value at a path that has none yet, creating objects on the way.

    Raises:
        NotAnObject: a part of the path is not an object.
    """
    plain = _plain(text)
    here = _object(plain, _skip(plain, 0), "the top level")
    root = here
    for depth, key in enumerate(path):
        if key not in here.values:
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value}
            return _with_member(text, root, here, key, value)
        here = _object(plain, here.values[key][0], f"`{key}`")
    raise ValueError("The path already has a value.")


def without_value(text: str, path: Sequence[str]) -> str:
    """Remove the value at a path, with its comma; comments stay.

    Raises:
        NotAnObject: a part of the path is not an object.
        KeyError: the path has no value.
    """
    plain = _plain(text)
    here = _object(plain, _skip(plain, 0), "the top level")
    for key in path[:-1]:
        here = _object(plain, here.values[key][0], f"`{key}`")
    start, end = here.keys[path[-1]], here.values[path[-1]][1]
    code = _without_comments(text)
    after = _skip(code, end)
    if code[after] == ",":
        end = after + 1
    elif code[:start].rstrip().endswith(","):
        comma = code.rindex(",", 0, start)
        text, code, start, end = (*(part[:comma] + part[comma + 1 :] for part in (text, code)), start - 1, end - 1)
    line = text.rfind("\n", 0, start) + 1
    if not text[line:start].strip() and (rest := text[end:].split("\n", 1)) and not rest[0].strip() and len(rest) == 2:
        start, end = line, end + len(rest[0]) + 1
    return text[:start] + text[end:]


def _without_comments(text: str) -> str:
    """Replace comments by blanks of the same length, so that positions stay the same."""
    return _COMMENT.sub(lambda match: match.group(1) or _VISIBLE.sub(" ", match.group()), text)


def _plain(text: str) -> str:
    return _TRAILING_COMMA.sub(lambda match: match.group(1) or " ", _without_comments(text))


def _skip(plain: str, at: int) -> int:
    while at < len(plain) and plain[at] in " \t\r\n":
        at += 1
    return at


def _object(plain: str, start: int, name: str) -> _Object:
    if not plain.startswith("{", start):
        raise NotAnObject(name)
    keys: dict[str, int] = {}
    values: dict[str, tuple[int, int]] = {}
    at = _skip(plain, start + 1)
    while plain[at] != "}":
        key, end = _DECODER.raw_decode(plain, at)
        first = _skip(plain, _skip(plain, end) + 1)  # after the colon
        _, last = _DECODER.raw_decode(plain, first)
        keys[key], values[key] = at, (first, last)
        at = _skip(plain, last)
        at = _skip(plain, at + 1) if plain[at] == "," else at
    return _Object(start, at, keys, values)


def _with_member(text: str, root: _Object, here: _Object, key: str, value: object) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    last = max((end for _, end in here.values.values()), default=None)
    tail = len(text[: here.end].rstrip())  # after the last value and the comments that follow it
    if last is None:
        comma, last = "", tail
    else:
        comma = "" if "," in _without_comments(text)[last : here.end] else ","
    if _is_flat(text, root, here):
        piece = f"{' ' if here.values else ''}{json.dumps({key: value}, ensure_ascii=False)[1:-1]}"
        end = text[tail : here.end]
    else:
        unit, own = _indents(text, root, here)
        lines = json.dumps({key: value}, ensure_ascii=False, indent=unit).split("\n")[1:-1]
        piece = "".join(f"{newline}{own}{line.removeprefix(unit)}" for line in lines)
        end = text[tail : here.end]
        if "\n" not in end:  # the brace moves to its own line; nothing is removed, not even blanks
            end = newline + _indent_at(text, here.start) + end
    return text[:last] + comma + text[last:tail] + piece + end + text[here.end :]


def _is_flat(text: str, root: _Object, here: _Object) -> bool:
    """Return whether the object is written on one line and should stay on one line."""
    if "\n" in text[here.start : here.end]:
        return False
    return bool(here.values) or (here is not root and "\n" not in text[root.start : root.end])


def _indents(text: str, root: _Object, here: _Object) -> tuple[str, str]:
    """Return one step of indentation as used in the document, and the indentation of the object's members."""
    unit = "  "
    for at in list(root.keys.values())[:1]:
        if _starts_line(text, at):
            unit = _indent_at(text, at).removeprefix(_indent_at(text, root.start))
    for at in here.keys.values():
        if _starts_line(text, at):
            return unit, _indent_at(text, at)
    return unit, _indent_at(text, here.start) + unit


def _starts_line(text: str, at: int) -> bool:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return not line.strip() and "\n" in text[:at]


def _indent_at(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
