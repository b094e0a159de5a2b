"""Questions about the state of a decision or specification get the state that it declares, and never a guess."""

from typing import Any

import pytest

from lore_server.app import App
from tests.harness.calls import app_fixture

FILES = {
    "docs/adr/0001-use-git.md": "# 1. Use git\n\n## Status\n\nAccepted\n\n## Context\n\nThe hull.\n",
    "docs/adr/0002-sail-by-night.md": "---\nstatus: on hold\n---\n# Sail by night\n\n## Context\n\nDim lamps.\n",
    "docs/adr/0003-copper-hull.md": "# 3. Copper hull\n\n* Status: Rejected by the owners\n\n## Context\n\nWorms.\n",
    "docs/adr/0004-oak-mast.md": "# 4. Oak mast\n\nStatus: accepted, 2024-02-03\n\n## Context\n\nPine breaks.\n",
    "docs/adr/0005-elm-mast.md": "---\nsupersedes: 0004-oak-mast.md\n---\n# 5. Elm mast\n\n- **Status**: Accepted\n",
    "docs/adr/0006-flags.md": "# 6. Flags\n\n## Status\n\nSuperseded by [ADR-0009](0009-pennants.md)\n",
    "docs/adr/0007-ropes.md": "# 7. Ropes\n\n## Context\n\nHemp was accepted by everybody.\n",
    "docs/adr/0008-copper-nails.md": "# 8. Copper nails\n\n## Status\n\nAccepted\n\n## Context\n\nRust.\n",
    "PRPs/0011-anchor.md": "# Anchor winch\n\n**Status:** Draft\n\n## Goal\n\nIt lifts the anchor.\n",
    "docs/guide.md": "# Guide\n\nStatus: accepted\n\nA vote accepts a decision.\n",
}  # fmt: skip
app = app_fixture(FILES)


def ask(app: App, question: str) -> dict[str, Any]:
    return app.call("ask_knowledge_base", {"query": question})


@pytest.mark.parametrize(
    ("question", "name", "state"),
    [
        ("is ADR 1 accepted", "adr/0001-use-git", "accepted"),
        ("Has ADR 1 been accepted yet?", "adr/0001-use-git", "accepted"),
        ("what is the status of ADR 2?", "adr/0002-sail-by-night", "on hold"),
        ("What's the state of decision 3", "adr/0003-copper-hull", "rejected by the owners"),
        ("what is the status of docs/adr/0003-copper-hull.md", "adr/0003-copper-hull", "rejected by the owners"),
        ("was the decision on the copper hull rejected?", "adr/0003-copper-hull", "rejected by the owners"),
        ("is the ADR about sail by night still on hold", "adr/0002-sail-by-night", "on hold"),
        ("is ADR 6 superseded?", "adr/0006-flags", "superseded by adr-0009"),
        ("is PRP 11 approved", "../PRPs/0011-anchor", "draft"),
    ],
)
def test_a_question_for_the_state_of_a_decision_gets_it_with_the_passage_that_states_it(
    app: App, question: str, name: str, state: str
) -> None:
    reply = ask(app, question)

    path = f"docs/{name}.md".replace("docs/../", "")
    assert reply["answer"] == f"The status of `{path}` is “{state}” [1]."
    assert (reply["mode"], reply["found"]) == ("structural", True)
    assert [(one["source"], one["state"]) for one in reply["citations"]] == [(path, state)]


@pytest.mark.parametrize(
    ("question", "quote"),
    [
        ("is ADR 4 accepted", "Status: accepted, 2024-02-03"),
        ("is ADR 6 accepted", "Superseded by [ADR-0009](0009-pennants.md)"),
        ("is ADR 2 accepted", "# Sail by night"),  # no passage has its front matter
    ],
)
def test_the_cited_line_is_the_one_that_states_it(app: App, question: str, quote: str) -> None:
    assert [one["quote"] for one in ask(app, question)["citations"]] == [quote]


def test_the_state_of_a_superseded_decision_comes_with_its_successor(app: App) -> None:
    answer = ask(app, "is ADR 4 accepted")["answer"]

    begin = "The status of `docs/adr/0004-oak-mast.md` is “accepted” [1]."
    assert answer == f"{begin} [1] is superseded by docs/adr/0005-elm-mast.md."


def test_a_decision_without_a_state_is_said_to_have_none(app: App) -> None:
    reply = ask(app, "is ADR 7 accepted?")

    assert reply["answer"] == "`docs/adr/0007-ropes.md` [1] does not state its status."
    assert "state" not in reply["citations"][0]


@pytest.mark.parametrize(
    ("question", "start", "names"),
    [
        ("which decisions are on hold?", "At least 1 decision here is “on hold”", ["0002-sail-by-night"]),
        ("list the rejected ADRs", "At least 1 decision here is “rejected”", ["0003-copper-hull"]),
        ("what decisions have been superseded", "At least 2 decisions here are “superseded”",
         ["0004-oak-mast", "0006-flags"]),
        ("Which ADRs are accepted", "At least 4 decisions here are “accepted”",
         ["0001-use-git", "0004-oak-mast", "0005-elm-mast", "0008-copper-nails"]),
    ],
)  # fmt: skip
def test_the_decisions_in_a_state_are_listed(app: App, question: str, start: str, names: list[str]) -> None:
    reply = ask(app, question)

    listed = ", ".join(f"`docs/adr/{name}.md` [{number}]" for number, name in enumerate(names, start=1))
    after = [f"[{number}] is superseded by docs/adr/0005-elm-mast.md."
             for number, name in enumerate(names, start=1) if name == "0004-oak-mast"]  # fmt: skip
    assert reply["answer"] == " ".join([f"{start}: {listed}.", *after])
    assert [one["source"] for one in reply["citations"]] == [f"docs/adr/{name}.md" for name in names]


def test_specifications_in_a_state_are_listed_apart_from_decisions(app: App) -> None:
    answer = ask(app, "which specs are in draft")["answer"]

    assert answer == "At least 1 specification here is “draft”: `PRPs/0011-anchor.md` [1]."


def test_no_decision_in_a_state_is_said_with_the_states_that_there_are(app: App) -> None:
    reply = ask(app, "which decisions are proposed")

    states = "accepted, on hold, rejected by the owners, superseded by adr-0009"
    assert reply["answer"] == f"No decision here states “proposed” as its status; the stated ones are: {states}."
    assert reply["citations"] == []


@pytest.mark.parametrize(
    "question",
    ["is the guide accepted", "was the decision about whales rejected", "which decisions concern masts", "is it done"],
)
def test_other_questions_get_no_state(app: App, question: str) -> None:
    answer = ask(app, question)["answer"]

    assert "status of" not in answer
    assert "decision here" not in answer


def test_a_result_shows_the_state_of_a_decision_like_that_of_a_ticket(app: App) -> None:
    found = app.call("query_documents", {"query": "sail by night"})["results"][0]

    assert (found["source"], found["state"]) == ("docs/adr/0002-sail-by-night.md", "on hold")
