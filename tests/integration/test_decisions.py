"""Decisions, proposals and specifications are found by their kind and number, whatever their folders are called."""

import pytest

from lore_server.app import App
from tests.harness.calls import app_fixture

FILES = {
    "docs/decisions/0000-write-decisions-down.md": "# Write decisions down\n\nEach decision has a file.\n",
    "docs/decisions/0003-own-ropes.md": "# Twist our own ropes\n\n## Context\n\nBought ropes are short.\n",
    "docs/decisions/0004-oak.md": "# Build of oak\n\n## Context\n\nOak is hard.\n",
    "text/0453-knots.md": "- Start Date: 2014-11-05\n- RFC PR: fleet/rfcs#453\n\n# Summary\n\nTie the knots twice.\n",
    "text/1054-sails.md": "- Start Date: 2015-04-10\n- RFC PR: fleet/rfcs#1054\n\n# Summary\n\nSew the sails.\n",
    "text/3660-hulls.md": "- Start Date: 2024-05-01\n- RFC PR: fleet/rfcs#3660\n\n# Summary\n\nTar the hulls.\n",
    "specs/001-harbour/spec.md": "# Harbour\n\nShips wait in the harbour.\n",
    "specs/002-lighthouse/spec.md": "# Lighthouse\n\nThe lamp burns at night.\n",
    "specs/002-lighthouse/plan.md": "# Plan of the lighthouse\n\nBuild the tower first.\n",
    "specs/003-beacons/spec.md": "# Beacons\n\nA beacon marks the rocks.\n",
}
app = app_fixture(FILES)


@pytest.mark.parametrize(
    ("question", "begin", "is_known"),
    [
        ("what did ADR 3 decide about ropes", "`docs/decisions/0003-own-ropes.md`: Twist our own ropes [1].", True),
        ("what did MADR 0003 decide about ropes", "`docs/decisions/0003-own-ropes.md`: Twist our own ropes [1].", True),
        ("what is ADR-0000 about", "`docs/decisions/0000-write-decisions-down.md`: Write decisions down [1].", True),
        ("when was RFC 1054 started", "`text/1054-sails.md`: Summary [1].", True),
        ("what did rfc 453 decide about knots", "`text/0453-knots.md`: Summary [1].", True),
        ("what does spec 003 say", "`specs/003-beacons/spec.md`: Beacons [1].", True),
        ("what is ADR 9 about", "There is no document ADR 9", False),
        ("what is the status of ADR 9", "There is no document ADR 9", False),
        ("what does spec 007 say", "There is no document spec 007", False),
        ("do the sails follow ISO 1054", "`ISO 1054` occurs nowhere", False),  # that number is of no ISO standard here
    ],
)
def test_a_document_is_named_by_its_kind_and_number_or_not_known(
    app: App, question: str, begin: str, is_known: bool
) -> None:
    reply = app.call("ask_knowledge_base", {"query": question})

    assert (reply["answer"][: len(begin)], reply["found"]) == (begin, is_known)


def test_the_document_of_a_numbered_folder_is_the_one_of_that_kind(app: App) -> None:
    found = [app.call("ask_knowledge_base", {"query": f"what is {kind} 2 about"}) for kind in ("spec", "specs")]

    assert [{one["source"] for one in reply["citations"]} for reply in found] == [{"specs/002-lighthouse/spec.md"}] * 2
