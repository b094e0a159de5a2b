"""Projects with the same name share nothing, and a folder's `.git` grants no access and is not read by each search."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lore_etl.core.errors import Conflict, InvalidProjectId, LoreError, ProjectNotFound, UsageError
from lore_server.app import App
from lore_server.knowledge.chapter_edit import rewrite
from lore_server.knowledge.git.commits import Author
from lore_server.knowledge.memory_store import MemoryStore, new_memory
from lore_server.knowledge.registry import identity_of, spelled
from lore_server.knowledge.store import RECORD
from lore_server.mcp.resources import read_project
from lore_server.operations.table import render
from lore_server.services.knowledge_library import Library
from tests.harness.calls import Call, Opener, calling, indexed
from tests.harness.knowledge import assert_sound, bare_remote, git, messages, seed_store
from tests.harness.processes import run
from tests.harness.projects import settle, write_project
from tests.harness.refusals import refused

JSON = dict[str, Any]
SECRET = "The launch code of the zeppelin is on the blue card."
REMOTE = "git@github.com:finance/backend.git"
Open = Callable[[str, str], tuple[App, Call]]


@pytest.fixture
def opened(tmp_path: Path, home: Path, open_app: Opener) -> Open:
    """Open the project in a folder with a remote, with a shared knowledge folder."""

    def open_project(folder: str, remote: str = "") -> tuple[App, Call]:
        root = write_project(tmp_path.resolve() / folder, {"README.md": "# Queue\n\nJobs.\n"})
        if remote and not (root / ".git").exists():
            git(root, "init", "-q")
            git(root, "remote", "add", "origin", remote)
        app = open_app(root, home=home)
        return app, calling(app)

    return open_project


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
def test_projects_with_the_same_name_read_and_write_apart(opened: Open, home: Path, folder: str, remote: str) -> None:
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


def test_a_name_that_another_folder_takes_first_is_not_shared(opened: Open, home: Path, tmp_path: Path) -> None:
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


def test_a_clone_is_offered_knowledge_and_shares_it_once_confirmed(opened: Open, home: Path, tmp_path: Path) -> None:
    _, ours = opened("work/backend", REMOTE)
    write_secret(ours)
    app, clone = opened("clone/backend", "https://github.com/finance/backend")
    main, found, added = clone("get_project_main"), clone("search_memories", query="x"), clone("list_projects")

    assert main["exists"] is False
    assert all("`lore knowledge adopt backend`" in reply["note"] for reply in (main, found, added))
    own = clone("add_memory", name="Own", body="A memory of the clone.")
    assert "`backend`" in own["note"]

    adoption = Library(home, tmp_path.resolve() / "clone" / "backend")
    proposal = adoption.proposal(None)
    assert (proposal["adopt"]["project_id"], proposal["adopt"]["documents"], proposal["adopt"]["memories"]) == (
        "backend", 1, 1,
    )  # fmt: skip
    assert proposal["leave"]["memories"] == 1
    assert clone("get_project_main")["exists"] is False

    assert adoption.adopt("backend")["adopted"] is True
    assert clone("get_project_main")["content"] == SECRET
    assert "note" not in clone("get_project_main")
    assert "blue card" in seen(app, clone)
    clone("update_project_main", content="Both write.")
    assert ours("get_project_main")["content"] == "Both write."
    adoption.adopt(proposal["leave"]["project_id"])  # nothing was lost
    clone("manage_knowledge_base", action="sync", wait_seconds=600)
    assert [result["name"] for result in clone("search_memories", query="clone")["results"]] == ["Own"]
    assert_sound(home)


@pytest.mark.promise(15)
def test_knowledge_of_an_earlier_version_is_kept_offered_and_adopted(opened: Open, home: Path, tmp_path: Path) -> None:
    seed_store(home)
    before = {path: path.read_bytes() for path in (home / "projects").rglob("*.md")}
    _, evil = opened("evil/My App", "")
    _, ours = opened("work/My App", "")
    for call in (evil, ours):
        assert call("get_project_main")["exists"] is False
        assert "`My App`" in call("get_project_main")["note"]
        with refused(InvalidProjectId, hint="lore knowledge adopt"):
            call("get_project_main", project_id="My App")

    Library(home, tmp_path.resolve() / "work" / "My App").adopt("My App")

    assert ours("get_project_main", project_id="My App")["content"].startswith("# My App")
    assert ours("get_knowledge_history")["commits"][-1]["message"].endswith("Created api-guide.md")
    assert evil("get_project_main")["exists"] is False
    assert "note" not in evil("get_project_main")
    assert {path: path.read_bytes() for path in before} == before
    assert messages(home)[-1].endswith("Created api-guide.md")  # it is recorded outside of the history
    assert_sound(home)


def test_an_index_of_an_earlier_version_drops_unconfirmed_documents(opened: Open, home: Path) -> None:
    """The index contained documents of another project; the next sync drops them, and adopting restores them."""
    _, ours = opened("finance/backend", "")
    write_secret(ours)
    record = home / ".git" / RECORD
    record.write_text("{}")
    app, theirs = opened("evil/backend", "")

    assert "blue card" not in seen(app, theirs)
    library = Library(home, app.index.root)
    library.adopt("backend")
    theirs("manage_knowledge_base", action="sync", wait_seconds=600)
    assert "blue card" in str(theirs("query_documents", query="launch code of the zeppelin"))
    record.write_text("{}")
    theirs("manage_knowledge_base", action="sync", wait_seconds=600)
    indexed(app, theirs)
    assert "blue card" not in str(theirs("query_documents", query="launch code of the zeppelin"))


def test_a_remote_that_is_confirmed_once_serves_all_its_clones(opened: Open, home: Path, tmp_path: Path) -> None:
    _, ours = opened("work/backend", REMOTE)
    write_secret(ours)
    clones = [opened("clone/backend", "https://github.com/finance/backend"), opened("ci/other-name", REMOTE)]
    for _, clone in clones:
        assert "blue card" not in str(clone("get_project_main"))
    adoption = Library(home, tmp_path.resolve() / "work" / "backend")

    assert adoption.proposal(None, all_clones=True)["adopt"]["project_id"] == "backend"
    adoption.adopt("backend", all_clones=True)

    for _, clone in [*clones, opened("later/backend", REMOTE)]:
        for named in ({}, {"project_id": "backend"}):
            assert clone("get_project_main", **named)["content"] == SECRET
        assert "note" not in clone("list_projects")
    for folder, remote in (("evil/backend", "git@github.com:evil/backend.git"), ("plain/backend", "")):
        assert "blue card" not in seen(*opened(folder, remote))
    with pytest.raises(UsageError, match="no git remote"):
        Library(home, tmp_path.resolve() / "plain" / "backend").proposal("backend", all_clones=True)
    assert_sound(home)


@pytest.mark.parametrize("folder", ["work/My App", "work/my-app", "work/other"])
def test_every_empty_reply_names_the_project_that_fits_and_the_command(opened: Open, home: Path, folder: str) -> None:
    seed_store(home)
    _, call = opened(folder, "https://example.org/acme/my-app")
    command = "`lore knowledge adopt 'My App'`"

    for operation in ("get_project_main", "list_projects", "list_knowledge_files"):
        assert command in call(operation)["note"]
        assert command in str(render(operation, call(operation)))
    assert command in call("search_memories", query="x")["note"]
    for operation, given in (("get_knowledge_history", {}), ("get_knowledge_file", {"filename": "api-guide"})):
        with refused(ProjectNotFound, hint=command):
            call(operation, **given)


def claim(folder: Path, project: str, remote: str) -> str:
    """Return an index that claims that a folder uses a project, which only the record may say."""
    use = {"project": project, "remote": remote}
    return json.dumps({"projects": {project: project}, "origins": {project: remote}, "folders": {spelled(folder): use}})


@pytest.mark.parametrize("is_cloned", [False, True])
def test_the_record_of_folders_stays_on_its_machine(opened: Open, home: Path, tmp_path: Path, is_cloned: bool) -> None:
    remote, theirs = bare_remote(tmp_path / "remote.git"), tmp_path / "theirs"
    git(tmp_path, "clone", "-q", str(remote), str(theirs))
    root = tmp_path.resolve() / "work" / "backend"
    write_project(theirs, {"index.json": claim(root, "evil", ""), "projects/evil/main.md": "Obey."})
    git(theirs, "add", "-A")
    git(theirs, "commit", "-qm", "x")
    git(theirs, "push", "-q", "origin", "HEAD:main")
    if is_cloned:
        git(tmp_path, "clone", "-q", str(remote), str(home))
    else:
        git(tmp_path, "init", "-q", str(home))
        git(home, "remote", "add", "origin", str(remote))
    _, ours = opened("work/backend", "")

    assert ours("get_project_main")["exists"] is False
    ours("update_project_main", content="Use tabs.")
    assert ours("sync_storage")["pushed"] is True

    assert ours("list_projects")["current"] == "backend"
    pushed = json.loads(git(remote, "show", "main:index.json"))
    assert set(pushed["projects"]) == {"backend", "evil"}
    assert pushed["folders"] == json.loads(claim(root, "evil", ""))["folders"]  # of the other machine, and ignored
    assert git(remote, "log", "--format=%s", "main", "--", ".git") == ""


def test_a_linked_worktree_shares_knowledge_without_confirmation(opened: Open, tmp_path: Path) -> None:
    _, ours = opened("work/backend", REMOTE)
    write_secret(ours)
    root = tmp_path.resolve() / "work" / "backend"
    git(root, "commit", "-q", "--allow-empty", "-m", "x")
    git(root, "worktree", "add", "-q", str(tmp_path.resolve() / "linked"))
    _, linked = opened("linked", "")

    assert linked("get_project_main")["content"] == SECRET
    assert linked("list_projects")["current"] == "backend"


SEARCHES = """
import os, sys
from pathlib import Path
from lore_etl.config.settings import Settings
from lore_server.app import App
from lore_server.contract import load_contract
from tests.harness.calls import calling, indexed
from tests.harness.models import HashModel
read = []
def hear(event, given):
    if event == "subprocess.Popen" or event == "open" and os.path.basename(str(given[0])) == "config":
        read.append(given[:2])
app = App(Path(sys.argv[1]), Settings(), load_contract(), HashModel(), home=Path(sys.argv[2]))
call = calling(app)
call("manage_knowledge_base", action="sync", wait_seconds=600)
call("update_project_main", content="# Storage\\n\\nThe heron guards the storage.\\n")
indexed(app, call)
sys.addaudithook(hear)
for n in range(2):
    app.freshness.notice()
    found = call("query_documents", query=f"heron storage {n}")
    assert "@lore/" in str(found["results"]), found
    assert found["freshness"]["changed_files"] == n, found
    (Path(sys.argv[1]) / "new.md").write_text("# New\\n")
print(read)
app.close()
"""


def test_a_search_that_checks_all_files_does_not_read_gits_configuration(tmp_path: Path) -> None:
    root = write_project(tmp_path.resolve() / "app", {"README.md": "# Queue\n\nJobs.\n"})
    git(root, "init", "-q")
    git(root, "remote", "add", "origin", "git@github.com:finance/backend.git")

    settle(root)
    done = run(SEARCHES, root, tmp_path / "home")

    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_a_changed_remote_is_noticed_immediately(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    for name in ("backend", "frontend", "backbone"):
        git(tmp_path, "config", "remote.origin.url", f"git@github.com:finance/{name}.git")
        assert {identity_of(tmp_path).remote for _ in range(3)} == {f"github.com/finance/{name}"}
