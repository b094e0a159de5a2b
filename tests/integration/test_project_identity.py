"""Projects with the same name share nothing, and a folder's `.git` grants no access by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lore_etl.config.settings import Settings
from lore_etl.core.errors import Conflict, InvalidProjectId, LoreError
from lore_server.app import App
from lore_server.contract import Contract
from lore_server.knowledge.chapter_edit import rewrite
from lore_server.knowledge.git.commits import Author
from lore_server.knowledge.memory_files import new_memory
from lore_server.knowledge.memory_store import MemoryStore
from lore_server.mcp.project_resources import read_project
from lore_server.services.adoption import Adoption
from lore_server.services.knowledge_library import Library
from tests.harness.calls import Call, calling, indexed
from tests.harness.knowledge import assert_sound, git, messages, seed_store
from tests.harness.models import HashModel
from tests.harness.projects import write_project

JSON = dict[str, Any]
SECRET = "The launch code of the zeppelin is on the blue card."
REMOTE = "git@github.com:finance/backend.git"
Open = Callable[[str, str], tuple[App, Call]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def opened(tmp_path: Path, home: Path, contract: Contract) -> Iterator[Open]:
    """Open the project in a folder with a remote, with a shared knowledge folder."""
    apps = list[App]()

    def open_project(folder: str, remote: str = "") -> tuple[App, Call]:
        root = write_project(tmp_path.resolve() / folder, {"README.md": "# Queue\n\nJobs.\n"})
        if remote and not (root / ".git").exists():
            git(root, "init", "-q")
            git(root, "remote", "add", "origin", remote)
        apps.append(App(root, Settings(), contract, HashModel(), home=home))
        return apps[-1], calling(apps[-1])

    yield open_project
    for app in apps:
        app.close()


def write_secret(call: Call) -> None:
    call("update_project_main", content=SECRET)
    call("create_knowledge_file", filename="launch", title="Launch", chapters=[{"title": "Code", "content": SECRET}])
    call("add_memory", name="Launch", body=SECRET)


def seen(app: App, call: Call) -> str:
    """Return everything the project can read without naming the id of another project."""
    call("manage_knowledge_base", action="sync", wait_seconds=600)
    replies: list[Any] = [
        call("get_project_main"),
        call("list_knowledge_files"),
        call("search_knowledge", query="zeppelin"),
        call("search_memories", query="zeppelin"),
        call("query_documents", query="launch code of the zeppelin"),
        call("ask_knowledge_base", query="What is the launch code of the zeppelin?"),
    ]
    named: list[Callable[[], Any]] = [
        lambda: call("get_project_main", project_id="backend"),
        lambda: call("get_knowledge_file", project_id="backend", filename="launch"),
        lambda: call("search_knowledge", project_id="backend", query="zeppelin"),
        lambda: read_project("knowledge://projects/backend/main", lambda name, given, _: app.call(name, given)),
    ]
    for named_call in named:
        try:
            replies.append(named_call())
        except LoreError as error:
            replies.append(error.message)
    return "".join(map(str, replies))


@pytest.mark.parametrize(
    ("folder", "remote"),
    [
        ("evil/backend", "git@github.com:evil/backend.git"),
        ("evil/backend", "git@gitlab.com:finance/backend.git"),
        ("evil/backend", ""),
        ("evil/backend", REMOTE),
        ("evil/other", "https://github.com/finance/backend"),
        ("evil/other", "/srv/git/backend.git"),
    ],
)
def test_nothing_is_read_or_written_across_projects_with_the_same_name(
    opened: Open, home: Path, folder: str, remote: str
) -> None:
    _, ours = opened("finance/backend", REMOTE)
    write_secret(ours)
    app, theirs = opened(folder, remote)

    assert "blue card" not in seen(app, theirs)

    theirs("update_project_main", content="Obey.")
    theirs("add_memory", name="Order", body="Always obey the zebra.")
    for name in ("update_project_main", "delete_project"):
        with pytest.raises(InvalidProjectId, match="`backend` is this folder's name"):
            theirs(name, project_id="backend", **({"content": "Obey."} if name == "update_project_main" else {}))
    assert ours("get_project_main")["content"] == SECRET
    assert [result["name"] for result in ours("search_memories", query="zebra zeppelin")["results"]] == ["Launch"]
    assert "blue card" not in seen(app, theirs)
    assert_sound(home)


def test_a_process_does_not_keep_a_name_resolved_before_the_first_write(opened: Open) -> None:
    """The forged project reads while the name is unused; then the real project writes."""
    app, theirs = opened("evil/backend", REMOTE)
    assert theirs("list_projects")["current"] == "backend"
    _, ours = opened("finance/backend", REMOTE)
    write_secret(ours)

    assert "blue card" not in seen(app, theirs)


def test_a_name_taken_by_another_folder_between_resolving_and_writing_is_not_shared(
    opened: Open, home: Path, tmp_path: Path
) -> None:
    opened("evil/backend", REMOTE)
    late = Library(home, tmp_path.resolve() / "evil" / "backend")
    name = late.named(None)
    _, ours = opened("finance/backend", REMOTE)
    write_secret(ours)

    writes: list[Callable[[], Any]] = [
        lambda: late.store.write_main(name, "Obey.", Author()),
        lambda: late.store.edit(name, "launch", rewrite("Obey."), Author()),
        lambda: late.store.delete_project(name, Author()),
        lambda: MemoryStore(late.store).add(name, new_memory("Obey", "main", "Obey.", "", {}, ""), Author()),
    ]
    for write in writes:
        with pytest.raises(Conflict, match="Another folder created"):
            write()
    assert late.named(None) != name


def test_a_clone_is_offered_the_knowledge_and_shares_it_after_confirmation(
    opened: Open, home: Path, tmp_path: Path
) -> None:
    _, ours = opened("work/backend", REMOTE)
    write_secret(ours)
    app, clone = opened("clone/backend", "https://github.com/finance/backend")
    main, found, added = clone("get_project_main"), clone("search_memories", query="x"), clone("list_projects")

    assert main["exists"] is False
    assert all(
        "`lore knowledge adopt`" in reply["note"] and "`backend`" in reply["note"] for reply in (main, found, added)
    )
    own = clone("add_memory", name="Own", body="A memory of the clone.")
    assert "`backend`" in own["note"]

    adoption = Adoption(Library(home, tmp_path.resolve() / "clone" / "backend"))
    proposal = adoption.proposal(None)
    assert (proposal["adopt"]["project_id"], proposal["adopt"]["documents"], proposal["adopt"]["memories"]) == (
        "backend", 1, 1,
    )  # fmt: skip
    assert proposal["leave"]["memories"] == 1
    assert clone("get_project_main")["exists"] is False

    assert adoption.adopt("backend", Author())["adopted"] is True
    assert clone("get_project_main")["content"] == SECRET
    assert "note" not in clone("get_project_main")
    assert "blue card" in seen(app, clone)
    clone("update_project_main", content="Both write.")
    assert ours("get_project_main")["content"] == "Both write."
    adoption.adopt(proposal["leave"]["project_id"], Author())  # nothing was lost
    clone("manage_knowledge_base", action="sync", wait_seconds=600)
    assert [result["name"] for result in clone("search_memories", query="clone")["results"]] == ["Own"]
    assert_sound(home)


def test_knowledge_of_an_earlier_version_is_kept_offered_and_adopted_with_its_history(
    opened: Open, home: Path, tmp_path: Path
) -> None:
    seed_store(home)
    before = {path: path.read_bytes() for path in (home / "projects").rglob("*.md")}
    _, evil = opened("evil/My App", "")
    _, ours = opened("work/My App", "")
    for call in (evil, ours):
        assert call("get_project_main")["exists"] is False
        assert "`My App`" in call("get_project_main")["note"]
        with pytest.raises(InvalidProjectId) as refused:
            call("get_project_main", project_id="My App")
        assert "lore knowledge adopt" in refused.value.hint

    Adoption(Library(home, tmp_path.resolve() / "work" / "My App")).adopt("My App", Author())

    assert ours("get_project_main", project_id="My App")["content"].startswith("# My App")
    assert ours("get_knowledge_history")["commits"][-1]["message"].endswith("Created api-guide.md")
    assert evil("get_project_main")["exists"] is False
    assert "note" not in evil("get_project_main")
    assert {path: path.read_bytes() for path in before} == before
    assert messages(home)[-1].startswith("Update knowledge for My App: Used by ")
    assert_sound(home)


def test_an_index_of_an_earlier_version_drops_unconfirmed_documents(opened: Open, home: Path) -> None:
    """The index contained documents of another project; the next sync drops them, and adopting restores them."""
    _, ours = opened("finance/backend", "")
    write_secret(ours)
    index = home / "index.json"
    index.write_text('{"projects": {"backend": "backend"}}')
    app, theirs = opened("evil/backend", "")

    assert "blue card" not in seen(app, theirs)
    library = Library(home, app.index.root)
    Adoption(library).adopt("backend", Author())
    theirs("manage_knowledge_base", action="sync", wait_seconds=600)
    assert "blue card" in str(theirs("query_documents", query="launch code of the zeppelin"))
    index.write_text('{"projects": {"backend": "backend"}}')
    theirs("manage_knowledge_base", action="sync", wait_seconds=600)
    indexed(app, theirs)
    assert "blue card" not in str(theirs("query_documents", query="launch code of the zeppelin"))


def test_a_linked_worktree_shares_knowledge_without_confirmation(opened: Open, tmp_path: Path) -> None:
    _, ours = opened("work/backend", REMOTE)
    write_secret(ours)
    root = tmp_path.resolve() / "work" / "backend"
    git(root, "commit", "-q", "--allow-empty", "-m", "x")
    git(root, "worktree", "add", "-q", str(tmp_path.resolve() / "linked"))
    _, linked = opened("linked", "")

    assert linked("get_project_main")["content"] == SECRET
    assert linked("list_projects")["current"] == "backend"
