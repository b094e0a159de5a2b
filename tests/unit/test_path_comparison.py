"""Paths are compared by component: `indexes/` is not inside `index`."""

from pathlib import Path

import pytest
from watchfiles import Change

from lore_etl.core.model import Problem
from lore_etl.files.scan import Scan
from lore_server.owner.process import ignoring
from lore_server.services.memory_service import _memory_id


def test_folders_with_names_like_the_index_folder_are_watched_and_the_folder_itself_is_not() -> None:
    names = ["index.md", "indexes/a.md", "index-notes/b.md", "other/index/c.md"]
    own = ["index", "index/catalogue.sqlite", "index/keywords/x"]
    is_watched = ignoring(Path("/project/index"))

    assert [name for name in [*names, *own] if is_watched(Change.modified, f"/project/{name}")] == names


@pytest.mark.parametrize(
    ("unreadable", "path", "is_hidden"),
    [
        ("docs/", "docs/a.md", True),
        ("docs/", "docs-old/a.md", False),
        ("docs", "docs.md", False),
        ("a.py", "a.py", True),
        ("a.py", "a.pyi", False),
        ("@lore", "@lore/main.md", True),
        ("@lore", "@lorem/ipsum.md", False),
        (".", "anything/a.md", True),
    ],
)
def test_an_unreadable_folder_hides_only_its_own_files(unreadable: str, path: str, is_hidden: bool) -> None:
    assert Scan(unreadable=[Problem(unreadable, "cannot be read")]).hides(path) is is_hidden


def test_a_memory_is_recognized_by_its_whole_folder_name() -> None:
    assert _memory_id("@lore/memories/main/a.md") == "main/a"
    assert _memory_id("@lore/memories-of-others/a.md") is None
