"""Run `lore eval` and `lore tune` with the real model, and check their output and exit codes."""

import json
import tomllib
from functools import partial
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.harness.commands import run_lore
from tests.harness.evaluation import commit, tuning_set, write_set
from tests.harness.projects import write_project

MEASURES = {"ndcg@10", "recall@10", "recall@100", "mrr@10"}
ANSWERS = {
    "ferry": "The ferry crosses the strait at dawn and returns after lunch.",
    "tide": "High water comes twice a day; the moon is what moves the sea.",
    "bread": "Knead the dough for ten minutes and let it rise overnight.",
    "stars": "On a clear night the telescope shows the rings of Saturn.",
    "rust": "Iron that is left in the rain corrodes; a coat of paint prevents it.",
    "chess": "A knight moves in the shape of an L and may jump over other pieces.",
    "tea": "Green leaves are steeped for two minutes in water well below boiling.",
    "goat": "Goats climb trees in dry summers to reach the last green leaves.",
}
QUESTIONS = {
    "ferry": "when does the boat leave in the morning",
    "tide": "why does the ocean rise and fall",
    "bread": "how do I bake a loaf",
    "stars": "what can be seen of the planets",
    "rust": "how to protect metal outdoors",
    "chess": "which piece can leap in a board game",
    "tea": "brewing a hot drink",
    "goat": "animals that eat foliage",
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    documents = [{"_id": answer, "text": text} for answer, text in ANSWERS.items()]
    questions = [{"_id": f"q-{question}", "text": text} for question, text in QUESTIONS.items()]
    judgements = [(f"q-{answer}", answer, 1) for answer in ANSWERS]
    return write_set(tmp_path_factory.mktemp("sets") / "everyday", documents, questions, judgements)


def run(cache: str, *arguments: str, cwd: Path) -> CompletedProcess[str]:
    return run_lore(*arguments, cwd=cwd, LORE_CACHE=cache)


@pytest.fixture
def lore(cache: str, tmp_path: Path) -> partial[CompletedProcess[str]]:
    """Return a function that runs the command in an empty folder, with the evaluations of this module."""
    return partial(run, cache, cwd=tmp_path)


Lore = partial[CompletedProcess[str]]


def test_an_evaluation_prints_every_measure_of_every_ranking_as_json(lore: Lore, folder: Path, tmp_path: Path) -> None:
    done = lore("eval", str(folder), "--json")

    found = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(found) == ["hybrid", "vectors", "keywords", "classic"]
    for values in found.values():
        assert values.keys() == {*MEASURES, "intervals"}
        for name in MEASURES:
            low, high = values["intervals"][name]
            assert 0 <= low <= values[name] <= high <= 1
    assert found["vectors"]["ndcg@10"] > 0.8
    assert list(tmp_path.iterdir()) == []


def test_an_evaluation_prints_a_table_with_the_differences_between_rankings(lore: Lore, folder: Path) -> None:
    lines = lore("eval", str(folder), "--ranking", "vectors", "--ranking", "keywords").stdout.splitlines()

    assert lines[0] == "everyday: 8 questions, means with 95 % intervals"
    assert lines[1].split() == ["vectors", "keywords"]
    assert [line.split()[0] for line in lines[2:6]] == ["ndcg@10", "recall@10", "recall@100", "mrr@10"]
    assert lines[6].startswith("vectors − keywords, ndcg@10: +")
    assert len(lines) == 7


def test_a_gate_compares_with_a_saved_run_and_fails_only_on_a_significant_loss(
    lore: Lore, folder: Path, tmp_path: Path
) -> None:
    """The gate passes against the same run, and fails against a run with perfect values."""
    saved = lore("eval", str(folder), "--ranking", "keywords", "--save", "run.json")
    same = lore("eval", str(folder), "--ranking", "keywords", "--json", "--compare", "run.json", "--gate", "run.json")
    run = json.loads((tmp_path / "run.json").read_text())
    run["values"]["keywords"] = {name: dict.fromkeys(each, 1.0) for name, each in run["values"]["keywords"].items()}
    (tmp_path / "better.json").write_text(json.dumps(run))
    worse = lore("eval", str(folder), "--ranking", "keywords", "--compare", "better.json")
    gated = lore("eval", str(folder), "--ranking", "keywords", "--gate", "better.json")

    assert (saved.returncode, same.returncode, worse.returncode, gated.returncode) == (0, 0, 0, 1)
    compared = json.loads(same.stdout)["compared"]["keywords"]
    assert compared == {name: {"difference": 0.0, "interval": [0.0, 0.0], "p": 1.0} for name in MEASURES}
    assert "Against better.json:" in worse.stdout
    assert "Significantly worse than better.json: keywords ndcg@10" in gated.stderr


def test_a_gate_fails_if_the_runs_share_no_questions(lore: Lore, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text(
        json.dumps({"name": "other", "questions": 1, "values": {"keywords": {"ndcg@10": {"unknown": 0.0}}}})
    )

    done = lore("eval", str(folder), "--ranking", "keywords", "--gate", "other.json")

    assert done.returncode == 2
    assert "other, have no questions in common" in done.stderr


def test_questions_without_a_corpus_or_from_git_use_the_projects_own_index(
    cache: str, lore: Lore, tmp_path: Path
) -> None:
    root = write_project(tmp_path / "project", {"issues/issue-1.md": f"# {QUESTIONS['tide']}\n"})
    commit(root, "Begin")
    write_project(
        root, {f"docs/{answer}.md": f"# Notes\n\n{text}\n" for answer, text in ANSWERS.items() if answer != "tide"}
    )
    commit(root, "More")
    write_project(root, {"docs/tide.md": f"# Notes\n\n{ANSWERS['tide']}\n"})
    commit(root, "The moon does it, fixes #1")
    questions = [{"_id": question, "text": text} for question, text in QUESTIONS.items()]
    folder = write_set(tmp_path / "own", None, questions, [(answer, f"docs/{answer}.md", 1) for answer in ANSWERS])

    before = lore("eval", str(folder), "-C", str(root))
    assert run(cache, "sync", cwd=root).returncode == 0
    own = lore("eval", str(folder), "-C", str(root), "--json", "--ranking", "vectors")
    history = run(cache, "eval", "--from-git", "--json", cwd=root)

    assert before.returncode == 1
    assert "lore sync" in before.stderr
    assert json.loads(own.stdout)["vectors"]["ndcg@10"] > 0.8
    assert json.loads(history.stdout)["vectors"]["mrr@10"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["eval"], 2, "either a folder with a set or --from-git"),
        (["eval", "SET", "--from-git"], 2, "either a folder with a set or --from-git"),
        (["eval", "nope"], 2, "no folder nope"),
        (["eval", "."], 2, "Cannot read queries.jsonl"),
        (["eval", "SET", "--ranking", "best"], 2, "Rankings: hybrid, vectors, keywords, classic"),
        (["eval", "SET", "--split", "nope"], 2, "no question in the split `nope`"),
        (["eval", "SET", "--compare", "nope.json"], 2, "Cannot read nope.json"),
        (["eval", "SET", "--save", "nope/run.json"], 2, "no folder nope"),
        (["eval", "--from-git"], 1, "no index"),
        (["tune"], 2, "either a folder with a set or --from-git"),
        (["tune", "SET"], 2, "8 questions are too few"),
    ],
)
def test_a_usage_error_is_reported_with_its_exit_code(
    lore: Lore, folder: Path, arguments: list[str], code: int, expected: str
) -> None:
    done = lore(*(str(folder) if argument == "SET" else argument for argument in arguments))

    assert done.returncode == code
    assert expected in done.stderr
    assert "Traceback" not in done.stderr


CONFIG = "# Ours\n[query]\nnResults = 10 # few\n\n[answer]\nprovider = 'none'\n"


@pytest.mark.later
def test_weights_that_improve_unseen_questions_are_written_and_used_by_the_search(cache: str, tmp_path: Path) -> None:
    root = write_project(tmp_path / "project", {"lore.toml": CONFIG})
    folder = tuning_set(tmp_path / "helps", 40, is_random=False)

    tried = run(cache, "tune", str(folder), "--json", "--dry-run", cwd=root)
    unchanged = (root / "lore.toml").read_text()
    tuned = run(cache, "tune", str(folder), cwd=root)
    after = run(cache, "eval", str(folder), "--json", "--ranking", "hybrid", cwd=root)

    record = json.loads(tried.stdout)
    assert (tried.returncode, record["generalises"], record["written"]) == (0, True, False)
    assert unchanged == CONFIG
    assert tuned.returncode == 0
    assert "Written to lore.toml." in tuned.stdout
    text = (root / "lore.toml").read_text()
    assert tomllib.loads(text)["query"] == {"nResults": 10, "weights": record["weights"]}
    assert text.startswith("# Ours\n[query]\nnResults = 10 # few\n")
    assert json.loads(after.stdout)["hybrid"]["ndcg@10"] == pytest.approx(record["after"], abs=1e-4)


@pytest.mark.later
def test_weights_that_fit_only_by_chance_are_refused_and_not_written(cache: str, tmp_path: Path) -> None:
    root = write_project(tmp_path / "project", {"lore.toml": CONFIG})
    folder = tuning_set(tmp_path / "chance", 40, is_random=True)

    done = run(cache, "tune", str(folder), cwd=root)

    assert done.returncode == 1
    assert "Nothing was written to lore.toml" in done.stdout
    assert (root / "lore.toml").read_text() == CONFIG
