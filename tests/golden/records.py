"""Generate `lore_server/replies/records.pyi`: a TypedDict for each object in the replies of `openapi.yaml`.

It is a stub, beside a module without classes, because only mypy needs the types, and 80 classes would add 10 ms to the
start of every command.
"""

import keyword
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lore_server.replies

TARGET = Path(lore_server.replies.__path__[0]) / "records.pyi"
HEAD = '''"""The objects in the replies of the contract. Generated from openapi.yaml by `make golden`: do not edit.

At run time they are JSON objects, see `records.py`.
"""

from typing import NotRequired, TypedDict
'''
SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
SUFFIX = "Record"
Schema = dict[str, Any]


def source(document: Schema) -> str:
    """Return the module's source text."""
    generator = _Generator(document)
    for item in document["paths"].values():
        for operation in item.values():
            for response in operation["responses"].values():
                generator.annotation(_content(document, response), operation["operationId"].title().replace("_", ""))
    return "\n".join([HEAD, *generator.definitions.values()])


def _content(document: Schema, response: Schema) -> Schema:
    if "$ref" in response:
        response = document["components"]["responses"][_last(response["$ref"])]
    schema: Schema = response["content"]["application/json"]["schema"]
    return schema


def _last(reference: str) -> str:
    return reference.rpartition("/")[2]


class _Generator:
    """Collects definitions by class name, each after the definitions that it uses."""

    def __init__(self, document: Schema) -> None:
        self._schemas = document["components"]["schemas"]
        self.definitions: dict[str, str] = {}

    def annotation(self, schema: Schema, name: str) -> str:
        """Return the annotation of a schema; an object without a name of its own is called `name`."""
        if "$ref" in schema:
            target = _last(schema["$ref"])
            return self.annotation(self._schemas[target], target)
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        return " | ".join(self._one(kind, schema, name) for kind in kinds)

    def _one(self, kind: str, schema: Schema, name: str) -> str:
        if kind == "array":
            return f"list[{self.annotation(schema['items'], name)}]"
        if kind != "object":
            return SCALARS[kind]
        if "properties" not in schema:
            return f"dict[str, {self.annotation(schema['additionalProperties'], name)}]"
        if name + SUFFIX not in self.definitions:
            self.definitions[name + SUFFIX] = "\n".join(self._lines(schema, name)) + "\n"
        return name + SUFFIX

    def _lines(self, schema: Schema, name: str) -> Iterator[str]:
        annotations = {key: self._value(schema, key, name) for key in schema["properties"]}
        if any(keyword.iskeyword(key) for key in annotations):
            yield f"{name}{SUFFIX} = TypedDict("
            yield f'    "{name}{SUFFIX}",'
            yield "    {"
            yield from (f'        "{key}": {value},' for key, value in annotations.items())
            yield "    },"
            yield ")"
            return
        yield f"class {name}{SUFFIX}(TypedDict):"
        yield from (f"    {key}: {value}" for key, value in annotations.items())

    def _value(self, schema: Schema, key: str, name: str) -> str:
        value = self.annotation(schema["properties"][key], name + key.title().replace("_", ""))
        return value if key in schema.get("required", ()) else f"NotRequired[{value}]"
