"""The handbook and the prompts name only tools, arguments, fields and values that exist."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from lore_etl.core.errors import LoreError
from lore_server.contract import Contract
from lore_server.mcp.mcp_server import RECIPES
from lore_server.mcp.resources import HANDBOOK_FILE

TEXTS = {
    "handbook": HANDBOOK_FILE.read_text(encoding="utf-8"),
    **{name: recipe.text for name, recipe in RECIPES.items()},
}
EXAMPLES = {"RetryPolicy", "ferry.stores.base.Store", "run_once"}
"""Queries that the handbook shows."""
OTHERS = {"lore.toml", "latest"}
"""A file, and a value of `id` that is not in an enum."""


@pytest.mark.parametrize("name", TEXTS)
def test_every_name_exists_in_the_contract(name: str, contract: Contract) -> None:
    known = {*names(contract.document), *contract.operations, *contract.toolsets(), *RECIPES, *codes(LoreError), "true"}
    used = {
        word
        for quoted in re.findall(r"`([^`\n]+)`", TEXTS[name])
        if quoted not in EXAMPLES | OTHERS and re.fullmatch(r"[A-Za-z_]+(?:[.][a-z_]+)?(?:=\w+)?", quoted)
        for word in re.split(r"[.=]", quoted)
    }
    called = set(re.findall(r"\b(?:[a-z]+_)+[a-z]+\b", TEXTS[name])) - {word.casefold() for word in EXAMPLES}
    values = {word for pair in re.findall(r"\b[a-z_]+=[a-z]+\b", TEXTS[name]) for word in pair.split("=")}

    assert (used | called | values) - known == set()


def names(schema: Any) -> Iterator[str]:
    """Yield the names of properties and parameters, and the values of enums."""
    if isinstance(schema, list):
        for item in schema:
            yield from names(item)
    elif isinstance(schema, dict):
        yield from schema.get("properties", {}) if isinstance(schema.get("properties"), dict) else ()
        yield from (str(value) for value in schema.get("enum", ()) if isinstance(schema["enum"], list))
        yield from [schema["name"]] if "in" in schema and "name" in schema else []
        for value in schema.values():
            yield from names(value)


def codes(kind: type[LoreError]) -> Iterator[str]:
    yield kind.code
    for inner in kind.__subclasses__():
        yield from codes(inner)
