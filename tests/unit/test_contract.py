"""The contract is the only definition of an operation."""

import json
import re
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from openapi_spec_validator import validate

from benchmarks.reply_tokens import as_json, estimate
from lore_etl.core.errors import InternalError, InvalidArgument, UnknownOperation
from lore_etl.core.model import KnowledgeType
from lore_server.contract import Contract
from lore_server.mcp.mcp_server import DEFAULT_TOOLSETS
from tests.golden import records
from tests.golden.write import TARGET as GOLDEN
from tests.golden.write import tools
from tests.harness.refusals import refused


def test_the_contract_is_a_valid_openapi_document_from_which_the_reply_types_are_generated(contract: Contract) -> None:
    """After a change, generate the types with `make golden`."""
    validate(contract.document)
    assert records.TARGET.read_text(encoding="utf-8") == records.source(contract.document)


@pytest.mark.requirement("NEO-038", "NEO-060")
@pytest.mark.promise(22)
def test_the_list_of_tools_equals_the_golden_file() -> None:
    """After a change, update the golden file with `make golden` and review the diff."""
    assert anyio.run(tools) == json.loads(GOLDEN.read_text(encoding="utf-8"))


def test_the_list_of_tools_stays_small(contract: Contract) -> None:
    listed = anyio.run(tools)
    texts = [tool["name"] + tool["description"] + as_json(tool["inputSchema"]) for tool in listed]
    results = [as_json(tool["outputSchema"]) for tool in listed]  # agents that read only text do not get them

    assert {tool["name"] for tool in listed} == {one.id for one in contract if one.toolset in DEFAULT_TOOLSETS}
    assert len(listed) <= 12
    assert sum(map(estimate, texts)) <= 1500
    assert sum(len(text) for text in texts + results) / 4 <= 1500


def test_every_advertised_argument_has_one_type_and_every_array_has_items(contract: Contract) -> None:
    """Gemini refuses all requests of a session for several types in a schema, or for anything beside `anyOf`."""
    listed = anyio.run(tools, list(contract.toolsets()))
    parts = [(tool["name"], part) for tool in listed for part in _schemas(tool["inputSchema"])]

    assert len(listed) == len([*contract])
    assert any("anyOf" in part for _, part in parts)
    assert not [(name, part) for name, part in parts if not isinstance(part.get("type"), str) and [*part] != ["anyOf"]]
    assert not [(name, part) for name, part in parts if ("items" in part) != (part.get("type") == "array")]


def _schemas(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a schema and all schemas in it."""
    yield schema
    inner = (*schema.get("anyOf", ()), schema.get("items"), schema.get("additionalProperties"))
    for part in (*schema.get("properties", {}).values(), *inner):
        if isinstance(part, dict):
            yield from _schemas(part)


def test_agents_find_the_tools_and_read_nothing_about_the_parts_of_lore(contract: Contract) -> None:
    listed = anyio.run(tools)

    assert {tool["name"] for tool in listed if (tool.get("_meta") or {}).get("anthropic/alwaysLoad")} == {
        "query_documents", "ask_knowledge_base", "get_source",
    }  # fmt: skip
    verbs = {"Finds", "Answers", "Lists", "Reads", "Updates", "Shows", "Stops", "Checks"}
    for tool in listed:
        assert tool["description"].split()[0] in verbs
        about = [
            tool["description"],
            *(row.get("description", "") for row in tool["inputSchema"]["properties"].values()),
        ]
        assert not re.search(r"(?i)database|vector|embedd|chroma|sqlite|hnsw", " ".join(about))
    assert re.findall("(?i)before you|start|begin", contract.instructions(DEFAULT_TOOLSETS)) == ["Before you"]


def test_every_schema_is_closed_and_bounded(contract: Contract) -> None:
    found = [
        complaint
        for operation in contract
        for name, schema in (("input", operation.input_schema), ("output", operation.output_schema))
        for complaint in _complaints(schema, f"{operation.id}.{name}")
    ]

    assert found == []


def test_no_description_is_truncated_at_a_comma(contract: Contract) -> None:
    """In a YAML flow mapping, the words after an unquoted comma become a keyword without a value."""
    assert [*_empty_keywords(contract.document, "")] == []


def _empty_keywords(value: Any, where: str) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _empty_keywords(item, where)
    if isinstance(value, dict):
        yield from (f"{where}.{name}" for name, inner in value.items() if inner is None)
        for name, inner in value.items():
            yield from _empty_keywords(inner, f"{where}.{name}")


def _complaints(schema: Any, where: str) -> Iterator[str]:
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not kinds:
        yield f"{where}: no type"
    if "string" in kinds and not {"maxLength", "enum", "const"} & schema.keys():
        yield f"{where}: a string without bound"
    if "array" in kinds:
        if "maxItems" not in schema:
            yield f"{where}: an array without bound"
        yield from _complaints(schema["items"], f"{where}[]")
    if "object" in kinds:
        if schema.get("additionalProperties", True) is True:
            yield f"{where}: an open object"
        for name, inner in schema.get("properties", {}).items():
            yield from _complaints(inner, f"{where}.{name}")


def test_the_document_types_of_the_contract_equal_those_of_the_model(contract: Contract) -> None:
    types = [type_.value for type_ in KnowledgeType]

    assert contract.document["components"]["schemas"]["Type"]["enum"] == types
    assert contract.document["components"]["schemas"]["TypeFilter"]["enum"] == ["all", *types]


NEW = {"project_id": "depot", "filename": "guide.md", "title": "Guide"}


@pytest.mark.parametrize(
    ("operation", "arguments", "message", "hint"),
    [
        ("query_documents", {}, "The argument `query` is missing.", "Arguments: query, type"),
        ("query_documents", {"query": ""}, "`query` is empty.", ""),
        ("query_documents", {"query": " \n "}, "`query` is empty.", ""),
        ("query_documents", {"query": "x" * 10_000}, "`query` is too long: 10,000 characters, at most 2,000.", ""),
        ("query_documents", {"query": "x", "type": "guides"}, "`type` cannot be 'guides'.", "Valid values: all, guide"),
        ("query_documents", {"query": "x", "typ": "guide"}, "There is no argument `typ`.", "Arguments: query, type"),
        ("query_documents", {"query": "x", "limit": -1}, "`limit` is -1: its minimum is 1.", ""),
        ("query_documents", {"query": "x", "limit": 101}, "`limit` is 101: its maximum is 100.", ""),
        ("query_documents", {"query": "x", "limit": True}, "`limit` is True, not of type integer.", ""),
        ("query_documents", {"query": "x", "limit": "5"}, "`limit` is '5', not of type integer.", ""),
        ("query_documents", {"query": 5}, "`query` is 5, not of type string or array.", ""),
        ("query_documents", {"query": []}, "`query` is []: its minItems is 1.", ""),
        ("query_documents", {"query": [*"abcde"]}, "`query` is ['a', 'b', 'c', 'd', 'e']: its maxItems is 4.", ""),
        ("query_documents", {"query": "\ud800"}, "`query` is not valid Unicode.", ""),
        ("manage_knowledge_base", {"action": "drop"}, "`action` cannot be 'drop'.", "sync, create, embed, delete"),
        ("list_documents", {"offset": -5}, "`offset` is -5: its minimum is 0.", ""),
        (
            "create_knowledge_file", {**NEW, "chapters": [{"title": "a", "content": "b"}, {"title": "c"}]},
            "The argument `chapters.1.content` is missing.", "Arguments of `chapters.1`: title, content, summary.",
        ),
        (
            "create_knowledge_file", {**NEW, "chapters": [{"title": "a", "content": "b", "filename": "x"}]},
            "There is no argument `chapters.0.filename`.", "Arguments of `chapters.0`: title, content, summary.",
        ),
        (
            "create_knowledge_file", {**NEW, "chapters": [{"title": 3, "content": "b"}]},
            "`chapters.0.title` is 3, not of type string.", "",
        ),
    ],
)  # fmt: skip
@pytest.mark.requirement("NEO-019", "NEO-039")
def test_a_wrong_argument_is_reported_with_its_valid_values(
    contract: Contract, operation: str, arguments: dict[str, Any], message: str, hint: str
) -> None:
    with pytest.raises(InvalidArgument) as caught:
        contract[operation].accept(arguments)

    assert caught.value.message == message
    assert hint in caught.value.hint


def test_missing_arguments_get_their_defaults_and_a_whole_number_written_as_a_float_becomes_an_integer(
    contract: Contract,
) -> None:
    query = contract["query_documents"]

    assert isinstance(query.accept({"query": "x", "limit": 3.0})["limit"], int)
    assert query.accept({"query": "x"}) == {
        "query": "x", "type": "all", "limit": 10, "passages": 0, "facets": False, "explain": False, "brief": False,
        "max_tokens": 2000,
    }  # fmt: skip


def test_unknown_operations_are_reported_with_the_known_ones_and_a_result_that_violates_its_schema_as_internal_error(
    contract: Contract,
) -> None:
    with refused(UnknownOperation, hint="query_documents"):
        _ = contract["nope"]
    with pytest.raises(InternalError):
        contract["list_documents"].check_result({"total": -1, "documents": []})


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("limit", "-7", -7), ("limit", "7.0", "7.0"), ("limit", "9" * 5000, "9" * 5000),
        ("everything", "true", True), ("everything", "1", "1"), ("since", "7", "7"), ("unknown", "7", "7"),
    ],
)  # fmt: skip
def test_a_text_is_converted_to_its_type_in_the_contract_if_possible(
    contract: Contract, name: str, text: str, value: object
) -> None:
    assert contract["get_knowledge_history"].parsed(name, text) == value
