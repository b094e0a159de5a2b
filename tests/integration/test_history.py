"""Evaluation sets from a git repository: commits that name a ticket show which files it changed."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from lore_etl.core.errors import IndexMissing, InvalidArgument, NotFound, StorageError
from lore_etl.core.model import KnowledgeType
from lore_etl.pipeline.sync import sync
from lore_server.changes.ticket_names import names
from lore_server.evaluation.bench import MAX_FILES, commits, file_not_ticket, set_from_git
from lore_server.evaluation.sets import EvaluationSet, Question
from lore_server.query.ranking import Ranked
from tests.harness.chunks import make_chunk
from tests.harness.evaluation import commit, git
from tests.harness.models import HashModel
from tests.harness.projects import open_index, write_project
from tests.harness.refusals import refused

TICKETS = {
    "issues/issue-12.md": "# The ferry is late\n\nIt leaves after dawn.\n",
    "issues/HARB-7-fog.md": "# Fog\n\nNobody sees the berth.\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a repository with two tickets and no commits for them."""
    root = write_project(tmp_path / "harbour", {**TICKETS, "src/ferry.py": "SPEED = 1\n"})
    commit(root, "Begin")
    return root


def change(root: Path, message: str, *paths: str) -> None:
    """Commit a change of these files."""
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with open(file, "a", encoding="utf-8") as text:
            text.write(f"# {message.splitlines()[0]}\n")
    commit(root, message)


def history(root: Path) -> EvaluationSet:
    """Return the evaluation set of the synced project."""
    write_project(root, {})
    with closing(open_index(root, model=HashModel())) as index:
        sync(index, allow_mass_delete=True)
        return set_from_git(root, index)


# --- commits that name tickets -----------------------------------------------------------------------------------


def test_a_ticket_question_expects_the_files_of_all_commits_that_name_it(project: Path) -> None:
    change(project, "Leave at dawn\n\nFixes #12.", "src/ferry.py", "docs/tide.md")
    change(project, "More for #12", "src/berth.py")
    change(project, "Nothing of a ticket", "src/other.py")

    found = history(project)

    assert found.judgements == {"issues/issue-12.md": {"src/ferry.py": 1, "docs/tide.md": 1, "src/berth.py": 1}}
    assert found.questions == [Question("issues/issue-12.md", "# The ferry is late\n\nIt leaves after dawn.")]
    assert found.records is None


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param(
            {"HARB-7 lights": ["src/light.py"], "A horn (#7)": ["src/horn.py"]},
            {"issues/HARB-7-fog.md": {"src/light.py": 1, "src/horn.py": 1}},
            id="its key in any case or its number",
        ),
        pytest.param(
            {"For #12 and HARB-7": ["src/ferry.py"]},
            {ticket: {"src/ferry.py": 1} for ticket in sorted(TICKETS)},
            id="several tickets in a commit",
        ),
        pytest.param(
            {"Close #12": ["issues/issue-12.md", "CHANGELOG.md", "src/ferry.py"]},
            {"issues/issue-12.md": {"src/ferry.py": 1}},
            id="neither a ticket nor a release is an answer",
        ),
        pytest.param(
            {"For #12": ["docs/Überfahrt früh.md", "docs/한국어.md"]},
            {"issues/issue-12.md": {"docs/Überfahrt früh.md": 1, "docs/한국어.md": 1}},
            id="file names in any script and with spaces",
        ),
    ],
)
def test_the_files_of_a_commit_are_expected_for_the_tickets_that_it_names(
    project: Path, changes: dict[str, list[str]], expected: dict[str, dict[str, int]]
) -> None:
    for message, paths in changes.items():
        change(project, message, *paths)

    assert history(project).judgements == expected


@pytest.mark.parametrize("stem", ["harb-9", "HARB-9_the_horn", "2-HARB-9", "fix-HARB-9-horn"])
def test_the_key_of_a_ticket_may_be_anywhere_in_its_file_name(project: Path, stem: str) -> None:
    write_project(project, {f"issues/{stem}.md": "# Horn\n\nIt is silent.\n"})
    change(project, "HARB-9: a louder horn", "src/horn.py")

    assert history(project).judgements == {f"issues/{stem}.md": {"src/horn.py": 1}}


def test_a_number_shared_by_two_tickets_names_neither_but_their_keys_do(project: Path) -> None:
    write_project(project, {"issues/BOAT-7.md": "# Boats\n\nThere are too few.\n"})
    change(project, "Which one is #7", "src/either.py")
    change(project, "BOAT-7: build some", "src/boat.py")

    assert history(project).judgements == {"issues/BOAT-7.md": {"src/boat.py": 1}}


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("Fix #12", {"12"}), ("(#12, #13)", {"12", "13"}), ("HARB-7: fog", {"harb-7"}),
        ("See issue12 and abc#12", set()), ("&#39;quoted&#39;", set()), ("harb-7 in lower case", set()),
        ("branch HARB-7_fog", {"harb-7"}), ("XHARB-7x", set()), ("#12abc", set()),
    ],
)  # fmt: skip
def test_a_message_names_tickets_by_a_number_after_a_hash_sign_or_a_key_in_capitals(
    message: str, found: set[str]
) -> None:
    assert names(message) == found


@pytest.mark.parametrize(
    "message",
    [
        "Read UTF-8, UTF-16 and WTF-8 (ISO-8859-1 too)", "Use SHA-256 and AES-128", "Follow PEP-8 and RFC-7616",
        "Fix CVE-2023-1234, RUSTSEC-2021-0139, GHSA-49w6-73cw", "Move to LGPL-2.1 and BSD-3-Clause",
        "Faster on E5-2680 and X86-64", "Need FOO-1.2",
    ],
)  # fmt: skip
def test_standards_advisories_and_models_are_no_tickets(message: str) -> None:
    assert names(message) == set()
    assert names(f"{message}, for ABC-12") == {"abc-12"}


# --- expected answers --------------------------------------------------------------------------------------------


def test_the_files_of_a_commit_with_very_many_and_deleted_and_unindexed_files_are_not_expected_answers(
    project: Path,
) -> None:
    files = [f"src/file{number}.py" for number in range(MAX_FILES)]
    change(project, "Rename everything #12", *files, "src/one-too-many.py")
    change(project, "Just not too many #12", *files)
    change(project, "For HARB-7", "src/gone.py", "src/moved.py", "src/kept.py", "data/table.bin")
    (project / "src" / "gone.py").unlink()
    git(project, "mv", "src/moved.py", "src/new.py")
    commit(project, "Clean up")

    expected = {"issues/issue-12.md": dict.fromkeys(files, 1), "issues/HARB-7-fog.md": {"src/kept.py": 1}}
    assert history(project).judgements == expected


@pytest.mark.parametrize("type_", list(KnowledgeType))
def test_tickets_and_releases_among_the_results_do_not_count(type_: KnowledgeType) -> None:
    hit = Ranked("a.md", 1.0, make_chunk("a.md", type_.value))
    is_file = type_ not in (KnowledgeType.TICKET, KnowledgeType.RELEASE)

    assert file_not_ticket(hit) == ("a.md" if is_file else None)


def test_for_a_project_in_a_subfolder_only_that_subfolder_counts(tmp_path: Path) -> None:
    root = write_project(tmp_path / "all" / "harbour", TICKETS)
    commit(root.parent, "Begin")
    (root.parent / "other.py").write_text("x = 1\n")
    (root / "ferry.py").write_text("x = 1\n")
    commit(root.parent, "For #12")

    assert history(root).judgements == {"issues/issue-12.md": {"ferry.py": 1}}


def test_a_merge_is_skipped_but_the_merged_commits_count_and_a_message_may_have_several_lines_and_no_files(
    project: Path,
) -> None:
    git(project, "checkout", "--quiet", "-b", "side")
    change(project, "For #12", "src/side.py")
    git(project, "checkout", "--quiet", "-")
    change(project, "Meanwhile", "src/main.py")
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    git(project, *identity, "merge", "--quiet", "--no-ff", "-m", "Merge #12", "side")
    found = {message.strip(): files for message, files in commits(project)}
    assert found.keys() == {"Begin", "For #12", "Meanwhile"}
    assert found["For #12"] == ["src/side.py"]

    commit(project, "Nothing\n\nat all\n#12")
    assert next(commits(project)) == ("Nothing\n\nat all\n#12\n", [])


# --- missing histories -------------------------------------------------------------------------------------------


def test_a_project_that_was_never_synced_and_a_machine_without_git_are_errors(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with closing(open_index(project)) as index, pytest.raises(IndexMissing):
        set_from_git(project, index)

    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StorageError, match="git cannot be run"):
        list(commits(project))


@pytest.mark.parametrize("prepare", [lambda root: None, lambda root: git(root, "init", "--quiet")])
def test_a_project_without_history_is_an_error(tmp_path: Path, prepare: Callable[[Path], None]) -> None:
    root = write_project(tmp_path / "bare", TICKETS)
    prepare(root)

    with pytest.raises(InvalidArgument, match="no git history"):
        history(root)


def test_a_history_without_tickets_is_an_error_that_explains_how_tickets_are_found(project: Path) -> None:
    change(project, "For #99 and NOPE-1", "src/ferry.py")

    with refused(NotFound, hint="ABC-12"):
        history(project)
