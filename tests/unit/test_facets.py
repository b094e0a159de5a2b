"""Counting the files that a search found."""

import datetime

from lore_server.query.filters import by_age, by_suffix


def test_ages_count_today_and_everything_newer_than_their_day() -> None:
    days = ["2026-03-31", "2026-03-31T09:00:00Z", "2026-03-25", "2026-03-24", "2025-04-01", "2024-01-01", "", "soon"]

    assert by_age(days, datetime.date(2026, 3, 31)) == [
        ("2026-03-31", 2), ("2026-03-25", 3), ("2026-03-01", 4), ("2025-03-31", 5)
    ]  # fmt: skip


def test_languages_are_suffixes_that_the_filter_accepts_in_any_case() -> None:
    assert by_suffix(["a.py", "b.PY", "c.mjs", "Makefile", "d.unheard"]) == [("py", 2), ("mjs", 1)]
