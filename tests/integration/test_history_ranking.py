"""A file is found by the subjects of the commits that changed it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lore_etl.index import Index
from lore_etl.pipeline.sync import sync
from lore_server.query.history import FILES, PIECES, History
from lore_server.query.query_service import QueryService
from tests.harness.evaluation import commit, git
from tests.harness.projects import open_index, write_project


def matches(history: History, text: str) -> dict[str, float]:
    """Return the matches in the present commits."""
    history.refresh()
    return history.matches(text)


TEXT = "# {name}\n\nText about the harbour of this town.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a project with three guides, of which only `berth.md` was changed by a commit about a regatta."""
    for name in ("anchor", "berth", "crane"):
        write_project(tmp_path, {f"docs/{name}.md": TEXT.format(name=name)})
        commit(tmp_path, {"berth": "Reserve places of the harbour for the regatta"}.get(name, f"Describe {name}"))
    return tmp_path


@pytest.fixture
def index(root: Path) -> Iterator[Index]:
    index = open_index(root)
    sync(index)
    yield index
    index.close()


def test_a_commit_raises_the_files_that_it_changed_unless_they_are_of_another_type_than_asked(
    index: Index, root: Path
) -> None:
    found = QueryService(index, history=History(root)).find("harbour regatta").ranked
    terms = {result.source: dict(result.why).get("historyMatch", 0.0) for result in found}
    assert found[0].source == "docs/berth.md"
    assert terms == {"docs/berth.md": 25.0, "docs/anchor.md": 0.0, "docs/crane.md": 0.0}

    other = QueryService(index, history=History(root)).find("where is the harbour regatta defined").ranked
    assert not any(name == "historyMatch" for result in other for name, _ in result.why)


def test_a_query_that_names_a_place_gets_the_place(index: Index, root: Path) -> None:
    write_project(root, {"docs/harbour/regatta.md": TEXT.format(name="boats")})
    commit(root, "Add boats")
    sync(index)

    found = QueryService(index, history=History(root)).find("harbour regatta").ranked

    assert found[0].source == "docs/harbour/regatta.md"
    assert not any(name == "historyMatch" for result in found for name, _ in result.why)


def test_new_commits_and_renames_are_followed(root: Path) -> None:
    history = History(root)
    assert set(matches(history, "regatta")) == {"docs/berth.md"}

    git(root, "mv", "docs/berth.md", "docs/quay.md")
    commit(root, "Rename a page")
    assert set(matches(history, "regatta")) == {"docs/quay.md"}

    git(root, "mv", "docs/quay.md", "docs/berth.md")
    commit(root, "Rename it back")
    (root / "docs/anchor.md").write_text("# Anchor\n\nMore text.\n")
    commit(root, "Anchor the boats of the regatta")
    assert (
        set(matches(history, "regatta"))
        == {"docs/berth.md", "docs/anchor.md"}
        == set(matches(History(root), "regatta"))
    )


@pytest.mark.parametrize(("is_whole", "known"), [(True, {"docs/quay.md"}), (False, {"docs/berth.md"})])
def test_a_file_renamed_with_an_edit_keeps_its_commits_if_git_has_its_texts(
    root: Path, is_whole: bool, known: set[str]
) -> None:
    git(root, "mv", "docs/berth.md", "docs/quay.md")
    (root / "docs/quay.md").write_text(f"{TEXT.format(name='quay')}More.\n")
    commit(root, "Rename a page")
    git(root, "config", "uploadpack.allowFilter", "true")
    filters = [] if is_whole else ["--filter=blob:none", "--no-checkout"]
    git(root, "clone", "--quiet", *filters, root.as_uri(), "clone")

    assert set(matches(History(root / "clone"), "regatta")) == known


def test_a_history_that_takes_longer_is_read_by_several_searches(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(root, "mv", "docs/berth.md", "docs/quay.md")
    commit(root, "Rename a page")
    for number in range(12):
        write_project(root, {"docs/crane.md": f"# Crane {number}\n"})
        commit(root, f"Lift weight {number}")
    monkeypatch.setattr("lore_server.query.history.MAX_BYTES", 300)  # as if git were stopped after some commits
    history = History(root)

    found = [set(matches(history, "regatta")) for _ in range(PIECES)]

    assert found[0] == set()
    assert found[-1] == {"docs/quay.md"}
    assert set(matches(history, "lift weight 11")) == {"docs/crane.md"}


def test_a_history_that_cannot_be_read_to_its_end_does_not_delay_each_search(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lore_server.query.history.MAX_BYTES", 20)  # less than a commit
    history = History(root)
    for _ in range(PIECES):
        matches(history, "regatta")
    monkeypatch.undo()

    assert matches(history, "regatta") == {}
    write_project(root, {"docs/anchor.md": "# Anchor\n"})
    commit(root, "Moor the boats")
    assert set(matches(history, "moor boats")) == {"docs/anchor.md"}


def test_a_commit_that_is_written_again_counts_once(root: Path) -> None:
    history = History(root)
    before = matches(history, "describe crane")
    git(root, "-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-q", "--amend", "--no-edit", "--reset-author",
        "--date", git(root, "log", "-1", "--format=%aI").strip())  # fmt: skip

    assert matches(history, "describe crane") == before == matches(History(root), "describe crane")


def test_a_commit_of_many_files_says_nothing_about_each_and_only_the_part_below_the_folder_counts(root: Path) -> None:
    write_project(root, {f"many/{number}.md": TEXT.format(name=number) for number in range(FILES + 1)})
    commit(root, "Add pages about fishing")
    assert not matches(History(root), "fishing")

    assert set(matches(History(root / "docs"), "regatta")) == {"berth.md"}


def test_without_history_there_are_no_matches(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    assert not matches(History(other), "regatta")

    (other / ".git").symlink_to(root / ".git")
    assert not matches(History(other), "regatta")
