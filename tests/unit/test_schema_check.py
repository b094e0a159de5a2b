"""The compiled check of replies accepts exactly what the contract allows."""

from __future__ import annotations

import random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lore_server.contract import Contract, load_contract
from lore_server.schema_check import compiled

ROUNDS = 30
OTHERS = [None, True, False, -1, 0, 3, 3.0, 0.5, 10**30, "", "x", "guide", "x" * 70_000, [], ["x"], {}, {"xy": 1}]
OPERATIONS = sorted(operation.id for operation in load_contract())


def _matching(schema: Any, chance: random.Random) -> Any:
    """Return a value that matches a schema of the contract, as far as it is made of simple keywords."""
    if "const" in schema or "enum" in schema:
        return chance.choice(schema.get("enum", [schema.get("const")]))
    types = schema.get("type", "null")
    match types if isinstance(types, str) else chance.choice(types):
        case "object":
            names = [*schema.get("required", ())]
            names += [name for name in schema.get("properties", {}) if name not in names and chance.random() < 0.5]
            found = {name: _matching(schema["properties"][name], chance) for name in names}
            others = schema.get("additionalProperties")
            return {**found, "x": _matching(others, chance)} if isinstance(others, dict) else found
        case "array":
            number = max(schema.get("minItems", 0), chance.randrange(3))
            return [_matching(schema.get("items", {}), chance) for _ in range(number)]
        case "string":
            return "abc"[: schema.get("maxLength", 3)]
        case "integer" | "number":
            return schema.get("minimum", chance.choice([0, 1]))
        case "boolean":
            return chance.choice([True, False])
    return None


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values in a value, itself included."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for name, part in parts for place in _places(part, (*path, name)))]


def _changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _changed(value[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize("name", OPERATIONS)
def test_it_agrees_with_jsonschema_about_every_reply_of_the_contract(contract: Contract, name: str) -> None:
    schema, chance = contract[name].output_schema, random.Random(name)
    accepts, validator = compiled(schema), Draft202012Validator(schema)
    for _ in range(ROUNDS):
        reply = _matching(schema, chance)
        broken = _changed(reply, chance.choice(_places(reply)), chance.choice(OTHERS))
        for value in (reply, broken):
            assert accepts(value) == validator.is_valid(value), value


@pytest.mark.parametrize(
    "schema",
    [
        {"type": ["string", "null"], "enum": ["x"]},
        {"type": ["string", "null"], "maxLength": 1},
        {"type": "object", "propertyNames": {"maxLength": 1}},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"anyOf": [{"type": "string", "maxLength": 1}, {"type": "null"}]},
        {"type": "integer", "multipleOf": 2},
        {"type": "number", "minimum": 0, "maximum": 1},
        {"type": "integer"},
        {"type": "boolean", "const": True},
        {"type": "array", "items": {"type": "integer"}, "minItems": 1},
        {"type": "string", "pattern": "^g"},
        {"const": 1},
        True,
        False,
        {},
    ],
)
def test_it_agrees_with_jsonschema_about_single_keywords(schema: Any) -> None:
    accepts, validator = compiled(schema), Draft202012Validator(schema)

    assert [accepts(value) for value in OTHERS] == [validator.is_valid(value) for value in OTHERS]
