"""Index real packages without an error, compare every line, and find exact names first."""

import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from benchmarks.exact_names import PICKED, measure
from benchmarks.main_job import package_copy
from lore_etl.files.redaction import redact
from lore_etl.pipeline.sync import create_only
from lore_etl.sources.source import syntax_of
from tests.harness.models import HashModel
from tests.harness.projects import ROOT, chunks_of, open_index

pytestmark = pytest.mark.later

PROSE_AND_PAGE = (
    "docs",
    "server/lore_server/web",
    "data/sample",
)  # Markdown of many kinds, JavaScript, and some other languages
WHOLE = ("server", "etl", "tests", "docs", "data/sample", "benchmarks")


def parts_of_this_repository(parts: Sequence[str], folder: Path) -> Path:
    for part in parts:
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", ".lore", "weights"))
    for file in (path for path in ROOT.glob("*.*") if path.is_file()):
        shutil.copy(file, folder / file.name)
    return folder


COPIES: dict[str, Callable[[Path], Path]] = {
    "this repository": partial(parts_of_this_repository, WHOLE),
    "its documents and its page": partial(parts_of_this_repository, PROSE_AND_PAGE),
    "chromadb": partial(package_copy, "chromadb"),
    "starlette": partial(package_copy, "starlette"),
}
LONG = [pytest.param(name, marks=pytest.mark.long) for name in ("this repository", "chromadb")]


@pytest.mark.parametrize("name", ["its documents and its page", "starlette", *LONG])
def test_every_chunk_equals_its_lines_in_the_file(name: str, tmp_path: Path) -> None:
    project = COPIES[name](tmp_path)
    index = open_index(project)
    report = create_only(index)
    chunks = chunks_of(index)
    index.close()

    assert report.failed == []
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    read_otherwise = ("html", "notebook")  # without tags, without outputs
    sources = {chunk.source for chunk in chunks if syntax_of(chunk.source) not in read_otherwise}
    texts = {source: redact((project / source).read_text(encoding="utf-8-sig"))[0] for source in sources}
    lines = {source: text.split("\n") for source, text in texts.items()}
    for chunk in (chunk for chunk in chunks if chunk.source in lines):
        text = "\n".join(lines[chunk.source][chunk.lines[0] - 1 : chunk.lines[1]])
        assert chunk.text == (text[chunk.columns[0] : chunk.columns[1]] if chunk.columns else text), chunk.source


@pytest.mark.parametrize("model", [HashModel(), pytest.param(None, marks=pytest.mark.long)], ids=["stand-in", "real"])
def test_the_bare_name_of_a_definition_ranks_its_file_first(model: HashModel | None, tmp_path: Path) -> None:
    assert measure("starlette", tmp_path, model) >= 0.96 * PICKED
