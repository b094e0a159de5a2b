"""Measure answers without a model, and their time beside that of a search: `python -m benchmarks.answers [--list]`.

The questions of `data/evaluation` are asked of the index that `index.toml` describes; sync it first. `--list` prints
the questions that fail. `--project PATH QUESTIONS` measures only the times, on another synced project, with the lines
of a file as questions.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from lore_etl.config.settings import load_settings
from lore_server.answer.passage_answers import CLOSEST, EVIDENCE
from lore_server.app import App
from lore_server.contract import load_contract
from tests.harness.texts import prose_of

ROOT = Path(__file__).parent.parent
EVALUATION = ROOT / "data" / "evaluation"
CAPPED = {  # questions whose answer grows with the code; the judgements stop at ten files
    "s01": "LoreError",
    "s03": "Source",
    "s04": "InvalidArgument",
    "s08": "Protocol",
    "s09": "BaseModel",
    "s10": "StrEnum",
    "s12": "NamedTuple",
}
Question = dict[str, Any]
Reply = dict[str, Any]


class Judged(NamedTuple):
    """The judgement of one reply: the kind of its question, and which checks it passed."""

    id: str
    kind: str
    half: str
    is_shown: bool
    is_found: bool
    is_resolved: bool
    is_lead_whole: bool | None


def questions() -> list[Question]:
    """Return both sets, each question with the files that answer it."""
    gold: dict[str, set[str]] = defaultdict(set)
    for row in (EVALUATION / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        id_, path, _ = row.split("\t")
        gold[id_].add(path)
    found = []
    for name in ("queries", "answers"):
        for line in (EVALUATION / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            one = json.loads(line)
            found.append({**one, "files": gold[one["_id"]] or {place["source"] for place in one.get("evidence", ())}})
    return found


def judge(question: Question, reply: Reply) -> Judged:
    """Return the judgement of a reply."""
    kind = question["metadata"]["kind"]
    checks = {"structural": _is_exact, "prose": _shows_section}
    is_shown = kind != "unanswerable" and checks.get(kind, _shows_file)(question, reply)
    return Judged(
        question["_id"],
        kind,
        _half(question),
        is_shown and reply["found"],
        reply["found"],
        all(map(_resolves, reply["citations"])),
        _is_lead_whole(reply),
    )


def _half(question: Question) -> str:
    """Return one half of the questions: thresholds are chosen on `dev` and reported on `test`."""
    split = question["metadata"]["split"]
    return str(split) if split != "answers" else ("dev" if int(question["_id"][1:]) % 2 else "test")


def _is_lead_whole(reply: Reply) -> bool | None:
    """Return whether the lead is a whole sentence from the prose of a document; None if there is no lead."""
    if reply["mode"] != "extractive" or not reply["found"] or reply["answer"].startswith((EVIDENCE, CLOSEST)):
        return None
    lead, _, number = reply["answer"].partition("\n\n")[0].removesuffix("]").rpartition(" [")
    source = reply["citations"][int(number) - 1]["source"]
    is_prose = source.endswith(".md") and lead in prose_of((ROOT / source).read_text(encoding="utf-8"))
    return bool(is_prose and (lead[0].isupper() or lead[0] in "`\"'(") and lead.rstrip("`\"')")[-1] in ".!")


def _shows_file(question: Question, reply: Reply) -> bool:
    return bool(question["files"] & {one["source"] for one in reply["citations"]})


def _shows_section(question: Question, reply: Reply) -> bool:
    (place,) = question["evidence"]
    shown = [one for one in reply["citations"] if one["source"] == place["source"]]
    section = [
        one["quote"] for one in shown if place["heading"] in one["heading"] or f"# {place['heading']}" in one["quote"]
    ]
    text = " ".join(" ".join(section).split())
    return all(said in text for said in question["says"])


def _is_exact(question: Question, reply: Reply) -> bool:
    if reply["mode"] != "structural":
        return False
    cited = {one["source"] for one in reply["citations"]}
    names = {one["heading"].rpartition(".")[2] for one in reply["citations"]}
    if question["_id"] in CAPPED:
        named, below = set(re.findall(r"`(\w+)` \[", reply["answer"])), subclasses(CAPPED[question["_id"]])
        return named == below or (named < below and f" has at least {len(below)} subclasses" in reply["answer"])
    if "exactly" in question and reply["answer"].startswith(("Ticket", "Release")):
        return _shows_file(question, reply) and all(name in reply["answer"] for name in question["exactly"])
    return bool(cited == question["files"] and names == set(question.get("exactly", names)))


def subclasses(root: str) -> set[str]:
    """Return the classes below a class in the Python files, found by the last name of each base, not by Lore."""
    bases: dict[str, set[str]] = defaultdict(set)
    for name, base in _python_bases():
        bases[base].add(name)
    found: set[str] = set()
    waiting = [root]
    while waiting:
        new = bases[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def _python_bases() -> Iterator[tuple[str, str]]:
    folders = ("etl", "server", "data/sample", "tests", "benchmarks")
    trees = [
        ast.parse(file.read_text(encoding="utf-8")) for folder in folders for file in (ROOT / folder).rglob("*.py")
    ]
    own = {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    for tree in trees:
        foreign = _foreign_names(tree) & own
        classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        for node in classes:
            for base in node.bases:
                name = ast.unparse(base).partition("[")[0].rpartition(".")[2]
                if name not in foreign:
                    yield node.name, name


def _foreign_names(tree: ast.AST) -> set[str]:
    """Return the names that a file imports from other packages."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 0]
    return {
        alias.asname or alias.name
        for node in imports
        if str(node.module).partition(".")[0] not in ("lore_etl", "lore_server", "ferry", "tests", "benchmarks")
        for alias in node.names
    }


def _resolves(citation: Reply) -> bool:
    first, last = citation["lines"]
    lines = (ROOT / citation["source"]).read_text(encoding="utf-8").split("\n")
    return bool("\n".join(lines[first - 1 : last]) == citation["quote"])


class Times:
    """The wall time and processor time of searches and answers, which take turns."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._spent: dict[str, list[tuple[float, float]]] = {"query_documents": [], "ask_knowledge_base": []}

    def ask(self, text: str) -> Reply:
        replies = {}
        is_even = len(self._spent["query_documents"]) % 2 == 0
        for operation in [*self._spent][:: -1 if is_even else 1]:
            asked = text + " " * (operation == "query_documents")  # or one finds the other's result
            wall, processor = time.perf_counter(), time.process_time()
            replies[operation] = self._app.call(operation, {"query": asked})
            self._spent[operation].append((time.perf_counter() - wall, time.process_time() - processor))
        return replies["ask_knowledge_base"]

    def report(self) -> None:
        for number, clock in enumerate(("wall", "processor")):
            points = {
                operation: [
                    1000 * statistics.quantiles([one[number] for one in spent], n=100)[at - 1] for at in (50, 95)
                ]
                for operation, spent in self._spent.items()
            }
            search, answer = points.values()
            shown = (f"{operation} median {p50:.0f} ms, p95 {p95:.0f} ms" for operation, (p50, p95) in points.items())
            print(f"{clock}: {'; '.join(shown)}; ratio {answer[0] / search[0]:.2f}, {answer[1] / search[1]:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--project", nargs=2, type=Path, metavar=("PATH", "QUESTIONS"))
    options = parser.parse_args()
    os.environ.pop("GEMINI_API_KEY", None)
    root, file = options.project or (ROOT, None)
    settings = load_settings(root, None if file else EVALUATION / "index.toml")
    with closing(App(root.resolve(), settings, load_contract())) as app:
        times = Times(app)
        if file:
            for text in file.read_text(encoding="utf-8").splitlines():
                times.ask(text)
        else:
            _print_shares(times, options.list)
    times.report()


def _print_shares(times: Times, is_listed: bool) -> None:
    judged = list[Judged]()
    for question in questions():
        reply = times.ask(question["text"])
        judged.append(judge(question, reply))
        if is_listed and not (
            _is_right(judged[-1]) and judged[-1].is_resolved and judged[-1].is_lead_whole is not False
        ):
            print(f"{judged[-1].id} {question['text']}\n    {reply['answer'][:150]!r} {sorted(question['files'])}")
    columns = [_shares(half) for half in (judged, *(_of_half(judged, name) for name in ("dev", "test")))]
    print("| | all | chosen on (dev) | held out (test) |\n|---|---|---|---|")
    for name in columns[0]:
        print("|", name, "|", " | ".join(column[name] for column in columns), "|")


def _of_half(judged: list[Judged], half: str) -> list[Judged]:
    return [one for one in judged if one.half == half]


def _shares(judged: list[Judged]) -> dict[str, str]:
    """Return the share of right replies of each kind, and of the checks that apply to several kinds."""
    kinds = dict.fromkeys(one.kind for one in judged)
    answerable = [one for one in judged if one.kind != "unanswerable"]
    return {
        **{kind: _share([_is_right(one) for one in judged if one.kind == kind]) for kind in kinds},
        "evidence shown": _share([one.is_shown for one in answerable]),
        "false alarms": _share([not one.is_found for one in answerable]),
        "replies whose citations resolve": _share([one.is_resolved for one in judged]),
        "whole leads": _share([one.is_lead_whole for one in judged if one.is_lead_whole is not None]),
    }


def _is_right(one: Judged) -> bool:
    return not one.is_found if one.kind == "unanswerable" else one.is_shown


def _share(values: list[bool]) -> str:
    return f"{sum(values)} of {len(values)} ({sum(values) / len(values):.1%})"


if __name__ == "__main__":
    main()
