"""The history of a file leads from its lines to commits and their tickets, and from a ticket to its commits."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from lore_etl.core.errors import InvalidArgument
from lore_etl.files.git_folder import head
from lore_etl.pipeline.sync import sync
from lore_server.app import App
from lore_server.changes import project_git
from lore_server.changes.file_history import (
    FEW,
    INCOMPLETE,
    MAX_COMMITS,
    NOT_COMMITTED,
    NOT_OWN,
    FileHistory,
    ProjectHistory,
)
from lore_server.contract import Contract
from lore_server.evaluation.bench import commits
from lore_server.knowledge.registry import identity_of, spelled
from lore_server.operations.table import render
from tests.harness.calls import Opener, synced_app
from tests.harness.evaluation import commit, git
from tests.harness.projects import open_index, sync_once, write_project

RETRY, WAITS = "src/retry.py", "src/waits.py"
TEXT = """\
class Retry:
    \"\"\"A policy.\"\"\"

    def delay(self, attempt: int) -> int:
        return 2**attempt

    def limit(self) -> int:
        return 5
"""
ALLEGED_SIGNATURE = "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n -----END PGP SIGNATURE-----\n\n"
LATEST_NOTES, HIGHEST_TAG = "The latest release with notes here is", "the highest stable tag is"
KEY = "AKIA" + "Q7XZ4M2N8P1R5T6V"
PULLED = ".lore/tickets/github/ferry/ferry"
TICKETS = {
    "issues/issue-12.md": "---\nstate: closed\n---\n# The delay overflows\n\nAfter 60 attempts.\n",
    f"{PULLED}/issues/30.md": "---\nstate: closed\n---\n# Six attempts\n\nLinked: #31 (pull request, merged)\n",
    f"{PULLED}/pulls/31.md": "---\nstate: merged\n---\n# Try six times\n\nFixes #30\n",
}


def edit(root: Path, message: str, old: str, new: str, path: str = RETRY) -> None:
    file = root / path
    file.write_text(file.read_text().replace(old, new), encoding="utf-8")
    commit(root, message)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, contract: Contract) -> Iterator[App]:
    """Return an application on a project with a history; tests do not commit to it."""
    root = tmp_path_factory.mktemp("history").resolve() / "harbour"
    write_project(root, {RETRY: TEXT, ".gitignore": ".lore\n", "issues/issue-12.md": TICKETS["issues/issue-12.md"]})
    write_project(root, {WAITS: "def wait_for(seconds: int) -> int:\n    return seconds\n"})
    commit(root, "Add retries (#3)")
    edit(root, f"Cap the delay\n\nLong waits with {KEY}.\nFixes #12\n\nSigned-off-by: T <t@t>", "2**", "min(60, 2**")
    edit(root, "Close the bracket", "attempt\n", "attempt)\n")
    edit(root, "Six attempts (#31)", "return 5", "return 6")
    sync_once(root)
    with synced_app(root, {path: text for path, text in TICKETS.items() if path.startswith(".lore")}, contract) as app:
        yield app


def history(app: App, path: str, **more: Any) -> list[tuple[str, list[str]]]:
    """Return the subject of each commit, and its tickets as text."""
    reply = app.call("get_source", {"path": path, "history": True, **more})
    text = render("get_source", reply).body.split("\n\n")[0].split("\n")
    found: list[tuple[str, list[str]]] = []
    for change in reply["history"]:
        at = next(n for n, line in enumerate(text) if line.startswith(change["commit"]))
        rows = [line.strip() for line in text[at + 1 :]]
        found.append((change["subject"], rows[bool(change.get("body")) :][: len(change["tickets"])]))
    return found


def test_lines_lead_to_the_commits_that_changed_them_and_their_tickets_which_lead_back_to_them(app: App) -> None:
    assert history(app, RETRY, start=4, end=5) == [
        ("Close the bracket", []),
        ("Cap the delay", ["closes #12 (closed): issue-12: The delay overflows  issues/issue-12.md"]),
        ("Add retries (#3)", ["names #3"]),
    ]
    whole = ["Six attempts (#31)", "Close the bracket", "Cap the delay", "Add retries (#3)"]
    assert [subject for subject, _ in history(app, RETRY)] == whole

    folder = "@tickets/github/ferry/ferry"
    assert history(app, RETRY, start=8, end=8)[0] == (
        "Six attempts (#31)",
        [
            f"names #31 (merged): 31: Try six times  {folder}/pulls/31.md",
            f"closes #30 by pull request #31 (closed): 30: Six attempts  {folder}/issues/30.md",
        ],
    )

    assert [subject for subject, _ in history(app, "issues/issue-12.md")] == ["Cap the delay"]
    assert [subject for subject, _ in history(app, "@tickets/github/ferry/ferry/issues/30.md")] == [
        "Six attempts (#31)"
    ]


def test_a_merge_request_of_gitlab_and_an_issue_with_its_number_are_different_tickets(
    tmp_path: Path, open_app: Opener
) -> None:
    pulled = ".lore/tickets/gitlab/ferry/ferry"
    tickets = {
        f"{pulled}/issues/8.md": "---\nstate: open\n---\n# Another matter\n\nLinked: !9 (merge request, merged)\n",
        f"{pulled}/merge_requests/8.md": "---\nstate: merged\n---\n# Try six times\n\nCloses #7\n",
        f"{pulled}/issues/7.md": "---\nstate: closed\n---\n# Six attempts\n\nLinked: !8 (merge request, merged)\n",
    }
    root = write_project(tmp_path / "harbour", {RETRY: TEXT, ".gitignore": ".lore\n"})
    commit(root, "Begin")
    edit(root, "Six attempts\n\nSee merge request ferry/ferry!8", "return 5", "return 6")
    with_index = open_app(root)
    sync(with_index.index)
    write_project(root, tickets)
    sync(with_index.index)
    folder = "@tickets/gitlab/ferry/ferry"
    assert history(with_index, RETRY, start=8, end=8)[0][1] == [
        f"names !8 (merged): 8: Try six times  {folder}/merge_requests/8.md",
        f"closes #7 by pull request !8 (closed): 7: Six attempts  {folder}/issues/7.md",
    ]
    for path in ("merge_requests/8.md", "issues/7.md"):
        assert [subject for subject, _ in history(with_index, f"{folder}/{path}")] == ["Six attempts"]
    assert with_index.call("get_source", {"path": f"{folder}/issues/8.md", "history": True})["history"] == []


def test_a_commit_leads_to_the_ticket_that_only_its_merge_names(project: Path) -> None:
    commit(project, "Begin")
    git(project, "checkout", "--quiet", "-b", "six")
    edit(project, "Six", "return 5", "return 6")
    git(project, "checkout", "--quiet", "-")
    edit(project, "On the branch itself", "2**attempt", "3**attempt")
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    message = "Merge pull request #31 from ferry/six\n\nCap it"
    git(project, *identity, "merge", "--quiet", "--no-ff", "-m", message, "six")

    changes = history_of(project, RETRY).changes

    assert [(one["subject"], [ticket["name"] for ticket in one["tickets"]]) for one in changes] == [
        ("On the branch itself", []), ("Six", ["#31"]), ("Begin", []),
    ]  # fmt: skip


def test_the_message_of_a_commit_is_shown_without_secrets_and_trailers(app: App) -> None:
    change = app.call("get_source", {"path": RETRY, "history": True, "start": 4, "end": 5})["history"][1]

    assert change["body"].startswith("Long waits with [redacted")
    assert change["body"].endswith("Fixes #12")
    assert (change["author"], change["tickets"][0]["closes"], len(change["commit"])) == ("Tester", True, 10)


def test_no_reader_of_commits_returns_a_secret(project: Path) -> None:
    commit(project, "Begin")
    write_project(project, {RETRY: "rotated = 1\n"})
    git(project, "add", "--all")
    git(project, "-c", f"user.name=Ann {KEY}", "-c", "user.email=a@b", "commit", "-q", "-m", f"Use {KEY}", "-m", KEY)

    since = project_git.changed_since(project, "2001-01-01")
    found: list[object] = [
        since,
        project_git.changing(project, RETRY, None, 1),
        project_git.first_with(project, RETRY, "rotated"),
        history_of(project, RETRY),
    ]

    assert [KEY in str(one) for one in found] == [False] * len(found)
    assert "Use [redacted-" in since[RETRY][0]


def test_without_the_request_git_is_not_run(app: App, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert "history" not in app.call("get_source", {"path": RETRY})
    assert app.call("get_source", {"path": RETRY, "history": True})["history_note"] == "git cannot be run."


@pytest.mark.parametrize("max_tokens", [200, 250, 300, 400, 1000])
def test_the_history_takes_at_most_half_of_the_budget_and_only_on_the_first_page(app: App, max_tokens: int) -> None:
    first = app.call("get_source", {"path": RETRY, "history": True, "max_tokens": max_tokens})
    size = len(str(first["history"]))

    assert size <= max_tokens * 3 // 2 + 2
    assert first["text"]
    if len(first["history"]) < 4:
        assert first["history_note"] == f"Of the latest 4 commits, {len(first['history'])} fit into max_tokens."
    if "next_cursor" in first:
        following = {"path": RETRY, "history": True, "cursor": first["next_cursor"]}
        assert "history" not in app.call("get_source", following)


ISSUE, CHANGED = "issues/issue-12.md", "was changed last by"


@pytest.mark.parametrize(
    ("question", "beginning", "first", "others"),
    [
        ("why was Retry.delay changed?", f"`Retry.delay` (src/retry.py:4-5) [1] {CHANGED} commit", RETRY, [ISSUE]),
        ("why was retry.py changed?", f"`src/retry.py` [1] {CHANGED} commit", RETRY, [ISSUE]),
        ("which commit fixed #12?", "#12 (closed) “issue-12: The delay overflows” [1] is closed by commit", ISSUE, []),
        ("when was wait_for changed?", f"`wait_for` (src/waits.py:1-2) [1] {CHANGED} commit", WAITS, []),
        ("when was waits.wait_for changed?", f"`waits.wait_for` (src/waits.py:1-2) [1] {CHANGED} commit", WAITS, []),
        ("who last changed src/retry.py?", f"`src/retry.py` [1] {CHANGED} Tester in commit ", RETRY, [ISSUE]),
    ],
    ids=["a method", "a file", "a ticket", "a function", "a function after its module", "a person"],
)  # fmt: skip
def test_a_question_about_a_change_is_answered_with_commits_and_cites_their_tickets(
    app: App, question: str, beginning: str, first: str, others: list[str]
) -> None:
    reply = app.call("ask_knowledge_base", {"query": question})

    assert reply["answer"].startswith(beginning)
    assert (reply["mode"], reply["found"], "doubt" in reply) == ("structural", True, False)
    sources = [citation["source"] for citation in reply["citations"]]
    assert sources[0] == first
    assert set(others) <= set(sources)


def test_what_no_release_note_names_was_introduced_by_the_earliest_commit_with_it(
    tmp_path: Path, open_app: Opener
) -> None:
    files = {RETRY: TEXT.replace("limit", "most"), "NEWS.md": "# 1.0.0\n\n- More.\n"}
    root = write_project(tmp_path / "harbour", files)
    commit(root, "Begin")
    git(root, "tag", "v1.0.0")
    edit(root, "Prepare limits", "\n", "  # unlimited\n")
    edit(root, "Limit the attempts (#3)", "most", "limit")
    git(root, "mv", RETRY, "src/again.py")
    commit(root, "Move")
    git(root, "tag", "v1.1.0")
    edit(root, "Rename", "Retry", "Again", "src/again.py")
    git(root, "tag", "v1.2.0")
    app = open_app(root)
    sync(app.index)

    begin = "No release note here names `Again.limit`. The earliest commit with `limit` in `src/again.py` [1] is "
    end = "“Limit the attempts (#3)”, for #3. The first tag with this commit is `v1.1.0`."
    for question in (
        "which release introduced Again.limit?",
        "when was Again.limit added?",
        "When was the Again.limit method added to the retries?",
    ):
        reply = app.call("ask_knowledge_base", {"query": question})
        other = app.call("ask_knowledge_base", {"query": question.replace("limit", "delays")})
        assert reply["answer"].startswith(begin)
        assert reply["answer"].endswith(end)
        assert (reply["mode"], reply["citations"][0]["lines"]) == ("structural", [7, 7])
        assert "earliest commit" not in other["answer"]
    option = app.call("ask_knowledge_base", {"query": "which release introduced --limit?"})
    assert "earliest commit" not in option["answer"]
    for question in (
        "which release removed Again.limit?",
        "When was limit dropped from Again",
        "which version dropped the Again.limit hook?",
        "is Again.limit removed?",
    ):
        reply = app.call("ask_knowledge_base", {"query": question})
        assert re.match(
            "No sentence of the notes names `(?:Again.)?limit` as (?:removed|dropped), and it is defined in "
            r"`src/again.py` \[1\]\.$",
            reply["answer"],
        )
        assert reply["citations"][0]["quote"].startswith("    def limit(self)")


@pytest.mark.parametrize(
    ("files", "answer"),
    [
        ({"CHANGELOG.md": "# 1.2.0\n\n- More.\n"}, f"{LATEST_NOTES} 1.2.0 [1], and {HIGHEST_TAG} 1.10.0."),
        ({"CHANGELOG.md": "# 1.10\n\n- More.\n"}, f"{LATEST_NOTES} 1.10 [1]."),
        ({}, f"No release notes are here, and {HIGHEST_TAG} 1.10.0."),
    ],
)
def test_the_latest_release_may_have_a_tag_and_no_notes(
    tmp_path: Path, open_app: Opener, files: dict[str, str], answer: str
) -> None:
    root = write_project(tmp_path / "harbour", {RETRY: TEXT, **files})
    commit(root, "Begin")
    for tag in ("v1.9.0", "v1.10.0", "v2.0.0-rc1", "nightly", "main"):
        git(root, "tag", tag)
    app = open_app(root)
    sync(app.index)

    assert app.call("ask_knowledge_base", {"query": "what is the latest release?"})["answer"] == answer


@pytest.mark.parametrize(
    ("title", "release", "tag", "is_earlier"),
    [
        ("1.0.0", "1.0.0", "v0.9.0", True),
        ("Unreleased", "the unreleased changes", "v0.9.0", True),
        ("1.0.0", "1.0.0", "v1.0.0", False),
    ],
)
def test_a_release_whose_tag_is_later_than_that_of_the_earliest_commit_did_not_add_a_name(
    tmp_path: Path, open_app: Opener, title: str, release: str, tag: str, is_earlier: bool
) -> None:
    notes = f"# Changes\n\n## {title}\n\n- Fix the `Retry.limit`.\n"
    root = write_project(tmp_path / "harbour", {RETRY: TEXT, "CHANGELOG.md": notes})
    commit(root, "Begin")
    git(root, "tag", tag)
    app = open_app(root)
    sync(app.index)

    reply = app.call("ask_knowledge_base", {"query": "when was Retry.limit added?"})

    note = f"The earliest release note here that names `Retry.limit` is that of {release}"
    commits_too = f"{note} [2], but the earliest commit with `limit` in `{RETRY}` [1] is "
    assert reply["answer"].startswith(commits_too if is_earlier else f"{note} [1].")
    assert reply["answer"].endswith("The first tag with this commit is `v0.9.0`.") is is_earlier
    assert {RETRY, "CHANGELOG.md"} <= {one["source"] for one in reply["citations"]}


def test_the_earliest_commit_with_a_name_is_not_one_before_its_removal_and_of_two_methods_that_of_the_first(
    tmp_path: Path, open_app: Opener
) -> None:
    jobs = "struct A;\n\nimpl A {\n    fn halt_now(&self) {}\n}\n"
    root = write_project(tmp_path / "harbour", {RETRY: TEXT, "jobs.rs": jobs})
    commit(root, "Sketch")
    edit(root, "Remove the limit", "limit", "most")
    git(root, "tag", "v0.1.0")
    edit(root, "Limit the attempts", "most", "limit")
    git(root, "tag", "v0.2.0")
    edit(root, "Halt both", "}\n}\n", "}\n}\n\nstruct B;\n\nimpl B {\n    fn halt_now(&self) {}\n}\n", "jobs.rs")
    app = open_app(root)
    sync(app.index)

    assert "Sketch" not in app.call("ask_knowledge_base", {"query": "when was Retry.limit added?"})["answer"]
    reply = app.call("ask_knowledge_base", {"query": "when was halt_now added?"})
    assert "“Sketch”" in reply["answer"]
    assert reply["citations"][0]["lines"] == [4, 4]


def test_a_question_about_changes_that_git_does_not_know_says_so_instead_of_describing_the_file(
    tmp_path: Path, open_app: Opener
) -> None:
    library = write_project(tmp_path / "library", {"lib.py": "def mend():\n    return 1\n"})
    commit(library, "Library")
    root = write_project(
        tmp_path / "harbour", {"a.py": "A = 1\n", ".gitignore": ".lore\nbuild/\n", "build/o.py": "O = 1\n"}
    )
    commit(root, "Begin")
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "vendored/sub")
    write_project(root, {"Cargo.toml": '[package]\nname = "harbour"\nlicense = "MIT"\n'})
    git(root, "add", "Cargo.toml")
    commit(root, "Name the harbour")
    write_project(root, {"new.py": "NEW = 1\n"})
    app = open_app(root)
    sync(app.index)

    def asked(path: str) -> tuple[str, bool]:
        reply = app.call("ask_knowledge_base", {"query": f"Why was {path} changed?"})
        return reply["answer"], reply["found"]

    none = "No commit is known that changed"
    assert asked("vendored/sub/lib.py") == (f"{none} `vendored/sub/lib.py` [1]. {NOT_OWN}", False)
    assert "was changed last" not in asked("the license")[0]  # but the lines around it
    assert asked("new.py") == (f"{none} `new.py` [1]. {NOT_COMMITTED}", False)
    assert asked("a.py:90") == ("`a.py` [1] has only 1 line.", False)
    ignored, was_found = asked("build/o.py")
    left_out = "There is no file `build/o.py` in this knowledge base, which leaves out ignored files."
    assert (ignored.startswith(left_out), was_found) == (True, False)


def test_links_and_marks_in_a_message_do_not_reach_the_answer(tmp_path: Path, open_app: Opener) -> None:
    root = write_project(tmp_path / "harbour", {"a.py": "A = 1\n"})
    commit(root, "See [9] and ![x](https://evil.example/x.png)\n\n<img src=x> https://evil.example {1}")
    app = open_app(root)
    sync(app.index)
    answer = app.call("ask_knowledge_base", {"query": "why was a.py changed"})["answer"]

    assert "evil" not in answer
    assert "<img" not in answer
    assert "[9]" not in answer


# --- what git can and cannot tell --------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(tmp_path / "harbour", {RETRY: TEXT})


def history_of(root: Path, path: str, first: int = 1, last: int | None = None) -> FileHistory:
    with closing(open_index(root)) as index:
        sync(index, allow_mass_delete=True)
        lines = (root / path).read_text(encoding="utf-8").split("\n")
        return ProjectHistory(index).of(path, lines, first, last)


def found(root: Path, first: int = 1, last: int | None = None, path: str = RETRY) -> tuple[list[str], str | None]:
    """Return the subjects, and the note."""
    result = history_of(root, path, first, last)
    return [change["subject"] for change in result.changes], result.note


def test_lines_that_were_edited_after_the_last_commit_are_found_where_they_were(project: Path) -> None:
    commit(project, "Begin")
    edit(project, "Six", "return 5", "return 6")
    file = project / RETRY
    write_project(project, {RETRY: "# new\n" + file.read_text()})

    assert found(project, 9, 9) == (["Six", "Begin"], None)
    assert found(project, 5, 6) == (["Begin"], None)
    write_project(project, {RETRY: TEXT.replace("5", "7")})
    assert found(project, 8, 8) == (["Six", "Begin"], "These lines changed after the last commit.")


def test_a_file_keeps_the_history_of_its_earlier_name(project: Path) -> None:
    commit(project, "Begin")
    git(project, "mv", RETRY, "src/again.py")
    commit(project, "Rename")

    assert found(project, path="src/again.py") == (["Rename", "Begin"], None)
    assert found(project, 4, 5, path="src/again.py")[0][-1] == "Begin"


def test_a_project_in_a_subfolder_of_a_repository_has_its_own_paths(tmp_path: Path) -> None:
    root = write_project(tmp_path / "mono", {f"harbour/{RETRY}": TEXT, "other.py": "A = 1\n"})
    commit(root, "Begin")
    edit(root, "Elsewhere", "A", "B", "other.py")

    assert found(root / "harbour") == (["Begin"], None)
    assert found(root / "harbour", 4, 5) == (["Begin"], None)


def test_a_note_names_missing_parts_also_if_only_few_commits_fit_into_the_budget(
    project: Path, open_app: Opener
) -> None:
    assert found(project) == ([], "This project has no git history.")
    git(project, "init", "--quiet")
    assert found(project) == ([], "This project has no git history.")
    write_project(project, {".gitignore": "src\n.lore\n"})
    commit(project, "Begin")
    assert found(project, path=".gitignore") == (["Begin"], None)
    write_project(project, {"new.py": "A = 1\n", ".gitignore": ".lore\n"})
    assert found(project, path="new.py") == ([], "The file is not in the last commit.")
    for number in range(MAX_COMMITS + 1):
        commit(write_project(project, {"new.py": f"A = {number}\n"}), f"{number} {'x' * 150}")
    subjects, note = found(project, path="new.py")
    assert (len(subjects), note) == (MAX_COMMITS, FEW)

    commit(project, "Nothing of this file")
    app = open_app(project)
    sync(app.index)
    few = app.call("get_source", {"path": "new.py", "history": True, "max_tokens": 300})["history_note"]
    assert re.fullmatch(rf"Of the latest {MAX_COMMITS} commits, \d fit into max_tokens\. {re.escape(FEW)}", few)


@pytest.fixture
def shallow(project: Path) -> Path:
    """Return a clone of the project without its first commit, and with a new one."""
    commit(project, "Begin")
    edit(project, "Five attempts", "return 5", "return 6")
    git(project.parent, "clone", "--quiet", "--depth", "1", project.as_uri(), "shallow")
    edit(project.parent / "shallow", "Name the class anew (#77)", "class Retry:", "class Retries:")
    return project.parent / "shallow"


def test_nothing_is_ascribed_to_the_commit_with_which_a_shallow_clone_begins_and_no_change_before_it_is_listed(
    shallow: Path,
) -> None:
    first = git(shallow, "rev-list", "--max-parents=0", "HEAD").strip()
    text = (shallow / RETRY).read_text().splitlines()
    with closing(open_index(shallow)) as index:
        sync(index)
        history = ProjectHistory(index)
        whole, new, old = history.of(RETRY, text), history.of(RETRY, text, 1, 1), history.of(RETRY, text, 3, 3)
        earliest = [history.first_with(RETRY, name) for name in ("Retries", "delay")]
    assert first[:10] not in [change["commit"] for found in (whole, new, old) for change in found.changes]
    assert "Name the class anew (#77)" in [change["subject"] for change in whole.changes]
    assert [change["subject"] for change in new.changes] == ["Name the class anew (#77)"]
    assert "shallow" in str(whole.note)
    assert "shallow" in str(old.note)
    assert [one and one[0]["subject"] for one in earliest] == ["Name the class anew (#77)", None]

    assert RETRY in project_git.changed_since(shallow, first)
    with pytest.raises(InvalidArgument, match="shallow clone"):
        project_git.changed_since(shallow, "2001-01-01")


@pytest.mark.parametrize(("limit", "value"), [("MAX_FOLLOWED", 2), ("MAX_BYTES", 60)])
def test_a_list_of_changed_files_is_refused_if_git_cannot_give_all_of_it(
    project: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    for number in range(3):
        commit(write_project(project, {f"new{number}.py": "A = 1\n"}), f"Add {number}")
    monkeypatch.setattr(project_git, limit, value)

    with pytest.raises(InvalidArgument, match="Too much has changed since `2001-01-01`"):
        project_git.changed_since(project, "2001-01-01")


def test_a_partial_clone_is_not_called_a_project_without_history(project: Path) -> None:
    commit(project, "Begin")
    edit(project, "Six attempts", "return 5", "return 6")
    git(project, "config", "uploadpack.allowFilter", "true")
    git(project.parent, "clone", "--quiet", "--filter=blob:none", project.as_uri(), "partial")
    partial = project.parent / "partial"

    assert found(partial, 4, 8) == ([], "git cannot read this part of the history.")
    assert project_git.changed_since(partial, "2001-01-01")[RETRY][0].endswith("Six attempts")
    git(partial, "fetch", "--quiet", "--refetch", "--no-filter")
    assert found(partial, 4, 8) == (["Six attempts", "Begin"], None)


def test_a_message_with_separators_is_one_commit(project: Path) -> None:
    commit(project, "One\x1e\x1f line\n\n" + "0" * 40 + "\n2026-01-01\nMallory\nforged")

    assert [entry.author for entry in project_git.changing(project, RETRY, None, 9).commits] == ["Tester"]


# --- a repository that came with the project is not trusted -----------------------------------------------------


@pytest.mark.parametrize(
    "config",
    [
        "log.showSignature=true gpg.program={program}",
        "core.fsmonitor={program}",
        "diff.external={program}",
        "diff.evil.textconv={program} diff.evil.command={program} diff.evil.xfuncname=x",
        "filter.evil.clean={program} filter.evil.smudge={program} filter.evil.process={program}",
        "core.pager={program} pager.log=true",
        "core.sshCommand={program} core.hooksPath={folder}",
        "extensions.partialClone=origin remote.origin.promisor=true remote.origin.url={folder} "
        "remote.origin.uploadpack={program}",
    ],
)
def test_reading_the_history_runs_no_program_of_the_repository(tmp_path: Path, config: str) -> None:
    root, program, mark = tmp_path / "project", tmp_path / "program", tmp_path / "was-run"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    write_project(root, {RETRY: TEXT, ".gitattributes": "*.py diff=evil\n*.py filter=evil\n"})
    commit(root, "Begin")
    signed = git(root, "cat-file", "commit", "HEAD").replace("\n\n", ALLEGED_SIGNATURE, 1)
    git(root, "update-ref", "HEAD", git(root, "hash-object", "-t", "commit", "-w", "--stdin", given=signed).strip())
    for word in config.format(program=program, folder=tmp_path).split():
        git(root, "config", *word.split("=", 1))

    lines = project_git.committed(root, RETRY, TEXT.split("\n"), 4, 5)
    assert lines is not None
    if "promisor" in config:  # git would fetch what is missing
        tree = git(root, "rev-parse", "HEAD^{tree}").strip()
        (root / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
        with suppress(InvalidArgument):
            list(commits(root))
    else:
        assert project_git.changing(root, RETRY, lines, 9).commits
        assert project_git.changing(root, RETRY, None, 9).commits
        assert list(commits(root))
    with suppress(InvalidArgument):
        project_git.naming(root, ["12"], 9)
    assert not mark.exists()


def own(root: Path, private: Path, *without: str) -> Path:
    """Give the project a copy of the private repository's `.git`, as if its ids were known, without some parts."""
    shutil.copytree(private / ".git", root / ".git", ignore=shutil.ignore_patterns("worktrees", *without))
    return root / ".git"


def linked(root: Path, private: Path, name: str) -> None:
    """Give the project a copy of the private repository's `.git` in which one part is a link."""
    (own(root, private, name) / name).symlink_to(private / ".git" / name)


def point(root: Path, folder: Path, **files: str) -> None:
    """Make `.git` a file that names a folder, and write small files to that folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (root / ".git").write_text(f"gitdir: {folder}\n")
    for name, text in files.items():
        (folder / name).write_text(f"{text}\n")


def link_all(folder: Path, target: Path) -> None:
    folder.mkdir()
    for entry in target.iterdir():
        (folder / entry.name).symlink_to(entry)


def alternates(root: Path, private: Path) -> None:
    write_project(own(root, private, "objects"), {"objects/info/alternates": f"{private}/.git/objects\n"})


def linked_loose_objects(root: Path, private: Path) -> None:
    for folder in (private / ".git" / "objects").glob("??"):
        (root / ".git" / "objects" / folder.name).parent.mkdir(parents=True, exist_ok=True)
        link_all(root / ".git" / "objects" / folder.name, folder)
    shutil.copytree(private / ".git", root / ".git", ignore=shutil.ignore_patterns("objects"), dirs_exist_ok=True)


def worktree_in_the_archive(root: Path, private: Path, commondir: str = "../..") -> Path:
    """Make the project a worktree of a repository in the archive; return the folder of that repository."""
    main = root.parent / "archive"
    main.mkdir()
    git(main, "init", "--quiet", "--initial-branch", "main")
    place = main / ".git" / "worktrees" / "w"
    point(root, place, HEAD="ref: refs/heads/main", gitdir=f"{root}/.git", commondir=commondir)
    return main / ".git"


def worktree_with_alternates(root: Path, private: Path) -> None:
    main = worktree_in_the_archive(root, private)
    write_project(main, {"objects/info/alternates": f"{private}/.git/objects\n", "refs/heads/main": tip(private)})


def links_to_worktrees(root: Path, private: Path) -> None:
    place = root.parent / "archive" / "worktrees"
    place.parent.mkdir()
    place.symlink_to(private / ".git" / "worktrees")
    (root / ".git").write_text(f"gitdir: {place}/tree\n")


def bare(root: Path, private: Path) -> None:
    """Without `.git`, git takes a folder with these files for a bare repository."""
    for name in ("objects", "refs"):
        (root / name).mkdir()
    (root / "HEAD").write_text("ref: refs/heads/main\n")
    (root / "commondir").write_text(f"{private}/.git\n")


def include(root: Path, private: Path) -> None:
    settings = f"[include]\n\tpath = {private}/.git/config\n[core]\n\tworktree = {private}\n"
    write_project(own(root, private, "objects"), {"config": settings, "objects/info/packs": ""})


def submodule_of_the_user(root: Path, private: Path) -> None:
    """The project lies in a repository of the user that has the private one as a submodule."""
    git(root.parent, "init", "--quiet")
    git(root.parent, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(private), "part")
    (root / ".git").write_text("gitdir: ../.git/modules/part\n")


def is_brought(archive: Path, text: str) -> bool:
    """Return whether the archive itself contains a text."""
    files = (Path(folder) / name for folder, _, names in os.walk(archive) for name in names)
    return any(text.encode() in file.read_bytes() for file in files if not file.is_symlink())


def tip(root: Path) -> str:
    return git(root, "rev-parse", "HEAD").strip()


LEADS_ELSEWHERE: dict[str, Callable[[Path, Path], object]] = {
    "a pointer": lambda root, private: point(root, private / ".git"),
    "a link": lambda root, private: (root / ".git").symlink_to(private / ".git"),
    "linked objects": lambda root, private: linked(root, private, "objects"),
    "linked entries of objects": lambda root, private: link_all(
        own(root, private, "objects") / "objects", private / ".git" / "objects"
    ),
    "linked loose objects": linked_loose_objects,
    "alternates": alternates,
    "linked refs": lambda root, private: linked(root, private, "refs"),
    "a linked branch": lambda root, private: link_all(
        own(root, private, "heads") / "refs" / "heads", private / ".git" / "refs" / "heads"
    ),
    "a linked HEAD": lambda root, private: linked(root, private, "HEAD"),
    "commondir": lambda root, private: write_project(
        own(root, private, "objects", "refs"), {"commondir": f"{private}/.git\n"}
    ),
    "a pointer to commondir": lambda root, private: point(
        root, root.parent / "archive", HEAD="ref: refs/heads/main", commondir=f"{private}/.git", gitdir=f"{root}/.git"
    ),
    "a worktree with another commondir": lambda root, private: worktree_in_the_archive(
        root, private, f"{private}/.git"
    ),
    "a worktree of a repository with commondir": lambda root, private: write_project(
        worktree_in_the_archive(root, private), {"commondir": f"{private}/.git\n"}
    ),
    "a worktree with alternates": worktree_with_alternates,
    "the worktree of the user": lambda root, private: point(root, private / ".git" / "worktrees" / "tree"),
    "a link to the worktrees of the user": links_to_worktrees,
    "a submodule of the user": submodule_of_the_user,
    "include.path": include,
    "a bare repository": bare,
}


@pytest.mark.parametrize("lead", LEADS_ELSEWHERE.values(), ids=LEADS_ELSEWHERE.keys())
def test_a_project_cannot_show_the_commits_of_another_repository(
    tmp_path: Path, lead: Callable[[Path, Path], object]
) -> None:
    private = write_project(tmp_path / "private", {RETRY: TEXT})
    commit(private, "Secret plans")
    git(private, "branch", "-M", "main")
    git(private, "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "tree"))
    root = write_project(tmp_path / "unpacked" / "harbour", {RETRY: TEXT})
    lead(root, private)

    subjects, note = found(root)

    assert subjects == []
    assert note and note.startswith(("This project has no git history.", "The file is not in the last commit."))
    assert head(root).commit is None or is_brought(root.parent, tip(private))
    assert identity_of(root, {spelled(private)}).folder == spelled(root)


def test_worktrees_and_submodules_have_their_history(tmp_path: Path) -> None:
    main = write_project(tmp_path / "main", {RETRY: TEXT})
    commit(main, "Begin")
    git(main, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    super_project = tmp_path / "super"
    super_project.mkdir()
    git(super_project, "init", "--quiet")
    for name in ("part", "libs/odd ; # name"):
        git(super_project, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(main), name)
    (tmp_path / "alias").symlink_to(tmp_path)
    commit(super_project, "Add the parts")

    assert found(super_project, path=f"part/{RETRY}") == ([], NOT_OWN)
    assert found(super_project, path=".gitmodules") == (["Add the parts"], None)
    for place in ("tree", "tree/src", "super/part", "super/libs/odd ; # name", "alias/tree", "alias/super/part"):
        root = tmp_path / place
        changed = project_git.changing(root, "retry.py" if place == "tree/src" else RETRY, None, 9)
        assert [entry.message.strip() for entry in changed.commits] == ["Begin"]
        assert head(root).commit == tip(main)


PEAK = """
import resource, sys
from pathlib import Path
from lore_etl.core.errors import InvalidArgument
from lore_server.changes.project_git import read_git
try:
    read_git(Path(sys.argv[1]), "log", "-1", seconds=30, max_bytes=10)
except InvalidArgument:
    pass
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> (20 if sys.platform == 'darwin' else 10))
"""


@pytest.mark.promise(17)
@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not count the memory of child processes")
def test_a_commit_that_unpacks_to_much_text_takes_little_memory(tmp_path: Path) -> None:
    write_project(tmp_path, {"a.md": "# A\n"})
    commit(tmp_path, "Add a")
    head_of = git(tmp_path, "cat-file", "commit", "HEAD").encode()
    content = head_of + b"a" * 400_000_000
    whole = b"commit %d\0" % len(content) + content
    name = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
    write_project(tmp_path, {f".git/objects/{name[:2]}/{name[2:]}": zlib.compress(whole, 1)})
    git(tmp_path, "update-ref", "HEAD", name)

    peak = subprocess.run([sys.executable, "-c", PEAK, str(tmp_path)], capture_output=True, check=True)

    assert int(peak.stdout) < 300


def test_the_first_commit_of_a_shallow_clone_is_no_origin_of_its_files(tmp_path: Path, open_app: Opener) -> None:
    root = write_project(tmp_path / "whole", {RETRY: TEXT, "src/other.py": "def other_one():\n    return 1\n"})
    commit(root, "Begin")
    edit(root, "Wait longer", "5", "6")
    edit(root, "Add a bound", "6\n", "bound_of(6)\n\n\ndef bound_of(n):\n    return n\n")
    git(root, "checkout", "-qb", "grafted")  # as git calls the first commit of a shallow clone
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth", "2", root.as_uri(), str(clone))
    app = open_app(clone)
    sync(app.index)

    def asked(query: str) -> str:
        return str(app.call("ask_knowledge_base", {"query": query})["answer"])

    changed = asked(f"why was {RETRY} changed?")
    assert ("“Add a bound”" in changed, "Before that" in changed) == (True, False)
    assert "“Add a bound”" in asked("which commit added bound_of?")
    assert "earliest commit" not in asked("which commit added Retry.delay?")
    assert "was changed last" not in asked("why was src/other.py changed?")
    reply = app.call("get_source", {"path": "src/other.py", "history": True})
    assert (reply["history"], reply["history_note"]) == ([], INCOMPLETE)
