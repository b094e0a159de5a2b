"""The contract: the operations of `openapi.yaml`, which alone defines them, with compiled validators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from enum import Enum, auto
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from lore_etl.core.errors import ConfigError, InternalError, InvalidArgument, UnknownOperation
from lore_etl.core.json_types import JSON
from lore_etl.core.text import is_encodable, one_line

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

Schema = JSON
ACROSS_PROJECTS = ("query_documents", "ask_knowledge_base")  # the operations that several projects can answer
KNOWLEDGE_TOOLSETS = ("projects", "memories")
MAX_BODY_BYTES = 1_048_576  # of a request, unless the operation accepts more
LONGEST_NUMBER = 20  # characters
METHODS = ("get", "post", "put", "delete")
EVENTS = "text/event-stream"
_BESIDE = Path(__file__).parent / "openapi.yaml"  # in a wheel
_ABOVE = Path(__file__).parents[2] / "openapi.yaml"  # in a checkout


class Queue(Enum):
    """The resource that a call may wait for. Calls in one queue never wait for those in another."""

    INDEX = auto()
    MODEL = auto()
    JOB = auto()


class Operation:
    """One operation: its name, arguments, result and hints."""

    def __init__(self, document: Schema, method: str, path: str, spec: Schema) -> None:
        hints = dict(spec["x-mcp"])
        replies = spec["responses"]["200"]["content"]
        self.id: str = spec["operationId"]
        self.method, self.path, self.spec = method.upper(), path, spec
        self.title: str = hints.pop("title")
        self.is_always_loaded: bool = hints.pop("alwaysLoad", False)
        self.has_app: bool = hints.pop("app", False)
        self.hints: Mapping[str, bool] = hints
        self.summary: str = spec["summary"]
        self.description = one_line(spec["description"])
        self.deadline_seconds = float(spec["x-deadline-seconds"])
        self.toolset: str = spec["tags"][0]
        self.envelope: str = spec.get("x-envelope", "")
        self.needs_admin: bool = spec.get("x-admin", False)
        self.max_body_bytes: int = spec.get("x-max-body-bytes", MAX_BODY_BYTES)
        self.input_schema: Schema = _resolved(document, _arguments(spec))
        self.output_schema: Schema = _resolved(document, replies["application/json"]["schema"])
        self.is_streamed = EVENTS in replies

        self.changes_state = not self.hints["readOnlyHint"]
        self.is_about_knowledge = self.toolset in KNOWLEDGE_TOOLSETS  # such calls are written to the activity log
        self.is_replicated = not (self.changes_state or self.is_about_knowledge)  # replicas only read the index
        # whether a call may be made again if its process ended before the reply
        self.is_repeatable = self.hints["idempotentHint"] or not self.changes_state
        is_constant = self.hints["idempotentHint"] and not self.hints["openWorldHint"]
        self.is_steady = is_constant and not self.changes_state  # equal calls are answered equally from the same index
        # whether a call mostly waits for a job; such calls take no slot from working calls
        self.is_waiting = "wait_seconds" in self.input_schema["properties"]
        others = Queue.MODEL if self.hints["openWorldHint"] else Queue.INDEX
        self.queue = Queue.JOB if self.is_waiting else others

    @cached_property
    def _validators(self) -> tuple[Draft202012Validator, Draft202012Validator]:
        from jsonschema_rs import Draft202012Validator  # only a server validates

        return Draft202012Validator(self.input_schema), Draft202012Validator(self.output_schema)

    def parsed(self, name: str, text: str) -> object:
        """Convert an argument's text to its type; `accept` rejects a text that does not convert."""
        kind = self.input_schema["properties"].get(name, {}).get("type")
        if kind == "boolean" and text in ("true", "false"):
            return text == "true"
        if kind == "integer" and len(text) <= LONGEST_NUMBER and text.removeprefix("-").isdecimal():
            return int(text)
        return text

    def accept(self, arguments: Mapping[str, Any]) -> JSON:
        """Fill in the defaults. Raises InvalidArgument, which names the argument, the problem and the valid values."""
        given = dict(arguments)
        if (error := _error(self._validators[0], self.input_schema, given)) is not None:
            raise InvalidArgument(_sentence(error), _remedy(error, self.input_schema))
        for name, schema in self.input_schema["properties"].items():
            if "default" in schema:
                given.setdefault(name, schema["default"])
            if schema.get("type") == "integer" and name in given:
                given[name] = int(given[name])  # JSON Schema also accepts 1.0 as an integer
            if isinstance(given.get(name), str) and not is_encodable(given[name]):
                raise InvalidArgument(f"`{name}` is not valid Unicode.")
        return given

    def check_result(self, result: object) -> None:
        """Raise InternalError if a result violates the contract."""
        if (error := _error(self._validators[1], self.output_schema, result)) is not None:
            where = ".".join(map(str, error.absolute_path))
            raise InternalError(f"The result of {self.id} violates the contract at `{where}`: {error.validator}.")


def _error(validator: Draft202012Validator, schema: Schema, value: object) -> Any:
    """Return the most helpful error for a value; None if it is valid. The explaining library is slow to import."""
    with suppress(ValueError):  # for a text that is not valid Unicode
        if validator.is_valid(value):
            return None
    import jsonschema

    return jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema).iter_errors(value))


class Contract:
    """All operations by id, in the order of the file."""

    def __init__(self, document: Schema) -> None:
        self.document = document
        self.operations = {
            spec["operationId"]: Operation(document, method, path, spec)
            for path, item in document["paths"].items()
            for method, spec in item.items()
            if method in METHODS
        }

    def __getitem__(self, operation_id: str) -> Operation:
        if operation_id not in self.operations:
            near = ", ".join(get_close_matches(operation_id, self.operations))
            hint = f"Did you mean {near}?" if near else f"Operations: {', '.join(sorted(self.operations))}."
            raise UnknownOperation(f"There is no operation `{operation_id[:100]}`.", hint)
        return self.operations[operation_id]

    def __iter__(self) -> Iterator[Operation]:
        return iter(self.operations.values())

    def toolsets(self) -> dict[str, str]:
        """Return the toolsets that have tools, with their descriptions."""
        used = {operation.toolset for operation in self}
        return {tag["name"]: tag["description"] for tag in self.document["tags"] if tag["name"] in used}

    def instructions(self, toolsets: Sequence[str]) -> str:
        return " ".join(tag["x-instructions"] for tag in self.document["tags"] if tag["name"] in toolsets)


def contract_file() -> Path:
    return _BESIDE if _BESIDE.exists() else _ABOVE


@cache
def load_contract() -> Contract:
    """Read `openapi.yaml`. Raises ConfigError if it is missing or invalid."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        document = yaml.load(contract_file().read_text(encoding="utf-8"), Loader=loader)
        return Contract(document)
    except (OSError, yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"openapi.yaml is not usable: {error}.", "Reinstall Lore.") from error


def _arguments(spec: Schema) -> Schema:
    """Combine the parameters and the body's properties into one closed object schema. Raises ConfigError."""
    body = spec.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    properties, required = dict(body.get("properties", {})), list(body.get("required", ()))
    for parameter in spec.get("parameters", ()):
        name = parameter["name"]
        if name in properties:
            raise ConfigError(f"openapi.yaml: `{name}` of {spec['operationId']} is defined twice.")
        described = {"description": parameter["description"]} if "description" in parameter else {}
        properties[name] = {**parameter["schema"], **described}
        if parameter.get("required"):
            required.append(name)
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": required} if required else schema


def _resolved(document: Schema, schema: Any) -> Any:
    """Replace every `$ref` by its target to make the schema self-contained."""
    if isinstance(schema, list):
        return [_resolved(document, item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        target: Any = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        siblings = {key: value for key, value in schema.items() if key != "$ref"}
        return {**_resolved(document, target), **_resolved(document, siblings)}
    return {key: _resolved(document, value) for key, value in schema.items()}


def _sentence(error: Any) -> str:
    name = ".".join(map(str, error.absolute_path))
    below = f"{name}." if name else ""
    value = repr(error.instance)
    shown = value if len(value) <= 60 else value[:57] + "…"
    match error.validator:
        case "required":
            missing = next(name for name in error.validator_value if name not in error.instance)
            return f"The argument `{below}{missing}` is missing."
        case "additionalProperties":
            unknown = sorted(set(error.instance) - set(error.schema.get("properties", ())))
            return f"There is no argument `{below}{unknown[0][:60]}`."
        case "minLength" | "pattern" if not error.instance.strip():
            return f"`{name}` is empty."
        case "enum" | "pattern":
            return f"`{name}` cannot be {shown}."
        case "maxLength":
            return f"`{name}` is too long: {len(error.instance):,} characters, at most {error.validator_value:,}."
        case "minimum" | "maximum" | "minItems" | "maxItems":
            return f"`{name}` is {shown}: its {error.validator} is {error.validator_value:,}."
        case "type":
            types = [error.validator_value] if isinstance(error.validator_value, str) else error.validator_value
            return f"`{name or 'arguments'}` is {shown}, not of type {' or '.join(types)}."
    return f"`{name}` is {shown}, which violates `{error.validator}`."


def _remedy(error: Any, schema: Schema) -> str:
    choices = error.validator_value if error.validator == "enum" else ()
    if error.validator == "pattern" and error.validator_value.startswith("^("):  # such as `^(all|guide)$`
        choices = error.validator_value[2:-2].split("|")
    if choices:
        near = get_close_matches(str(error.instance), choices, n=1)
        suggestion = f"Did you mean `{near[0]}`? " if near else ""
        return f"{suggestion}Valid values: {', '.join(map(str, choices))}."
    about = schema["properties"].get(next(iter(error.absolute_path), ""), {}).get("description")
    if error.validator in ("minLength", "pattern") and about:
        return f"Expected: {about}."
    if error.validator in ("required", "additionalProperties"):
        where = ".".join(map(str, error.absolute_path))
        names = ", ".join(error.schema.get("properties", ()))
        return f"Arguments{f' of `{where}`' if where else ''}: {names or 'none'}."
    return InvalidArgument.default_hint
