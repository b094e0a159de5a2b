"""An evaluation with the stand-in model: indexing, relevance, saved reports, comparison."""

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from lore_etl.config.settings import QuerySettings, Settings
from lore_etl.core.errors import IndexMissing, InvalidArgument, NotFound, ProviderError, StorageError
from lore_server.evaluation import measures as reports
from lore_server.evaluation.bench import RANKINGS, Bench, open_bench, scratch_index
from lore_server.evaluation.evaluate import evaluate_folder
from lore_server.evaluation.measures import MEASURES, Report
from lore_server.evaluation.sets import read_set
from lore_server.query.query_service import QueryService
from lore_server.query.ranking import CLASSIC, HYBRID
from tests.harness.evaluation import commit, jsonl, qrels, write_set
from tests.harness.models import HashModel, counter
from tests.harness.projects import open_index, sync_once, write_project
from tests.harness.texts import words

SUBJECTS = {
    "ferry": "The ferry crosses the strait at dawn and returns after lunch.",
    "tide": "Tables of the tide are kept by the harbour master in his office.",
    "berth": "Each berth holds one vessel for the night, and the fee is posted.",
    "light": "The lighthouse keeper trims the lamp whenever fog is announced.",
    "rope": "Ropes are spliced in the shed behind the customs building.",
}
QUESTIONS = {
    "ferry": "strait crosses at dawn",
    "tide": "tables kept by the harbour master",
    "berth": "one vessel for the night",
    "light": "lamp trims fog keeper",
    "rope": "ropes spliced in the shed",
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the evaluations of this test, after loading the tokenizer from the machine's own cache."""
    counter()
    monkeypatch.setenv("LORE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    documents = [{"_id": subject, "text": text} for subject, text in SUBJECTS.items()]
    questions = [{"_id": f"q-{question}", "text": text} for question, text in QUESTIONS.items()]
    return write_set(tmp_path / "harbour", documents, questions, [(f"q-{subject}", subject, 1) for subject in SUBJECTS])


def evaluated(
    folder: Path | None, root: Path, model: HashModel, rankings: Sequence[str] = RANKINGS, split: str | None = None
) -> Report:
    return evaluate_folder(folder, split, root, Settings(), rankings, model=model)


def runs(folder: Path, model: HashModel, ranking: str) -> dict[str, list[str]]:
    """Return the documents found for each question, best first."""
    chosen = read_set(folder)
    with open_bench(chosen, folder, Settings(), model=model) as (bench, _):
        ranked = bench.rank(bench.retrieve(chosen.questions), ranking)
        return bench.runs(ranked)


# --- a set with its own documents --------------------------------------------------------------------------------


def test_every_ranking_has_every_measure_and_finds_words_of_one_document_and_a_second_evaluation_embeds_nothing(
    folder: Path, model: HashModel
) -> None:
    found = evaluated(folder, folder, model)
    assert (found.name, found.questions, tuple(found.values)) == ("harbour", 5, RANKINGS)
    for values in found.values.values():
        assert values.keys() == MEASURES.keys()
        assert all(each.keys() == {f"q-{subject}" for subject in SUBJECTS} for each in values.values())
    assert len(model.embedder.embedded) == len(SUBJECTS)
    assert evaluated(folder, folder, model) == found
    assert len(model.embedder.embedded) == len(SUBJECTS)

    means = evaluated(folder, folder, model, ["hybrid", "vectors", "keywords"]).summary()
    assert list(means) == ["hybrid", "vectors", "keywords"]
    for ranking in means:
        assert {name: means[ranking][name] for name in MEASURES} == dict.fromkeys(MEASURES, 1.0)
        assert means[ranking]["intervals"] == {name: [1.0, 1.0] for name in MEASURES}


def test_each_document_of_the_set_is_found_once_however_it_is_indexed(tmp_path: Path, model: HashModel) -> None:
    long = "\n\n".join(f"{words(60, 'dawn')} paragraph{number}" for number in range(12))
    documents = [
        {"_id": "17", "text": long, "metadata": {"path": "docs/dawn.md"}},
        {"_id": "18", "text": "def ferry(): ...", "metadata": {"path": "src/a.py"}},
        {"_id": "19", "text": "def dawn(): ...", "metadata": {"path": "src/a.py"}},
    ]
    folder = write_set(tmp_path / "set", documents, [{"_id": "q", "text": "dawn"}], [("q", "17", 1)])

    for ranking in RANKINGS:
        found = runs(folder, model, ranking)["q"]
        assert {"17", "19"} <= set(found) <= {"17", "18", "19"}
        assert len(found) == len(set(found))


def test_splits_of_a_set_share_embeddings_but_sets_with_a_dot_in_their_name_do_not(
    folder: Path, tmp_path: Path, cache: Path, model: HashModel
) -> None:
    (folder / "qrels.dev.tsv").write_text(qrels([("q-tide", "tide", 1)]), encoding="utf-8")
    whole, part = evaluated(folder, tmp_path, model), evaluated(folder, tmp_path, model, split="dev")
    other = evaluated(folder.rename(tmp_path / "harbour.2"), tmp_path, model)

    assert [project.name for project in (whole, part, other)] == ["harbour", "harbour.dev", "harbour.2"]
    kept = [entry.name.rpartition("-")[0] for entry in (cache / "evaluation").iterdir()]
    assert sorted(kept) == ["harbour", "harbour.2"]


def test_an_evaluation_modifies_neither_the_set_nor_the_project_and_its_saved_report_is_read_back_unchanged(
    folder: Path, tmp_path: Path, model: HashModel
) -> None:
    root, run = write_project(tmp_path / "project", {"a.md": "# Alpha\n"}), tmp_path / "run.json"
    before = {path: path.read_bytes() for base in (folder, root) for path in base.rglob("*") if path.is_file()}

    found = evaluated(folder, root, model)
    reports.save(found, run)

    assert before == {path: path.read_bytes() for base in (folder, root) for path in base.rglob("*") if path.is_file()}
    assert reports.load(run) == found
    assert json.loads(run.read_text())["values"]["hybrid"]["ndcg@10"]["q-tide"] == 1.0


def test_configured_weights_apply_only_to_the_configured_ranking(model: HashModel) -> None:
    settings = Settings(query=QuerySettings(ranking="classic", weights={"guideMatch": 7}))
    with scratch_index("any", settings, model) as index:
        bench = Bench(QueryService(index), settings, lambda result: result.source)

        assert bench.weights("classic") == {**CLASSIC, "guideMatch": 7}
        assert bench.weights("hybrid") == HYBRID


def test_a_question_that_cannot_be_embedded_and_a_cache_folder_that_cannot_be_created_are_errors(
    folder: Path, model: HashModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.embedder.refuses.append("harbour master?")
    with open(folder / "queries.jsonl", "a", encoding="utf-8") as file:
        file.write(jsonl([{"_id": "odd", "text": "who is the harbour master?"}]))
    with open(folder / "qrels.tsv", "a", encoding="utf-8") as file:
        file.write("odd\ttide\t1\n")
    with pytest.raises(ProviderError, match="Question `odd`"):
        evaluated(folder, folder, model)

    monkeypatch.setenv("LORE_CACHE", str(folder / "queries.jsonl"))
    with pytest.raises(StorageError):
        evaluated(folder, folder, model)


# --- a set for the project's own index ---------------------------------------------------------------------------


def test_without_a_corpus_the_projects_own_files_are_searched_and_a_document_missing_from_the_index_is_a_miss(
    tmp_path: Path, model: HashModel
) -> None:
    root = write_project(
        tmp_path / "project", {f"docs/{subject}.md": f"# {subject}\n\n{text}\n" for subject, text in SUBJECTS.items()}
    )
    questions = [{"_id": question, "text": text} for question, text in QUESTIONS.items()]
    relevant = [(subject, f"docs/{subject}.md", 1) for subject in SUBJECTS]
    own = write_set(tmp_path / "own", None, questions, relevant)
    more = write_set(
        tmp_path / "more", None, questions, [*relevant, *((subject, "gone.md", 1) for subject in SUBJECTS)]
    )

    with pytest.raises(IndexMissing):
        evaluated(own, root, model)
    sync_once(root, model=model)

    for folder, recall in ((own, 1.0), (more, 0.5)):
        assert evaluated(folder, root, model, ["keywords"]).summary()["keywords"]["recall@10"] == recall


# --- a set from the project's history ----------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path, model: HashModel) -> Path:
    """Return a synced repository with two tickets that each changed a file."""
    tickets = {
        f"issues/issue-{number}.md": f"# {QUESTIONS[subject]}\n" for number, subject in ((1, "ferry"), (2, "tide"))
    }
    root = write_project(tmp_path / "project", {**tickets, "lore.toml": ""})
    commit(root, "Begin")
    for number, subject in ((1, "ferry"), (2, "tide")):
        write_project(root, {f"docs/{subject}.md": f"# {subject}\n\n{SUBJECTS[subject]}\n"})
        commit(root, f"Say it. Fixes #{number}")
    sync_once(root, model=model)
    return root


def test_a_ticket_question_expects_the_files_changed_by_its_commits_and_no_tickets_and_there_are_no_splits(
    project: Path, model: HashModel
) -> None:
    found = evaluated(None, project, model)
    assert (found.name, found.questions) == ("history", 2)
    assert found.values["keywords"]["mrr@10"] == {"issues/issue-1.md": 1.0, "issues/issue-2.md": 1.0}
    assert found.values["hybrid"]["mrr@10"] == {"issues/issue-1.md": 1.0, "issues/issue-2.md": 1.0}

    with pytest.raises(InvalidArgument, match="no splits"):
        evaluated(None, project, model, split="dev")


def test_a_history_without_tickets_releases_the_index(tmp_path: Path, model: HashModel) -> None:
    root = write_project(tmp_path / "project", {"a.md": "# Alpha\n"})
    commit(root, "Begin")
    sync_once(root, model=model)

    with pytest.raises(NotFound):
        evaluated(None, root, model)
    with closing(open_index(root, model=model)) as index:
        index.own()


# --- an excerpt set ----------------------------------------------------------------------------------------------


@pytest.fixture
def excerpts(tmp_path: Path) -> Path:
    """Return two documents with a passage each, and a question about the first."""
    folder = tmp_path / "excerpts"
    for subject in ("ferry", "tide"):
        write_project(folder, {f"corpora/{subject}.txt": SUBJECTS[subject]})
    start = SUBJECTS["ferry"].index("at dawn")
    row = {"_id": "q", "text": QUESTIONS["ferry"], "corpus_id": "ferry",
           "references": [{"start": start, "end": start + 7}]}  # fmt: skip
    (folder / "questions.jsonl").write_text(jsonl([row]), encoding="utf-8")
    return folder


def test_an_excerpt_set_measures_the_coverage_of_the_best_five_passages_which_the_classic_ranking_does_not_have(
    excerpts: Path, model: HashModel
) -> None:
    found = evaluated(excerpts, excerpts, model)
    wanted, given = 7, len(SUBJECTS["ferry"]) + len(SUBJECTS["tide"])
    assert set(found.values) == {"hybrid", "vectors", "keywords"}
    assert found.values["vectors"] == {
        "recall@5": {"q": 1.0},
        "precision@5": {"q": pytest.approx(wanted / given)},
        "iou@5": {"q": pytest.approx(wanted / given)},
    }

    with pytest.raises(InvalidArgument, match="passages"):
        evaluated(excerpts, excerpts, model, ["classic"])


# --- saved runs --------------------------------------------------------------------------------------------------


def report(name: str = "harbour", **values: dict[str, float]) -> Report:
    """Return a report with a single measure, from a mapping ranking -> question -> value."""
    return Report(name, 2, {ranking: {"ndcg@10": each} for ranking, each in values.items()})


@pytest.mark.parametrize(
    "content",
    [None, "", "{", "[]", "{}", '{"name": "x", "questions": 1}',
     '{"name": "x", "questions": 1, "values": {"hybrid": 3}}',
     '{"name": "x", "questions": 1, "values": {"hybrid": {"ndcg@10": {"q": null}}}}',
     '{"name": "x", "questions": "many", "values": {}}'],
)  # fmt: skip
def test_an_invalid_or_missing_saved_report_is_an_error(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "run.json").write_text(content)

    with pytest.raises(InvalidArgument, match=r"Cannot read run\.json|run\.json is not a saved evaluation"):
        reports.load(tmp_path / "run.json")


def test_a_comparison_covers_the_rankings_measures_and_questions_of_both_reports() -> None:
    ours = report(hybrid={"a": 0.5, "b": 1.0}, vectors={"a": 1.0})
    theirs = report(hybrid={"a": 0.5, "b": 0.5, "c": 0.0}, keywords={"a": 1.0})

    found = ours.against(theirs)

    assert found.keys() == {"hybrid"}
    assert found["hybrid"]["ndcg@10"].difference == 0.25
    assert ours.between("vectors", "hybrid", "ndcg@10").difference == 0.5  # of the one question that both have


@pytest.mark.parametrize("theirs", [report(hybrid={"c": 0.0}), report(keywords={"a": 1.0}), report()])
def test_reports_with_nothing_in_common_do_not_count_as_equal(theirs: Report) -> None:
    with pytest.raises(InvalidArgument, match="no questions in common"):
        report(hybrid={"a": 0.5}).against(theirs)
