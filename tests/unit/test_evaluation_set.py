"""The evaluation set in the repository is consistent with the files it judges."""

import json
import re
from collections import Counter
from typing import Any

import pytest

from lore_etl.config.settings import load_settings
from lore_etl.files.ignore import rules_for
from lore_etl.files.scan import walk
from lore_etl.sources.kinds import SourceSet
from lore_etl.sources.source import SourceContext
from tests.harness.projects import ROOT

EVALUATION = ROOT / "data" / "evaluation"
LEAST = {"type": 50, "name": 35, "structural": 20, "version": 10}
SORTS = {"foreign subject": 8, "foreign technology": 8, "near miss": 8}
MIN_IN_ALL = 150
MAX_GOLD = 10

Question = dict[str, Any]


@pytest.fixture(scope="module")
def questions() -> list[Question]:
    lines = (EVALUATION / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def judgements() -> list[list[str]]:
    rows = (EVALUATION / "qrels.tsv").read_text(encoding="utf-8").splitlines()
    assert rows[0] == "query-id\tcorpus-id\tscore"
    return [row.split("\t") for row in rows[1:]]


@pytest.fixture(scope="module")
def gold(questions: list[Question], judgements: list[list[str]]) -> dict[str, list[str]]:
    return {question["_id"]: [path for id_, path, _ in judgements if id_ == question["_id"]] for question in questions}


@pytest.fixture(scope="module")
def corpus() -> dict[str, str]:
    """Return the type of each file in the index of the evaluation set."""
    settings = load_settings(ROOT, EVALUATION / "index.toml")
    paths = list(walk(ROOT, rules_for(ROOT, settings.index.exclude)).files)
    sources = SourceSet(SourceContext(paths, lambda path: (ROOT / path).read_text(encoding="utf-8")), settings.sources)
    owned = ((path, sources.owner(path)) for path in paths)
    return {path: owner.document(path, "").type.value for path, owner in owned if owner}


def of_kind(questions: list[Question], kind: str) -> list[Question]:
    return [question for question in questions if question["metadata"]["kind"] == kind]


def types(question: Question) -> set[str]:
    expected = question["metadata"]["type"]
    return {expected} if isinstance(expected, str) else set(expected)


def test_every_question_is_unique_and_has_a_unique_id(questions: list[Question]) -> None:
    assert len({question["_id"] for question in questions}) == len(questions)
    assert len({question["text"].casefold() for question in questions}) == len(questions)
    assert all(question["text"].strip() == question["text"] != "" for question in questions)


def test_there_are_enough_questions_of_each_kind_and_no_other_kinds(questions: list[Question]) -> None:
    counts = Counter(question["metadata"]["kind"] for question in questions)
    sorts = Counter(question["metadata"]["sort"] for question in of_kind(questions, "unanswerable"))

    assert set(counts) == {*LEAST, "unanswerable"}
    assert all(counts[kind] >= least for kind, least in LEAST.items())
    assert sorts == SORTS
    assert counts.total() >= MIN_IN_ALL


def test_each_split_has_half_of_each_kind(questions: list[Question]) -> None:
    for kind in (*LEAST, "unanswerable"):
        split = Counter(question["metadata"]["split"] for question in of_kind(questions, kind))

        assert set(split) == {"dev", "test"}
        assert abs(split["dev"] - split["test"]) <= 1


def test_every_judgement_is_unique_and_belongs_to_a_question(
    questions: list[Question], judgements: list[list[str]]
) -> None:
    ids = {question["_id"] for question in questions}

    assert all(id_ in ids and score == "1" for id_, _, score in judgements)
    assert len({(id_, path) for id_, path, _ in judgements}) == len(judgements)


def test_only_unanswerable_questions_have_no_gold_files(questions: list[Question], gold: dict[str, list[str]]) -> None:
    for question in questions:
        is_answerable = question["metadata"]["kind"] != "unanswerable"

        assert is_answerable == (0 < len(gold[question["_id"]]) <= MAX_GOLD), question["_id"]


def test_every_gold_file_is_in_the_index(gold: dict[str, list[str]], corpus: dict[str, str]) -> None:
    wanted = {path for paths in gold.values() for path in paths}

    assert wanted <= set(corpus)
    assert all((ROOT / path).is_file() for path in wanted)


def test_the_evaluation_set_is_not_indexed(corpus: dict[str, str]) -> None:
    assert not [path for path in corpus if path.startswith("data/evaluation/")]


def test_the_expected_types_match_the_gold_files(
    questions: list[Question], gold: dict[str, list[str]], corpus: dict[str, str]
) -> None:
    for question in questions:
        if gold[question["_id"]]:
            assert types(question) == {corpus[path] for path in gold[question["_id"]]}, question["_id"]


def test_the_only_gold_file_of_a_name_contains_it_or_has_that_name(
    questions: list[Question], gold: dict[str, list[str]]
) -> None:
    for question in of_kind(questions, "name"):
        name = question["text"].removesuffix("()")
        (path,) = gold[question["_id"]]
        is_the_file = f"/{path}".endswith(f"/{name}")
        parts = set(re.findall(r"\w+", (ROOT / path).read_text(encoding="utf-8")))

        assert re.fullmatch(r"[\w./-]+", name), name
        assert is_the_file or name.rpartition(".")[2] in parts, name


def test_an_unanswerable_question_contains_no_name_from_the_corpus(
    questions: list[Question], corpus: dict[str, str]
) -> None:
    text = "\n".join((ROOT / path).read_text(encoding="utf-8") for path in corpus)
    names = set(re.findall(r"\w*(?:_\w|[a-z][A-Z])\w*", text))

    for question in of_kind([*questions, *answers()], "unanswerable"):
        assert names.isdisjoint(re.findall(r"\w+", question["text"])), question["text"]


def test_every_question_for_a_version_contains_the_version(questions: list[Question]) -> None:
    assert all(re.search(r"\bv?\d+\.\d+\.\d+\b", question["text"]) for question in of_kind(questions, "version"))


def answers() -> list[Question]:
    lines = (EVALUATION / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def section(path: str, heading: str) -> str:
    """Return the text of a Markdown section, without the sections below it."""
    text = (ROOT / path).read_text(encoding="utf-8")
    parts = re.split(r"^#{1,6} +(.+)$", text, flags=re.MULTILINE)
    return "\n".join(body for title, body in zip(parts[1::2], parts[2::2], strict=True) if title == heading)


def test_questions_for_answers_are_unique_and_separate_from_the_others(questions: list[Question]) -> None:
    texts = [question["text"] for question in [*questions, *answers()]]
    ids = [question["_id"] for question in [*questions, *answers()]]

    assert len(answers()) == 40
    assert len(set(texts)) == len(texts)
    assert len(set(ids)) == len(ids)
    assert all(answer["metadata"]["split"] == "answers" for answer in answers())


def test_the_evidence_for_an_answer_is_where_it_is_judged_to_be(corpus: dict[str, str]) -> None:
    for answer in answers():
        kind = answer["metadata"]["kind"]
        assert {place["source"] for place in answer["evidence"]} <= set(corpus), answer["_id"]
        assert bool(answer["evidence"]) == (kind != "unanswerable"), answer["_id"]
        if kind == "prose":
            (place,) = answer["evidence"]
            text = " ".join(section(place["source"], place["heading"]).split())
            assert answer["says"] and all(quote in text for quote in answer["says"]), answer["_id"]
