"""Reading sets of judged questions, their splits and their mistakes."""

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


IN_METADATA = [{**row, "metadata": {"split": split}} for row, split in zip(QUESTIONS, ("dev", "test"), strict=True)]
FIRST, SECOND = qrels([("q1", "d1", 1)]), qrels([("q2", "d2", 1)])


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"qrels.dev.tsv": SECOND}, {None: ["q1", "q2"], "dev": ["q2"]}),
        ({"qrels/dev.tsv": FIRST, "qrels/test.tsv": SECOND}, {None: ["q1", "q2"], "dev": ["q1"], "test": ["q2"]}),
        (
            {"qrels.tsv": None, "qrels/dev.tsv": FIRST, "qrels/test.tsv": SECOND},
            {None: ["q2"], "dev": ["q1"], "test": ["q2"]},
        ),
        ({"queries.jsonl": jsonl(IN_METADATA)}, {None: ["q1", "q2"], "dev": ["q1"], "test": ["q2"]}),
    ],
    ids=["file beside", "folder", "folder only", "metadata"],
)
def test_a_split_is_a_judgement_file_or_a_value_of_the_questions(
    folder: Path, files: dict[str, str | None], expected: dict[str | None, list[str]]
) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text or "", encoding="utf-8")
        if text is None:
            (folder / name).unlink()

    assert {split: ids(read_set(folder, split)) for split in expected} == expected
    assert read_set(folder, "dev").name == "harbour.dev"


def test_a_split_may_have_its_own_questions(folder: Path) -> None:
    (folder / "qrels.hard.tsv").write_text(FIRST, encoding="utf-8")
    (folder / "queries.hard.jsonl").write_text(jsonl([{"_id": "q1", "text": "at which hour"}]), encoding="utf-8")

    assert read_set(folder, "hard").questions == [Question("q1", "at which hour")]


def test_a_split_without_questions_is_an_error(folder: Path) -> None:
    assert refusal(folder, "nope") == "harbour: no question in the split `nope` has a relevant document in qrels.tsv."


# --- mistakes ----------------------------------------------------------------------------------------------------


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    assert refusal(tmp_path / "nope") == f"There is no folder {tmp_path / 'nope'}."


NO_ID = "`_id` is missing or not a string."
INVALID = {  # what a line of a file is, and what is wrong with it
    "{": "not valid JSON.",
    "[" * 100_000: "not valid JSON.",
    "[1]": "not a JSON object.",
    '{"text": "x"}': NO_ID,
    '{"_id": "", "text": "x"}': NO_ID,
    '{"_id": 7, "text": "x"}': NO_ID,
    '{"_id": "z", "text": "x", "metadata": "dev"}': "`metadata` is not a JSON object.",
}
NO_TEXT = "`text` is missing or not a string."
NO_ROW = "not `query-id<TAB>corpus-id<TAB>score`."
ROWS = ("q1\td1", "q1 d1 1", "q1\td1\tyes", "q1\td1\t--1", "q1\t0\td1\t1", "q1\td1\t1.5")


@pytest.mark.parametrize(
    ("name", "line", "expected"),
    [
        *((name, *each) for name in ("corpus.jsonl", "queries.jsonl") for each in INVALID.items()),
        ("corpus.jsonl", '{"_id": "d1", "text": "x"}', "the `_id` `d1` occurs twice."),
        ("queries.jsonl", '{"_id": "q1", "text": "x"}', "the `_id` `q1` occurs twice."),
        *(("queries.jsonl", f'{{"_id": "q3", "text": {text}}}', NO_TEXT) for text in ('""', '"  "', "null", "3")),
        *(("qrels.tsv", row, NO_ROW) for row in ROWS),
        ("qrels.tsv", "q1\td9\t1", "there is no document `d9` in the corpus."),
    ],
)
def test_a_mistake_is_reported_with_file_and_line(folder: Path, name: str, line: str, expected: str) -> None:
    lines = (folder / name).read_text(encoding="utf-8").splitlines()
    (folder / name).write_text("\n".join([*lines, line, ""]), encoding="utf-8")

    assert refusal(folder) == f"{name}, line {len(lines) + 1}: {expected}"


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
def test_an_unreadable_file_is_reported_by_name(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"\xff\xfe\x00")
    assert refusal(folder) == f"Cannot read {name}: it is not UTF-8."

    (folder / name).unlink()
    if name != "corpus.jsonl":  # a set without a corpus is about the project's own index
        assert refusal(folder).startswith(f"Cannot read {name}: ")


@pytest.mark.parametrize("judgements", [[], [("q9", "d1", 1)], [("q1", "d1", 0), ("q2", "d1", -1)]])
@pytest.mark.parametrize("documents", [DOCUMENTS, None])
def test_a_set_without_relevant_documents_is_an_error(
    tmp_path: Path, documents: list[dict[str, str]] | None, judgements: list[tuple[str, str, int]]
) -> None:
    folder = write_set(tmp_path / "empty", documents, QUESTIONS, judgements)

    assert refusal(folder) == "empty: no question has a relevant document in qrels.tsv."
