"""Every search says that nothing was found if no word of the query occurs and no passage is close in meaning."""

import random
import re
from pathlib import Path
from typing import Any

import pytest

from lore_server.answer.passage_answers import NEAREST_SHOWN, UNCLEAR
from lore_server.app import App
from lore_server.console.output import in_shell
from lore_server.operations.table import OPERATIONS
from lore_server.query.confidence import SUGGESTION
from lore_server.query.reference import ABSENT
from lore_server.services.memory_service import NO_MATCH
from tests.harness.commands import run_lore
from tests.harness.projects import copy_project

INVENTED = ["qwxyzzy florbnix", "xyzzyq", "grzblfk?!", "!!", "(", "*", '"', "---", "🦊 🦀"]
SEARCHES: dict[str, dict[str, Any]] = {
    "query_documents": {},
    "query_documents, filtered": {"type": ["guide", "ticket"]},
    "query_documents, with facets": {"facets": True},
    "knowledge_search": {},
    "knowledge_search, one source": {"sources": ["memory"]},
    "search_memories": {},
    "search_memories, one group": {"group_ids": ["learning"]},
}


def invented(number: int) -> list[str]:
    """Return queries of one to three pronounceable words that no language has."""
    chance = random.Random(7)

    def word() -> str:
        return "".join(chance.choice("bcdfgkvwxz") + chance.choice("aeiouy") for _ in range(chance.randint(3, 5))) + "q"

    return [" ".join(word() for _ in range(1 + n % 3)) for n in range(number)]


def text_of(search: str, reply: dict[str, Any]) -> str:
    return OPERATIONS[search.partition(",")[0]].text(reply).whole()


@pytest.mark.requirement("NEO-064", "UQ-028")
@pytest.mark.parametrize("search", SEARCHES)
def test_a_search_for_invented_words_finds_nothing_and_suggests_something(app: App, search: str) -> None:
    for query in (*INVENTED, *invented(20)):
        reply = app.call(search.partition(",")[0], {"query": query, **SEARCHES[search]})

        assert (query, reply["results"]) == (query, [])
        assert reply.get("total", reply.get("total_found")) == 0
        assert reply["suggestion"]
        assert "next_cursor" not in reply
        assert text_of(search, reply).startswith(f"Nothing found. {reply['suggestion']}")


@pytest.mark.requirement("NEO-064")
@pytest.mark.parametrize("query", [*INVENTED, *invented(5)])
def test_an_answer_names_no_document_if_none_is_near(app: App, query: str) -> None:
    reply = app.call("ask_knowledge_base", {"query": query})

    assert (reply["found"], reply["references"], reply["citations"]) == (False, [], [])
    word = re.search(r"\w+", query)
    assert reply["answer"] == f"{ABSENT.format(word[0]) if word else UNCLEAR} {SUGGESTION}"


@pytest.mark.requirement("KB-056")
def test_a_search_in_documents_without_the_words_suggests_the_search_by_meaning(app: App) -> None:
    reply = app.call("search_knowledge", {"query": "qwxyzzy", "project_id": "ferry"})

    assert (reply["results"], reply["total_documents"]) == ([], 0)
    assert text_of("search_knowledge", reply).startswith(f"Nothing found. {reply['suggestion']}")


@pytest.mark.requirement("NEO-020", "UQ-018")
@pytest.mark.parametrize(
    ("query", "source"),
    [
        ("pausing longer after every breakdown", "docs/retries.md"),
        ("periodic chores at midnight", "docs/scheduling.md"),
    ],
)
def test_a_passage_that_shares_no_word_is_still_found_by_its_meaning(app: App, query: str, source: str) -> None:
    found = [result["source"] for result in app.call("query_documents", {"query": query})["results"]]

    assert source in found[:5]


@pytest.mark.parametrize(
    ("command", "advice"),
    [("search", SUGGESTION), ("memory search", NO_MATCH), ("hook search", NO_MATCH), ("ask", SUGGESTION)],
)
def test_a_command_that_finds_nothing_exits_with_one(sample: Path, tmp_path: Path, command: str, advice: str) -> None:
    copy_project(sample, tmp_path / "project")
    done = run_lore("--no-daemon", *command.split(), "qwxyzzy florbnix", cwd=tmp_path / "project")

    assert done.returncode == 1, done.stderr
    assert in_shell(advice) in done.stdout


@pytest.mark.parametrize(
    "question", ["How do I reset my password?", "How do I sign a lease?", "How do I split a bill?"]
)
def test_a_short_question_whose_words_occur_in_another_sense_gets_the_nearest_passages(app: App, question: str) -> None:
    reply = app.call("ask_knowledge_base", {"query": question})

    assert not reply["found"]
    assert reply["answer"].startswith(f"{UNCLEAR} The nearest passages: [1]")
    assert 1 <= len(reply["citations"]) <= NEAREST_SHOWN
    assert all(one["quote"] for one in reply["citations"])
