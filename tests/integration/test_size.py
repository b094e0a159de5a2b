"""Huge and hostile files take a bounded time and memory, measured in a process of their own."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.costs import costs

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows cannot fork")
MEGABYTES = 300
MANY_FILES = 200_000
SYNC = """
import sys
from contextlib import closing
from pathlib import Path
from lore_etl.files.redaction import redact
from lore_etl.pipeline.sync import sync
from tests.harness.costs import print_cost
from tests.harness.models import counter
from tests.harness.projects import open_index, write_project
import lore_etl.stores.chroma.local, lore_etl.stores.keywords, chromadb.api.rust

def synced():
    with closing(open_index(root)) as index:
        report = sync(index)
        assert [problem.reason.partition(":")[0] for problem in report.failed] == reasons, report.failed
        assert report.unchanged + report.created + report.updated

counter(), redact("-")
root, reasons = Path(sys.argv[1]), []
print_cost("a page", synced)
root.joinpath("new").rename(root / "new.md")
reasons = sys.argv[2:]
print_cost("huge", synced)
print_cost("again", synced)
"""
SCAN = """
import sys
from pathlib import Path
from lore_etl.files.ignore import rules_for
from lore_etl.files.scan import walk
from tests.harness.costs import print_cost

def listed():
    root = Path(sys.argv[1])
    assert len(walk(root, rules_for(root, ())).files) == int(sys.argv[2])

print_cost("list", listed)
"""
UNCHANGED = """
import sys
from contextlib import closing
from pathlib import Path
from lore_etl.pipeline.sync import sync
from tests.harness.costs import print_cost
from tests.harness.projects import open_index

def synced():
    with closing(open_index(Path(sys.argv[1]))) as index:
        report = sync(index)
        assert report.files == 5_000 and not report.failed
        assert (report.created == report.embedded == 5_000) is is_first

is_first = True
print_cost("first", synced)
is_first = False
print_cost("second", synced)
"""
SHAPES = """
from lore_etl.chunking import chunk
from lore_etl.files.redaction import redact
from lore_etl.sources.kinds import SourceSet
from lore_etl.sources.source import SourceContext
from tests.harness.costs import print_cost
from tests.harness.models import counter
from tests.unit.test_linearity import SHAPES

def chunked(path, text):
    source = SourceSet(SourceContext([path], lambda _: None), {"guides": ["*.md", "*.rst", "*.txt"]}).owner(path)
    assert chunk(source.document(path, redact(text)[0]), counter())

for path, _ in SHAPES:
    chunked(path, "x\\n")  # loads the parsers
for (path, name), shape in SHAPES.items():
    text = shape(50_000)
    print_cost(f"{path}: {name}", lambda: chunked(path, text))
"""


def sparse(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(2 * 1024**3)


def one_line(path: Path) -> None:
    path.write_bytes(b"harbour " * 12_500_000)


@pytest.mark.promise(17)
@pytest.mark.parametrize("write", [sparse, pytest.param(one_line, marks=pytest.mark.long)])
def test_a_huge_file_is_named_with_the_reason_and_costs_nothing(tmp_path: Path, write: Callable[[Path], None]) -> None:
    (tmp_path / "page.md").write_text("# Page\n\nThe harbour.\n")
    write(tmp_path / "new")

    found = costs(SYNC, tmp_path, "too large")

    assert found["huge"].megabytes < found["a page"].megabytes + 20
    assert found["huge"].seconds < found["a page"].seconds + 2


@pytest.mark.promise(17)
@pytest.mark.long
@pytest.mark.parametrize(
    "text", ["x" * 1_999_000, "harbour " * 249_000, "é" + "[" * 1_998_000], ids=["a word", "words", "brackets"]
)
def test_a_line_of_the_largest_size_costs_bounded_time_and_memory(tmp_path: Path, text: str) -> None:
    (tmp_path / "page.md").write_text("# Page\n\nThe harbour.\n")
    (tmp_path / "new").write_text(text)

    found = costs(SYNC, tmp_path)

    assert found["huge"].megabytes < found["a page"].megabytes + MEGABYTES
    assert found["huge"].seconds < 60
    assert found["again"].seconds < found["a page"].seconds + 2


@pytest.mark.promise(17)
@pytest.mark.parametrize("count", [2_000, pytest.param(MANY_FILES, marks=pytest.mark.long)])
def test_many_files_are_listed_in_bounded_time_and_memory(tmp_path: Path, count: int) -> None:
    for number in range(0, count, 1_000):
        folder = tmp_path / f"{number:06}"
        folder.mkdir()
        for name in range(1_000):
            (folder / f"{name:03}.md").touch()

    found = costs(SCAN, tmp_path, count)

    assert found["list"].seconds < 60
    assert found["list"].megabytes < MEGABYTES


@pytest.mark.promise(10)
@pytest.mark.long
def test_a_sync_of_five_thousand_unchanged_files_takes_at_most_three_seconds(tmp_path: Path) -> None:
    for number in range(5_000):
        (tmp_path / f"{number:04}.md").write_text(f"# Page {number}\n\nThe subject{number} of the harbour.\n")

    assert costs(UNCHANGED, tmp_path)["second"].seconds < 3


@pytest.mark.promise(20)
@pytest.mark.long
def test_every_hostile_shape_takes_at_most_a_second_and_little_memory() -> None:
    found = costs(SHAPES)

    assert len(found) > 40
    assert {name: cost for name, cost in found.items() if cost.seconds > 1 or cost.megabytes > 200} == {}


def test_the_cost_of_a_call_counts_its_memory_and_its_failure_is_an_error() -> None:
    code = "from tests.harness.costs import print_cost\n"

    found = costs(f"{code}print_cost('large', lambda: b'x' * 200_000_000)\nprint_cost('none', lambda: None)\n")

    assert found["large"].megabytes == pytest.approx(200, abs=20)
    assert found["none"].megabytes < 20
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        costs(f"{code}print_cost('broken', lambda: 1 / 0)\n")
