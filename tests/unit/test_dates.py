"""Last days of validity: dates and times with a zone are accepted, other values are reported."""

import datetime

import pytest

from lore_etl.core.dates import day_or_none, last_day, problem_of
from lore_etl.core.frontmatter import read_front_matter
from lore_server.query.outdated import is_over

DAY = datetime.date(2026, 6, 30)


@pytest.mark.parametrize(
    "value",
    [
        "2026-06-30",
        " 2026-06-30 ",
        "2026-6-30",
        DAY,
        "2026-06-30T12:00:00Z",
        "2026-06-30T12:00:00.000+00:00",
        "2026-06-30 12:00:00+00:00",
        datetime.datetime(2026, 6, 30, 12, tzinfo=datetime.UTC),
    ],
)
def test_dates_and_times_with_a_zone_are_read_as_days(value: object) -> None:
    assert last_day(value) == DAY


@pytest.mark.parametrize(
    "value",
    ["soon", "2026", 2026, "2026-06", "2026-13-01", "2026-02-30", "30.06.2026", "2026-06-30T12:00:00",
     "2026-06-30 or so", ["2026-06-30"], True, "9999-12-31T23:59:59-23:59", datetime.datetime(2026, 6, 30)],
)  # fmt: skip
def test_any_other_value_is_reported_and_sets_no_last_day(value: object) -> None:
    assert day_or_none(value) is None
    assert "2026-12-31" in str(problem_of(value))


def test_a_missing_value_is_not_reported() -> None:
    assert (last_day(None), last_day(""), problem_of(None)) == (None, None, None)


def test_days_are_compared_as_dates() -> None:
    today = datetime.date(2026, 6, 30)
    assert [is_over(day, today) for day in ("2026-06-29", "2026-06-30", "2026-07-01")] == [True, False, False]
    assert [is_over(text, today) for text in ("", "0", "1999", "99", "forever")] == [False] * 5


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-06-30", "2026-06-30"),
        ("2026-06-30T12:00:00Z", "2026-06-30"),
        ("'2026-06-30'", "2026-06-30"),
        ("soon", None),
    ],
)
def test_the_last_day_is_read_from_front_matter(text: str, day: str | None) -> None:
    assert read_front_matter(f"---\nvalid_until: {text}\n---\n").valid_until == day
