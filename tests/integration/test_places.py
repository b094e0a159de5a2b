"""Agents read several places in one call, find passages like another, and list what changed since a point."""

from pathlib import Path
from typing import Any

import pytest

from lore_etl.core.errors import DocumentNotFound, InvalidArgument, LoreError, NotFound
from lore_etl.core.json_types import JSON
from lore_server.app import App
from lore_server.operations.table import render
from lore_server.replies.render_index import NONE_LISTED
from tests.harness.calls import Opener, app_fixture, sync_job
from tests.harness.evaluation import commit
from tests.harness.evaluation import git as run_git
from tests.harness.projects import write_project
from tests.harness.refusals import refused

PROJECT = {
    "docs/mooring.md": "# Mooring\n\nTie the rope to the bollard.\n",
    "docs/rope.md": "# Rope\n\nTie the rope with a knot to the bollard.\n",
    "docs/bread.md": "# Bread\n\nBake the bread for an hour.\n",
    "src/crew.py": "".join(f"def task_{n}():\n    return {n}\n\n\n" for n in range(200)),
    "notes/long.md": "# Long\n\n" + "Bake it. " * 1000 + "\n\nThe end.\n",
    "src/odd:3.py": "ODD = 1\n",
}
app = app_fixture(PROJECT)


def git(app: App, *arguments: str) -> str:
    identity = ["-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    return run_git(app.index.root, *identity, *arguments).strip()


def read(app: App, path: str, **more: Any) -> Any:
    return app.call("get_source", {"path": path, **more})


def test_one_or_several_places_are_read_as_results_name_them(app: App) -> None:
    assert read(app, "src/crew.py:5-6")["text"] == "def task_1():\n    return 1"
    assert read(app, "src/crew.py:6")["lines"] == [6, 6]
    assert read(app, "src/odd:3.py")["text"].startswith("ODD = 1")

    reply = read(app, "docs/bread.md\nsrc/crew.py:5-6\ndocs/mooring.md:3")
    places = [(part["source"], part["lines"]) for part in reply["others"]]
    assert (reply["source"], places) == ("docs/bread.md", [("src/crew.py", [5, 6]), ("docs/mooring.md", [3, 3])])
    text = render("get_source", reply).whole()
    assert text.index("Bake the bread") < text.index("def task_1") < text.index("docs/mooring.md:3  [guide]")


def test_a_list_of_the_chunks_of_an_unknown_file_is_an_error_with_the_nearest_paths(app: App) -> None:
    with refused(DocumentNotFound, message="`src/crews.py`", hint="Did you mean src/crew.py"):
        app.call("list_documents", {"source": "src/crews.py"})

    listed = app.call("list_documents", {"source": "src/crew.py", "type": "guide"})
    assert (listed["documents"], render("list_documents", listed).body) == ([], NONE_LISTED)


@pytest.mark.parametrize("max_tokens", [600, 1000, 2000])
def test_several_places_share_the_budget_and_name_what_is_missing(app: App, max_tokens: int) -> None:
    reply = read(app, "docs/bread.md\nsrc/crew.py", max_tokens=max_tokens)

    assert len(str(reply)) <= 3 * max_tokens
    last = reply["others"][0]["lines"][1]
    assert f"src/crew.py from line {last + 1}" in reply["truncated"]
    assert "next_cursor" not in reply
    rest = read(app, f"src/crew.py:{last + 1}-{last + 2}")
    assert rest["lines"][0] == last + 1


def rest_of(reply: Any) -> list[str]:
    """Return the places that the reply names as missing, in the form in which `get_source` takes them."""
    named = reply.get("truncated", "read by their lines: ").removeprefix("read by their lines: ")
    return [place.replace(" from line ", ":") for place in named.split(", ") if place]


@pytest.mark.parametrize("max_tokens", [200, 300, 1000, 2000, 6000])
@pytest.mark.parametrize("lines", ["{n}-{n}", "{n}-{m}", "1-800"])
def test_the_most_places_fit_any_budget_and_all_that_is_missing_is_named(app: App, max_tokens: int, lines: str) -> None:
    places = [f"src/crew.py:{lines.format(n=n * 8 + 1, m=n * 8 + 6)}" for n in range(20)]
    reply = read(app, "\n".join(places), max_tokens=max_tokens)

    parts, rest = [reply, *reply["others"]], rest_of(reply)
    assert len(str(reply)) <= 3 * max_tokens
    assert len(parts) == 20 or places[len(parts)] in rest or reply["truncated"].endswith("…")
    for place, part in zip(places, parts, strict=False):
        assert read(app, place, max_tokens=100_000)["text"].startswith(part["text"])
    if lines == "{n}-{n}" and max_tokens == 2000:
        assert len(parts) == 20


def test_the_rest_of_a_long_line_is_named_too(app: App) -> None:
    reply = read(app, "notes/long.md:3\ndocs/bread.md", max_tokens=600)

    assert reply["lines"] == [3, 3]
    assert rest_of(reply) == ["notes/long.md:3"]


def test_several_places_are_stale_if_any_of_them_has_changed(app: App) -> None:
    file = app.index.root / "src/crew.py"
    before = file.read_text()
    file.write_text("# new\n" + before)
    try:
        for paths in ("docs/bread.md\nsrc/crew.py:5-6", "src/crew.py:5-6\ndocs/bread.md"):
            reply = read(app, paths)
            assert [part["source"] for part in (reply, *reply["others"]) if "changed" in part] == ["src/crew.py"]
            assert (reply["freshness"]["state"], reply["freshness"]["changed_files"]) == ("stale", 1)
    finally:
        file.write_text(before)
        sync_job(app)


def test_the_origin_of_each_place_is_shown_and_its_history_if_requested(app: App) -> None:
    reply = read(app, "docs/bread.md\nsrc/crew.py:5-6", history=True)

    assert [(part["origin"], part["history"]) for part in (reply, *reply["others"])] == [("project", [])] * 2
    assert render("get_source", reply).whole().count("note: ") == 2


PARTS: list[JSON] = [{"start": 2}, {"end": 3}, {"cursor": "anything"}]
SINGLE, BOTH = "for a single file", "in `path` and in `start` or `end`"
ENDS = r"Lines 3 to 2 of docs/rope\.md end before they begin"
WRONG: list[tuple[JSON, type[LoreError], str]] = [
    ({"path": "docs/bread.md\ndocs/bred.md"}, DocumentNotFound, r"docs/bred\.md"),
    ({"path": "docs/bread.md\ndocs/rope.md:9"}, InvalidArgument, r"docs/rope\.md has no such lines"),
    ({"path": "\n".join(["docs/bread.md"] * 21)}, InvalidArgument, "too many"),
    *(({"path": "src/crew.py\nREADME.md", **part}, InvalidArgument, SINGLE) for part in PARTS),
    *(({"path": "src/crew.py:5-6", **part}, InvalidArgument, BOTH) for part in PARTS[:2]),
    ({"path": "docs/rope.md:3-2"}, InvalidArgument, ENDS),
    ({"path": "docs/rope.md", "start": 3, "end": 2}, InvalidArgument, ENDS),
]


@pytest.mark.parametrize(("asked", "error", "message"), WRONG, ids=str)
def test_a_missing_or_contradictory_place_is_named(app: App, asked: JSON, error: type[LoreError], message: str) -> None:
    with pytest.raises(error, match=message):
        app.call("get_source", asked)


@pytest.mark.parametrize("place", ["docs/mooring.md", "docs/mooring.md:1-3", '"docs/mooring.md:3"'])
def test_passages_like_another_are_found_without_it(app: App, place: str) -> None:
    reply = app.call("query_documents", {"query": f"like:{place}"})
    found = [result["source"] for result in reply["results"]]

    assert found[0] == "docs/rope.md"
    assert "docs/mooring.md" not in found


def test_passages_like_a_result_are_found_by_its_id_and_with_filters(app: App) -> None:
    (first,) = app.call("query_documents", {"query": "bollard path:docs/mooring.md"})["results"]

    assert app.call("query_documents", {"query": f"like:{first['id']}"})["results"][0]["source"] == "docs/rope.md"
    only = app.call("query_documents", {"query": f"like:{first['id']} type:src"})["results"]
    assert {result["type"] for result in only} <= {"src"}
    with pytest.raises(DocumentNotFound, match="nowhere"):
        app.call("query_documents", {"query": "like:nowhere.md:3"})


def test_files_changed_since_a_point_are_listed_with_their_commit(app: App) -> None:
    with pytest.raises(InvalidArgument, match="no git history"):
        app.call("list_sources", {"since": "v1"})
    git(app, "init", "-q")
    git(app, "add", "docs")
    git(app, "commit", "-qm", "Write the guides", "--date", "2020-01-01T00:00:00")
    git(app, "tag", "v1")
    for number in range(2):
        (app.index.root / "docs" / "bread.md").write_text(f"# Bread\n\nBake it for {number} hours.\n")
        git(app, "commit", "-qam", f"Bake longer {number}")

    for point in ("v1", git(app, "rev-parse", "v1"), git(app, "rev-parse", "--short", "v1")):
        rows = app.call("list_sources", {"since": point})["sources"]
        assert [row["source"] for row in rows] == ["docs/bread.md"]
        assert "Bake longer 1 (and 1 more)" in rows[0]["change"]
    rows = app.call("list_sources", {"since": "2001-01-01", "under": "docs"})["sources"]
    assert {row["source"] for row in rows} == {"docs/bread.md", "docs/mooring.md", "docs/rope.md"}
    for unknown in ("v2", "2026-02-31"):
        with pytest.raises(NotFound, match=f"no commit or tag `{unknown}`"):
            app.call("list_sources", {"since": unknown})
    for wrong in ("--help", "v1^{tree}"):
        with pytest.raises(InvalidArgument, match="`since` cannot be"):
            app.call("list_sources", {"since": wrong})


def test_a_point_in_a_year_that_git_cannot_read_is_before_or_after_all_commits(
    tmp_path: Path, open_app: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_project(tmp_path / "old", {"a.py": "A = 1\n", ".gitignore": ".lore\n"})
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2001-01-01T00:00:00")
    commit(root, "Begin")
    old = open_app(root)
    sync_job(old)

    before, after = (old.call("list_sources", {"since": point}) for point in ("1900-01-01", "2999-01-01"))
    assert [row["source"] for row in before["sources"]] == ["a.py"]
    assert (after["sources"], render("list_sources", after).body) == ([], NONE_LISTED)
