"""Requests per minute and tokens per day are counted for all projects and processes of a user."""

import os
from pathlib import Path

import pytest

from lore_etl.config.settings import AnswerSettings
from lore_server.answer.writer_interface import ModelFailure
from lore_server.answer.written_answers import SPENDING, Spending

NOON = 1_795_348_800.0  # 2026-11-22 12:00 UTC
DAY = 86_400.0


def spending(folder: Path, requests: int = 0, tokens: int = 0, now: float = NOON) -> Spending:
    return Spending(folder, AnswerSettings(requests_per_minute=requests, tokens_per_day=tokens), lambda: now)


def test_the_requests_of_a_minute_are_limited_for_all_processes(tmp_path: Path) -> None:
    for _ in range(2):
        spending(tmp_path, requests=2).admit()

    with pytest.raises(ModelFailure, match="requests_per_minute"):
        spending(tmp_path, requests=2, now=NOON + 59).admit()
    spending(tmp_path, requests=2, now=NOON + 60).admit()


def test_the_tokens_of_a_day_are_limited_until_midnight(tmp_path: Path) -> None:
    spending(tmp_path, tokens=1000).count(999)
    spending(tmp_path, tokens=1000).admit()
    spending(tmp_path, tokens=1000).count(1)

    with pytest.raises(ModelFailure, match="tokens_per_day"):
        spending(tmp_path, tokens=1000, now=NOON + DAY / 2 - 1).admit()
    spending(tmp_path, tokens=1000, now=NOON + DAY / 2).admit()


def test_without_limits_nothing_is_recorded(tmp_path: Path) -> None:
    spending(tmp_path).admit()
    spending(tmp_path).count(10)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["", "{", "[]", '{"day": "soon"}', '{"day": "2026-11-22", "tokens": "many"}'])
def test_a_damaged_record_starts_again(tmp_path: Path, content: str) -> None:
    (tmp_path / SPENDING).write_text(content)
    limited = spending(tmp_path, requests=1)

    limited.admit()
    with pytest.raises(ModelFailure):
        limited.admit()


def test_a_clock_that_was_ahead_blocks_nothing(tmp_path: Path) -> None:
    spending(tmp_path, requests=1, now=NOON + DAY).admit()

    spending(tmp_path, requests=1).admit()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_the_record_is_private(tmp_path: Path) -> None:
    spending(tmp_path / "state", requests=1).admit()

    assert (tmp_path / "state" / SPENDING).stat().st_mode & 0o077 == 0


def test_if_the_record_cannot_be_written_no_request_is_made(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")

    with pytest.raises(ModelFailure, match="cannot be recorded"):
        spending(tmp_path / "state", requests=1).admit()
