"""Switching repeatedly between two states of a tree does not degrade the index."""

from contextlib import closing
from pathlib import Path

import pytest

from lore_etl.index import DEFAULT_LIMITS, LoadLimits
from lore_etl.pipeline.sync import sync
from tests.harness.indexes import assert_equals_fresh, bytes_below, unfindable
from tests.harness.models import HashModel
from tests.harness.projects import SMALL, open_index, sync_once, write_project
from tests.harness.trying import is_long

FILES = 600
FEW = 90  # with smaller limits; for more files, a sync would start other processes
SWITCHES = 20 if is_long() else 10


def pages(version: str, share: float, count: int) -> dict[str, str | bytes]:
    changed = int(count * share)
    return {
        f"docs/{n}.md": f"# Page {n}\n\nsubject{n} in state {version if n < changed else 'A'}{n}\n"
        for n in range(count)
    }


LONG = [pytest.param(share, FILES, DEFAULT_LIMITS, marks=pytest.mark.long) for share in (0.05, 0.2, 0.5, 0.8, 1.0)]


@pytest.mark.parametrize(("share", "count", "limits"), [(0.5, FEW, SMALL), *LONG])
@pytest.mark.promise(9)
def test_after_many_switches_everything_is_found_and_the_index_is_small(
    tmp_path: Path, share: float, count: int, limits: LoadLimits
) -> None:
    model = HashModel()
    write_project(tmp_path, pages("A", share, count))
    sync_once(tmp_path, model=model, limits=limits)
    fresh = bytes_below(tmp_path / ".lore")
    for flip in range(SWITCHES):
        write_project(tmp_path, pages("BA"[flip % 2], share, count))
        with closing(open_index(tmp_path, model=model, limits=limits)) as index:
            report = sync(index)
            assert unfindable(index) == []
        assert report.updated == int(count * share)
        assert report.embedded == (report.updated if flip == 0 else 0)

    with closing(open_index(tmp_path, model=model, limits=limits)) as index:
        assert_equals_fresh(index)
    assert bytes_below(tmp_path / ".lore") <= 2 * fresh


def page(number: int, edit: int) -> dict[str, str | bytes]:
    return {f"docs/{number}.md": f"# Page {number}\n\nsubject{number} in state {edit} lighthouse\n"}


@pytest.mark.promise(9)
@pytest.mark.parametrize(
    ("pages", "edits", "limits"),
    [(20, 12, LoadLimits(rebuild_minimum=24)), pytest.param(60, 600, DEFAULT_LIMITS, marks=pytest.mark.long)],
)
def test_a_small_index_never_grows_to_twice_its_size(
    tmp_path: Path, pages: int, edits: int, limits: LoadLimits
) -> None:
    write_project(tmp_path, {path: text for n in range(pages) for path, text in page(n, 0).items()})
    sizes, renewals = [], 0
    with closing(open_index(tmp_path, limits=limits)) as index:
        sync(index)
        fresh = bytes_below(index.folder)
        for edit in range(edits):
            write_project(tmp_path, page(edit % pages, edit + 1))
            renewals += sync(index).rebuilt is not None
            sizes.append(bytes_below(index.folder))
        assert_equals_fresh(index)

    assert max(sizes) <= 2 * fresh
    assert renewals == edits // (limits.rebuild_minimum // 4 + 1)
