"""A search checks the project's files without reading git's configuration, which may contain passwords."""

from pathlib import Path

from lore_server.knowledge.registry import identity_of
from tests.harness.knowledge import git
from tests.harness.processes import run
from tests.harness.projects import settle, write_project

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
