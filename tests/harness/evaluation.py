"""Write sets of judged questions to disk."""

import json
import random
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]
Judgement = tuple[str, str, int]


def jsonl(rows: Iterable[Row]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def qrels(judgements: Iterable[Judgement]) -> str:
    return "query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{d}\t{grade}\n" for q, d, grade in judgements)


def write_set(
    folder: Path, documents: Sequence[Row] | None, questions: Sequence[Row], judgements: Sequence[Judgement]
) -> Path:
    """Write a set in BEIR's format; without documents its questions use the project's own index."""
    folder.mkdir(parents=True, exist_ok=True)
    if documents is not None:
        (folder / "corpus.jsonl").write_text(jsonl(documents), encoding="utf-8")
    (folder / "queries.jsonl").write_text(jsonl(questions), encoding="utf-8")
    (folder / "qrels.tsv").write_text(qrels(judgements), encoding="utf-8")
    return folder


def tuning_set(
    folder: Path, questions: int, is_random: bool, answered: int | None = None, wants_source: bool = False
) -> Path:
    """Write a guide and a source file with the same words for each subject, and a question about it.

    The guide is the relevant document, so weights can rank it first. With `is_random` either file is relevant, and no
    weights help. With `wants_source` the source file is. Only the first `answered` questions have a relevant document.
    """
    numbers = range(questions)
    subjects = [f"zander{number} quill{number} morrow{number}" for number in numbers]
    paths = [(f"docs/topic{number}.md", f"src/topic{number}.c") for number in numbers]
    documents = [
        {"_id": path, "text": f"About {text} and more.\n"}
        for text, pair in zip(subjects, paths, strict=True)
        for path in pair
    ]
    sides = [number % 2 if is_random else int(wants_source) for number in numbers]
    random.Random(11).shuffle(sides)
    count = questions if answered is None else answered
    judgements = [(f"q{number}", paths[number][sides[number]], int(number < count)) for number in numbers]
    return write_set(folder, documents, [{"_id": f"q{n}", "text": text} for n, text in enumerate(subjects)], judgements)


def commit(root: Path, message: str, *arguments: str) -> None:
    """Commit everything below the folder, and create the git repository if it is missing."""
    if not (root / ".git").exists():
        git(root, "init", "--quiet")
    git(root, "add", "--all")
    identity = ("-c", "user.name=Tester", "-c", "user.email=tester@example.org", "-c", "commit.gpgsign=false")
    git(root, *identity, "commit", "--quiet", "--allow-empty", "--message", message, *arguments)


def git(root: Path, *arguments: str, given: str = "") -> str:
    """Run git in a folder, with a text as its input, and return its output."""
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, input=given).stdout
