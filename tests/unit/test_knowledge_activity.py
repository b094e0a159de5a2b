"""The activity log has the documented fields, no content, and never hinders a call."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lore_etl.core.errors import ChapterNotFound
from lore_server.contract import Contract
from lore_server.services.call_log import ACTIVITY, KEPT, ActivityLog, activity


@pytest.mark.requirement("KB-058", "KB-059", "KB-062")
def test_a_call_is_logged_as_a_line_with_the_documented_fields(tmp_path: Path, contract: Contract) -> None:
    operations = contract.operations
    about = {"project_id": "p", "filename": "f.md", "chapter_title": "A", "new_content": "private"}

    ActivityLog(tmp_path).add(activity(operations["get_project_main"], {"project_id": "My App\n"}, "t1", 0.00123))
    ActivityLog(tmp_path).add(activity(operations["update_chapter"], about, "t2", 0.045, ChapterNotFound("No such.")))

    first, second = map(json.loads, (tmp_path / ACTIVITY).read_text(encoding="utf-8").splitlines())
    assert set(first) == {"timestamp", "method", "success", "project_id", "traceId", "duration"}
    assert {**second, "timestamp": ""} == {
        "timestamp": "", "method": "update_chapter", "success": False, "project_id": "p", "filename": "f.md",
        "chapter_title": "A", "traceId": "t2", "duration": 45, "error": "No such.", "errorCode": "CHAPTER_NOT_FOUND",
        "errorContext": {"project_id": "p", "filename": "f.md", "chapter_title": "A"},
    }  # fmt: skip


def test_the_log_is_rotated_and_a_few_old_logs_are_kept(tmp_path: Path) -> None:
    log = ActivityLog(tmp_path, largest_bytes=500)

    for n in range(100):
        log.add({"method": "m", "success": True, "traceId": f"t{n}", "filler": "x" * 50})

    names = sorted(path.name for path in tmp_path.iterdir())
    assert set(names) - {ACTIVITY} == {f"{ACTIVITY}.{n}" for n in range(1, KEPT + 1)}
    assert all(path.stat().st_size < 700 for path in tmp_path.iterdir())


def test_a_failure_of_the_log_does_not_fail_the_call(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine", encoding="utf-8")
    obstacles: list[Callable[[Path], object]] = [lambda path: path.symlink_to(outside), os.mkfifo, os.mkdir]
    for n, hinder in enumerate(obstacles):
        home = tmp_path / str(n)
        home.mkdir()
        hinder(home / ACTIVITY)
        ActivityLog(home).add({"method": "m", "traceId": "\ud800"})
    ActivityLog(tmp_path / "none").add({"method": "m", "traceId": "t"})

    assert outside.read_text(encoding="utf-8") == "mine"
    assert not (tmp_path / "none").exists()
