"""The hook against a stateful server in another process: no duplicates and no losses after any failure."""

import json
import logging
import os
import random
import re
import subprocess
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from lore_etl.core.errors import StorageError
from lore_server.execution.foreign_reply import LONGEST_PAUSE, retry_seconds
from lore_server.hook.knowledge_server import ServerUnreachable, ServerUnusable, Target, query_escaping, target_of
from lore_server.hook.mcp_connection import open_session
from lore_server.hook.session_start import session_start, upload_request
from lore_server.hook.upload_run import RetryPolicy, upload
from lore_server.hook.upload_state import Tally, UploadRequest, UploadState, read_state
from lore_server.owner.session import Session
from tests.harness.commands import SECONDS
from tests.harness.memory_server import MemoryServer, running
from tests.harness.owners import wait_until
from tests.harness.ports import free_port
from tests.harness.processes import child
from tests.harness.projects import write_project

pytestmark = pytest.mark.later

JSON = dict[str, Any]
MEMORY = """---
rating: 8
source: session
tags: [networks, retry]
capture_type: LEARNING
timestamp: 2026-01-20T10:00:00Z
---
# Jitter

Retries without jitter come back together.
"""
LONG = "\n\n".join(f"Paragraph {number}: {'words of a long memory, ' * 8}" for number in range(60))
LONG_TEXT = "\n\n".join(f"Paragraph {number}. " + "word " * 99 for number in range(40))
FILES = {"LEARNING/jitter.md": MEMORY, "LEARNING/2026-01/b.md": "# Beta\n\nb", "RESEARCH/c.md": "# Gamma\n\nc"}


class Hook:
    """Runs the sync of a folder like the command, in this process; `pauses` records the pauses it requests."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder / "m"
        self.state_file = folder / "home" / "state.json"
        self.url = url
        self.pauses: list[float] = []
        self.at_pause: Callable[[], object] = lambda: None

    def run(self, seconds: float = SECONDS, attempts: int = 5, token: str = "", **options: Any) -> Tally:
        environment = {"LORE_HOOK_TOKEN": token} if token else {}
        target = target_of(self.url, environment, Path("/"))
        request = UploadRequest((self.folder,), self.state_file, target.name, **options)
        connect = partial(open_session, target, str, request_seconds=seconds, health_seconds=SECONDS)
        retries = RetryPolicy(attempts, jitter=lambda: 0.5, sleep=self._sleep)
        return anyio.run(partial(upload, request, connect, retries))

    async def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.at_pause()

    @property
    def state(self) -> UploadState:
        return read_state(self.state_file)

    def write(self, name: str, text: str) -> None:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


@pytest.fixture
def hook(tmp_path: Path, server: MemoryServer) -> Hook:
    write_project(tmp_path / "m", FILES)
    return Hook(tmp_path.resolve(), server.url)


def bodies(server: MemoryServer) -> list[str]:
    return sorted(episode.get("episode_body") or episode["body"] for episode in server.episodes)


ALL = ["# Beta\n\nb", "# Gamma\n\nc", MEMORY.split("---\n")[2].strip()]


@pytest.mark.requirement("HOOK-001", "HOOK-002", "HOOK-003", "HOOK-013", "HOOK-034")
def test_fr_001_003_009_each_request_carries_the_id_of_one_session_and_each_memory_goes_to_its_group(
    hook: Hook, server: MemoryServer
) -> None:
    assert hook.run() == Tally(found=3, succeeded=3)
    methods = [request["method"] for request in server.asked]
    begun, after = server.asked[methods.index("initialize")], server.asked[methods.index("initialize") + 1 :]

    assert (begun["path"], begun["jsonrpc"], begun["session"]) == ("/mcp/", "2.0", None)
    assert [request["method"] for request in after] == [
        "notifications/initialized", "tools/list", "tools/call", "tools/call", "tools/call", "DELETE",
    ]  # fmt: skip
    assert len({request["session"] for request in after}) == 1
    assert after[0]["session"]
    assert (methods.count("initialize"), hook.pauses) == (1, [])
    assert all("text/event-stream" in request["accept"] for request in server.asked if "accept" in request)
    ids = [entry.ids[0] for entry in hook.state.files.values()]
    assert sorted(ids) == sorted(episode["uuid"] for episode in server.episodes)  # reported in an event
    assert sorted((episode["group_id"], episode["name"]) for episode in server.episodes) == [
        ("learning", "Beta"), ("learning", "Jitter"), ("research", "Gamma"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ({"do": "hang"}, "did not respond in time"), ({"do": "drop"}, "connection failed"),
        ({"do": "half"}, "closed the connection"),
        ({"do": "429"}, "HTTP 429"), ({"do": "503"}, "HTTP 503"), ({"do": "502"}, "HTTP 502"),
        ({"do": "500"}, "HTTP 500"),
        ({"do": "503", "on": "initialize"}, "HTTP 503"), ({"do": "hang", "on": "tools/list"}, "did not respond"),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else "",
)  # fmt: skip
@pytest.mark.requirement("HOOK-008", "HOOK-010")
def test_fr_007_failed_requests_are_retried_with_exponential_backoff(
    hook: Hook, server: MemoryServer, fault: JSON, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    server.set(*[fault] * 2)

    removed = 2 if fault["do"] == "half" else 0  # copies that had arrived without a reply
    hangs = fault["do"] == "hang"  # a busy machine may exceed this patience too
    assert hook.run(2.0 if hangs else SECONDS, attempts=50) == Tally(found=3, succeeded=3, removed=removed)
    assert hook.pauses[:2] == [0.5, 1.0]
    assert hangs or len(hook.pauses) == 2
    assert bodies(server) == ALL  # nothing is lost or kept twice, although some replies were lost
    assert reason in caplog.text


@pytest.mark.requirement("HOOK-009", "HOOK-019", "HOOK-020")
def test_fr_007_013_without_a_server_nothing_is_lost_and_everything_is_sent_once_it_is_available(
    hook: Hook, caplog: pytest.LogCaptureFixture
) -> None:
    port = free_port()
    hook.url = f"http://127.0.0.1:{port}/mcp/"
    assert hook.run() == Tally(found=3, failed=3)
    assert "MCP server offline after retries" in caplog.text

    hook.pauses.clear()
    with ExitStack() as stack:
        hook.at_pause = lambda: len(hook.pauses) == 2 and stack.enter_context(running(port))
        assert hook.run() == Tally(found=3, succeeded=3)
        assert bodies(MemoryServer(port)) == ALL
    assert hook.pauses == [0.5, 1.0]


def test_the_pause_requested_by_a_server_is_made_unless_it_is_too_long(hook: Hook, server: MemoryServer) -> None:
    server.set(*[{"do": "503", "wait": 3600}] * 2, {"do": "429", "wait": 7})

    assert hook.run() == Tally(found=3, failed=3)
    assert hook.run() == Tally(found=3, succeeded=3)
    assert hook.pauses == [7.0]


@pytest.mark.requirement("HOOK-011", "HOOK-022", "HOOK-031")
def test_fr_008_015_sent_files_are_recognized_and_sent_again_without_duplicates_if_they_changed_or_on_request(
    hook: Hook, server: MemoryServer
) -> None:
    hook.run()
    assert hook.run() == Tally(found=3, skipped=3)
    assert len(server.calls()) == 3
    entry = hook.state.files[str(hook.folder / "LEARNING/jitter.md")]
    assert re.fullmatch("[0-9a-f]{64}", entry.digest)
    assert (entry.capture_type, entry.group) == ("LEARNING", "learning")
    assert entry.synced_at

    before = {episode["uuid"] for episode in server.episodes}
    assert hook.run(everything=True) == Tally(found=3, succeeded=3, removed=3)
    assert len(server.calls()) == 6
    assert bodies(server) == ALL
    assert before.isdisjoint(episode["uuid"] for episode in server.episodes)

    hook.write("LEARNING/new.md", "# New\n\nn")
    hook.write("RESEARCH/c.md", "# Gamma\n\nc, changed")
    assert hook.run() == Tally(found=4, succeeded=2, skipped=2, removed=1)
    assert hook.run() == Tally(found=4, skipped=4)
    assert bodies(server) == ["# Beta\n\nb", "# Gamma\n\nc, changed", ALL[2], "# New\n\nn"]


@pytest.mark.requirement("HOOK-014", "HOOK-015")
def test_fr_010_011_no_body_over_5000_and_no_name_over_200_characters_is_sent_and_nothing_is_lost(
    hook: Hook, server: MemoryServer
) -> None:
    name = "A title that goes on and on, " * 20
    hook.write("LEARNING/long.md", LONG_TEXT)
    hook.write("LEARNING/named.md", f"---\ntitle: '{name}'\n---\nBody.")
    assert hook.run().succeeded == 5

    sent = [call["episode_body"] for call in server.calls() if "long (" in call["name"]]
    assert all(len(body) <= 5000 for body in sent)
    assert "".join(body.split("\n\n", 1)[1] for body in sent) == LONG_TEXT.strip()
    assert len(hook.state.files[str(hook.folder / "LEARNING/long.md")].ids) == len(sent) == 5
    (named,) = (call for call in server.calls() if call["episode_body"].endswith("Body."))
    assert len(named["name"]) <= 200
    assert named["episode_body"] == f"{name.strip()}\n\nBody."


@pytest.mark.requirement("HOOK-016")
def test_fr_012_front_matter_metadata_is_sent(hook: Hook, server: MemoryServer) -> None:
    server.set(style="plain")
    hook.run()

    (sent,) = (call for call in server.calls() if call["name"] == "Jitter")
    assert {key: sent["metadata"][key] for key in ("rating", "source", "tags", "capture_type", "timestamp")} == {
        "rating": 8, "source": "session", "tags": ["networks", "retry"], "capture_type": "LEARNING",
        "timestamp": "2026-01-20T10:00:00+00:00",
    }  # fmt: skip


def test_sc_003_004_all_new_files_are_sent_at_the_first_attempt_and_equal_content_once(
    hook: Hook, server: MemoryServer
) -> None:
    for name in ("LEARNING/copy.md", "LEARNING/2026-02/copy.md"):
        hook.write(name, MEMORY)
    for number in range(25):
        hook.write(f"RESEARCH/2026-0{number % 5}/{number}.md", f"# Finding {number}\n\nText {number}.")

    assert hook.run() == Tally(found=30, succeeded=28, skipped=2)
    assert (hook.pauses, len(server.calls())) == ([], 28)
    assert bodies(server) == sorted([*ALL, *(f"# Finding {number}\n\nText {number}." for number in range(25))])


def test_a_copy_stays_on_the_server_when_the_original_is_edited(hook: Hook, server: MemoryServer) -> None:
    hook.run()
    hook.write("LEARNING/copy.md", MEMORY)
    hook.run()
    hook.write("LEARNING/jitter.md", "# Another\n\nx")

    assert hook.run() == Tally(found=4, succeeded=2, skipped=2, removed=1)
    assert bodies(server) == ["# Another\n\nx", *ALL]
    assert hook.run() == Tally(found=4, skipped=4)


@pytest.mark.parametrize("database", ["neo4j", "falkordb"])
def test_sc_005_special_characters_are_found_in_each_database(hook: Hook, server: MemoryServer, database: str) -> None:
    server.set(database=database)
    hook.write("RESEARCH/cti.md", '# CTI\n\nThe group apt-28 (also known as "Fancy Bear") uses a/b:c.')
    hook.run()
    target, spelled = target_of(server.url, {}, Path("/")), query_escaping({"MADEINOZ_KNOWLEDGE_DB": database})

    async def search(query: str) -> JSON:
        async with open_session(target, spelled, request_seconds=SECONDS, health_seconds=SECONDS) as knowledge:
            return await knowledge.search(query, ["research"])

    for query in ("apt-28", "(also", "a/b:c"):
        assert [node["name"] for node in anyio.run(search, query)["nodes"]] == ["CTI"]


def test_a_dry_run_plans_at_most_as_many_files_as_requested_of_the_folders_given_or_configured(
    hook: Hook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LORE_HOME", str(tmp_path / "home"))
    files = {"lore.toml": "[hook]\nmemory_dirs = ['notes']\n", "notes/a.md": "a"}
    session = Session(project=write_project(tmp_path / "p", files), as_json=True)
    target = target_of(None, {}, session.root)

    for request in (upload_request(session, target, [hook.folder], limit=2), upload_request(session, target)):
        session_start(session, target, request, is_dry=True)
    plans = [json.loads(word + "}") for word in capsys.readouterr().out.split("\n}")[:-1]]

    assert [len(plan["send"]) for plan in plans] == [2, 1]
    assert plans[1]["send"] == ["notes/a.md"]


SYNC = """
import sys
from pathlib import Path
from tests.integration.test_hook import Hook
Hook(Path(sys.argv[1]), sys.argv[2]).run()
"""


def test_a_killed_hook_sends_nothing_twice_and_loses_nothing(hook: Hook, server: MemoryServer, tmp_path: Path) -> None:
    server.set({"do": "late"})
    with child(SYNC, tmp_path.resolve(), server.url):
        wait_until(lambda: len(server.episodes) == 1)  # the memory has arrived, but the hook is killed before it knows

    assert hook.run() == Tally(found=3, succeeded=3, removed=1)
    assert bodies(server) == ALL


@pytest.mark.long
def test_a_hook_killed_at_any_moment_sends_nothing_twice_and_loses_nothing(
    hook: Hook, server: MemoryServer, tmp_path: Path
) -> None:
    chance = random.Random(7)

    def has_asked(process: subprocess.Popen[str], enough: int) -> bool:
        return process.poll() is not None or len(server.asked) >= enough

    for number in range(40):
        hook.write(f"LEARNING/{number}.md", f"text {number}")
    for turn in range(25):
        hook.write(f"LEARNING/{turn}.md", f"text {turn}, changed")
        asked = len(server.asked)
        with child(SYNC, tmp_path.resolve(), server.url) as process:
            wait_until(partial(has_asked, process, asked + chance.randint(4, 14)))

    assert hook.run().failed == 0
    changed, same = (f"text {number}, changed" for number in range(25)), (f"text {number}" for number in range(25, 40))
    assert bodies(server) == sorted([*ALL, *changed, *same])


async def _health(target: Target, seconds: float) -> None:
    async with open_session(target, str, health_seconds=seconds):
        return


@pytest.mark.requirement("HOOK-030")
def test_sc_007_a_health_check_takes_at_most_5_seconds_also_for_a_silent_server_and_reports_other_servers(
    hook: Hook, server: MemoryServer
) -> None:
    target = target_of(server.url, {}, Path("/"))
    anyio.run(_health, target, SECONDS)

    server.set({"do": "hang", "on": "initialize"})
    with pytest.raises(ServerUnreachable, match=r"within 0\.2 s"):
        anyio.run(_health, target, 0.2)

    hook.url = server.url.replace("/mcp/", "/control")
    with pytest.raises((ServerUnusable, ServerUnreachable)):
        anyio.run(_health, target_of(hook.url, {}, Path("/")), SECONDS)
    assert hook.run() == Tally(found=3, failed=3)


def test_deleted_files_are_removed_and_moved_files_and_folders_stay(hook: Hook, server: MemoryServer) -> None:
    hook.run()
    moved = (hook.folder / "LEARNING/jitter.md").rename(hook.folder / "LEARNING/2026-01/renamed.md")
    (hook.folder / "RESEARCH/c.md").unlink()
    assert hook.run() == Tally(found=2, skipped=2, removed=1)
    assert bodies(server) == [ALL[0], ALL[2]]

    moved.unlink()
    assert hook.run() == Tally(found=1, skipped=1, removed=1)
    assert list(hook.state.files) == [str(hook.folder / "LEARNING/2026-01/b.md")]

    hook.folder = hook.folder.rename(hook.folder.with_name("elsewhere"))
    assert hook.run() == Tally(found=1, skipped=1)
    assert (len(server.calls()), bodies(server)) == (3, [ALL[0]])

    (hook.folder / "LEARNING/2026-01/b.md").unlink()
    assert hook.run() == Tally(removed=1)
    assert (hook.state.files, bodies(server)) == ({}, [])


@pytest.mark.parametrize("lists", [True, False])
@pytest.mark.requirement("HOOK-033")
def test_all_replaces_every_part_on_a_server_that_returns_no_ids(hook: Hook, server: MemoryServer, lists: bool) -> None:
    server.set(tells_ids=False, lists=lists)
    hook.write("RESEARCH/long.md", f"# Delta\n\n{LONG}")
    hook.run()
    first = {episode["uuid"] for episode in server.episodes}

    again = [hook.run(everything=True) for _ in range(2)]

    assert len(first) == 6
    assert again == [Tally(found=4, succeeded=4, removed=6)] * 2
    assert len(server.episodes) == 6
    assert first.isdisjoint(episode["uuid"] for episode in server.episodes)
    hook.write("RESEARCH/c.md", "# Gamma\n\nchanged")
    assert hook.run() == Tally(found=4, succeeded=1, skipped=3, removed=1)
    assert "# Gamma\n\nchanged" in bodies(server)


def test_parts_are_not_taken_for_the_whole_memory_that_they_replace(hook: Hook, server: MemoryServer) -> None:
    server.set(tells_ids=False, max_body=50_000)
    hook.write("RESEARCH/long.md", f"# Delta\n\n{LONG}")
    hook.run()
    server.set(max_body=5_000)

    assert hook.run(everything=True) == Tally(found=4, succeeded=4, removed=4)
    assert len(server.episodes) == 6
    assert sum(body.startswith("Part ") for body in bodies(server)) == 3


@pytest.mark.parametrize("kind", ["late", "hang", "drop"])
def test_all_leaves_one_copy_after_an_unconfirmed_upload_to_a_server_that_returns_no_ids(
    hook: Hook, server: MemoryServer, kind: str
) -> None:
    server.set(tells_ids=False)
    hook.run()
    server.set({"do": kind})
    hook.run(seconds=1, everything=True)
    hook.run()

    assert bodies(server) == ALL


def test_an_old_copy_that_a_server_cannot_delete_is_reported(
    hook: Hook, server: MemoryServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.set(deletes=False)
    hook.run()
    hook.write("RESEARCH/c.md", "# Gamma\n\nchanged")

    assert hook.run() == Tally(found=3, succeeded=1, skipped=2)
    assert "RESEARCH/c.md: an old copy stays on the server" in caplog.text
    assert "the server has no tool to delete it" in caplog.text
    assert hook.run() == Tally(found=3, skipped=3)


@pytest.mark.parametrize(
    ("faults", "failure"),
    [([{"do": "refuse"}], "this one I do not like"), ([{"do": "500"}] * 3, "HTTP 500")],
    ids=["rejected", "breaks the server"],
)
def test_a_file_that_the_server_cannot_take_does_not_block_the_others(
    hook: Hook, server: MemoryServer, faults: list[JSON], failure: str
) -> None:
    server.set(*faults)

    assert hook.run(attempts=3) == Tally(found=3, succeeded=2, failed=1)
    (failed,) = (entry.failure for entry in hook.state.files.values() if entry.failure)
    assert failure in failed
    assert hook.run() == Tally(found=3, succeeded=1, skipped=2)
    assert bodies(server) == ALL


def test_a_run_ends_early_if_the_server_fails_on_every_file(hook: Hook, server: MemoryServer) -> None:
    server.set(*[{"do": "500"}] * 20)

    assert hook.run(attempts=2) == Tally(found=3, failed=3)
    assert len(server.calls()) == 4


def test_a_session_lost_by_the_server_is_opened_again(hook: Hook, server: MemoryServer) -> None:
    async def run() -> None:
        target = target_of(server.url, {}, Path("/"))
        async with open_session(target, str, request_seconds=SECONDS, health_seconds=SECONDS) as knowledge:
            await anyio.to_thread.run_sync(server.forget_sessions)
            await knowledge.search("x", [])

    with pytest.raises(ServerUnreachable, match="the session has expired"):
        anyio.run(run)


@pytest.mark.parametrize("attempt", range(3))
def test_an_interrupted_file_in_parts_is_resumed(hook: Hook, server: MemoryServer, attempt: int) -> None:
    hook.write("LEARNING/a.md", LONG_TEXT)
    server.set({"do": "500"}, {"do": "half"}, {"do": "drop"})

    assert hook.run(attempts=1 + attempt).found == 4
    server.set()
    assert hook.run().failed == 0
    names = [episode["name"] for episode in server.episodes]
    assert len(names) == len(set(names)) == 8


def test_a_token_is_sent_and_a_server_that_requires_a_token_is_not_retried(
    hook: Hook, server: MemoryServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.set(token="s3cret-token")

    assert hook.run() == Tally(found=3, failed=3)
    assert hook.run(token="wrong") == Tally(found=3, failed=3)
    assert hook.pauses == []
    assert "Set LORE_HOOK_TOKEN to its token" in caplog.text
    assert hook.run(token="s3cret-token") == Tally(found=3, succeeded=3)
    assert "s3cret-token" not in caplog.text + hook.state_file.read_text(encoding="utf-8")


@pytest.mark.parametrize("options", [{"style": "plain"}, {"pages": 3}, {"protocol": "2025-06-18"}])
def test_each_kind_of_server_gets_all_memories(hook: Hook, server: MemoryServer, options: Mapping[str, Any]) -> None:
    server.set(**options)

    assert hook.run() == Tally(found=3, succeeded=3)
    assert bodies(server) == ALL


def test_after_the_state_is_lost_memories_on_the_server_are_found_and_replaced(
    hook: Hook, server: MemoryServer, caplog: pytest.LogCaptureFixture
) -> None:
    hook.run()
    hook.state_file.write_text("{", encoding="utf-8")

    assert hook.run() == Tally(found=3, succeeded=3, removed=3)
    assert "cannot be read and was renamed" in caplog.text
    assert hook.state_file.with_name("state.json.damaged").read_text() == "{"
    assert bodies(server) == ALL


OBSTACLES: dict[str, Callable[[Path], object]] = {
    "the folder is a file": lambda state: state.parent.write_text("a file", encoding="utf-8"),
    "the lock is a folder": lambda state: state.with_name(f"{state.name}.lock").mkdir(parents=True),
    "the temporary file is a folder": lambda state: state.with_name(f"{state.name}.{os.getpid()}.tmp").mkdir(
        parents=True
    ),
}


@pytest.mark.parametrize("put_in_the_way", OBSTACLES.values(), ids=OBSTACLES)
def test_if_the_state_cannot_be_written_nothing_is_sent(
    hook: Hook, server: MemoryServer, put_in_the_way: Callable[[Path], object]
) -> None:
    put_in_the_way(hook.state_file)

    with pytest.raises(StorageError) as raised:
        hook.run()
    assert "`hook` in LORE_HOME" in raised.value.hint
    assert "index" not in raised.value.hint
    assert server.calls() == []


def test_a_limit_is_shared_fairly_and_the_next_runs_send_the_rest(hook: Hook, server: MemoryServer) -> None:
    for number in range(8):
        hook.write(f"LEARNING/{number}.md", f"text {number}")

    done = [hook.run(limit=4) for _ in range(4)]

    assert [tally.succeeded for tally in done] == [4, 4, 3, 0]
    assert [tally.waiting for tally in done] == [7, 3, 0, 0]
    assert "# Gamma\n\nc" in [call["episode_body"] for call in server.calls()[:4]]


@pytest.mark.requirement("HOOK-017")
def test_malformed_files_are_reported_and_sent_as_far_as_readable_and_memories_from_the_server_are_skipped(
    hook: Hook, server: MemoryServer, caplog: pytest.LogCaptureFixture
) -> None:
    hook.write("LEARNING/broken.md", "---\na: [\n---\nBroken.")
    hook.write("LEARNING/large.md", f"---\ntitle: {'x' * 1_000_000}\n---\nLarge.")
    (hook.folder / "LEARNING/bytes.md").write_bytes(b"Byte \xff.")
    hook.write("LEARNING/loop.md", "---\nknowledge_server: graph\n---\nFound there.")

    assert hook.run() == Tally(found=7, succeeded=6, skipped=1)
    assert {"Broken.", "Byte \ufffd."} < set(bodies(server))
    for name in ("broken", "large", "bytes"):
        assert f"LEARNING/{name}.md: " in caplog.text
    assert not any(path.endswith("loop.md") for path in hook.state.files)
    hook.write("LEARNING/loop.md", "Found there, and thought about.")  # now it is the user's own
    assert hook.run() == Tally(found=7, succeeded=1, skipped=6)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7), ("0", 0), ("-1", 0), ("soon", None), ("", None), (None, None), ("nan", None), ("inf", LONGEST_PAUSE),
     ("9" * 5000, LONGEST_PAUSE), ("Mon, 01 Jan 2001 00:00:00 GMT", 0), ("Mon, 01 Jan 2001 00:01:07 GMT", 7),
     ("Fri, 31 Dec 9999 23:59:59 GMT", LONGEST_PAUSE), ("Fri, 31 Dec 99999 23:59:59 GMT", None)],
)  # fmt: skip
def test_a_retry_after_header_is_parsed_or_ignored(header: str | None, seconds: float | None) -> None:
    assert retry_seconds(header, 978_307_260) == seconds
