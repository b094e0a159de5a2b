"""The view of the framework's knowledge is computed from the index and follows its changes."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lore_etl.core.errors import IndexMissing
from lore_etl.index import Index
from lore_etl.pipeline.sync import sync
from lore_server.framework.view import Group, View
from tests.harness.framework import framework
from tests.harness.projects import open_index, write_project


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    index = open_index(write_project(tmp_path, framework()))
    sync(index)
    yield index
    index.close()


@pytest.mark.requirement("KM-007", "KM-008", "KM-009", "KM-010", "KM-013", "KM-016")
def test_29_3_the_scanner_indexes_all_sources_with_every_field_of_the_original(index: Index) -> None:
    found = View(index).entries()

    records = {entry.key: entry.record() for entry in found.all}
    assert records["error-recovery"] == {
        "source": ".ce/examples/system/patterns/error-recovery.py",
        "tags": ["resilience", "retry", "circuit-breaker"],
        "excerpt": "Retry with exponential backoff, and break the circuit when nothing answers.",
        "referenced_by": ["PRP-1"],
    }
    assert records["PRP-1"] == {
        "source": ".ce/PRPs/system/executed/PRP-1-validation.md",
        "title": "Core Validation Framework",
        "implementations": ["ce/validate.py"],
        "verified": True,
        "tags": ["validation", "L1-L4"],
        "excerpt": "Four levels of gates say whether a change may go in.",
    }
    assert records["tool-usage-guide"] == {
        "source": ".serena/memories/tool-usage-guide.md",
        "tags": ["mcp", "naming"],
        "excerpt": "The naming convention of tools, and when to use which.",
    }
    assert records["fast-failure-let-exceptions-bubble-up"] == {
        "source": ".ce/RULES.md",
        "line": 3,
        "excerpt": "Fast Failure: Let exceptions bubble up",
    }
    assert records["api-errors"]["referenced_by"] == ["PRP-10", "PRP-11", "PRP-12"]
    assert [entry.key for entry in found.by_group[Group.USER_PRPS]] == ["PRP-10", "PRP-11", "PRP-12"]
    assert [entry.line for entry in found.by_path[".ce/RULES.md"]] == [3, 4, 6]


def test_files_with_the_same_name_are_both_listed(tmp_path: Path) -> None:
    paths = ["PRPs/PRP-1.md", "PRPs/a/PRP-1-b.md", "PRPs/c/PRP-1-b.md", "PRPs/d/PRP-1-b.md"]
    index = open_index(write_project(tmp_path, {path: "# Text\n" for path in paths}))
    sync(index)

    found = View(index).entries().by_group[Group.USER_PRPS]

    assert [entry.path for entry in found] == paths
    assert [entry.key for entry in found] == ["PRP-1", "PRP-1-b", "PRP-1-b.md", "PRPs/d/PRP-1-b.md"]
    index.close()


def test_the_view_follows_the_index_and_not_the_files(index: Index, tmp_path: Path) -> None:
    view = View(index)
    before = view.entries()
    write_project(
        tmp_path,
        {"examples/patterns/new.md": "# New\n\nA new one.\n", ".ce/RULES.md": "# None\n", "PRPs/PRP-9.md": "`new`\n"},
    )
    (tmp_path / ".serena/memories/tool-usage-guide.md").unlink()

    assert view.entries() is before
    sync(index, allow_mass_delete=True)
    after = view.entries()

    assert [entry.key for entry in after.by_group[Group.USER_PATTERNS]] == ["api-errors", "new"]
    assert after.by_path["examples/patterns/new.md"][0].referenced_by == ("PRP-9",)
    assert after.by_group[Group.MEMORIES] == after.by_group[Group.SYSTEM_RULES] == ()
    assert after.all == View(index).entries().all


@pytest.mark.requirement("KM-011")
def test_29_3_missing_directories_are_empty_groups_but_a_missing_index_is_an_error(tmp_path: Path) -> None:
    with closing(open_index(write_project(tmp_path, {"README.md": "# Read me\n"}))) as index:
        with pytest.raises(IndexMissing):
            View(index).entries()
        assert [path.name for path in tmp_path.iterdir()] == ["README.md"]
        sync(index)
        found = View(index).entries().by_group

    assert found == dict.fromkeys(Group, ())
