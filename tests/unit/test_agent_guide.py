"""The block that tells agents when to use Lore is added, renewed and removed without touching other text."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lore_etl.core.errors import ConfigError
from lore_server.contract import load_contract
from lore_server.setup.companions import BLOCK, END, START, change_guide, with_block, without_block

TEXTS = st.text(st.sampled_from("# ab\n-`<"), max_size=40)


@given(TEXTS)
def test_other_text_stays_when_the_block_is_added_and_removed(text: str) -> None:
    added = with_block(text)

    assert added.startswith(text)
    assert BLOCK in added
    assert without_block(added).rstrip("\n") == text.rstrip("\n")


@given(TEXTS, TEXTS)
def test_an_older_block_is_replaced_in_its_place(before: str, after: str) -> None:
    old = f"{before}\n{START}\nold\n{END}\n{after}"

    assert with_block(old) == f"{before}\n{BLOCK}{after}"
    assert with_block(with_block(old)) == with_block(old)


def test_the_block_names_only_tools_that_exist() -> None:
    tools = {operation.id for operation in load_contract()}

    assert set(re.findall(r"`([a-z]+_[a-z_]+)`", BLOCK)) <= tools


def test_a_symlink_out_of_the_project_is_neither_read_nor_written(tmp_path: Path) -> None:
    project, mine = tmp_path / "project", tmp_path / "mine.md"
    project.mkdir()
    mine.write_text("mine")
    (project / "AGENTS.md").symlink_to(mine)

    with pytest.raises(ConfigError):
        change_guide("AGENTS.md", project, is_wanted=True)
    assert mine.read_text() == "mine"
