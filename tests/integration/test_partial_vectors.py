"""Until all chunks have a vector, a search ranks at least as well as keywords alone."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from statistics import fmean

import pytest

from benchmarks.partial_vectors import SHARES, TOLERANCE, filling
from lore_etl.config.settings import Settings
from lore_etl.core.model import row_id
from lore_etl.index import Index
from lore_etl.pipeline.corpus import CorpusRecord, load_records
from lore_etl.stores.embedding_cache import CACHE
from lore_server.query.parse import parse
from lore_server.query.query_service import QueryService
from lore_server.query.ranking import HYBRID
from lore_server.query.retrieve import retrieve
from tests.harness.models import HashModel

ABOUT = ("anchor", "berth", "cargo", "engine", "hull")
DOING = ("checks", "closes", "lifts", "moves", "paints", "sells")
PAGES = {
    f"docs/{subject}-{verb}.md": f"# The {subject}\n\nThe crew {verb} the {subject} before the ferry leaves.\n"
    for subject in ABOUT
    for verb in DOING
}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    opened = Index(tmp_path / "harbour", Settings(), HashModel())
    load_records(opened, [CorpusRecord(path, text, path=path) for path, text in PAGES.items()])
    yield opened
    opened.close()


def quality(service: QueryService, ranking: str) -> float:
    """Return the mean reciprocal rank of the page that each question is about."""
    found = []
    for path in PAGES:
        subject, verb = path.removeprefix("docs/").removesuffix(".md").split("-")
        retrieved = service.candidates(parse(f"when is it that the crew {verb} the {subject}"))
        sources = [result.source for result in service.rank(retrieved, ranking, HYBRID)[1]]
        found.append(1 / (1 + sources.index(path)) if path in sources else 0.0)
    return fmean(found)


def test_a_search_is_never_worse_than_keywords_alone_while_the_index_fills(index: Index, tmp_path: Path) -> None:
    service = QueryService(index)
    values = {share: quality(service, "hybrid") for share in filling(index, tmp_path / "vectors")}
    keywords = quality(service, "keywords")

    assert values.keys() == set(SHARES)
    assert min(values.values()) >= keywords - TOLERANCE, (keywords, values)


def test_similarities_are_the_same_with_and_without_the_cache(index: Index) -> None:
    def similarities() -> dict[str, float | None]:
        found = retrieve(index, parse("the crew moves the cargo"), None, 10).found
        return {candidate.chunk.id: candidate.vector for candidate in found}

    with closing(sqlite3.connect(index.folder / CACHE, isolation_level=None)) as cache:
        rows = cache.execute("SELECT * FROM embedding").fetchall()
        cache.execute("DELETE FROM embedding")
        read = similarities()
        cache.executemany("INSERT INTO embedding VALUES (?, ?, ?)", rows)
    cached = similarities()

    assert len(cached) > 10  # some are found by their words only
    assert None not in cached.values()
    assert cached == pytest.approx(read, abs=1e-3)


def test_a_vector_that_is_only_in_the_cache_does_not_count(index: Index) -> None:
    waiting = retrieve(index, parse("the crew moves the cargo"), None, 10).found[0].chunk  # it has all words
    index.vectors.delete([row_id(waiting)])
    index.catalogue.mark_vectors([waiting.id], present=False)

    found = retrieve(index, parse("the crew moves the cargo"), None, 10).found

    assert [candidate.chunk.id for candidate in found if candidate.vector is None] == [waiting.id]
