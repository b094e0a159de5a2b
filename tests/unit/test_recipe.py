from __future__ import annotations

from dataclasses import replace

from lore_etl.chunking.fit import HEADER_BYTES, embedding_input, header
from lore_etl.core.model import KnowledgeType
from tests.harness.texts import chunks_in, words


def test_a_passage_of_a_guide_is_embedded_with_its_title_and_headings() -> None:
    (only,) = chunks_in("docs/a.md", f"# Guide\n## Setup\n{words(30)}\n", title="Guide")

    assert embedding_input(only) == f"Guide > Setup\n# Guide\n## Setup\n{words(30)}"


def test_code_is_embedded_with_its_path() -> None:
    (only,) = chunks_in("etl/lore_etl/stores/tokenizer.py", f"def terms():\n    '{words(30)}'\n")

    assert embedding_input(only).split("\n")[0] == "etl/lore_etl/stores/tokenizer.py"


def test_a_passage_without_a_title_is_embedded_without_a_header() -> None:
    (only,) = chunks_in("a.md", words(30), title="")

    assert embedding_input(only) == words(30)


def test_a_header_stays_within_its_bytes_and_never_splits_a_character() -> None:
    for title in ("a" * 500, "漢字" * 200, "é" * 200):
        found = header("a.md", title, ("b",))

        assert title.startswith(found)
        assert HEADER_BYTES - 4 < len(found.encode()) <= HEADER_BYTES


def test_the_type_and_tags_of_a_file_are_not_embedded() -> None:
    (one,) = chunks_in("a.md", f"# A\n{words(30)}\n")
    other = replace(one, tags=("x",), lines=(7, 8), type=KnowledgeType.TICKET)

    assert embedding_input(other) == embedding_input(one)
