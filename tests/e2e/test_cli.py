"""Test the command line: options before or after the command, JSON on standard output, exit codes."""

import json
import sqlite3
import subprocess
import tomllib
from contextlib import closing
from pathlib import Path

import pytest

from lore_etl.config.settings import Settings
from lore_etl.core.errors import StorageError
from tests.harness.commands import LORE, run_lore, start_lore
from tests.harness.evaluation import commit, git
from tests.harness.projects import ROOT, write_project
from tests.harness.published import private, public
from tests.harness.tracker import github, github_issue, running
from tests.harness.trust import approve


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli").resolve()
    write_project(
        folder,
        {
            "docs/guide.md": "# Guide\n\nThe zebra is striped.\n",
            "pkg/__init__.py": "",
            "pkg/base.py": "class Base:\n    def run(self) -> int:\n        return 1\n",
            "pkg/child.py": "from pkg.base import Base\n\n\nclass Child(Base):\n    pass\n",
        },
    )
    assert run_lore("sync", cwd=folder).returncode == 0
    return folder


def in_shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False)


def test_a_folder_without_any_set_up_can_be_indexed_and_searched(project: Path) -> None:
    done = start_lore("search", "zebra", cwd=project)

    assert done.returncode == 0
    assert done.stdout.startswith("1. docs/guide.md:1-3  [guide]")


@pytest.mark.parametrize("command", [["search"], ["ask"], ["memory", "search"]])
def test_the_words_of_a_query_need_no_quotes(project: Path, command: list[str]) -> None:
    words = run_lore(*command, "what", "is", "striped", "--json", cwd=project)
    quoted = run_lore(*command, "what is striped", "--json", cwd=project)

    assert (words.returncode, words.stderr) == (quoted.returncode, quoted.stderr)
    assert json.loads(words.stdout).get("results") == json.loads(quoted.stdout).get("results")


def test_the_index_ignores_itself_in_git(project: Path) -> None:
    assert (project / ".lore" / ".gitignore").read_text().splitlines()[-1] == "*"


def test_options_are_accepted_before_and_after_the_command(project: Path, tmp_path: Path) -> None:
    before = run_lore("-C", str(project), "--json", "search", "zebra", cwd=tmp_path)
    after = run_lore("search", "zebra", "--json", "-C", str(project), cwd=tmp_path)

    assert json.loads(before.stdout)["results"] == json.loads(after.stdout)["results"] != []


def test_the_project_is_the_nearest_folder_with_a_configuration_or_git(tmp_path: Path) -> None:
    write_project(tmp_path, {"lore.toml": "", "a.md": "# Alpha\n", "deep/er/b.md": "# Beta\n"})

    done = run_lore("sync", "--json", cwd=tmp_path / "deep" / "er")

    assert json.loads(done.stdout)["report"]["files"] == 2
    assert (tmp_path / ".lore").is_dir()


def test_verify_fails_until_a_sync_has_repaired_the_damage(tmp_path: Path) -> None:
    write_project(tmp_path, {"a.md": "# Price\n\nIt costs 500 euro.\n"})
    assert run_lore("verify", cwd=tmp_path).returncode == 1
    assert not (tmp_path / ".lore").exists()
    run_lore("sync", cwd=tmp_path)
    with closing(sqlite3.connect(tmp_path / ".lore" / "catalogue.sqlite")) as connection, connection:
        connection.execute("UPDATE chunk SET own = replace(own, '500 euro', '900 euro')")

    found = run_lore("verify", "--json", cwd=tmp_path)
    status = run_lore("status", cwd=tmp_path)
    run_lore("sync", cwd=tmp_path)
    again = run_lore("verify", cwd=tmp_path)

    assert (found.returncode, json.loads(found.stdout)["status"]) == (1, "damaged")
    assert status.returncode == 1
    assert "Damage was found" in status.stdout
    assert again.returncode == 0
    assert again.stdout.startswith("verified: Everything was compared; there is no damage.")


def test_sync_prints_its_report_as_data(project: Path) -> None:
    job = json.loads(run_lore("sync", "--json", cwd=project).stdout)
    report = job["report"]
    listed = json.loads(run_lore("docs", "--json", cwd=project).stdout)

    assert {name: report[name] for name in ("created", "updated", "deleted", "embedded", "failed")} == {
        "created": 0, "updated": 0, "deleted": 0, "embedded": 0, "failed": [],
    }  # fmt: skip
    assert job["state"] == "done"
    assert report["unchanged"] == listed["total"] > 0


def test_a_clone_fetches_the_published_index_of_its_commit(tmp_path: Path) -> None:
    root, clone, target, key = (tmp_path / name for name in ("origin", "clone", "target", "key.pem"))
    write_project(root, {"docs/zebra.md": "# Zebra\n\nThe zebra crosses.\n"})
    key.write_text(private())
    git(root, "init", "-b", "main")
    git(root, "add", ".")
    commit(root, "Add the zebra")
    git(root, "clone", "--quiet", str(root), str(clone))

    refused = run_lore("publish", str(target), cwd=root)
    in_binary = write_project(tmp_path, {"key.der": b"\x30\x2e\xde\xe9"}) / "key.der"
    unreadable = run_lore("publish", str(target), "--key", str(in_binary), cwd=root)
    sent = json.loads(run_lore("publish", str(target), "--key", str(key), "--json", cwd=root).stdout)
    unknown = run_lore("fetch", str(target), cwd=clone)
    taken = json.loads(run_lore("fetch", str(target), "--accept", public(), "--json", cwd=clone).stdout)

    assert (refused.returncode, unreadable.returncode, unknown.returncode) == (2, 2, 2)
    assert "No key is given." in refused.stderr
    assert "not a private key in PEM" in unreadable.stderr
    assert "not signed by a key that you accept" in unknown.stderr
    assert (sent["branch"], sent["commit"]) == ("main", taken["commit"])
    assert (taken["unchanged"], taken["embedded"], taken["created"]) == (1, 0, 0)
    assert run_lore("search", "zebra", cwd=clone).returncode == 0
    for name in ("private.md", "docs/zebra.md"):  # a file that no commit has, and a change to one
        write_project(root, {name: "# Notes\n\nNot committed.\n"})
        private_text = run_lore("publish", str(target), "--key", str(key), cwd=root)
        assert (private_text.returncode, name in private_text.stderr) == (2, True)
        git(root, "stash", "--include-untracked")


def test_a_server_of_projects_and_of_a_replica_is_refused(tmp_path: Path) -> None:
    done = run_lore("serve", "--projects", str(tmp_path), "--replica", "main", "--port", "0", cwd=tmp_path)

    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "--replica and --projects exclude each other.")


@pytest.mark.requirement("NEO-032")
def test_the_class_tree_shows_the_members_of_its_root(project: Path) -> None:
    assert run_lore("hierarchy", "Base", cwd=project).stdout.splitlines() == [
        "pkg.base.Base  pkg/base.py:1",
        "  pkg.child.Child  pkg/child.py:4",
        "",
        "members:",
        "  .run  method, lines 2-3",
        "",
        "used by at least 1 file:",
        "  pkg/child.py:1 and 1 more",
        "not covered: calls of methods through objects, dynamic calls, and names that several definitions share",
    ]


@pytest.mark.requirement("NEO-036")
def test_a_chunk_is_shown_in_full_by_its_id(project: Path) -> None:
    listed = json.loads(run_lore("docs", "--type", "guide", "--json", cwd=project).stdout)
    shown = run_lore("docs", listed["documents"][0]["id"], cwd=project)

    assert shown.stdout.endswith("# Guide\n\nThe zebra is striped.\n")


def test_call_runs_any_operation_whose_pairs_override_json_and_stay_text_where_the_contract_says_so(
    project: Path,
) -> None:
    listed = run_lore("call", "list_documents", "limit=1", "--json-args", '{"type": "src", "limit": 9}', cwd=project)
    found = run_lore("call", "query_documents", "query=4711", "limit=1", "explain=true", cwd=project)

    assert [document["type"] for document in json.loads(listed.stdout)["documents"]] == ["src"]
    assert json.loads(found.stdout)["query"] == "4711"


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["search", ""], 2, "`query` is empty"),
        (["search", "x" * 10_000], 2, "too long"),
        (["search", "zebra", "--type", "guides"], 2, "Valid values: all, guide"),
        (["search", "zebra", "--limit", "-1"], 2, "minimum is 1"),
        (["hierarchy", "Bose"], 1, "pkg.base.Base"),
        (["docs", "nope"], 1, "no document"),
        (["call", "nope"], 2, "query_documents"),
        (["call", "query_documents", "query"], 2, "key=value"),
        (["call", "query_documents", "--json-args", "{"], 2, "not valid JSON"),
        (["call", "manage_knowledge_base", "action=delete"], 2, "confirm=true"),
        (["-C", "/no/such/folder", "search", "x"], 2, "no folder"),
        (["nonsense"], 2, "No such command"),
        (["search"], 2, "Missing argument"),
    ],
)
def test_a_usage_error_is_reported_on_standard_error_with_its_exit_code(
    project: Path, arguments: list[str], code: int, expected: str
) -> None:
    done = run_lore(*arguments, cwd=project)

    assert done.returncode == code
    assert expected in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_an_error_is_json_if_json_was_requested(project: Path) -> None:
    done = run_lore("search", "zebra", "--type", "guides", "--json", cwd=project)

    assert json.loads(done.stdout)["code"] == "INVALID_ARGUMENT"
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("memory add Name <&-", 2, "`body` is empty"),
        ("search zebra >&-", 0, "confidence"),
        ("search zebra >&- 2>&-", 0, ""),
    ],
)
def test_a_closed_stream_is_an_empty_one(project: Path, command: str, code: int, said: str) -> None:
    done = in_shell(f"{LORE} {command}", project)

    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", ["search zebra", "search zebra --json", "search -n 0 zebra --json", "--version"])
def test_output_that_cannot_be_written_is_an_error_of_the_disk(project: Path, command: str, unbuffered: str) -> None:
    done = in_shell(f"PYTHONUNBUFFERED={unbuffered} {LORE} {command} >/dev/full", project)

    assert done.returncode == StorageError.exit_code
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize("command", ["ps", "search zebra", "--version"])
def test_a_reader_that_has_seen_enough_is_no_error(project: Path, command: str) -> None:
    done = in_shell(f"PYTHONUNBUFFERED= {LORE} {command} 2>errors | true; echo ${{PIPESTATUS[0]}}; cat errors", project)

    assert done.stdout.startswith("0\n")
    assert "Broken" not in done.stdout


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("token list", "There are no tokens."),
        ("add-docs --list", "No documentation of libraries was added"),
        ("add-docs --update", "No documentation of libraries was added"),
        ("knowledge list", "has no documents yet"),
        ("knowledge get", "has no main document yet: write it with `lore call update_project_main`"),
    ],
)
def test_a_list_without_entries_says_so_on_standard_error(project: Path, command: str, said: str) -> None:
    done = run_lore(*command.split(), cwd=project)

    assert done.stdout == ""
    assert said in done.stderr


def test_a_configuration_that_cannot_be_read_is_no_wrong_key(project: Path) -> None:
    done = run_lore("-c", "none.toml", "search", "zebra", cwd=project)

    assert done.returncode == 2
    assert done.stderr == "Cannot read none.toml: No such file or directory.\nMake it a regular, readable file.\n"


def test_a_search_in_an_unsynced_folder_suggests_a_sync(tmp_path: Path) -> None:
    done = run_lore("search", "zebra", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (1, "")
    assert "lore sync" in done.stderr


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("[querry]\n", "Did you mean `query`"),
        ("[query]\nrankng = 'hybrid'\n", "Did you mean `ranking`"),
        ("[query.weights]\nticketPenaltie = 1\n", "Did you mean `ticketPenalty`"),
        ("[query]\nranking = 'best'\n", "query.ranking"),
        ("[sources]\nticket = ['x']\n", "Known sources: rules"),
        ("[index]\nmax_file_bytes = -1\n", "index.max_file_bytes"),
        ("[index\n", "not valid"),
        ("[server]\nhost = 'http://a'\n", "server.host"),
        ("[embedding]\nmodel = './no-such-model'\n", "embedding.model"),
    ],
)
def test_every_command_names_the_invalid_configuration_key(tmp_path: Path, config: str, expected: str) -> None:
    write_project(tmp_path, {"lore.toml": config, "a.md": "# Alpha\n"})
    if "host" in config or "model" in config:
        approve(tmp_path)

    for command in (["sync"], ["status"]) if "model" not in config else (["sync"],):
        done = run_lore(*command, cwd=tmp_path)
        assert done.returncode == 2, done.stderr
        assert expected in done.stderr


@pytest.mark.requirement("NEO-051")
def test_a_second_configuration_is_merged_over_the_first(tmp_path: Path) -> None:
    first = '[index]\nexclude = ["b.md"]\npath = "one"\n'
    second = '{"index": {"path": "two"}}'
    write_project(tmp_path, {"lore.toml": first, ".over.json": second, "a.md": "# A\n", "b.md": "# B\n"})

    done = run_lore("sync", "--json", "-c", ".over.json", cwd=tmp_path)

    assert json.loads(done.stdout)["report"]["files"] == 1
    assert (tmp_path / "two").is_dir()
    assert not (tmp_path / "one").exists()


def test_init_writes_a_valid_configuration_and_keeps_an_existing_file(tmp_path: Path) -> None:
    first = run_lore("init", "--no-sync", cwd=tmp_path)
    written = (tmp_path / "lore.toml").read_text()
    (tmp_path / "lore.toml").write_text("[index]\n")
    second = run_lore("init", "--no-sync", cwd=tmp_path)

    assert Settings.model_validate(tomllib.loads(written)) == Settings()
    assert "Wrote: lore.toml." in first.stdout
    assert "Missing" not in first.stdout  # only of interest beside a `.ce/`
    assert "Kept: lore.toml." in second.stdout
    assert (tmp_path / "lore.toml").read_text() == "[index]\n"


def test_progress_and_logs_never_reach_standard_output(tmp_path: Path) -> None:
    write_project(tmp_path, {"a.md": "# Alpha\n", "bad.md": b"\xff\xfe\xff"})

    done = run_lore("-v", "sync", cwd=tmp_path)

    assert done.stdout.startswith("1 file in ")
    assert [line.partition(" ")[0] for line in done.stdout.splitlines()] == ["1", "found:"]
    assert "bad.md" in done.stderr


@pytest.mark.parametrize("command", ["init", "sync"])
def test_a_build_without_a_terminal_prints_its_plan_and_stages_first(tmp_path: Path, command: str) -> None:
    write_project(tmp_path, {"a.md": "# Alpha\n", "docs/b.py": "def b():\n    pass\n"})

    shown = run_lore(command, cwd=tmp_path)
    write_project(tmp_path, {"a.md": "# Alpha\n\nEdited.\n"})
    silent = run_lore(command, "--json", cwd=tmp_path)

    notes = shown.stderr.splitlines()
    plan = notes.index("plan: read 2 files, index their words, then embed their passages")
    assert "found: 1 Markdown, 1 Python" in notes[:plan]
    assert ("Found: docs." in notes[:1]) == (command == "init")
    assert any(note.endswith(": 0 of 2.") for note in notes[plan:])  # a quick stage may end before it is shown
    assert (silent.returncode, silent.stderr) == (0, "")
    assert json.loads(silent.stdout)


def test_every_command_is_documented() -> None:
    documented = (ROOT / "docs" / "cli.md").read_text()
    helped = run_lore("--help", cwd=ROOT).stdout

    for name in "init sync pull add-docs search ask why hierarchy docs status call eval tune serve mcp".split():
        assert f"`lore {name}" in documented
        assert f" {name} " in helped


def test_a_place_leads_to_the_commits_that_changed_it(project: Path) -> None:
    without = run_lore("why", "pkg/base.py", cwd=project)
    commit(project, "Run once (#7)")
    whole = run_lore("why", "base.py:2-3", cwd=project / "pkg")

    assert (without.returncode, without.stdout) == (1, "pkg/base.py:1-3\nnote: This project has no git history.\n")
    assert whole.stdout.startswith("pkg/base.py:2-3\n")
    assert "Run once (#7)  (Tester)\n   names #7\n" in whole.stdout


def test_pulled_tickets_are_found_with_their_state(tmp_path: Path) -> None:
    write_project(tmp_path, {"README.md": "# Harbour\n\nFerries.\n"})
    unready = run_lore("pull", "github", "acme/ferry", cwd=tmp_path)
    assert run_lore("sync", cwd=tmp_path).returncode == 0

    with running(github([github_issue(41, state="closed", body="The gangway squeaks.")])) as address:
        done = run_lore("pull", "github", "acme/ferry", "--url", address, "--json", cwd=tmp_path)
        found = run_lore("search", "gangway squeaks", cwd=tmp_path)

    assert (unready.returncode, "Run `lore sync` first" in unready.stderr) == (1, True)
    assert json.loads(done.stdout)["changed"] == 2
    assert "@tickets/github/acme/ferry/issues/41.md" in found.stdout.splitlines()[0]
    assert "[ticket, tracker, closed]" in found.stdout.splitlines()[0]


def test_documentation_of_a_library_is_found_with_its_version_below_the_projects_own_files(tmp_path: Path) -> None:
    project, kit = tmp_path / "project", tmp_path / "mooring-kit"
    write_project(project, {"README.md": "# Harbour\n\nHow ferries moor at the pier.\n"})
    write_project(kit, {"docs/pier.md": "# Pier\n\nHow ferries moor at the pier, in detail.\n"})
    unready = run_lore("add-docs", str(kit), cwd=project)
    assert run_lore("sync", cwd=project).returncode == 0
    (project / "linked").symlink_to(kit)

    added = run_lore("add-docs", str(kit), "--version", "2.1", "--json", cwd=project)
    plain = run_lore("search", "how ferries moor at the pier", cwd=project).stdout
    named = run_lore("search", "how ferries moor at the pier with mooring kit", cwd=project).stdout
    typed = run_lore("search", "pier", "--type", "library", "--json", cwd=project)
    refused = run_lore("add-docs", "linked", cwd=project)
    listed = run_lore("add-docs", "--list", cwd=project).stdout
    removed = run_lore("add-docs", "--remove", "mooring-kit", cwd=project)
    after = run_lore("search", "pier", "--type", "library", "--json", cwd=project)

    assert (unready.returncode, "Run `lore sync` first" in unready.stderr) == (1, True)
    assert json.loads(added.stdout)["libraries"][0]["added"] == 1
    assert plain.startswith("1. README.md:1-3  [guide]")
    assert named.startswith("1. @docs/mooring-kit/docs/pier.md:6-8  [library, mooring-kit 2.1]")
    assert [result["type"] for result in json.loads(typed.stdout)["results"]] == ["library"]
    assert (refused.returncode, "leads outside the project" in refused.stderr) == (2, True)
    assert listed.startswith(f"mooring-kit 2.1  1 page  {kit.resolve()}")
    assert removed.returncode == 0
    assert json.loads(after.stdout)["results"] == []


def test_every_configuration_key_is_documented() -> None:
    documented = (ROOT / "docs" / "configuration.md").read_text()

    for section, field in Settings.model_fields.items():
        if section != "sources":
            for key in type(field.default).model_fields:
                assert f"`{key}`" in documented, f"{section}.{key}"


@pytest.mark.parametrize("command", [("add-docs", "starlette", "--from", ".venv"), ("pull", "github", "a/b")])
def test_a_command_that_needs_an_index_names_the_one_that_builds_it(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / ".git").mkdir()
    variables = {"HOME": str(tmp_path / "home"), "LORE_STATE": str(tmp_path / "state")}
    assert run_lore("init", "--no-sync", cwd=tmp_path, **variables).returncode == 0

    failed = run_lore(*command, cwd=tmp_path, **variables)

    assert failed.returncode == 1
    assert "Run `lore sync` first" in failed.stderr
