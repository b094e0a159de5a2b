"""What is sent, in which order, and what the state of the last sync has to do with it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from lore_etl.core.errors import ConfigError, StorageError
from lore_server.hook.episode import digest_of
from lore_server.hook.failures import Unreachable
from lore_server.hook.folders import MemoryFile, find
from lore_server.hook.patience import Patience
from lore_server.hook.plan import GUARDED, LARGEST_FILE, UploadPlan, content, in_turns, made_plan
from lore_server.hook.state import SyncState, UploadedFile, make_folder, read_state
from lore_server.hook.tally import Tally, read_tally
from lore_server.hook.target import target_of
from tests.harness.projects import write_project

FILES = {"LEARNING/a.md": "alpha", "LEARNING/b.md": "beta", "RESEARCH/c.md": "gamma"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_project(tmp_path / "m", FILES).resolve()


def synced(folder: Path) -> SyncState:
    """The state after all of the folder was sent."""
    state = SyncState(folder / "state.json")
    for file in find([folder]).files.values():
        state.files[file.path] = UploadedFile(digest_of(file, content(file)), file.group, (f"id of {file.label}",), 1)
    return state


def planned(folder: Path, state: SyncState, everything: bool = False, most: int = 0) -> UploadPlan:
    return made_plan(find([folder]), state, everything, most)


def sent(plan: UploadPlan) -> list[str]:
    return [file.label for file in plan.send]


def test_what_is_new_is_sent_and_what_did_not_change_is_not(folder: Path) -> None:
    assert sorted(sent(planned(folder, SyncState(folder / "s")))) == sorted(FILES)
    state = synced(folder)
    (folder / "LEARNING/new.md").write_text("delta")

    assert sent(planned(folder, state)) == ["LEARNING/new.md"]
    assert planned(folder, state).unchanged == 3


def test_a_changed_file_is_sent_again_whatever_its_times_say(folder: Path) -> None:
    state, file = synced(folder), folder / "LEARNING/a.md"
    before = file.stat()
    file.write_text("ALPHA")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert sent(planned(folder, state)) == ["LEARNING/a.md"]


def test_fr_015_all_sends_what_did_not_change_too(folder: Path) -> None:
    assert sorted(sent(planned(folder, synced(folder), everything=True))) == sorted(FILES)


def test_a_move_within_its_group_sends_nothing(folder: Path) -> None:
    state = synced(folder)
    (folder / "LEARNING/2026-01").mkdir()
    (folder / "LEARNING/a.md").rename(folder / "LEARNING/2026-01/a.md")

    plan = planned(folder, state)

    assert (sent(plan), [file.label for file, _ in plan.moved]) == ([], ["LEARNING/2026-01/a.md"])
    assert plan.gone == [str(folder / "LEARNING/a.md")]


def test_a_move_to_another_group_is_sent(folder: Path) -> None:
    state = synced(folder)
    (folder / "LEARNING/a.md").rename(folder / "RESEARCH/a.md")

    assert sent(planned(folder, state)) == ["RESEARCH/a.md"]


def test_only_what_is_gone_from_a_folder_that_was_seen_whole_is_removed(folder: Path) -> None:
    state = synced(folder)
    state.files["/elsewhere/x.md"] = UploadedFile("0", "learning", ("i",), 1)
    (folder / "LEARNING/a.md").unlink()

    assert planned(folder, state).gone == [str(folder / "LEARNING/a.md")]
    assert made_plan(find([folder / "nothing"]), state).gone == []


def test_what_says_nothing_any_more_is_removed(folder: Path) -> None:
    state = synced(folder)
    (folder / "LEARNING/a.md").write_text("---\nknowledge_server: x\n---\nalpha")

    assert planned(folder, state).gone == [str(folder / "LEARNING/a.md")]


def test_a_folder_whose_many_files_are_all_gone_at_once_is_not_believed(tmp_path: Path) -> None:
    folder = write_project(tmp_path / "m", {f"LEARNING/{n}.md": str(n) for n in range(GUARDED)}).resolve()
    state = synced(folder)
    for file in (folder / "LEARNING").iterdir():
        file.unlink()

    assert planned(folder, state).gone == []
    assert planned(folder, state).complaints == [
        f"LEARNING: all its {GUARDED} memories are gone: nothing is removed from the server without --all"
    ]
    assert len(planned(folder, state, everything=True).gone) == GUARDED


def test_files_that_cannot_be_read_are_reported_and_not_taken_for_deleted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = synced(folder)
    found = find([folder])
    (folder / "LEARNING/a.md").unlink()
    (folder / "LEARNING/a.md").symlink_to(folder / "LEARNING/b.md")  # put there since the walk
    os.truncate(folder / "RESEARCH/c.md", LARGEST_FILE + 1)

    plan = made_plan(found, state)

    assert [(one.source, one.reason) for one in plan.failed] == [
        ("LEARNING/a.md", "cannot be read: Too many levels of symbolic links"),
        ("RESEARCH/c.md", "has over 20,000,000 bytes"),
    ]
    assert (plan.gone, plan.tally) == ([], Tally(found=3, failed=2, skipped=1))


def file(source: str, name: str, modified: int) -> MemoryFile:
    return MemoryFile(f"{source}/{name}", name, "g", source, 1, modified)


def test_sources_take_turns_and_no_source_waits_for_another_to_be_done() -> None:
    many = [file("/many", f"m{n}", n) for n in range(100)]
    few = [file("/few", f"f{n}", n) for n in range(2)]

    assert [one.label for one in in_turns([*many, *few], set())[:5]] == ["m99", "f1", "m98", "f0", "m97"]


def test_what_failed_before_comes_after_all_others() -> None:
    files = [file("/a", "bad", 9), file("/a", "good", 1), file("/b", "other", 1)]

    assert [one.label for one in in_turns(files, {"/a/bad"})] == ["good", "other", "bad"]


def test_a_limit_leaves_the_rest_for_the_next_run(folder: Path) -> None:
    plan = planned(folder, SyncState(folder / "s"), most=2)

    assert len(plan.send) == 2
    assert {one.source for one in plan.send} == {str(folder / "LEARNING"), str(folder / "RESEARCH")}
    assert plan.waiting == 1


def test_an_entry_that_is_not_whole_or_has_something_to_clear_away_is_taken_up_again(folder: Path) -> None:
    state = synced(folder)
    path = str(folder / "LEARNING/a.md")

    for change in ({"parts": 2}, {"stale": ("old",)}):
        state.files[path] = replace(synced(folder).files[path], **change)
        assert sent(planned(folder, state)) == ["LEARNING/a.md"]


def test_the_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    state = SyncState(tmp_path / "hook/s.json", "http://x", orphans=[{"id": "o"}], last={"pid": 1})
    make_folder(state.path.parent)
    entry = UploadedFile("d", "g", ("1", "2"), 3, ("0",), True, "it failed", "LEARNING", "2026-01-01")
    state.put("/m/ü.md", entry)

    assert read_state(state.path) == state
    assert (tmp_path / "hook").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "hook/.gitignore").read_text().endswith("\n*\n")
    state.drop("/m/ü.md")
    assert read_state(state.path).files == {}


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"version": 2}', '{"version": 1, "server": "", "last": {}, "orphans": [], "files": {"a": {}}}',
     '{"version": 1, "server": "", "last": {}, "orphans": [], "files": {"a": {"digest": 1, "group": ""}}}', "\xff"],
)  # fmt: skip
def test_a_damaged_state_is_known_for_one_and_put_aside(tmp_path: Path, text: str) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(text.encode("latin-1"))
    state = read_state(path)

    assert state == SyncState(path, is_damaged=True)
    state.put_aside()
    state.save()
    assert (tmp_path / "s.json.damaged").read_bytes() == text.encode("latin-1")
    assert not read_state(path).is_damaged


def test_a_state_that_cannot_be_written_is_an_error_of_storage(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(StorageError, match="Cannot write"):
        SyncState(tmp_path / "file/s.json").save()


def test_ids_that_another_file_stands_for_are_in_use(tmp_path: Path) -> None:
    state = SyncState(
        tmp_path / "s", files={"a": UploadedFile("d", "g", ("1",), 1), "b": UploadedFile("e", "g", ("2",), 1)}
    )

    assert state.unused(("1", "3")) == ("3",)


def test_pauses_double_up_to_a_limit_with_chance_and_end() -> None:
    patience = Patience(attempts=7, first=0.5, longest=4, chance=lambda: 0.5)
    failure = Unreachable("x")

    assert [patience.after(failure) for _ in range(7)] == [0.5, 1, 2, 4, 4, 4, None]
    patience.renew()
    assert patience.after(failure) == 0.5
    assert {Patience().after(failure) for _ in range(9)} != {Patience().after(failure)}


def test_a_time_that_the_server_names_is_waited_for_if_it_is_not_too_long() -> None:
    assert Patience().after(Unreachable("x", wait_seconds=20)) == 20
    assert Patience().after(Unreachable("x", wait_seconds=61)) is None


def target(url: str | None, environment: Mapping[str, str] | None = None) -> tuple[str, str]:
    found = target_of(url, environment or {}, Path("/p/.lore"))
    return found.url, found.name


def test_memories_go_where_the_command_line_says_then_the_environment_else_to_lore_itself() -> None:
    both = {"LORE_HOOK_URL": "http://b/mcp", "MADEINOZ_KNOWLEDGE_MCP_URL": "http://c/mcp"}

    assert target("http://a/mcp", both)[0] == "http://a/mcp"
    assert target(None, both)[0] == "http://b/mcp"
    assert target(None, {"MADEINOZ_KNOWLEDGE_MCP_URL": "http://c/mcp"})[0] == "http://c/mcp"
    assert target(None) == ("", "Lore")


def test_secrets_of_an_address_and_the_token_are_shown_nowhere() -> None:
    environment = {"LORE_HOOK_TOKEN": "s3cret", "LORE_HOME": "/h"}
    address = "https://me:" + "hunter2@Kb.example:8443/mcp?key=abc"
    found = target_of(address, environment, Path("/p"))
    shown = repr(found) + found.name + str(found.file(environment, "log"))

    assert found.name == "https://kb.example:8443/mcp"
    assert (found.token, found.url) == ("s3cret", address)
    assert not any(secret in shown for secret in ("s3cret", "hunter2", "abc"))


def test_each_server_and_each_index_has_its_own_state() -> None:
    one, other = (target_of(None, {}, Path(path)) for path in ("/p/.lore", "/q/.lore"))
    keys = {
        one.key,
        other.key,
        *(target_of(url, {}, Path("/p")).key for url in ("http://a/", "http://b/", "http://a/?x")),
    }

    assert len(keys) == 5
    assert target_of("http://u:p@A/", {}, Path("/p")).key == target_of("http://a/", {}, Path("/q")).key


@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://a/", "http://", "http://a:b/", "file:///etc/passwd", "http://["]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="address of the knowledge server"):
        target(url)


def test_a_token_that_no_header_can_hold_is_refused_without_being_shown() -> None:
    with pytest.raises(ConfigError, match="LORE_HOOK_TOKEN") as caught:
        target("http://a/", {"LORE_HOOK_TOKEN": "a\nb"})
    assert "a\nb" not in caught.value.message


def test_the_numbers_are_told_in_a_line_and_as_data() -> None:
    tally = Tally(found=20, succeeded=3, failed=1, skipped=14, removed=2)

    assert str(tally) == "18 processed, 3 succeeded, 1 failed, 14 skipped, 2 removed, 2 waiting"
    assert str(Tally()) == "0 processed, 0 succeeded, 0 failed, 0 skipped"
    assert read_tally(json.loads(json.dumps(tally.told()))) == tally
