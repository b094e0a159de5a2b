import datetime

import pytest

from lore_etl.core.dates import day_or_none, problem_of
from lore_etl.core.frontmatter import MAX_BYTES, FrontMatterError, front_matter_lines, read_front_matter
from lore_etl.core.model import FrontMatter
from lore_server.query.outdated import no_longer


def test_the_keys_of_tickets_releases_and_prps_are_understood() -> None:
    text = (
        "---\nname: PRP one\nprp_id: PRP-1\nstatus: executed\ntags: [a, b, a]\n"
        "created: 2024-01-02\nupdated: 2024-01-03T04:05:06Z\n---\n# Body\n"
    )

    assert read_front_matter(text) == FrontMatter(
        title="PRP one",
        tags=("a", "b"),
        details=("executed", "PRP-1"),
        created="2024-01-02",
        updated="2024-01-03T04:05:06+00:00",
    )


def test_a_rating_and_other_values_are_searched_but_are_no_tags() -> None:
    text = (
        "---\nlabels: [bug]\nkeywords: k\nstate: open\nissue: 7\nauthor: ann\nrating: 8\ncapture_type: LEARNING\n"
        "metadata:\n  tags: [net]\n  rating: 9\n  capture_type: OTHER\n---\n"
    )
    found = read_front_matter(text)

    assert found.tags == ("k", "bug", "net")
    assert found.details == ("open", "7", "ann", "8", "LEARNING", "9", "OTHER")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", 0),
        ("# A\n---\n", 0),
        ("# A\n", 0),
        ("---", 0),
        ("---\ntitle: no end\n", 0),
        ("---\n" + "x: y\n" * (MAX_BYTES // 5) + "---\n", 0),
        ("---\n---\n", 2),
        ("---  \ntitle: a\n---\t\nbody", 3),
        ("---\ntitle: a\n...\nbody", 3),
        ("---\ntitle: a---\n----\n---\n", 4),
    ],
)
def test_front_matter_is_between_dashes_at_the_top_of_the_file(text: str, lines: int) -> None:
    assert front_matter_lines(text) == lines
    assert lines > 2 or read_front_matter(text) == FrontMatter()


ALIAS_BOMB = "\n".join(["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40))])


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("a: [", "front matter is not valid YAML at line"),
        ("a: 'b", "front matter is not valid YAML at line"),
        ("a: b: c", "front matter is not valid YAML at line 2"),
        ("d: 2024-13-45", "front matter is not valid YAML"),
        ("a: !!python/object/apply:os.getcwd []", "front matter is not valid YAML at line 2"),
        ("a: &x [1]\nb: *x", "front matter is not valid YAML"),
        ("a: " + "[" * 30_000, "front matter is not valid YAML"),
        ("a: " + "[" * 100 + "]" * 100, "front matter is not valid YAML"),
        ("just text", "front matter is not a list of `key: value`"),
        ("- a\n- b", "front matter is not a list of `key: value`"),
        (ALIAS_BOMB, "front matter is not valid YAML"),
    ],
)
@pytest.mark.promise(20)
def test_a_block_that_is_not_a_safe_mapping_is_rejected(block: str, message: str) -> None:
    with pytest.raises(FrontMatterError, match=message):
        read_front_matter(f"---\n{block}\n---\n")


@pytest.mark.parametrize(
    ("value", "title"),
    [
        ("12", "12"),
        ("  spaced   out ", "spaced out"),
        ("|\n  two\n  lines", "two lines"),
        ('"bell \\x07"', "bell �"),
        ("x" * 1_000, "x" * 300),
        ("0x" + "f" * 6_000, None),
        ("''", None),
        ("[a]", None),
    ],
)
def test_a_title_is_a_single_short_line(value: str, title: str | None) -> None:
    assert read_front_matter(f"---\ntitle: {value}\n---\n").title == title


def test_only_valid_dates_are_read_as_dates() -> None:
    found = read_front_matter("---\ncreated: yesterday\ndate: '2024-05-06 and more'\nupdated: 12\n---\n")

    assert (found.created, found.updated) == ("2024-05-06 and more", None)


DAY = datetime.date(2026, 6, 30)


@pytest.mark.parametrize(
    "value",
    ["2026-06-30", " 2026-06-30 ", "2026-6-30", DAY, "2026-06-30T12:00:00Z", "2026-06-30T12:00:00.000+00:00",
     "2026-06-30 12:00:00+00:00", datetime.datetime(2026, 6, 30, 12, tzinfo=datetime.UTC)],
)  # fmt: skip
def test_dates_and_times_with_a_zone_are_read_as_days(value: object) -> None:
    assert day_or_none(value) == DAY


@pytest.mark.parametrize(
    "value",
    ["soon", "2026", 2026, "2026-06", "2026-13-01", "2026-02-30", "30.06.2026", "2026-06-30T12:00:00",
     "2026-06-30 or so", ["2026-06-30"], True, "9999-12-31T23:59:59-23:59", datetime.datetime(2026, 6, 30)],
)  # fmt: skip
def test_any_other_value_is_reported_and_sets_no_last_day(value: object) -> None:
    assert day_or_none(value) is None
    assert "2026-12-31" in str(problem_of(value))
    assert [(day_or_none(missing), problem_of(missing)) for missing in (None, "")] == [(None, None)] * 2


def test_days_are_compared_as_dates() -> None:
    today = datetime.date(2026, 6, 30)
    assert [bool(no_longer(None, day, today)) for day in ("2026-06-29", "2026-06-30", "2026-07-01")] == [
        True,
        False,
        False,
    ]
    assert [bool(no_longer(None, text, today)) for text in ("", "0", "1999", "99", "forever")] == [False] * 5


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
