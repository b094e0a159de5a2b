"""The plan of a hook run: the memories to send, their order, and the state of the last run."""

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from lore_etl.core.errors import ConfigError, StorageError, UsageError
from lore_server.hook.knowledge_server import ServerUnreachable, target_of
from lore_server.hook.memory_files import MAX_BYTES, MemoryFile, digest_of, find_memory_files, read_memory_file
from lore_server.hook.upload_run import RetryPolicy
from lore_server.hook.upload_state import (
    GUARDED,
    Tally,
    UploadedFile,
    UploadPlan,
    UploadRequest,
    UploadState,
    in_turns,
    make_folder,
    make_plan,
    read_state,
)
from tests.harness.projects import write_project

FILES = {"LEARNING/a.md": "alpha", "LEARNING/b.md": "beta", "RESEARCH/c.md": "gamma"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_project(tmp_path / "m", FILES).resolve()


def synced(folder: Path) -> UploadState:
    """Return the state after the whole folder was sent."""
    state = UploadState(folder / "state.json")
    for file in find_memory_files([folder]).files.values():
        state.files[file.path] = UploadedFile(
            digest_of(file, read_memory_file(file)), file.group, (f"id of {file.label}",), True
        )
    return state


def planned(folder: Path, state: UploadState, everything: bool = False) -> UploadPlan:
    return make_plan(UploadRequest([folder], state.path, "Lore", everything), state)


def sent(plan: UploadPlan) -> list[str]:
    return [file.label for file in plan.send]


def test_new_files_are_sent_and_unchanged_files_are_not(folder: Path) -> None:
    assert sorted(sent(planned(folder, UploadState(folder / "s")))) == sorted(FILES)
    state = synced(folder)
    (folder / "LEARNING/new.md").write_text("delta")

    assert sent(planned(folder, state)) == ["LEARNING/new.md"]
    assert planned(folder, state).tally.skipped == 3


@pytest.mark.requirement("HOOK-012")
def test_a_changed_file_is_sent_again_regardless_of_its_modification_time(folder: Path) -> None:
    state, file = synced(folder), folder / "LEARNING/a.md"
    before = file.stat()
    file.write_text("ALPHA")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert sent(planned(folder, state)) == ["LEARNING/a.md"]


def test_fr_015_all_also_sends_unchanged_files(folder: Path) -> None:
    assert sorted(sent(planned(folder, synced(folder), everything=True))) == sorted(FILES)


def test_a_move_within_its_group_sends_nothing(folder: Path) -> None:
    state = synced(folder)
    (folder / "LEARNING/2026-01").mkdir()
    (folder / "LEARNING/a.md").rename(folder / "LEARNING/2026-01/a.md")

    plan = planned(folder, state)
    assert (sent(plan), plan.gone) == ([], [])

    (folder / "LEARNING/2026-01/a.md").unlink()
    assert planned(folder, state).gone == [str(folder / "LEARNING/2026-01/a.md")]


def test_a_copy_in_another_folder_does_not_take_over_the_record_of_a_file_that_still_exists(folder: Path) -> None:
    state, before = synced(folder), synced(folder).files
    other = write_project(folder.with_name("other"), FILES).resolve()

    assert (sent(planned(other, state)), planned(other, state).gone, state.files) == ([], [], before)


def test_files_are_removed_only_if_their_folder_was_read_completely(folder: Path) -> None:
    state = synced(folder)
    state.files["/elsewhere/x.md"] = UploadedFile("0", "learning", ("i",), True)
    (folder / "LEARNING/a.md").unlink()

    assert planned(folder, state).gone == [str(folder / "LEARNING/a.md")]
    assert planned(folder / "nothing", state).gone == []


def test_a_folder_that_is_suddenly_empty_causes_no_removals(tmp_path: Path) -> None:
    folder = write_project(tmp_path / "m", {f"LEARNING/{n}.md": str(n) for n in range(GUARDED)}).resolve()
    state = synced(folder)
    for file in (folder / "LEARNING").iterdir():
        file.unlink()

    assert planned(folder, state).gone == []
    assert planned(folder, state).warnings == [
        f"LEARNING: all its {GUARDED} memory files are gone; use --all to remove them from the server"
    ]
    assert len(planned(folder, state, everything=True).gone) == GUARDED


def test_a_copy_is_sent_if_the_file_that_was_sent_has_changed(folder: Path) -> None:
    state = synced(folder)
    (folder / "LEARNING/copy.md").write_text("alpha")
    assert sent(planned(folder, state)) == []

    (folder / "LEARNING/a.md").write_text("ALPHA")

    assert sorted(sent(planned(folder, state))) == ["LEARNING/a.md", "LEARNING/copy.md"]


def test_a_move_to_another_group_is_sent(folder: Path) -> None:
    state = synced(folder)
    (folder / "LEARNING/a.md").rename(folder / "RESEARCH/a.md")

    assert sent(planned(folder, state)) == ["RESEARCH/a.md"]


def test_unreadable_files_are_reported_and_not_treated_as_deleted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = synced(folder)
    found = find_memory_files([folder])
    (folder / "LEARNING/a.md").unlink()
    (folder / "LEARNING/a.md").symlink_to(folder / "LEARNING/b.md")  # created since the walk
    os.truncate(folder / "RESEARCH/c.md", MAX_BYTES + 1)

    monkeypatch.setattr("lore_server.hook.upload_state.find_memory_files", lambda folders: found)
    plan = planned(folder, state)

    assert plan.warnings == [
        "LEARNING/a.md: cannot be read: a symlink, which is not followed",
        "RESEARCH/c.md: has over 20,000,000 bytes",
    ]
    assert (plan.gone, plan.tally) == ([], Tally(found=3, failed=2, skipped=1))


def file(label: str, modified: int) -> MemoryFile:
    return MemoryFile(f"/m/{label}", label, "g", modified)


def test_sources_take_turns() -> None:
    many = [file(f"many/m{n}", n) for n in range(100)]
    few = [file(f"few/f{n}", n) for n in range(2)]

    assert [turn.label for turn in in_turns([*many, *few], set())[:5]] == [
        "many/m99", "few/f1", "many/m98", "few/f0", "many/m97",
    ]  # fmt: skip


def test_files_that_failed_before_come_last() -> None:
    files = [file("a/bad", 9), file("a/good", 1), file("b/other", 1)]

    assert [turn.label for turn in in_turns(files, {"/m/a/bad"})] == ["a/good", "b/other", "a/bad"]


def test_an_incomplete_entry_is_resumed(folder: Path) -> None:
    state, path = synced(folder), str(folder / "LEARNING/a.md")
    state.files[path] = replace(state.files[path], is_complete=False)

    assert sent(planned(folder, state)) == ["LEARNING/a.md"]


@pytest.mark.requirement("HOOK-031")
def test_the_state_survives_a_round_trip(tmp_path: Path) -> None:
    state = UploadState(tmp_path / "hook/s.json", "http://x", last={"pid": 1})
    make_folder(state.path.parent)
    entry = UploadedFile("d", "g", ("1", "2"), False, "it failed", "LEARNING", "2026-01-01")
    state.put("/m/ü.md", entry)

    assert read_state(state.path) == state
    assert (tmp_path / "hook").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "hook/.gitignore").read_text().endswith("\n*\n")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"version": 2}', '{"version": 3, "server": "", "last": {}, "files": {"a": {}}}',
     '{"version": 3, "server": "", "last": {}, "files": {"a": {"digest": 1, "group": ""}}}', "\xff"],
)  # fmt: skip
@pytest.mark.requirement("HOOK-032")
def test_a_damaged_state_is_recognized_and_set_aside(tmp_path: Path, text: str) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(text.encode("latin-1"))
    state = read_state(path)

    assert state == UploadState(path, is_damaged=True)
    state.put_aside()
    state.save()
    assert (tmp_path / "s.json.damaged").read_bytes() == text.encode("latin-1")
    assert not read_state(path).is_damaged


def test_an_unwritable_state_raises_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(StorageError, match="Cannot write"):
        UploadState(tmp_path / "file/s.json").save()


def test_the_id_of_another_file_is_shared(tmp_path: Path) -> None:
    state = UploadState(
        tmp_path / "s", files={"a": UploadedFile("d", "g", ("1",)), "b": UploadedFile("e", "g", ("1", "2"))}
    )

    assert [state.is_shared(memory, "b") for memory in ("1", "2", "3")] == [True, False, False]


def test_pauses_double_with_jitter_up_to_a_limit_and_end() -> None:
    retries = RetryPolicy(attempts=7, first=0.5, longest=4, jitter=lambda: 0.5)
    failure = ServerUnreachable("x")

    assert [retries.pause_after(failure) for _ in range(7)] == [0.5, 1, 2, 4, 4, 4, None]
    retries.reset()
    assert retries.pause_after(failure) == 0.5
    assert {RetryPolicy().pause_after(failure) for _ in range(9)} != {RetryPolicy().pause_after(failure)}


def target(url: str | None, environment: Mapping[str, str] | None = None) -> tuple[str, str]:
    found = target_of(url, environment or {}, Path("/p/.lore"))
    return found.url, found.name


@pytest.mark.requirement("HOOK-026")
def test_the_server_comes_from_the_command_line_then_the_environment_and_defaults_to_lore() -> None:
    both = {"LORE_HOOK_URL": "http://b/mcp", "MADEINOZ_KNOWLEDGE_MCP_URL": "http://c/mcp"}

    assert target("http://a/mcp", both)[0] == "http://a/mcp"
    assert target(None, both)[0] == "http://b/mcp"
    assert target(None, {"MADEINOZ_KNOWLEDGE_MCP_URL": "http://c/mcp"})[0] == "http://c/mcp"
    assert target(None) == ("", "Lore")


def test_the_secrets_of_an_address_and_the_token_are_never_shown() -> None:
    environment = {"LORE_HOOK_TOKEN": "s3cret", "LORE_HOME": "/h"}
    address = "https://me:" + "hunter2@Kb.example:8443/mcp?key=abc"
    found = target_of(address, environment, Path("/p"))
    shown = repr(found) + found.name + str(found.file("log"))

    assert found.name == "https://kb.example:8443/mcp"
    assert (found.token, found.url) == ("s3cret", address)
    assert not any(secret in shown for secret in ("s3cret", "hunter2", "abc"))


def test_each_server_and_each_index_has_its_own_state() -> None:
    first, second = (target_of(None, {}, Path(path)) for path in ("/p/.lore", "/q/.lore"))
    others = [target_of(url, {}, Path("/p")) for url in ("http://a/", "http://b/", "http://a/?x")]

    assert len({one.key for one in (first, second, *others)}) == 5
    assert target_of("http://u:p@A/", {}, Path("/p")).key == target_of("http://a/", {}, Path("/q")).key


@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://a/", "http://", "http://a:b/", "file:///etc/passwd", "http://["]
)
def test_an_invalid_address_is_rejected(url: str) -> None:
    with pytest.raises(UsageError, match="Invalid knowledge server URL"):
        target(url)


def test_a_token_that_is_invalid_in_a_header_is_rejected_without_being_shown() -> None:
    with pytest.raises(ConfigError, match="LORE_HOOK_TOKEN") as caught:
        target("http://a/", {"LORE_HOOK_TOKEN": "a\nb"})
    assert "a\nb" not in caught.value.message


@pytest.mark.requirement("HOOK-024")
def test_the_counts_are_reported_as_a_line_and_as_data() -> None:
    tally = Tally(found=20, succeeded=3, failed=1, skipped=14, removed=2)

    assert str(tally) == "18 processed, 3 succeeded, 1 failed, 14 skipped, 2 removed, 2 waiting"
    assert str(Tally()) == "0 processed, 0 succeeded, 0 failed, 0 skipped"
    assert Tally.of(json.loads(json.dumps(tally.as_dict()))) == tally
