"""The activity log has the documented fields, no content, and never hinders a call."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from lore_server.knowledge.activity_log import ACTIVITY, KEPT, Activity, ActivityLog


def lines(home: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (home / ACTIVITY).read_text(encoding="utf-8").splitlines()]


def test_a_call_is_logged_as_a_line_with_the_documented_fields(tmp_path: Path) -> None:
    log = ActivityLog(tmp_path)

    log.add(Activity("get_project_main", True, "t1", 1.23, project_id="My App\n"))
    log.add(Activity("update_chapter", False, "t2", 45, "p", "f.md", "A", "No such.", "CHAPTER_NOT_FOUND", {"x": "y"}))

    first, second = lines(tmp_path)
    assert set(first) == {"timestamp", "method", "success", "project_id", "traceId", "duration"}
    assert {**second, "timestamp": ""} == {
        "timestamp": "", "method": "update_chapter", "success": False, "project_id": "p", "filename": "f.md",
        "chapter_title": "A", "traceId": "t2", "duration": 45, "error": "No such.", "errorCode": "CHAPTER_NOT_FOUND",
        "errorContext": {"x": "y"},
    }  # fmt: skip


def test_the_log_is_rotated_and_a_few_old_logs_are_kept(tmp_path: Path) -> None:
    log = ActivityLog(tmp_path, largest_bytes=500)

    for n in range(100):
        log.add(Activity("m", True, f"t{n}", 1))

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
        ActivityLog(home).add(Activity("m", True, "\ud800", 1))
    ActivityLog(tmp_path / "none").add(Activity("m", True, "t", 1))

    assert outside.read_text(encoding="utf-8") == "mine"
    assert not (tmp_path / "none").exists()
