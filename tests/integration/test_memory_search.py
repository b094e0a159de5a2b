"""Memories are found by their text, in their groups, immediately, for any question."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lore_etl.config.settings import Settings
from lore_etl.core.errors import LoreError
from lore_server.app import App
from lore_server.contract import Contract
from lore_server.replies.problem import problem
from lore_server.services.memory_service import NO_MATCH, NO_MEMORY, NO_MEMORY_IN_GROUPS
from lore_server.services.search_service import SHORT_NOTE
from tests.harness.calls import Call, Opener, calling, indexed, sync_job
from tests.harness.models import HashModel
from tests.harness.projects import write_project

JSON = dict[str, Any]
FILES = {
    "README.md": "# Ferry\n\nWhat apt-28 is.\n",
    ".serena/memories/style.md": "# Style\n\nTabs, never blanks.\n",
    "MEMORY/LEARNING/trains.md": "---\nrating: 8\ntags: [rail]\ncapture_type: LEARNING\n---\n# Trains\n\nAll late.\n",
}
LONG = "Filler words.\n\n" * 400 + "A zeppelin was seen.\n\n" + "More of them.\n\n" * 400
QUESTIONS = {
    "apt-28": "Actors", '"apt-28"': "Actors", "apt\\-28": "Actors", "+apt-28 -nothing": "Actors",
    "name:apt-28 AND ~foo^2 [a TO b]": "Actors", "(apt-28": "Actors", "APT-28 || x && !y": "Actors",
    "C++": "Flags", '"C++" OR *': "Flags", "Größe/straße?": "Sizes",
}  # fmt: skip
NOTHING = ["?", '"', "\\", "*:*", "NOT", "a" * 2000, "\N{ZERO WIDTH SPACE}x"]


def memories(call: Call) -> None:
    """Add memories in three groups, many of them equal in one group."""
    metadata = {"rating": 5, "tags": ["cti", 28], "capture_type": "INTRUSION"}
    call("add_memory", name="Actors", body="apt-28 was here.", group_id="research", source="R/a.md", metadata=metadata)
    call("add_memory", name="Flags", body="Use -O2 with C++ here.", group_id="Build")
    call("add_memory", name="Sizes", body="Größe der straße.", group_id="Build")
    call("add_memory", name="Long", body=LONG, group_id="Build")
    for number in range(14):
        call("add_memory", name=f"Zebra zebra {number}", body=f"zebra zebra {number}", group_id="zoo")
    call("add_memory", name="Other", body="A zebra, once, among many other words.", group_id="research")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, contract: Contract) -> Iterator[App]:
    """Return an application whose index considers at most ten candidates."""
    folder = tmp_path_factory.mktemp("memories").resolve()
    settings = Settings.model_validate({"query": {"nResults": 10}})
    app = App(write_project(folder / "ferry", FILES), settings, contract, HashModel(), home=folder / "home")
    memories(calling(app))
    sync_job(app)
    yield app
    app.close()


@pytest.fixture
def search(shared: App) -> Call:
    call = calling(shared)
    return lambda query, **more: call("search_memories", query=query, **more)


@pytest.fixture
def app(tmp_path: Path, home: Path, open_app: Opener) -> App:
    return open_app(write_project(tmp_path.resolve() / "ferry", FILES), home=home)


def names(reply: JSON) -> list[str]:
    return [result["name"] for result in reply["results"]]


@pytest.mark.parametrize(("query", "name"), QUESTIONS.items(), ids=ascii)
def test_any_question_is_treated_as_plain_text(search: Call, query: str, name: str) -> None:
    assert names(search(query))[0] == name


@pytest.mark.parametrize("query", NOTHING, ids=lambda query: ascii(query[:9]))
def test_a_question_without_words_is_not_an_error(search: Call, query: str) -> None:
    assert "degraded" not in search(query)


@pytest.mark.parametrize("query", ["apt-28", "cti", "intrusion"])
def test_a_memory_is_found_by_its_text_tags_and_type_and_has_all_its_metadata(search: Call, query: str) -> None:
    found = search(query)["results"][0]

    assert found.pop("score") > 0
    assert found.pop("created").endswith("Z")
    assert found.pop("id").startswith("research/actors-")
    assert found.pop("path").startswith("@lore/memories/research/actors-")
    assert found == {
        "name": "Actors", "group_id": "research", "source": "R/a.md", "parts": 1, "excerpt": "apt-28 was here.",
        "metadata": {"rating": 5, "tags": ["cti", 28], "capture_type": "INTRUSION"}, "origin": "memory",
    }  # fmt: skip


@pytest.mark.requirement("HOOK-016")
def test_a_rating_and_a_type_are_no_tags(shared: App) -> None:
    found = shared.call("knowledge_search", {"query": "apt-28", "sources": ["memory"]})["results"][0]
    of_file = calling(shared)("search_memories", query="late trains")["results"][0]

    assert (found["title"], found["tags"]) == ("Actors", ["cti", "28"])
    assert (of_file["name"], of_file["metadata"]) == ("Trains", {"tags": ["rail"]})


def test_a_memory_in_parts_is_a_single_result_with_the_matching_part(search: Call) -> None:
    found = search("zeppelin", limit=50)

    assert names(found).count("Long") == 1
    assert found["results"][0]["parts"] == 3
    assert "zeppelin" in found["results"][0]["excerpt"]
    assert found["results"][0]["path"].endswith(".2.md")


def test_only_the_requested_groups_are_searched_each_completely(search: Call) -> None:
    assert names(search("zebra", limit=5)) != ["Other"]
    assert search("zebra", group_ids=["research"])["results"][0]["name"] == "Other"
    several = names(search("zebra", group_ids=["Build", "research"], limit=50))
    assert several[0] == "Other"
    assert set(several) <= {"Other", "Actors", "Flags", "Sizes", "Long"}
    assert len(search("zebra", group_ids=["zoo"], limit=50)["results"]) >= 10
    for group in ("build", "nobody"):
        assert search("C++", group_ids=[group])["total"] == 0


def test_without_a_group_other_files_of_type_memory_are_found(search: Call) -> None:
    style = search("tabs and blanks")["results"][0]

    assert (style["id"], style["group_id"], style["path"]) == (None, None, ".serena/memories/style.md")
    assert "Style" not in names(search("tabs and blanks", group_ids=["research"]))
    assert "Ferry" not in names(search("apt-28"))


def test_all_memories_are_returned_once_in_pages_within_the_budget(search: Call) -> None:
    whole = search("zebra", limit=100, max_tokens=100_000)
    paged: list[str] = []
    cursor: dict[str, str] | None = {}
    while cursor is not None:
        page = search("zebra", limit=5, max_tokens=400, **cursor)
        assert len(json.dumps(page, ensure_ascii=False)) <= 400 * 3
        paged += names(page)
        cursor = {"cursor": page["next_cursor"]} if "next_cursor" in page else None

    assert paged == names(whole)
    assert len(paged) == whole["total"] > 10


def test_long_metadata_is_truncated_and_counted(call: Call) -> None:
    call("add_memory", name="x", body="zebra", metadata={f"key {n}": "value " * 10 for n in range(20)})
    found = call("search_memories", query="zebra")["results"][0]

    assert len(found["metadata"]) + found["more_metadata"] == 20
    assert len(found["metadata"]) >= 4


def test_an_invalid_group_id_is_rejected_in_the_plain_form(call: Call) -> None:
    with pytest.raises(LoreError) as caught:
        call("search_memories", query="x", group_ids=["../\0"])

    record = problem(caught.value)
    assert (record["code"], record["error"]) == ("INVALID_GROUP_ID", True)
    assert record["hint"]


# --- without an index, and while it changes --------------------------------------------------------------------------


def test_without_an_index_memories_are_found_by_words_and_the_reply_reports_it(app: App, call: Call) -> None:
    assert call("search_memories", query="apt-28")["results"] == []
    memories(call)

    for wanted, zebras in ([], 15), (["research", "Build"], 1):
        for query, name in {**QUESTIONS, "zeppelin": "Long"}.items():
            found = call("search_memories", query=query, group_ids=wanted)
            assert names(found)[0] == name
            assert "no index yet" in found["degraded"]
        assert call("search_memories", query="zebra", group_ids=wanted, limit=100)["total"] == zebras
    for query in NOTHING:
        call("search_memories", query=query)
    assert not app.index.exists()


def test_no_index_no_memory_and_no_match_are_told_apart(tmp_path: Path, home: Path, open_app: Opener) -> None:
    call = calling(open_app(write_project(tmp_path.resolve() / "empty", {}), home=home))

    def said(**more: Any) -> tuple[str, str]:
        reply = call("search_memories", query="whale", **more)
        assert reply["results"] == []
        return reply["suggestion"], reply.get("degraded", "")

    assert said()[0] == NO_MEMORY
    assert "no index yet" in said()[1]
    call("manage_knowledge_base", action="sync", wait_seconds=600)
    advice, degraded = said()
    assert (advice, "no index" in degraded) == (NO_MEMORY, False)
    assert "A sync found no files to index" in degraded

    call("add_memory", name="Lamp", body="Paraffin burns.", group_id="light")
    call("manage_knowledge_base", action="sync", wait_seconds=600)
    assert said() == (NO_MATCH, "")
    assert said(group_ids=["light"]) == (NO_MATCH, "")
    assert said(group_ids=["dark"]) == (NO_MEMORY_IN_GROUPS, "")
    assert said(max_tokens=200)[0] == NO_MATCH[: SHORT_NOTE - 1] + "…"


def test_added_memories_are_found_edited_ones_marked_and_deleted_ones_not(app: App, call: Call, home: Path) -> None:
    call("manage_knowledge_base", action="sync", wait_seconds=600)
    first = call("add_memory", name="Lamp", body="Whale oil burns.")
    indexed(app, call)
    assert names(call("search_memories", query="whale oil"))[0] == "Lamp"

    newer = call("add_memory", name="Lamp", body="Paraffin burns.", replaces=first["id"])
    assert first["id"] not in [result["id"] for result in call("search_memories", query="whale oil")["results"]]
    indexed(app, call)
    found = call("search_memories", query="paraffin")["results"][0]
    assert found["id"] == newer["id"]
    assert "Paraffin" in call("get_source", path=found["path"])["text"]
    path = home / newer["path"]
    path.write_text(path.read_text(encoding="utf-8") + "By hand.\n", encoding="utf-8")
    assert call("search_memories", query="paraffin")["results"][0]["changed"] is True

    call("delete_memory", id=newer["id"])
    assert "Lamp" not in names(call("search_memories", query="paraffin"))
