"""Queries for each database, and the parameters of each kind of server."""

import re
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lore_etl.core.errors import ConfigError
from lore_etl.core.json_types import JSON
from lore_server.hook.knowledge_server import (
    KnowledgeServer,
    MemoryRefused,
    ServerUnusable,
    Tool,
    arguments_of,
    checked,
    escaped,
    id_in,
    query_escaping,
)
from lore_server.hook.memory_files import Episode
from tests.harness.refusals import refused

SPECIAL = '+ - && || ! ( ) { } [ ] ^ " ~ * ? : \\ /'


@given(st.text(alphabet=st.one_of(st.sampled_from(SPECIAL), st.characters())))
def test_unescaping_reverses_escaping(query: str) -> None:
    assert re.sub(r"\\(.)", r"\1", escaped(query)) == query


@pytest.mark.requirement("HOOK-004")
def test_fr_005_every_special_character_of_lucene_is_escaped() -> None:
    assert escaped("apt-28") == r"apt\-28"
    assert escaped(SPECIAL) == r"\+ \- \&\& \|\| \! \( \) \{ \} \[ \] \^ \" \~ \* \? \: \\ \/"
    assert escaped("plain words_1.5, ünï") == "plain words_1.5, ünï"


@given(st.text())
@pytest.mark.requirement("HOOK-005")
def test_fr_006_a_query_for_neo4j_is_unchanged(query: str) -> None:
    assert query_escaping({"MADEINOZ_KNOWLEDGE_DB": "neo4j"})(query) == query


@pytest.mark.parametrize(
    ("environment", "query"),
    [
        *(
            ({"MADEINOZ_KNOWLEDGE_DB": name}, r"apt\-28")
            for name in ("falkordb", "falkorodb", "FalkorDB", " falkordb ")
        ),
        *((other, "apt-28") for other in ({}, {"MADEINOZ_KNOWLEDGE_DB": ""}, {"MADEINOZ_KNOWLEDGE_DB": "neo4j"})),
    ],
)
@pytest.mark.requirement("HOOK-004", "HOOK-006", "HOOK-035")
def test_fr_004_fr_017_sc_009_the_environment_variable_decides_whether_queries_are_escaped_and_the_default_is_neo4j(
    environment: dict[str, str], query: str
) -> None:
    assert query_escaping(environment)("apt-28") == query


@pytest.mark.requirement("HOOK-007")
def test_fr_018_an_unknown_database_is_rejected_with_the_valid_values() -> None:
    with refused(ConfigError, match="`mysql`", hint="neo4j, falkordb, falkorodb"):
        query_escaping({"MADEINOZ_KNOWLEDGE_DB": "mysql"})


EPISODE = Episode(
    "Name", "Body", "learning", "session", "m4rk", {"rating": 8, "tags": ["a", "b"], "timestamp": "2026-01-20"}
)
STRING: JSON = {"type": "string"}


def schema(**properties: JSON) -> JSON:
    return arguments_of(Tool("add_memory", {"name": STRING, **properties}), EPISODE)


def test_a_server_like_graphiti_gets_a_description() -> None:
    names = ("episode_body", "group_id", "source", "source_description", "uuid")

    assert schema(**dict.fromkeys(names, STRING)) == {
        "name": "Name", "episode_body": "Body", "group_id": "learning", "source": "text",
        "source_description": "rating: 8; tags: a, b; timestamp: 2026-01-20; sync_id: m4rk",
    }  # fmt: skip


def test_a_server_like_lore_gets_metadata_and_the_source() -> None:
    assert schema(body=STRING, group_id=STRING, source=STRING, metadata={"type": "object"}) == {
        "name": "Name", "body": "Body", "group_id": "learning", "source": "session",
        "metadata": {"rating": 8, "tags": ["a", "b"], "timestamp": "2026-01-20", "sync_id": "m4rk"},
    }  # fmt: skip


def test_a_server_gets_only_the_parameters_it_accepts() -> None:
    assert schema(body=STRING) == {"name": "Name", "body": "Body"}
    assert schema(body=STRING, metadata=STRING)["metadata"].endswith("sync_id: m4rk")


def knowledge(*replies: JSON, **tools: JSON) -> KnowledgeServer:
    left = list(replies)

    async def call(tool: str, arguments: JSON) -> JSON:
        return left.pop(0)

    return KnowledgeServer({name: {"properties": tool} for name, tool in tools.items()}, call, str)


def test_the_limits_come_from_the_server_or_are_the_defaults() -> None:
    usual = knowledge(add_memory={"name": STRING, "body": STRING})
    other = knowledge(add_memory={"name": STRING | {"maxLength": 80}, "body": STRING | {"maxLength": 100_000}})

    assert (usual.limits, other.limits) == ((5000, 200), (100_000, 80))


@pytest.mark.parametrize("tools", [{}, {"add_memory": {"name": STRING}}, {"add_memory": {"body": STRING}}])
def test_a_server_without_memories_is_distinguished_from_a_silent_server(tools: dict[str, JSON]) -> None:
    with pytest.raises(ServerUnusable):
        assert knowledge(**tools).limits


@pytest.mark.parametrize(
    ("reply", "number"),
    [
        ({"id": "learning/x-1"}, "learning/x-1"), ({"uuid": "u"}, "u"), ({"result": {"episode_uuid": "e"}}, "e"),
        ({"memory_id": 7}, "7"), ({"message": "queued"}, ""), ({"id": ""}, ""), ({"id": None, "uuid": "u"}, "u"),
    ],
)  # fmt: skip
def test_the_id_is_found_in_every_kind_of_reply(reply: JSON, number: str) -> None:
    assert id_in(reply) == number


@pytest.mark.parametrize(
    "reply", [{"error": "it broke"}, {"result": {"error": "it broke"}}, {"error": True, "message": "it broke"}]
)
def test_an_error_sent_as_a_result_is_recognized(reply: JSON) -> None:
    with pytest.raises(MemoryRefused, match="it broke"):
        checked(reply)


def test_deleting_a_missing_memory_succeeds() -> None:
    there: dict[str, Any] = {"add_memory": {}, "delete_episode": {"uuid": STRING}}

    anyio.run(knowledge({"error": "node not found"}, **there).delete, "u")
    with pytest.raises(MemoryRefused, match="no right"):
        anyio.run(knowledge({"error": "no right"}, **there).delete, "u")


def test_the_parts_of_a_memory_are_recognized_only_by_its_mark() -> None:
    listed = {"episodes": [{"uuid": name, "about": f"sync_id: {mark}; x"} for name, mark in ("1m", "2m", "3n")]}
    there: dict[str, Any] = {"get_episodes": {"group_ids": {}, "max_episodes": {}}}

    assert anyio.run(knowledge(listed, **there).find, "m", "g") == ["1", "2"]
    assert anyio.run(knowledge(listed, **there).find, "", "g") == []
    assert anyio.run(knowledge(**{"add_memory": {}}).find, "m", "g") == []
