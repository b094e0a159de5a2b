"""Outline the schemas for clients: enough to call a tool and read its reply, in few tokens. Calls use the full ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lore_etl.core.model import canonical_json
from lore_server.contract import Operation, Schema

HUGE = 10_000  # a limit that nobody reaches by accident
MANY = 8  # a longer enum is listed only once
_SILENT = frozenset({"minLength", "maxLength", "pattern", "minimum"})
Outline = tuple[Schema, Schema]


def outlines(operations: Iterable[Operation]) -> dict[str, Outline]:
    """Outline the arguments and results of operations; a repeated schema refers to its first description.

    Whatever is valid for the full schemas is valid for these.
    """
    told: dict[str, str] = {}
    return {one.id: (_arguments(one, told), _result(one, told)) for one in operations}


def _arguments(operation: Operation, told: dict[str, str]) -> Schema:
    """Outline the arguments, without limits that nobody exceeds by accident."""
    full = operation.input_schema
    properties = {name: _argument(one, told, operation.id) for name, one in full["properties"].items()}
    outline: Schema = {"type": "object", "properties": properties}
    return {**outline, "required": full["required"]} if "required" in full else outline


def _argument(schema: Schema, told: dict[str, str], by: str) -> Schema:
    outline = {name: value for name, value in schema.items() if name not in _SILENT and not _is_huge(name, value)}
    if len(schema.get("enum", ())) > MANY:
        first = told.setdefault(canonical_json(schema["enum"]), by)
        if first != by:
            del outline["enum"]
            outline["description"] = f"{schema['description']}, as in {first}"
    return outline


def _is_huge(name: str, value: Any) -> bool:
    return name == "maximum" and value >= HUGE


def _result(operation: Operation, told: dict[str, str]) -> Schema:
    """Outline the result: its properties with their types and, for rows, the property names."""
    full = operation.output_schema
    first = told.setdefault(canonical_json(full), operation.id)
    if first != operation.id:
        properties = {name: _property(full["properties"][name]) for name in full["required"]}
        return {"type": "object", "description": f"Same as {first}", "properties": properties}
    return {"type": "object", "properties": {name: _property(one) for name, one in full["properties"].items()}}


def _property(schema: Schema) -> Schema:
    names = schema.get("items", {}).get("properties")
    outline = {"type": schema["type"]}
    return {**outline, "description": f"Each: {', '.join(names)}"} if names else outline
