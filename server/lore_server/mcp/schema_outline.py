"""Outline the schemas for clients: enough to call a tool, in few tokens. Calls and replies are checked in full."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lore_etl.core.model import canonical_json
from lore_server.contract import Operation, Schema

LARGE = 100  # a limit that is rarely reached by accident
MANY = 8  # a longer enum is listed only once
_SILENT = frozenset({"minLength", "maxLength", "pattern", "minimum"})
_KNOWN = ("query", "brief", "max_tokens", "cursor", "id")  # the same in every tool
Outline = tuple[Schema, Schema]


def outlines(operations: Iterable[Operation]) -> dict[str, Outline]:
    """Outline the arguments and results of operations; a repeated argument is described once.

    Every value that is valid for the full schemas is valid for these.
    """
    texts: dict[str, str] = {}
    return {operation.id: (_arguments(operation, texts), _result(operation)) for operation in operations}


def _arguments(operation: Operation, texts: dict[str, str]) -> Schema:
    """Outline the arguments, without limits that are never exceeded by accident."""
    full = operation.input_schema
    properties = {
        name: _argument(name, property_, texts, operation.id) for name, property_ in full["properties"].items()
    }
    outline: Schema = {"type": "object", "properties": properties}
    return {**outline, "required": full["required"]} if "required" in full else outline


def _argument(name: str, schema: Schema, texts: dict[str, str], by: str) -> Schema:
    """Outline an argument. If an earlier tool has the same one, only its type is given."""
    if texts.setdefault(canonical_json([name, schema]), by) != by and name in _KNOWN:
        return {"type": schema["type"]}
    outline = {key: value for key, value in schema.items() if key not in _SILENT and not _is_obvious(key, value)}
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
            outline["description"] = f"As in {first}"
    return outline


def _is_obvious(name: str, value: Any) -> bool:
    """Return whether a limit is large, or a default is what an omitted argument would mean anyway."""
    return (name == "maximum" and value >= LARGE) or (name == "default" and (not value or value == "all"))


def _result(operation: Operation) -> Schema:
    """Outline the result: the names that every reply has."""
    return {"type": "object", "required": operation.output_schema["required"]}
