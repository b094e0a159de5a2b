"""All documents of a sync share a budget of time and memory; those that are left are converted by later syncs."""

import sys
from contextlib import closing
from pathlib import Path

import pytest

from lore_etl.core.model import SyncReport
from lore_etl.files.conversion.sandbox import ConversionLimits, SyncBudget
from lore_etl.index import Index, LoadLimits
from lore_etl.pipeline.sync import sync
from tests.harness.office_files import epub
from tests.harness.projects import chunks_of, open_index, write_project

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limits on memory and processor time")
ONE_EACH = SyncBudget(seconds=0.001)
BOOK = epub({"Storage": "Rows are kept in SQLite."})
SLOW = epub({"Long": "<p>word" * 300_000})
LARGE = epub({"Long": " " * 60_000_000})


def found(index: Index) -> set[str]:
    return {chunk.source for chunk in chunks_of(index)}


def waiting(report: SyncReport) -> list[str]:
    return [text.partition(",")[0] for text in report.warnings if "for the next sync" in text]


def test_documents_beyond_the_budget_are_reported_and_converted_by_later_syncs(tmp_path: Path) -> None:
    books = {f"{name}.epub": BOOK for name in "abc"}
    project = write_project(tmp_path / "harbour", {**books, "z.md": "# Ferry\n\nIt waits.\n"})
    with closing(open_index(project, limits=LoadLimits(conversion=ONE_EACH))) as index:
        first = sync(index)
        after_first = found(index)
        left_out = (first.inventory or {})["left_out"]
        second, third, fourth = sync(index), sync(index), sync(index)
        after_all = found(index)

    assert after_first == {"a.epub", "z.md"}
    assert [waiting(report) for report in (first, second, third, fourth)] == [
        ["2 documents wait for the next sync"], ["1 document waits for the next sync"], [], []
    ]  # fmt: skip
    assert [(row["reason"], row["files"]) for row in left_out] == [("it waits for the next sync", 2)]
    assert [report.failed for report in (first, second, third, fourth)] == [[], [], [], []]
    assert after_all == {*books, "z.md"}


def test_a_document_that_changes_before_every_sync_does_not_delay_those_that_wait(tmp_path: Path) -> None:
    project = write_project(tmp_path / "harbour", {"a.epub": BOOK, "b.epub": BOOK, "c.epub": BOOK})
    with closing(open_index(project, limits=LoadLimits(conversion=ONE_EACH))) as index:
        sync(index)
        for number in range(2):
            write_project(project, {"a.epub": epub({"Storage": f"Row {number}."})})
            last = sync(index)
        after = found(index)

    assert after == {"a.epub", "b.epub", "c.epub"}
    assert waiting(last) == ["1 document waits for the next sync"]


@POSIX
@pytest.mark.parametrize(
    ("bomb", "limits", "reason"),
    [
        (SLOW, ConversionLimits(seconds=1), "too large: reading it takes more than 1 s"),
        (LARGE, ConversionLimits(megabytes=140), "too large: reading it needs more than 140 MB of memory"),
    ],
)
@pytest.mark.promise(20)
def test_a_bomb_spends_the_budget_of_one_sync_and_is_not_tried_again(
    tmp_path: Path, bomb: bytes, limits: ConversionLimits, reason: str
) -> None:
    project = write_project(tmp_path / "harbour", {"a.epub": bomb, "b.epub": BOOK})
    budget = SyncBudget(1.5 if limits.seconds == 1 else 100, megabytes=13, document=limits)
    with closing(open_index(project, limits=LoadLimits(conversion=budget))) as index:
        first, second = sync(index), sync(index)
        after = found(index)

    assert [waiting(report) for report in (first, second)] == [["1 document waits for the next sync"], []]
    assert [problem.reason for problem in first.failed + second.failed] == [reason, reason]
    assert after == {"b.epub"}
