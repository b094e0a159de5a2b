"""Secrets are compared in constant time: the time of a comparison must not tell how much of a guess is right."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.harness.projects import ROOT

COMPARING = (
    "server/lore_server/http/access.py", "server/lore_server/owner/listen.py", "server/lore_server/trackers/webhooks.py"
)  # fmt: skip
"""The modules that compare what a client sent with a token."""
HANDLING = re.compile(r"\b(?:token_of|compare_digest|(?:note|_note|site|found)\._?token)\b")
"""The parts of the modules that hold a token."""
OWN_NOTE = "server/lore_server/owner/process.py"  # compares its own note with the file, not with what a client sent
BY_VALUE = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)
SECRET = re.compile(r"_?(token|secret|given|authorization|password|value)")
FORBIDDEN = [
    "given == self._token.encode()", "self.value != text", "token in found", "(a, note.token) == (b, text)",
    "given.strip() == self.value.encode()", "text not in (secret,)", "'Bearer ' + token == header",
]  # fmt: skip
ALLOWED = [
    "secrets.compare_digest(given, token.encode())", "token is None", "len(token) >= 16", "scheme.lower() == b'bearer'",
    "kind == 'token'", "token.type == 'inline'",
]  # fmt: skip


def comparisons(source: str) -> Iterator[int]:
    """Yield the lines that compare a secret by its value, with an operator that stops at the first difference."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Compare) or not any(isinstance(operator, BY_VALUE) for operator in node.ops):
            continue
        if any(map(_is_secret, (node.left, *node.comparators))):
            yield node.lineno


def _is_secret(operand: ast.expr) -> bool:
    """Return whether an operand contains a secret; an attribute of one and its length are none."""
    match operand:
        case ast.Name(id=name) | ast.Attribute(attr=name) if SECRET.fullmatch(name):
            return True
        case ast.Call(func=ast.Attribute(value=owner)):  # such as `token.encode()`
            return _is_secret(owner)
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            return any(map(_is_secret, parts))
        case ast.BinOp(left=left, right=right):
            return _is_secret(left) or _is_secret(right)
    return False


def test_no_module_with_a_token_compares_it_with_an_operator() -> None:
    files = (file for package in ("etl", "server") for file in sorted((ROOT / package).rglob("*.py")))
    texts = {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8") for file in files}
    holders = {path: text for path, text in texts.items() if HANDLING.search(text)}
    found = {path: lines for path, text in holders.items() if (lines := list(comparisons(text)))}

    assert holders.keys() > {*COMPARING, OWN_NOTE}
    assert found.keys() == {OWN_NOTE}, "use `secrets.compare_digest`"


@pytest.mark.parametrize("path", COMPARING)
def test_what_a_client_sends_is_compared_in_constant_time(path: str) -> None:
    assert (ROOT / path).read_text(encoding="utf-8").count("compare_digest(given") == 1


@pytest.mark.parametrize("comparison", [*FORBIDDEN, *ALLOWED])
def test_a_comparison_by_operator_is_told_from_others(comparison: str) -> None:
    assert list(comparisons(comparison)) == ([1] if comparison in FORBIDDEN else [])
