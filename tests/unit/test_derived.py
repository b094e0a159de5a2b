"""A saved answer ranks below the documents that it cites."""

from typing import Any

from lore_etl.core.model import Chunk
from lore_server.answer.kept_answers import KeptAnswer
from lore_server.query.outdated import below_sources
from lore_server.query.ranking import Ranked
from lore_server.services.chapters import answer_document
from tests.harness.chunks import make_chunk

CITED = ("a.md", "b.md")


def saved_text(*cited: str) -> str:
    """Return the text of a saved answer, as it is written."""
    citations = [
        {"n": n, "id": "1", "source": source, "type": "guide", "heading": "", "lines": [1, 2], "quote": "Text."}
        for n, source in enumerate(cited, start=1)
    ]
    reply: Any = {"mode": "extractive", "answer": "It doubles. [1]", "citations": citations}
    kept = KeptAnswer("How do retries wait?", "How do retries wait?", reply)
    return answer_document(kept, "Retries", "2026-11-22T00:00:00.000Z")[1]


def order(text: str, *ranked: tuple[str, float], type_: str = "knowledge") -> list[str]:
    """Return the order of files, of which `saved.md` has the text."""
    chunks: dict[str, Chunk] = {
        source: make_chunk(source, type_ if source == "saved.md" else "guide", text=text) for source, _ in ranked
    }
    files = [Ranked(source, score, chunks[source]) for source, score in ranked]
    return [file.source for file in below_sources(files, lambda source: [chunks[source]])]


def test_a_saved_answer_ranks_below_each_source_that_was_found() -> None:
    found = [("saved.md", 9.0), ("a.md", 8.0), ("c.md", 7.5), ("b.md", 7.0), ("d.md", 6.0)]

    assert order(saved_text(*CITED), *found) == ["a.md", "c.md", "b.md", "saved.md", "d.md"]


def test_a_saved_answer_stays_where_it_is_if_no_source_was_found_or_all_rank_above() -> None:
    assert order(saved_text(*CITED), ("saved.md", 9.0), ("c.md", 8.0)) == ["saved.md", "c.md"]
    assert order(saved_text("a.md"), ("a.md", 9.0), ("c.md", 8.0), ("saved.md", 7.0)) == ["a.md", "c.md", "saved.md"]


def test_other_documents_that_name_files_are_not_moved() -> None:
    assert order("[1] `a.md:1-2`", ("saved.md", 9.0), ("a.md", 8.0)) == ["saved.md", "a.md"]
    assert order(saved_text("a.md"), ("saved.md", 9.0), ("a.md", 8.0), type_="guide") == ["saved.md", "a.md"]
