"""An index that is edited again and again stays as large as a fresh one, however small it is."""

from contextlib import closing
from pathlib import Path

import pytest

from lore_etl.index import DEFAULT_LIMITS, LoadLimits
from lore_etl.pipeline.sync import sync
from tests.harness.indexes import assert_equals_fresh, bytes_below
from tests.harness.projects import open_index, write_project


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
