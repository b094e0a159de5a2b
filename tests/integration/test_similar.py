"""Pages that were copied into several folders are one result."""

import json
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lore_etl.config.settings import load_settings
from lore_etl.index import Index
from lore_etl.pipeline.sync import sync
from lore_server.app import App
from lore_server.evaluation.evaluate import evaluate_folder
from lore_server.operations.table import render
from tests.harness.calls import Opener
from tests.harness.evaluation import git
from tests.harness.models import LOADED
from tests.harness.projects import ROOT, write_project

PAGE = "# Install the ferry {version}\n\nPull the anchor, then [start]({link}) the engine of the ferry.\n"
OTHERS = {
    "docs/engine.md": "# Engine\n\nThe engine of a ferry needs oil.\n",
    "docs/anchor.md": "# Anchor\n\nThe anchor of the ferry is heavy.\n",
}
Open = Callable[[Mapping[str, str]], App]
EVALUATION = ROOT / "data" / "evaluation"
LOSS = 0.02  # of nDCG


@pytest.fixture
def opened(synced_app_of: Opener) -> Open:
    return lambda files: synced_app_of({**OTHERS, **files})


def search(app: App, query: str = "install the ferry anchor engine", **arguments: Any) -> dict[str, Any]:
    return app.call("query_documents", {"query": query, "max_tokens": 20_000, **arguments})


def sources(reply: dict[str, Any]) -> list[str]:
    return [one["source"] for one in reply["results"]]


def page(version: str = "1.2", link: str = "start.md") -> str:
    return PAGE.format(version=version, link=link)


COPIES = [f"docs/{name}/install.md" for name in ("de", "en", "es-mx", "fr-ca", "pt-br")]


def test_five_copies_of_a_page_are_one_result_and_one_reference_but_each_is_found_by_its_path(opened: Open) -> None:
    app = opened(dict.fromkeys(COPIES, page()))
    reply = search(app)

    (result,) = [one for one in reply["results"] if "similar" in one]
    assert (result["source"], result["similar"], result["similar_sources"]) == (COPIES[0], 4, COPIES[1:])
    assert sorted(sources(reply)) == sorted([COPIES[0], *OTHERS])
    text = render("query_documents", reply).whole()
    assert f"and 4 similar: {', '.join(COPIES[1:4])}, …" in text

    answer = app.call("ask_knowledge_base", {"query": "How do I install the ferry?"})
    assert len([one for one in answer["references"] if one["source"] in COPIES]) == 1

    for path in COPIES:
        reply = search(app, path=path)
        assert sources(reply) == [path]
        assert "similar" not in reply["results"][0]


def test_the_copy_nearest_to_the_root_is_shown_in_the_place_of_the_best(opened: Open) -> None:
    copies = {"install.md": page(), "docs/install/ferry/anchor/engine.md": page()}

    reply = search(opened(copies), explain=True)

    (result,) = [one for one in reply["results"] if "similar" in one]
    assert result["source"] == "install.md"
    assert sum(why["value"] for why in result["why"]) == pytest.approx(result["score"], abs=0.02)
    scores = [one["score"] for one in reply["results"]]
    assert scores == sorted(scores, reverse=True)


def test_copies_with_another_version_in_the_title_and_other_links_are_similar(opened: Open) -> None:
    files = {path: page(f"1.{n}", "../" * n + "start.md") for n, path in enumerate(COPIES)}

    (result,) = [one for one in search(opened(files))["results"] if "similar" in one]

    assert result["similar"] == 4


@pytest.mark.parametrize(
    "files",
    [
        {"docs/a/ferry.md": page(), "docs/b/ferry.md": page().replace("anchor", "anchor twice")},
        {"docs/a/ferry.md": f"{page()}\nWait 30 seconds.\n", "docs/b/ferry.md": f"{page()}\nWait 60 seconds.\n"},
        {"docs/a/ferry.md": page(), "docs/b/ferry.md": f"{page()}\n## 1.3\n\nThe anchor is lighter.\n"},
        {"release-notes/v1.0.0.md": page("1.0.0"), "release-notes/v1.0.1.md": page("1.0.1")},
        {"docs/a/ferry.md": page(), "examples/ferry.md": page()},
    ],
    ids=["a word", "a number in the text", "a further section", "versions of a release", "another type"],
)
def test_documents_that_differ_in_substance_stay_apart(opened: Open, files: dict[str, str]) -> None:
    reply = search(opened(files))

    assert set(sources(reply)) == {*files, *OTHERS}
    assert not any("similar" in one for one in reply["results"])


@pytest.mark.promise(23)
def test_a_thousand_copies_leave_room_for_the_other_results(opened: Open) -> None:
    app = opened({f"docs/copies/{n:04}/install.md": page() for n in range(1000)})

    reply = search(app)

    assert sorted(sources(reply)) == sorted(["docs/copies/0000/install.md", *OTHERS])
    (result,) = [one for one in reply["results"] if "similar" in one]
    assert (result["similar"], len(result["similar_sources"])) == (999, 5)
    assert reply["total"] == 3
    assert len(search(app, explain=True)["results"][0]["similar_sources"]) == 20


FERRIES = {
    f"docs/ferry/{name}.md": f"# {name.title()}\n\nThe {name} of the ferry {verb} near its engine.\n"
    for name, verb in [("bridge", "turns"), ("deck", "is painted"), ("funnel", "smokes"), ("galley", "is closed")]
}
SMALL_DIFFERENCES: dict[str, Callable[[int], str]] = {
    "a number": lambda n: f"{page()}Wait {n} seconds.\n",
    "words": lambda n: page().replace("Pull", f"Word{n} pull") + f"\nSigned by captain{n}.\n",
    "a repeated word": lambda n: f"# Ferry\n\n{'install the ferry anchor engine ' * (20 + n % 50)}\n",
}


@pytest.mark.parametrize("number", [8, pytest.param(1000, id="1000", marks=pytest.mark.later)])
@pytest.mark.parametrize("text", SMALL_DIFFERENCES.values(), ids=SMALL_DIFFERENCES.keys())
@pytest.mark.promise(23)
def test_near_copies_take_one_of_the_first_five_places(opened: Open, text: Callable[[int], str], number: int) -> None:
    app = opened({**FERRIES, **{f"docs/near/{n:04}.md": text(n) for n in range(number)}})

    reply = search(app, explain=True, limit=20)
    answer = app.call("ask_knowledge_base", {"query": "How do I install the ferry?"})

    first = [one for one in sources(reply)[:5] if one.startswith("docs/near/")]
    assert len(first) <= 1
    assert len([one for one in sources(reply) if one.startswith("docs/near/")]) > 1 or "similar" in str(reply)
    assert len([one for one in answer["references"][:5] if one["source"].startswith("docs/near/")]) <= 1
    scores = [one["score"] for one in reply["results"]]
    assert scores == sorted(scores, reverse=True)
    for one in reply["results"]:
        assert sum(why["value"] for why in one["why"]) == pytest.approx(one["score"], abs=0.02)


STUFFING = "configure the index, the search, the error of a class and the release of a worker "
STUFFED: dict[str, Callable[[int], str]] = {
    "a page with a number": lambda n: f"{(ROOT / 'data/sample/README.md').read_text()}\nCopy {n}.\n",
    "repeated words": lambda n: f"# Configure\n\n{STUFFING * (20 + n % 50)}\n",
}


def tracked(below: str) -> list[str]:
    """Return the files of this repository, or of one of its folders, without the questions about them."""
    found = git(ROOT, "ls-files", "-z", below or ".")
    return [path for path in found.split("\0") if path and not path.startswith("data/evaluation/")]


def evaluation_of(corpus: str, folder: Path) -> Path:
    """Return a set of the questions that the files below a folder answer."""
    head, *rows = (EVALUATION / "qrels.tsv").read_text().splitlines()
    kept = [row for row in rows if row.split("\t")[1].startswith(corpus)]
    ids = {row.split("\t")[0] for row in kept}
    questions = (EVALUATION / "queries.jsonl").read_text().splitlines()
    asked = [line for line in questions if json.loads(line)["_id"] in ids]
    write_project(folder, {"qrels.tsv": "\n".join([head, *kept, ""]), "queries.jsonl": "\n".join([*asked, ""])})
    return folder


@pytest.mark.later
@pytest.mark.parametrize(
    ("corpus", "number"),
    [
        ("data/sample", 100),
        pytest.param("data/sample", 1000, marks=pytest.mark.long),
        pytest.param("", 1000, marks=pytest.mark.long, id="all of Lore"),
    ],
)
@pytest.mark.promise(23)
def test_stuffed_copies_hardly_change_the_quality(tmp_path: Path, corpus: str, number: int) -> None:
    chosen = evaluation_of(corpus, tmp_path / "set")
    project = write_project(tmp_path / "project", {path: (ROOT / path).read_bytes() for path in tracked(corpus)})
    settings = load_settings(project, EVALUATION / "index.toml")

    def quality(added: int) -> float:
        with closing(Index(project, settings, LOADED)) as index:
            assert sync(index).created >= added
        evaluated = evaluate_folder(chosen, None, project, settings, ["hybrid"], model=LOADED)
        return float(evaluated.summary()["hybrid"]["ndcg@10"])

    before = quality(0)
    assert before > 0.5
    for text in STUFFED.values():  # the second text replaces the first
        write_project(project, {f"docs/near/{n:04}.md": text(n) for n in range(number)})
        assert before - quality(number) <= LOSS
