"""Reading sets of judged questions, their splits and their mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lore_etl.core.errors import InvalidArgument
from lore_etl.pipeline.corpus import CorpusRecord
from lore_server.evaluation.sets import EvaluationSet, Question, read_set
from tests.harness.evaluation import jsonl, qrels, write_set

DOCUMENTS = [{"_id": "d1", "title": "Dawn", "text": "It crosses at dawn."}, {"_id": "d2", "text": "Tides."}]
QUESTIONS = [{"_id": "q1", "text": "when does it cross"}, {"_id": "q2", "text": "what moves the sea"}]
JUDGEMENTS = [("q1", "d1", 1), ("q2", "d2", 2)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_set(tmp_path / "harbour", DOCUMENTS, QUESTIONS, JUDGEMENTS)


def ids(chosen: EvaluationSet) -> list[str]:
    return [question.id for question in chosen.questions]


def refusal(folder: Path, split: str | None = None) -> str:
    with pytest.raises(InvalidArgument) as caught:
        read_set(folder, split)
    return caught.value.message


# --- reading -----------------------------------------------------------------------------------------------------


def test_a_set_has_questions_documents_and_judgements(folder: Path) -> None:
    chosen = read_set(folder)

    assert chosen.name == chosen.corpus == "harbour"
    assert chosen.questions == [Question("q1", "when does it cross"), Question("q2", "what moves the sea")]
    assert chosen.records == [CorpusRecord("d1", "It crosses at dawn.", "Dawn"), CorpusRecord("d2", "Tides.")]
    assert chosen.judgements == {"q1": {"d1": 1}, "q2": {"d2": 2}}


@pytest.mark.parametrize(
    ("row", "path"),
    [
        ({"_id": "src/queue.py"}, "src/queue.py"),
        ({"_id": "README.md"}, "README.md"),
        ({"_id": "17", "metadata": {"path": "/src/queue.py"}}, "src/queue.py"),
        ({"_id": "docs/a.md", "metadata": {"path": "docs/b.md"}}, "docs/b.md"),
        ({"_id": "17", "metadata": {"path": None}}, None),
        ({"_id": "17", "metadata": {"path": "/"}}, None),
        ({"_id": "MED-10"}, None),
    ],
)
def test_a_documents_path_comes_from_its_metadata_or_from_an_id_that_looks_like_a_path(
    folder: Path, row: dict[str, object], path: str | None
) -> None:
    (folder / "corpus.jsonl").write_text(jsonl([{**row, "text": "x"}, *DOCUMENTS]), encoding="utf-8")

    records = read_set(folder).records

    assert records is not None
    assert records[0].path == path


def test_a_documents_language_is_kept(folder: Path) -> None:
    row = {"_id": "c0", "text": "def f(): ...", "metadata": {"language": "python"}}
    (folder / "corpus.jsonl").write_text(jsonl([row, *DOCUMENTS]), encoding="utf-8")

    records = read_set(folder).records

    assert records is not None
    assert (records[0].language, records[1].language) == ("python", None)


def test_a_set_without_a_corpus_queries_the_projects_index_including_unanswerable_questions(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "own", None, QUESTIONS, [("q1", "docs/anything.md", 1)])

    chosen = read_set(folder)

    assert chosen.records is None
    assert chosen.judgements == {"q1": {"docs/anything.md": 1}, "q2": {}}


def test_a_set_with_a_corpus_has_only_its_judged_questions(folder: Path) -> None:
    (folder / "qrels.tsv").write_text(qrels([("q2", "d2", 1)]), encoding="utf-8")

    assert ids(read_set(folder)) == ["q2"]


def test_blank_lines_a_missing_header_and_windows_line_ends_are_accepted(folder: Path) -> None:
    for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"):
        lines = (folder / name).read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if not line.startswith("query-id")]
        (folder / name).write_bytes("\r\n\r\n".join([*kept, ""]).encode())

    assert read_set(folder).judgements == {"q1": {"d1": 1}, "q2": {"d2": 2}}


def test_line_separators_within_a_text_do_not_end_a_line(folder: Path) -> None:
    text = "one\u2028two\x85three"
    row = json.dumps({"_id": "q1", "text": text}, ensure_ascii=False)
    (folder / "queries.jsonl").write_text(row + "\n", encoding="utf-8")

    assert [question.text for question in read_set(folder).questions] == [text]


def test_an_unpaired_surrogate_is_replaced(folder: Path) -> None:
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "why \\ud83d not"}\n', encoding="utf-8")

    (only,) = read_set(folder).questions

    assert only.text == "why \N{REPLACEMENT CHARACTER} not"


# --- splits ------------------------------------------------------------------------------------------------------


def test_a_split_may_be_a_judgement_file_next_to_the_others(folder: Path) -> None:
    (folder / "qrels.dev.tsv").write_text(qrels([("q2", "d2", 1)]), encoding="utf-8")

    chosen = read_set(folder, "dev")

    assert (chosen.name, chosen.corpus, ids(chosen)) == ("harbour.dev", "harbour", ["q2"])
    assert ids(read_set(folder)) == ["q1", "q2"]


def test_a_split_may_have_its_own_questions(folder: Path) -> None:
    (folder / "qrels.hard.tsv").write_text(qrels([("q1", "d1", 1)]), encoding="utf-8")
    (folder / "queries.hard.jsonl").write_text(jsonl([{"_id": "q1", "text": "at which hour"}]), encoding="utf-8")

    assert read_set(folder, "hard").questions == [Question("q1", "at which hour")]


def test_a_split_may_be_a_file_in_the_qrels_folder_and_defaults_to_test(folder: Path) -> None:
    (folder / "qrels.tsv").unlink()
    (folder / "qrels").mkdir()
    (folder / "qrels" / "dev.tsv").write_text(qrels([("q1", "d1", 1)]), encoding="utf-8")
    (folder / "qrels" / "test.tsv").write_text(qrels([("q2", "d2", 1)]), encoding="utf-8")

    assert ids(read_set(folder, "dev")) == ["q1"]
    assert ids(read_set(folder)) == ids(read_set(folder, "test")) == ["q2"]


def test_a_split_may_be_defined_by_the_metadata_of_questions(folder: Path) -> None:
    rows = [{**row, "metadata": {"split": split}} for row, split in zip(QUESTIONS, ("dev", "test"), strict=True)]
    (folder / "queries.jsonl").write_text(jsonl(rows), encoding="utf-8")

    assert ids(read_set(folder, "dev")) == ["q1"]
    assert ids(read_set(folder, "test")) == ["q2"]
    assert ids(read_set(folder)) == ["q1", "q2"]


def test_a_split_without_questions_is_an_error(folder: Path) -> None:
    assert refusal(folder, "nope") == "harbour: no question in the split `nope` has a relevant document in qrels.tsv."


# --- mistakes ----------------------------------------------------------------------------------------------------


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    assert refusal(tmp_path / "nope") == "There is no folder nope."


@pytest.mark.parametrize("name", ["queries.jsonl", "qrels.tsv"])
def test_a_missing_file_is_reported_by_name(folder: Path, name: str) -> None:
    (folder / name).unlink()

    assert refusal(folder).startswith(f"Cannot read {name}: ")


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
def test_a_file_in_another_encoding_is_reported_by_name(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"\xff\xfe\x00")

    assert refusal(folder) == f"Cannot read {name}: it is not UTF-8."


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl"])
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("{", "not valid JSON."),
        ("[" * 100_000, "not valid JSON."),
        ("[1]", "not a JSON object."),
        ('{"text": "x"}', "`_id` is missing or not a string."),
        ('{"_id": "", "text": "x"}', "`_id` is missing or not a string."),
        ('{"_id": 7, "text": "x"}', "`_id` is missing or not a string."),
        ('{"_id": "z", "text": "x", "metadata": "dev"}', "`metadata` is not a JSON object."),
    ],
)
def test_an_invalid_record_is_reported_with_file_and_line(folder: Path, name: str, line: str, expected: str) -> None:
    with open(folder / name, "a", encoding="utf-8") as file:
        file.write(f"{line}\n")

    assert refusal(folder) == f"{name}, line 3: {expected}"


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl"])
def test_a_duplicate_id_is_reported_with_file_and_line(folder: Path, name: str) -> None:
    first = (folder / name).read_text(encoding="utf-8").splitlines()[0]
    with open(folder / name, "a", encoding="utf-8") as file:
        file.write(f"{first}\n")

    assert refusal(folder) == f"{name}, line 3: the `_id` `{json.loads(first)['_id']}` occurs twice."


@pytest.mark.parametrize("text", ['""', '"  "', "null", "3"])
def test_a_question_without_text_is_an_error(folder: Path, text: str) -> None:
    (folder / "queries.jsonl").write_text(f'{{"_id": "q1", "text": {text}}}\n', encoding="utf-8")

    assert refusal(folder) == "queries.jsonl, line 1: `text` is missing or not a string."


@pytest.mark.parametrize("row", ["q1\td1", "q1 d1 1", "q1\td1\tyes", "q1\td1\t--1", "q1\t0\td1\t1", "q1\td1\t1.5"])
def test_an_invalid_judgement_is_reported_with_its_line(folder: Path, row: str) -> None:
    (folder / "qrels.tsv").write_text(f"query-id\tcorpus-id\tscore\n{row}\n", encoding="utf-8")

    assert refusal(folder) == "qrels.tsv, line 2: not `query-id<TAB>corpus-id<TAB>score`."


def test_a_judgement_of_an_unknown_document_is_an_error(folder: Path) -> None:
    (folder / "qrels.tsv").write_text(qrels([("q1", "d1", 1), ("q1", "d9", 1)]), encoding="utf-8")

    assert refusal(folder) == "qrels.tsv, line 3: there is no document `d9` in the corpus."


@pytest.mark.parametrize("judgements", [[], [("q9", "d1", 1)], [("q1", "d1", 0), ("q2", "d1", -1)]])
@pytest.mark.parametrize("documents", [DOCUMENTS, None])
def test_a_set_without_relevant_documents_is_an_error(
    tmp_path: Path, documents: list[dict[str, str]] | None, judgements: list[tuple[str, str, int]]
) -> None:
    folder = write_set(tmp_path / "empty", documents, QUESTIONS, judgements)

    assert refusal(folder) == "empty: no question has a relevant document in qrels.tsv."
