"""Chunks that nearly repeat others, of the whole index."""

from __future__ import annotations

from pathlib import Path

import pytest

from lore_server.app import App
from lore_server.operations.table import render
from lore_server.services import documents
from tests.harness.calls import app_fixture, edit, sync_job

STEPS = " ".join(f"Step {n} moors the boat at berth {n + 40}." for n in range(12))
FARES = " ".join(f"Line {n} costs {n + 60} crowns on weekdays." for n in range(8))
FILES = {
    "old/mooring.md": f"# Mooring\n\n{STEPS}\n",
    "new/mooring.md": f"# Mooring\n\n{STEPS} Then rest.\n",
    "new/fares.md": f"# Fares\n\n{FARES}\n",
    "old/fares.md": f"# Fares\n\n{FARES}\n",
    "docs/own.md": "# Own\n\nThe lighthouse keeper writes down each ship that passes, its flag, its cargo and captain, "
    "and sends the list to the harbour master every evening by radio, or by pigeon in a storm.\n",
}
app = app_fixture(FILES)


def groups(app: App, **arguments: object) -> list[list[str]]:
    found: dict[int, list[str]] = {}
    for row in app.call("list_documents", {"near_copies": True, **arguments})["documents"]:
        found.setdefault(row["group"], []).append(row["source"])
    return [found[number] for number in sorted(found)]


def test_near_copies_of_a_type_or_file_are_listed_by_groups_in_pages_and_other_chunks_are_not(app: App) -> None:
    assert groups(app) == [["new/mooring.md", "old/mooring.md"], ["new/fares.md", "old/fares.md"]]
    assert len(groups(app, type="guide")) == 2
    assert groups(app, type="src") == groups(app, source="old/fares.md") == []

    reply = app.call("list_documents", {"near_copies": True})
    assert (reply["total"], reply["compared"]) == (4, 5)
    assert "group" not in app.call("list_documents", {})["documents"][0]
    assert render("list_documents", reply).body.splitlines()[-1].endswith("old/fares.md:1-3  (group 2)")

    page = app.call("list_documents", {"near_copies": True, "limit": 3})
    rest = app.call("list_documents", {"near_copies": True, "limit": 3, "cursor": page["next_cursor"]})
    assert [row["group"] for row in page["documents"] + rest["documents"]] == [1, 1, 2, 2]


def test_the_number_of_compared_chunks_is_limited_and_given(hash_app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    edit(hash_app, FILES)
    monkeypatch.setattr(documents, "MOST_COMPARED", 3)  # the first ones by path

    reply = hash_app.call("list_documents", {"near_copies": True})

    assert (reply["compared"], reply["total"]) == (3, 0)


def test_near_copies_follow_the_index(tmp_path: Path, hash_app: App) -> None:
    edit(hash_app, FILES)
    assert len(groups(hash_app)) == 2
    (tmp_path / "old/fares.md").unlink()

    sync_job(hash_app)

    assert len(groups(hash_app)) == 1
