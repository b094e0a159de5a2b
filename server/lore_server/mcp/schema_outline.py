"""Outline the schemas for clients: enough to call a tool and read its reply, in few tokens. Calls use the full ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lore_etl.core.model import canonical_json
from lore_server.contract import Operation, Schema

HUGE = 10_000  # a limit that nobody reaches by accident
MANY = 8  # a longer enum is listed only once
_SILENT = frozenset({"minLength", "maxLength", "pattern", "minimum"})
_KNOWN = ("max_tokens", "cursor", "truncated", "next_cursor")  # the same in every tool
Outline = tuple[Schema, Schema]


def outlines(operations: Iterable[Operation]) -> dict[str, Outline]:
    """Outline the arguments and results of operations; a repeated schema refers to its first description.

    Every value that is valid for the full schemas is valid for these.
    """
    texts: dict[str, str] = {}
    return {operation.id: (_arguments(operation, texts), _result(operation, texts)) for operation in operations}


def _arguments(operation: Operation, texts: dict[str, str]) -> Schema:
    """Outline the arguments, without limits that are never exceeded by accident."""
    full = operation.input_schema
    properties = {
        name: _argument(name, property_, texts, operation.id) for name, property_ in full["properties"].items()
    }
    outline: Schema = {"type": "object", "properties": properties}
    return {**outline, "required": full["required"]} if "required" in full else outline


def _argument(name: str, schema: Schema, texts: dict[str, str], by: str) -> Schema:
    """Outline an argument. The description is omitted if an earlier tool has the same one."""
    outline = {key: value for key, value in schema.items() if key not in _SILENT and not _is_obvious(key, value)}
    if texts.setdefault(canonical_json([name, schema]), by) != by and name in _KNOWN:
        del outline["description"]
    if "items" in schema and "string" in schema["type"]:
        outline["items"] = {key: value for key, value in schema["items"].items() if key in ("type", "enum")}
        del outline["maxItems"]
    choices = schema.get("enum") or schema.get("items", {}).get("enum", ())
    if len(choices) > MANY:
        first = texts.setdefault(canonical_json(choices), by)
        if first != by:
            outline.pop("enum", None)
            if "items" in outline:
                outline["items"] = {"type": "string"}
            outline["description"] = f"{schema['description']}, as in {first}"
    return outline


def _is_obvious(name: str, value: Any) -> bool:
    """Return whether a limit is huge, or a flag is off by default."""
    return (name == "maximum" and value >= HUGE) or (name == "default" and value is False)


def _result(operation: Operation, texts: dict[str, str]) -> Schema:
    """Outline the result: the types of required properties, the property names of rows, and the optional names."""
    full = operation.output_schema
    first = texts.setdefault(canonical_json(full), operation.id)
    if first != operation.id:
        properties = {name: _property(full["properties"][name]) for name in full["required"]}
        return {"type": "object", "description": f"Same as {first}", "properties": properties}
    known = [name for name in _KNOWN if texts.setdefault(f"result.{name}", operation.id) != operation.id]
    shown = {name: property_ for name, property_ in full["properties"].items() if name not in known}
    optional = ", ".join(name for name in shown if name not in full["required"] and not _rows(shown[name]))
    properties = {name: _property(shown[name]) for name in shown if name in full["required"] or _rows(shown[name])}
    outline: Schema = {"type": "object", "properties": properties}
    return {**outline, "description": f"Optional: {optional}"} if optional else outline


def _property(schema: Schema) -> Schema:
    names = _rows(schema)
    outline = {"type": schema["type"]}
    return {**outline, "description": f"Each: {', '.join(names)}"} if names else outline


def _rows(schema: Schema) -> Iterable[str]:
    """Return the property names of the rows of an array; an empty sequence for other values."""
    return tuple(schema.get("items", {}).get("properties", ()))
