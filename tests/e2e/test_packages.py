"""Real packages are indexed without an error, line for line, and their exact names are found first."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest

from benchmarks.exact_names import PICKED, measure
from etl.create import create
from etl.model import SyncReport, silent
from tests.harness.projects import ROOT, chunks_of, open_index


def copied(name: str, folder: Path) -> Path:
    if name == "this repository":
        wanted = ("server", "etl", "tests", "docs", "data/sample", "benchmarks")
        for part in wanted:
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", ".lore"))
        for file in (one for one in ROOT.glob("*.*") if one.is_file()):
            shutil.copy(file, folder / file.name)
        return folder
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.submodule_search_locations
    shutil.copytree(spec.submodule_search_locations[0], folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder / name


@pytest.mark.parametrize("name", ["this repository", "chromadb", "starlette"])
def test_every_chunk_is_exactly_its_lines(name: str, tmp_path: Path) -> None:
    project = copied(name, tmp_path)
    index = open_index(project)
    index.own()
    report = SyncReport()
    create(index, report, silent)
    chunks = chunks_of(index)
    index.close()

    assert report.failed == []
    assert len({one.id for one in chunks}) == len(chunks)
    for one in chunks:
        lines = (project / one.source).read_text(encoding="utf-8-sig").split("\n")
        text = "\n".join(lines[one.lines[0] - 1 : one.lines[1]])
        assert one.text == (text[one.columns[0] : one.columns[1]] if one.columns else text), one.source


def test_the_bare_name_of_a_definition_brings_its_file_first(tmp_path: Path) -> None:
    assert measure("starlette", tmp_path) >= 0.96 * PICKED
