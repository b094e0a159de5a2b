"""Paths are compared by component: `indexes/` is not inside `index`."""

from __future__ import annotations

from pathlib import Path

import pytest
from watchfiles import Change

from lore_etl.core.model import Problem
from lore_etl.files.scan import Scan
from lore_server.owner.process import ignoring
from lore_server.services.memory_service import _memory_id


@pytest.mark.parametrize("name", ["index.md", "indexes/a.md", "index-notes/b.md", "other/index/c.md"])
def test_a_folder_with_a_name_like_the_index_folder_is_watched(name: str) -> None:
    assert ignoring(Path("/project/index"))(Change.modified, f"/project/{name}")


@pytest.mark.parametrize("name", ["index", "index/catalogue.sqlite", "index/keywords/x"])
def test_the_index_folder_itself_is_not_watched(name: str) -> None:
    assert not ignoring(Path("/project/index"))(Change.modified, f"/project/{name}")


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
