"""Setting up Lore for a project: the findings, the written files, and repeated runs."""

import json
import re
import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lore_etl.config.settings import Settings
from lore_etl.core.errors import Busy, InvalidArgument, StorageError
from lore_etl.core.progress import Listener
from lore_server.app import App
from lore_server.contract import Contract
from lore_server.framework.index_file import exists
from lore_server.replies import budget
from tests.harness.calls import Opener
from tests.harness.framework import INDEX, SCHEMA, framework
from tests.harness.models import HashModel
from tests.harness.paused import PausedModel
from tests.harness.permissions import without_permission
from tests.harness.projects import settle, write_project
from tests.harness.refusals import refused

JSON = dict[str, Any]
WAIT = 600


@pytest.fixture
def opened(tmp_path: Path, open_app: Opener) -> Opener:
    """Return a function that opens a project with these files."""
    return lambda files: open_app(write_project(tmp_path / "project", files), home=tmp_path / "home")


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory, contract: Contract) -> Iterator[tuple[App, JSON]]:
    """Return a project after init, with the report; tests do not modify it."""
    folder = tmp_path_factory.mktemp("taken").resolve()
    project = write_project(folder / "project", framework())
    with closing(App(project, Settings(), contract, HashModel(), home=folder / "home")) as app:
        yield app, init(app)


@pytest.fixture
def app(opened: Opener) -> App:
    return opened(framework())


def init(app: App, **arguments: Any) -> JSON:
    return app.call("init_project", {"wait_seconds": WAIT, **arguments})


def sync(app: App) -> JSON:
    settle(app.index.root)
    done: JSON = app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": WAIT, "allow_mass_delete": True})
    return done["report"]


def written(app: App) -> JSON:
    value = json.loads((app.index.root / INDEX).read_text(encoding="utf-8"))
    Draft202012Validator(SCHEMA).validate(value)
    return value


def test_the_written_configuration_names_every_key_with_its_default(taken: tuple[App, JSON]) -> None:
    text = (taken[0].index.root / "lore.toml").read_text(encoding="utf-8")
    given = tomllib.loads(re.sub("^# (?=[a-z])", "", text, flags=re.MULTILINE))
    defaults = Settings().model_dump(exclude={"sources"})

    assert not any(tomllib.loads(text).values())
    assert {section: given[section] for section in defaults} == {
        section: {name: "" if value is None else value for name, value in table.items()}
        for section, table in defaults.items()
    }


@pytest.mark.requirement("KM-004", "KM-005")
@pytest.mark.requirement("KM-001", "KM-003")
def test_29_3_init_reports_found_written_and_missing_files_and_implements_the_index_schema(
    taken: tuple[App, JSON],
) -> None:
    app, reply = taken
    value = written(app)
    assert value["project_root"] == str(app.index.root)
    assert value["synced_at"] == app.index.catalogue.meta("synced_at")
    assert value["paths"]["user_prps"] == "PRPs"
    assert {name: len(entries) for name, entries in value["knowledge"].items()} == reply["groups"]
    assert value["knowledge"]["system_prps"]["PRP-1"]["implementations"] == ["ce/validate.py"]
    assert value["knowledge"]["system_rules"]["fast-failure-let-exceptions-bubble-up"]["line"] == 3

    assert {result["role"]: result["path"] for result in reply["found"]} == {
        "framework": ".ce", "system_prps": ".ce/PRPs/system", "system_examples": ".ce/examples/system",
        "system_rules": ".ce/RULES.md", "user_prps": "PRPs", "user_examples": "examples",
        "memories": ".serena/memories", "claude_md": "CLAUDE.md",
    }  # fmt: skip
    assert reply["missing"] == [{"role": "docs", "path": "docs"}]
    assert reply["written"] == ["lore.toml", INDEX]
    assert reply["kept"] == reply["warnings"] == []
    assert reply["groups"] == {
        "system_patterns": 1, "user_patterns": 1, "system_prps": 1, "user_prps": 3, "memories": 1, "system_rules": 3,
    }  # fmt: skip
    assert reply["drift"] == {"score": 0.0, "total": 0, "violations": []}
    assert reply["job"]["state"] == "done"


def test_a_second_run_changes_nothing(taken: tuple[App, JSON]) -> None:
    app, _ = taken
    files = [path for path in app.index.root.rglob("*") if path.is_file() and ".lore" not in str(path)]
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}

    reply = init(app)

    assert (reply["written"], reply["kept"]) == ([], ["lore.toml", INDEX])
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files} == before
    report = reply["job"]["report"]
    assert (report["created"], report["updated"], report["deleted"], report["embedded"]) == (0, 0, 0, 0)
    assert app.freshness.record()["state"] == "fresh"


def test_an_existing_configuration_is_never_changed(opened: Opener) -> None:
    app = opened({**framework(1), "lore.toml": "[index]\n"})

    reply = init(app, sync=False)

    assert reply["kept"] == ["lore.toml"]
    assert (app.index.root / "lore.toml").read_text(encoding="utf-8") == "[index]\n"
    assert "job" not in reply
    assert set(reply["groups"].values()) == {0}
    assert written(app)["synced_at"] is None


def test_a_project_without_the_folders_is_reported_and_gets_no_index_file(opened: Opener) -> None:
    app = opened({"README.md": "# Read me\n"})

    reply = init(app)

    assert reply["found"] == []
    missing = [place["path"] for place in reply["missing"]]
    assert missing == ["PRPs", "examples", ".serena/memories", "CLAUDE.md", "docs"]  # no framework: none of `.ce`
    assert reply["written"] == ["lore.toml"]
    assert reply["job"]["report"]["created"] == 1
    assert not (app.index.root / ".ce").exists()


@pytest.mark.requirement("KM-046")
def test_29_3_no_stale_index_every_sync_updates_the_file_and_drift_is_reported(app: App) -> None:
    init(app)
    root = app.index.root
    (root / "ce/validate.py").unlink()
    write_project(root, {"PRPs/executed/PRP-40.md": "# Forty\n\nAs in examples/patterns/gone.md, but better.\n"})

    report = sync(app)
    value = written(app)

    assert report["warnings"] == []
    assert "PRP-40" in value["knowledge"]["user_prps"]
    assert [
        (violation["type"], violation["source"], violation["target"]) for violation in value["drift"]["violations"]
    ] == [
        ("missing_implementation", ".ce/PRPs/system/executed/PRP-1-validation.md", "ce/validate.py"),
        ("missing_pattern", "PRPs/executed/PRP-40.md", "examples/patterns/gone.md"),
    ]
    assert 0 < value["drift"]["score"] < 1
    assert app.freshness.record()["state"] == "fresh"
    write_project(root, {".serena/memories/tool-usage-guide.md": "# Another\n"})
    reply = init(app, sync=False)
    assert reply["drift"]["total"] == 3
    assert reply["drift"]["violations"] == written(app)["drift"]["violations"]
    assert reply["drift"]["violations"][2]["type"] == "changed_since_index"


@pytest.mark.parametrize("content", ['{"version": "1.0.0", "entries": []}', '{"version": "1.0", "know', "[]"])
def test_a_file_that_is_not_ours_is_kept_next_to_the_new_file_by_init_only(app: App, content: str) -> None:
    target = app.index.root / INDEX
    sync(app)
    assert not target.exists()
    target.write_text(content, encoding="utf-8")
    warnings = [f"{INDEX} is damaged or another tool's, and was kept: `lore init` replaces it."]
    assert sync(app)["warnings"] == warnings
    for text in (content, content + " "):
        target.write_text(text, encoding="utf-8")
        sync(app)
        assert target.read_text(encoding="utf-8") == text
        reply = init(app, sync=False)
        assert reply["warnings"][0].startswith(f"{INDEX} was damaged or another tool's: kept as {INDEX}.old-")
        assert written(app)["knowledge"]["memories"]
    old = target.parent.glob(f"{target.name}.old-*")
    assert sorted(file.read_text(encoding="utf-8") for file in old) == [content, content + " "]
    assert app.freshness.record()["state"] == "fresh"


def test_nothing_is_written_through_a_symlink_out_of_the_project(tmp_path: Path, opened: Opener) -> None:
    outside = write_project(tmp_path / "outside", {"PRPs/PRP-1.md": "# One\n"})
    app = opened({"PRPs/PRP-2.md": "# Two\n"})
    (app.index.root / ".ce").symlink_to(outside)

    reply = init(app)

    assert reply["found"] == [{"role": "user_prps", "path": "PRPs"}]
    assert reply["groups"]["user_prps"] == 1
    assert sorted(path.name for path in outside.iterdir()) == ["PRPs"]
    reason = "symlink leads outside the project; not followed"
    assert reply["job"]["report"]["skipped"] == [{"source": ".ce", "reason": reason}]


def test_a_symlink_in_place_of_the_file_is_rejected_and_reported(app: App, tmp_path: Path) -> None:
    target = tmp_path / "target.json"
    target.write_text("{}", encoding="utf-8")
    (app.index.root / INDEX).symlink_to(target)

    reply = init(app)

    assert reply["warnings"] == [f"{INDEX} was not written: {INDEX} contains a symlink or is not a file."]
    assert reply["job"]["report"]["warnings"] == reply["warnings"]
    assert target.read_text(encoding="utf-8") == "{}"
    assert (app.index.root / INDEX).is_symlink()


def test_an_unwritable_folder_is_an_error_with_a_hint(opened: Opener) -> None:
    app = opened({"README.md": "# A\n"})
    with without_permission(app.index.root, app.index.root, 0o555), refused(StorageError, hint="lore init` again"):
        init(app)

    assert init(app)["written"] == ["lore.toml"]


def test_symlinks_out_of_the_project_are_not_followed(tmp_path: Path) -> None:
    root = write_project(tmp_path / "project", {"src/a.py": ""})
    write_project(tmp_path / "project-evil", {"b.py": ""})
    (root / "out").symlink_to("../project-evil")
    (root / "in").symlink_to("src")
    (root / "loop").symlink_to("loop")
    (root / "dead").symlink_to("nowhere")

    there = [path for path in ("src/a.py", "src", "in/a.py", "dead", "in") if exists(root, path)]
    beyond = ["../project-evil/b.py", "out/b.py", "out", "/etc", "loop/x", "src/../../project-evil", "src/b.py", "a\0b"]

    assert there == ["src/a.py", "src", "in/a.py", "in"]
    assert [path for path in beyond if exists(root, path)] == []


def test_a_server_sets_up_only_its_own_project(taken: tuple[App, JSON], tmp_path: Path) -> None:
    app, _ = taken
    for other in (tmp_path, "/", "..", "a\0b", "~nobody-of-that-name/x", str(app.index.root) + "-evil"):
        with refused(InvalidArgument, match="a different folder", hint="lore init"):
            init(app, project_root=str(other))
    link = tmp_path / "link"
    link.symlink_to(app.index.root)

    assert init(app, project_root=str(link), sync=False)["kept"] == ["lore.toml", INDEX]


def test_a_long_sync_continues_as_a_job_and_an_index_that_is_being_deleted_is_busy(app: App) -> None:
    reply = init(app, wait_seconds=0)
    ended = app.call("get_job", {"id": reply["job"]["id"], "wait_seconds": WAIT})
    assert ended["state"] == "done"
    assert written(app)["synced_at"] == app.index.catalogue.meta("synced_at") is not None
    assert init(app, sync=False)["groups"]["user_prps"] == 3

    with app.index.gate.reading():  # a delete waits for readers
        app.call("manage_knowledge_base", {"action": "delete", "confirm": True, "wait_seconds": 0})
        with pytest.raises(Busy):
            init(app)


@pytest.mark.requirement("KM-002")
def test_29_3_a_failing_index_does_not_break_init_is_reported_and_resumes_when_repeated(app: App) -> None:
    sync(app)
    for path in list(app.index.root.rglob("*.md")):
        path.rename(path.with_suffix(".away"))

    first = init(app)
    for path in list(app.index.root.rglob("*.away")):
        path.rename(path.with_suffix(".md"))
    second = init(app)

    assert first["written"] == ["lore.toml", INDEX]
    assert (first["job"]["state"], first["job"]["problem"]["code"]) == ("failed", "SYNC_GUARD")
    assert first["drift"]["total"] == 7
    assert (second["job"]["state"], second["drift"]["total"], second["written"]) == ("done", 0, [INDEX])


@pytest.mark.requirement("KM-012")
def test_29_3_corrupt_files_are_reported_and_the_rest_is_indexed(opened: Opener) -> None:
    secret = "gh" + "p_" + "a1B2" * 9
    files = {
        **framework(1),
        ".serena/memories/broken.md": "---\ntags: [a\n---\n# Broken\n\nIts text counts all the same.\n\n## Topic\n",
        ".serena/memories/binary.md": b"\0\1\2",
        ".serena/memories/latin.md": b"# Caf\xe9\n",
        ".serena/memories/huge.md": "# Huge\n" + "word " * 2_000_000,
        "PRPs/executed/PRP-50.md": "---\n" + "a: [" * 500 + "\n---\n# Fifty\n\nDeeply nested front matter.\n",
        "PRPs/executed/PRP-51.md": "",
        "PRPs/executed/odd.md": '---\nprp_id: "PRP-\\0"\nstatus: "\\a"\ntags: ["\\e"]\nname: "\\0"\n---\n',
        "PRPs/executed/PRP-52.md": f"---\ntags: [{secret}]\n---\n# T\n\nUse {secret} for all that is there.\n",
    }
    app = opened(files)
    (app.index.root / ".serena/memories/loop.md").symlink_to("loop.md")

    reply = init(app)
    memories = written(app)["knowledge"]["memories"]

    failed = {
        failure["source"].rpartition("/")[2]: failure["reason"].split(":")[0]
        for failure in reply["job"]["report"]["failed"]
    }
    assert failed == {
        "broken.md": "front matter is not valid YAML at line 3; the text was indexed without it",
        "binary.md": "binary",
        "latin.md": "not valid UTF-8 at byte 5; save it as UTF-8",
        "huge.md": "too large",
        "PRP-50.md": "front matter is not valid YAML; the text was indexed without it",
    }
    assert memories["broken"]["excerpt"] == "Its text counts all the same."
    assert memories["broken"]["tags"] == ["topic"]
    assert set(memories) == {"broken", "tool-usage-guide"}
    prps = written(app)["knowledge"]["user_prps"]
    assert prps["PRP-51"]["excerpt"] == ""
    assert prps["odd"]["tags"] == ["\N{REPLACEMENT CHARACTER}"]
    assert prps["PRP-52"]["excerpt"] == "Use redacted-github-token for all that is there."
    assert secret not in (app.index.root / INDEX).read_text(encoding="utf-8")


def test_an_unreadable_folder_and_a_rules_file_without_a_marked_rule_are_reported_and_have_no_entries(app: App) -> None:
    with without_permission(app.index.root / ".serena/memories", app.index.root):
        reply = init(app)
    assert reply["job"]["report"]["failed"][0]["source"] == ".serena/memories/"
    assert reply["groups"]["memories"] == 0
    assert [warning.partition(":")[0] for warning in reply["warnings"]] == [".serena/memories has no entries"]

    (app.index.root / ".ce/RULES.md").write_text("# Rules\n\nBe kind to each other.\n", encoding="utf-8")
    reply = init(app)
    assert reply["groups"]["system_rules"] == 0
    assert reply["warnings"] == [
        ".ce/RULES.md has no entries: it has no line with MANDATORY, REQUIRED, FORBIDDEN, ✅ or ❌, "
        "or is excluded by .gitignore, [index] or [sources] in lore.toml."
    ]


def test_29_3_progress_is_reported_while_the_project_is_indexed(
    tmp_path: Path, open_app: Opener, paused_model: PausedModel
) -> None:
    app = open_app(write_project(tmp_path / "project", framework()), model=paused_model, home=tmp_path / "home")
    paused_model.hold("embed")

    def hear(stage: str, done: int, total: int) -> None:
        if stage == "embedding":
            paused_model.free.set()

    reply = app.call("init_project", {"wait_seconds": WAIT}, Listener(hear))

    assert reply["job"]["state"] == "done"
    assert paused_model.reached.is_set() and paused_model.free.is_set()


@pytest.mark.requirement("KM-043")
def test_29_3_an_index_file_over_10_mb_causes_a_warning(opened: Opener) -> None:
    front = "---\nimplementations:\n" + "".join(f"- gone/{'x' * 180}{n}.py\n" for n in range(200)) + "---\n"
    app = opened({**framework(0), **{f"PRPs/executed/PRP-{n}.md": front for n in range(66)}})

    reply = init(app)

    assert (app.index.root / INDEX).stat().st_size > 10_000_000
    assert "is large: 1" in reply["job"]["report"]["warnings"][0]
    assert reply["drift"]["total"] == 66 * 200
    assert 0 < len(reply["drift"]["violations"]) < 10
    assert budget.size(reply) < budget.REPLY_TOKENS * budget.CHARACTERS_PER_TOKEN


def test_temporary_files_of_a_killed_writer_are_removed(app: App) -> None:
    leftover = app.index.root / ".ce/.lore-1-0.tmp"
    leftover.write_text("{", encoding="utf-8")

    init(app, sync=False)

    assert not leftover.exists()
    written(app)
