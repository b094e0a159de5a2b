"""Excerpt sets: character ranges, the measures computed from them, and invalid sets."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lore_etl.core.errors import InvalidArgument
from lore_etl.core.model import Chunk
from lore_etl.pipeline.corpus import CorpusRecord
from lore_server.evaluation.evaluate import Places, Span, is_excerpt_set, overlap, read_excerpts
from tests.harness.chunks import make_chunk
from tests.harness.evaluation import jsonl
from tests.harness.texts import chunks_in, words

TEXT = "The ferry crosses at dawn.\r\nTides are kept.\r\n"


def write_excerpts(folder: Path, questions: list[dict[str, Any]], **documents: str) -> Path:
    (folder / "corpora").mkdir(parents=True)
    for name, text in (documents or {"harbour": TEXT}).items():
        (folder / "corpora" / f"{name}.md").write_bytes(text.encode())
    (folder / "questions.jsonl").write_text(jsonl(questions), encoding="utf-8")
    return folder


def asking(*spans: Span, id_: str = "q1", corpus: str = "harbour", **more: Any) -> dict[str, Any]:
    references = [{"start": start, "end": end} for start, end in spans]
    return {"_id": id_, "text": "when does it cross", "corpus_id": corpus, "references": references, **more}


def refusal(folder: Path, split: str | None = None) -> str:
    with pytest.raises(InvalidArgument) as caught:
        read_excerpts(folder, split)
    return caught.value.message


def quoted(text: str, chunk: Chunk) -> str:
    """Return the text at the range of the chunk."""
    start, end = Places(text).span(chunk)
    return text[start:end]


# --- reading -----------------------------------------------------------------------------------------------------


def test_a_set_has_whole_documents_and_ranges_that_answer_its_questions(tmp_path: Path) -> None:
    folder = write_excerpts(tmp_path / "set", [asking((4, 9), (21, 25))])

    chosen = read_excerpts(folder)

    assert is_excerpt_set(folder)
    assert chosen.documents == {"harbour.md": TEXT}
    assert chosen.asked.records == [CorpusRecord("harbour.md", TEXT, path="harbour.md")]
    assert chosen.answers == {"q1": ("harbour.md", [(4, 9), (21, 25)])}
    assert [chosen.documents["harbour.md"][start:end] for start, end in chosen.answers["q1"][1]] == ["ferry", "dawn"]


def test_offsets_count_characters_without_converting_line_ends_and_overlapping_ranges_are_merged(
    tmp_path: Path,
) -> None:
    text = "Fährt früh.\r\n🎉 Tides.\rEnd\n"
    place = text.index("Tides")
    chosen = read_excerpts(write_excerpts(tmp_path / "set", [asking((place, place + 5))], harbour=text))
    merged = read_excerpts(write_excerpts(tmp_path / "other", [asking((10, 20), (0, 5), (15, 25), (25, 30))]))

    assert chosen.documents["harbour.md"][place : place + 5] == "Tides"
    assert merged.answers["q1"][1] == [(0, 5), (10, 30)]


def test_a_split_is_defined_by_its_questions(tmp_path: Path) -> None:
    rows = [asking((0, 3), id_="a", split="dev"), asking((4, 9), id_="b", split="test")]
    folder = write_excerpts(tmp_path / "set", rows)

    assert [question.id for question in read_excerpts(folder, "test").asked.questions] == ["b"]
    assert [question.id for question in read_excerpts(folder).asked.questions] == ["a", "b"]
    assert read_excerpts(folder, "test").asked.name == "set.test"
    assert refusal(folder, "nope") == "set: no question in the split `nope`."


def test_hidden_files_and_folders_are_not_documents_and_a_folder_without_questions_is_no_set(tmp_path: Path) -> None:
    folder = write_excerpts(tmp_path / "set", [asking((0, 3))])
    (folder / "corpora" / ".DS_Store").write_bytes(b"\x00\xff")
    (folder / "corpora" / "more").mkdir()

    assert list(read_excerpts(folder).documents) == ["harbour.md"]
    (folder / "questions.jsonl").unlink()
    assert not is_excerpt_set(folder)
    assert not is_excerpt_set(tmp_path / "nope")


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([1], "not a JSON object."),
        ({"text": "x"}, "`_id` is missing or not a string."),
        (asking((0, 3), id_="q0"), "the `_id` `q0` occurs twice."),
        (asking((0, 3), text=""), "`text` is missing or not a string."),
        (asking((0, 3), corpus="nope"), "there is no file `nope` in corpora."),
        (asking((0, 3), references=None), "not a question with references."),
        (asking((0, 3), references=[{"start": 1}]), "not a question with references."),
        (asking((0, 3), references=[{"start": "a", "end": 2}]), "not a question with references."),
        (asking((0, 3), references=[7]), "not a question with references."),
        (asking(), "its references are not ranges of the document."),
        (asking((9, 4)), "its references are not ranges of the document."),
        (asking((-1, 4)), "its references are not ranges of the document."),
        (asking((0, len(TEXT) + 1)), "its references are not ranges of the document."),
    ],
)
def test_an_invalid_question_is_reported_with_its_line(tmp_path: Path, row: Any, expected: str) -> None:
    folder = write_excerpts(tmp_path / "set", [asking((0, 3), id_="q0"), row])

    assert refusal(folder) == f"questions.jsonl, line 2: {expected}"


def test_a_line_separator_within_a_question_does_not_end_it(tmp_path: Path) -> None:
    folder = write_excerpts(tmp_path / "set", [])
    row = json.dumps({**asking((0, 3)), "text": "one\u2028two"}, ensure_ascii=False)
    (folder / "questions.jsonl").write_text(f"{row}\n\n", encoding="utf-8")

    assert [question.text for question in read_excerpts(folder).asked.questions] == ["one\u2028two"]


def test_a_document_in_another_encoding_is_reported_by_name(tmp_path: Path) -> None:
    folder = write_excerpts(tmp_path / "set", [asking((0, 3))])
    (folder / "corpora" / "harbour.md").write_bytes(b"\xff\xfe")

    assert refusal(folder) == "Cannot read corpora/harbour.md: it is not UTF-8."


# --- ranges ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_range_of_a_chunk_covers_its_text_with_any_line_ends(end: str) -> None:
    lines = ["# Harbour", "", words(40, "dawn"), "", "## Tides 🎉", "", words(40, "tide"), ""]
    text = end.join(lines)

    chunks = chunks_in("a.md", "\n".join(lines))

    assert len(chunks) == 2
    assert [quoted(text, chunk).replace(end, "\n") for chunk in chunks] == [chunk.text for chunk in chunks]


def test_the_range_of_a_part_of_a_line_is_its_columns_and_a_text_may_be_empty_or_lack_a_final_line_end() -> None:
    text = f"# Harbour\r\n\r\nfirst\r\n{words(900, 'tide')}\r\nlast"

    pieces = [chunk for chunk in chunks_in("a.md", text.replace("\r\n", "\n")) if chunk.columns]

    assert len(pieces) > 2
    assert [quoted(text, piece) for piece in pieces] == [piece.text for piece in pieces]
    assert quoted("one\ntwo", make_chunk("a.md", lines=(2, 2))) == "two"
    assert quoted("one\ntwo\n", make_chunk("a.md", lines=(2, 3))) == "two\n"
    assert quoted("", make_chunk("a.md")) == ""


lines_of_text = st.lists(st.text(st.characters(exclude_characters="\r\n", codec="utf-8"), max_size=12), max_size=12)


@given(lines_of_text, st.data())
def test_the_range_of_any_lines_covers_those_lines(lines: list[str], data: st.DataObject) -> None:
    ends = data.draw(st.lists(st.sampled_from(["\n", "\r\n", "\r"]), min_size=len(lines), max_size=len(lines)))
    text = "".join(line + end for line, end in zip(lines, ends, strict=True))
    first = data.draw(st.integers(1, len(lines) + 1))
    last = data.draw(st.integers(first, len(lines) + 1))

    # "\r" before an empty line and "\n" would be one line end
    if not any(a == "\r" and b == "\n" and not line for a, b, line in zip(ends, ends[1:], lines[1:], strict=False)):
        found = quoted(text, make_chunk("a.md", lines=(first, last)))

        assert found.replace("\r\n", "\n").replace("\r", "\n") == "\n".join([*lines, ""][first - 1 : last])


# --- measures ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("passages", "answer", "expected"),
    [
        ([("a.md", (10, 20))], [(10, 20)], (1, 1, 1)),
        # 5 of the 10 relevant characters are among the 20 of the passage; the union has 25
        ([("a.md", (15, 35))], [(10, 20)], (5 / 10, 5 / 20, 5 / 25)),
        ([("a.md", (0, 10)), ("a.md", (30, 50))], [(5, 15), (40, 45), (60, 65)], (10 / 20, 10 / 30, 10 / 40)),
        ([("b.md", (10, 20)), ("a.md", (10, 20))], [(10, 20)], (1, 1 / 2, 1 / 2)),
        ([("a.md", (0, 10)), ("a.md", (5, 15))], [(5, 10)], (1, 5 / 20, 5 / 20)),
        ([], [(0, 5)], (0, 0, 0)),
        ([("a.md", (5, 9))], [(0, 5)], (0, 0, 0)),
        ([], [], (0, 0, 0)),
    ],
    ids=["equal", "half", "several", "another document", "repeated", "no passage", "disjoint", "nothing"],
)
def test_the_measures_count_shared_characters(
    passages: list[tuple[str, Span]], answer: list[Span], expected: tuple[float, float, float]
) -> None:
    found = overlap(passages, "a.md", answer)

    assert (found["recall"], found["precision"], found["iou"]) == pytest.approx(expected)


spans = st.tuples(st.integers(0, 60), st.integers(1, 30)).map(lambda pair: (pair[0], sum(pair)))


@given(st.lists(st.tuples(st.sampled_from(["a.md", "b.md"]), spans), max_size=6), st.lists(spans, min_size=1))
def test_every_measure_is_between_zero_and_one_and_recall_counts_characters(
    tmp_path_factory: pytest.TempPathFactory, passages: list[tuple[str, Span]], references: list[Span]
) -> None:
    wanted = {place for start, end in references for place in range(start, end)}
    covered = {place for name, (start, end) in passages if name == "a.md" for place in range(start, end)}
    folder = write_excerpts(tmp_path_factory.mktemp("set"), [asking(*references, corpus="a")], a="x" * 90)
    answer = read_excerpts(folder).answers["q1"][1]

    found = overlap(passages, "a.md", answer)

    assert all(0 <= value <= 1 for value in found.values())
    assert found["iou"] <= min(found["recall"], found["precision"]) + 1e-9
    assert found["recall"] == pytest.approx(len(wanted & covered) / len(wanted))
