"""Spell the signature of a Go method so that equal signatures have equal texts: types with packages, without names."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lore_etl.core.model import OWN_PACKAGE

_NAMED = re.compile(r"(?!(?:chan|map|func|struct|interface)\b)\w+\s+(\S.*)", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*(?:\s*\.\s*\w+)?")
_ALIASES = {"byte": "uint8", "rune": "int32"}
_PREDECLARED = frozenset(
    "any bool chan comparable complex128 complex64 error float32 float64 func int int16 int32 int64 int8 interface map"
    " string struct uint uint16 uint32 uint64 uint8 uintptr".split()
)


def signature(name: str, parameters: str, result: str, imports: Mapping[str, tuple[str, str | None]]) -> str:
    """Return a method as `Name(type,…)(type,…)`."""

    def spelled(word: re.Match[str]) -> str:
        first, _, inner = "".join(word[0].split()).partition(".")
        if inner:
            return f"{imports[first][0]}.{inner}" if first in imports else f"{first}.{inner}"
        plain = _ALIASES.get(first, first)
        return plain if plain in _PREDECLARED else OWN_PACKAGE + plain

    def listed(text: str) -> str:
        types = (re.sub(r"\binterface\s*\{\s*\}", "any", one) for one in _types(text))
        return ",".join("".join(_WORD.sub(spelled, one).split()) for one in types)

    shown = name if name[:1].isupper() else OWN_PACKAGE + name
    return f"{shown}({listed(parameters)})({listed(result if result.startswith('(') else f'({result})')})"


def _types(text: str) -> list[str]:
    """Return the types in a list of parameters, which have names either all or not at all."""
    parts = _split(re.sub(r"//[^\n]*|/\*.*?\*/", " ", text.strip(), flags=re.DOTALL)[1:-1])
    named = [_NAMED.fullmatch(part) for part in parts]
    if not any(named):
        return parts
    types, last = list[str](), ""
    for found in reversed(named):
        last = found[1] if found else last  # `a, b int`
        types.append(last)
    return types[::-1]


def _split(text: str) -> list[str]:
    """Split at commas outside brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]
