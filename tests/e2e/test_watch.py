"""Test that the owner notices changed files, syncs a few automatically, and reports the others in replies."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.harness.commands import run_lore
from tests.harness.evaluation import commit, git
from tests.harness.owners import owner_of, pause, wait_until
from tests.harness.projects import settle, write_project
from tests.harness.stdio import StdioClient

PAGES = {f"docs/{n}.md": f"# Page {n}\n\nAbout subject{n}.\n" for n in range(5)}


def indexed(folder: Path, configuration: str = "") -> Path:
    write_project(folder, {**PAGES, "lore.toml": configuration})
    assert run_lore("sync", "--no-daemon", cwd=folder).returncode == 0
    return folder


def search(client: StdioClient, query: str = "subject3") -> dict[str, Any]:
    return client.call("query_documents", query=query)


@pytest.mark.requirement("UQ-030")
def test_a_changed_file_is_synced_automatically(tmp_path: Path) -> None:
    indexed(tmp_path)
    with StdioClient(tmp_path) as client:
        search(client)
        (tmp_path / "docs" / "3.md").write_text("# Page 3\n\nNow about lighthouses.\n", encoding="utf-8")

        wait_until(lambda: "lighthouses" in str(search(client, "lighthouses")["results"][:1]))
        wait_until(lambda: search(client)["freshness"]["state"] == "fresh")


@pytest.mark.parametrize("configuration", ["[owner]\nauto_sync_files = 0\n", "[owner]\nwatch = false\n"])
def test_without_automatic_syncs_replies_mark_changed_files(tmp_path: Path, configuration: str) -> None:
    indexed(tmp_path, configuration)
    with StdioClient(tmp_path) as client:
        before = search(client)
        write_project(tmp_path, {"docs/3.md": "# Page 3\n\nNow about lighthouses.\n", "docs/new.md": "# New\n"})
        after = search(client)
        wait_until(lambda: search(client)["freshness"]["changed_files"] == 2)
        behind = search(client)["freshness"]
        client.call("manage_knowledge_base", action="sync", wait_seconds=600)
        synced = search(client, "lighthouses")

    assert before["freshness"]["state"] == "fresh"
    assert "changed" not in before["results"][0]
    assert after["results"][0]["source"] == "docs/3.md"
    assert after["results"][0]["changed"] is True
    assert behind["state"] == "stale"
    assert synced["freshness"]["state"] == "fresh"
    assert "changed" not in synced["results"][0]


def test_many_changes_wait_for_a_sync(tmp_path: Path) -> None:
    indexed(tmp_path, "[owner]\nauto_sync_files = 2\n")
    with StdioClient(tmp_path) as client:
        search(client)
        owner = owner_of(tmp_path).pid
        pause(owner)  # so that it sees all changes at once, however long they take
        write_project(tmp_path, {f"docs/{n}.md": f"# Page {n}\n\nEdited{n}.\n" for n in range(4)})
        os.kill(owner, signal.SIGCONT)

        wait_until(lambda: search(client)["freshness"]["changed_files"] == 4)
        job = client.call("get_job", id="latest")

    assert job["report"]["created"] == 5  # the first sync is still the last sync


def test_a_deleted_file_marks_its_result(tmp_path: Path) -> None:
    indexed(tmp_path, "[owner]\nauto_sync_files = 0\n")
    with StdioClient(tmp_path) as client:
        search(client)
        (tmp_path / "docs" / "3.md").unlink()

        assert search(client)["results"][0]["changed"] is True


@pytest.mark.requirement("NEO-049")
def test_replies_name_the_current_and_the_synced_git_commit(tmp_path: Path) -> None:
    write_project(tmp_path, {**PAGES, "lore.toml": "[owner]\nauto_sync_files = 0\n"})
    commit(tmp_path, "first")
    git(tmp_path, "branch", "-M", "main")
    run_lore("sync", cwd=tmp_path)
    first = json.loads(run_lore("search", "subject1", "--json", cwd=tmp_path).stdout)["freshness"]
    git(tmp_path, "checkout", "-q", "-b", "side")
    commit(tmp_path, "second")
    settle(tmp_path)
    second = json.loads(run_lore("search", "subject1", "--json", cwd=tmp_path).stdout)["freshness"]

    assert first["branch"] == "main"
    assert "synced_commit" not in first
    assert second["branch"] == "side"
    assert second["synced_commit"] == first["commit"] != second["commit"]
    assert (second["vectors_ready"], second["pending_vectors"]) == (1, 0)
    assert second["age_seconds"] >= 0

    run_lore("sync", cwd=tmp_path)  # the files are the same
    third = json.loads(run_lore("search", "subject1", "--json", cwd=tmp_path).stdout)["freshness"]

    assert "synced_commit" not in third
    assert (third["commit"], third["synced_at"]) == (second["commit"], second["synced_at"])
