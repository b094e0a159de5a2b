"""Pulling tickets from a tracker: pages, changes, rate limits, interruption, and what a hostile ticket can do."""

import gzip
import json
import sqlite3
import tracemalloc
import zlib
from contextlib import closing
from email.utils import formatdate
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lore_etl.core.errors import Busy, LoreError, NotFound, ProviderUnavailable, StorageError, UsageError
from lore_etl.pipeline.sync import sync
from lore_etl.stores.sqlite_file import Records
from lore_server.trackers.pull import PullReport, PullRequest, pull
from lore_server.trackers.tracker_client import ATTEMPTS, MAX_BYTES, TrackerClient
from tests.harness.projects import chunks_of, open_index, write_project
from tests.harness.tracker import Answer, Tracker, github, github_comment, github_issue, moment, running

pytestmark = pytest.mark.later

COUNT = 210
PAST, FAR = formatdate(1, usegmt=True), formatdate(9_000_000_000, usegmt=True)


def pulled(tracker: Tracker, folder: Path, address: str = "", **more: Any) -> PullReport:
    wanted = PullRequest("github", "acme/ferry", folder, address=address or tracker.address, **{"patience": 5, **more})
    return pull(wanted, lambda stage: None)


def many() -> Tracker:
    issues = [github_issue(number) for number in range(1, COUNT + 1)]
    comments = [github_comment(n, n % COUNT + 1, f"Seen {n} times.", n) for n in range(1, 106)]
    return github(issues, comments)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tracker, dict[str, str]]:
    tracker, folder = many(), tmp_path_factory.mktemp("whole")
    with running(tracker):
        pulled(tracker, folder)
    return tracker, texts(folder)


def refused(status: int, number: int, path: str) -> Answer:
    return status, {}, {}


def texts(folder: Path) -> dict[str, str]:
    return {str(file.relative_to(folder)): file.read_text() for file in sorted(folder.glob("*/*.md"))}


def test_all_pages_are_read_and_later_pulls_read_only_changes(tmp_path: Path) -> None:
    tracker = many()
    with running(tracker):
        first, before = pulled(tracker, tmp_path), texts(tmp_path)
        second = pulled(tracker, tmp_path)
        tracker.lists["/repos/acme/ferry/issues"][6] = github_issue(7, updated=5000, state="closed")
        tracker.lists["/repos/acme/ferry/issues/comments"].append(github_comment(900, 9, "Solved.", 6000))
        third, after = pulled(tracker, tmp_path), texts(tmp_path)

    assert len(first.changed) == COUNT + 1
    assert before["issues/2.md"] == (
        "---\nstate: open\nauthor: ada\ncreated: '2026-01-01T00:00:00Z'\nupdated: '2026-02-01T00:00:02Z'\n"
        "url: https://x.test/2\nlabels:\n- bug\n---\n\n# Ferry 2 is late\n\nThe ferry 2 waited.\n\n"
        "### @bob - 2026-02-01T00:00:01Z\n\nSeen 1 times.\n"
    )
    assert "# v1.2: Spring\n\nFaster." in before["releases/v1.2.md"]
    assert (second.changed, second.requests) == ([], 4)
    assert (third.changed, third.requests) == (["issues/7.md", "issues/9.md"], 6)
    assert "state: closed" in after["issues/7.md"]
    assert after["issues/9.md"].endswith("### @bob - 2026-02-01T01:40:00Z\n\nSolved.\n")


def test_more_tickets_of_one_second_than_fit_on_a_page_are_all_read(tmp_path: Path) -> None:
    tracker = github([github_issue(number, updated=50) for number in range(1, 231)])
    with running(tracker):
        assert len(pulled(tracker, tmp_path).changed) == 231
        assert pulled(tracker, tmp_path).requests == 4


@pytest.mark.parametrize("request_number", (1, 3, 5, 8))
def test_a_pull_that_is_interrupted_anywhere_continues_and_ends_like_an_uninterrupted_one(
    tmp_path: Path, request_number: int, uninterrupted: tuple[Tracker, dict[str, str]]
) -> None:
    whole, expected = uninterrupted
    tracker = many()

    def broken(number: int, path: str) -> Answer | None:
        return (404, {}, {}) if number == request_number else None

    tracker.instead = broken
    with running(tracker):
        with pytest.raises(NotFound):
            pulled(tracker, tmp_path / "again")
        before = len(tracker.requests)
        pulled(tracker, tmp_path / "again")

    assert texts(tmp_path / "again") == expected
    assert len(tracker.requests) - before <= len(whole.requests) - request_number + 4


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (429, {"Retry-After": "0"}),
        (403, {"Retry-After": "0"}),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}),
        (503, {}),
    ],
)
def test_a_rate_limit_or_a_failure_delays_a_pull(tmp_path: Path, status: int, headers: dict[str, str]) -> None:
    tracker = github([github_issue(1)])
    tracker.instead = lambda number, path: (status, headers, {}) if number == 2 else None

    with running(tracker):
        report = pulled(tracker, tmp_path)

    assert report.changed == ["issues/1.md", "releases/v1.2.md"]


def test_a_long_rate_limit_ends_the_pull_and_keeps_the_tickets_read_so_far(tmp_path: Path) -> None:
    tracker = many()
    tracker.instead = lambda number, path: (429, {"Retry-After": "3600"}, {}) if number == 3 else None

    with running(tracker), pytest.raises(Busy, match=r"rate limit is reached\. All pages"):
        pulled(tracker, tmp_path)

    assert len(texts(tmp_path)) == 198  # pages overlap by one second


@pytest.mark.parametrize("header", ["0", "nan", "-5", "inf", "1e999", "9" * 400, "x", "", PAST, FAR])
@pytest.mark.parametrize("status", [429, 403])
def test_a_tracker_that_always_asks_for_a_pause_is_asked_a_few_times_only(header: str, status: int) -> None:
    tracker, pauses = github([]), list[float]()
    tracker.instead = lambda number, path: (status, {"Retry-After": header}, {}) if number < 30 else None

    with (
        running(tracker),
        closing(TrackerClient(tracker.address, {}, 60, pauses.append)) as client,
        pytest.raises(Busy),
    ):
        client.get("repos/acme/ferry/issues")

    assert len(tracker.requests) <= ATTEMPTS
    assert all(0.5 <= pause <= 60 for pause in pauses)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "gzip, gzip", "identity"])
def test_a_reply_is_not_unpacked_beyond_the_limit(encoding: str) -> None:
    packer = zlib.compressobj(9, wbits=31 if encoding == "gzip" else 15)
    packed = b"".join(packer.compress(bytes(1_000_000)) for _ in range(60)) + packer.flush()
    tracker = github([])
    content = bytes(60_000_000) if encoding == "identity" else packed
    tracker.instead = lambda number, path: (200, {"Content-Encoding": encoding}, content)

    with running(tracker), closing(TrackerClient(tracker.address, {}, 60)) as client:
        tracemalloc.start()
        with pytest.raises(ProviderUnavailable, match=r"too large|compressed"):
            client.get("repos/acme/ferry/issues")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

    assert peak < 4 * MAX_BYTES


def test_a_compressed_reply_is_read(tmp_path: Path) -> None:
    tracker = github([])
    reply = gzip.compress(json.dumps([github_issue(1)]).encode())
    tracker.instead = lambda number, path: (200, {"Content-Encoding": "gzip"}, reply) if number == 1 else None

    with running(tracker):
        assert "issues/1.md" in pulled(tracker, tmp_path).changed


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        pytest.param({}, b"[" * 100_000, id="deep"),
        pytest.param({}, b"\xff", id="binary"),
        pytest.param({}, b"{}", id="object"),
        pytest.param({}, b"[1]", id="numbers"),
        pytest.param({"Link": '<http://[bad>; rel="next"'}, [], id="a next page at an address that is none"),
    ],
)
def test_a_reply_in_another_format_is_reported(tmp_path: Path, headers: dict[str, str], body: object) -> None:
    tracker = github([])
    tracker.instead = lambda number, path: (200, headers, body)

    with running(tracker), pytest.raises(ProviderUnavailable):
        pulled(tracker, tmp_path)


@pytest.mark.parametrize("stream", ["issues", "releases"])
@pytest.mark.parametrize("is_same", [True, False], ids=["itself", "ever new pages"])
def test_endless_pages_end_a_pull(tmp_path: Path, stream: str, is_same: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lore_server.trackers.tracker_client.MAX_REQUESTS", 12)
    tracker, item = github([]), {"id": 1, "number": 1, "title": "x", "tag_name": "v1", "updated_at": moment(1)}

    def endless(number: int, path: str) -> Answer | None:
        following = path if is_same else f"{path.partition('?')[0]}?page={number + 1}"
        headers = {"Link": f'<{tracker.address}{following}>; rel="next"'}
        return (200, headers, [item]) if path.partition("?")[0].endswith(stream) and number < 40 else None

    tracker.instead = endless
    with running(tracker), pytest.raises(ProviderUnavailable if is_same else Busy):
        pulled(tracker, tmp_path)

    assert len(tracker.requests) <= 12


def test_discussions_that_refer_to_themselves_end_the_pull(tmp_path: Path) -> None:
    none = {"totalCount": 0, "nodes": list[str]()}
    node = {"number": 1, "title": "x", "updatedAt": moment(1), "comments": none, "labels": none}
    page = {"nodes": [node], "pageInfo": {"hasNextPage": True, "endCursor": "same"}}
    tracker = github([])
    tracker.graphql = lambda variables: {"data": {"repository": {"discussions": page}}}
    tracker.instead = lambda number, path: (404, {}, {}) if number > 40 else None

    with running(tracker), pytest.raises(ProviderUnavailable, match="refer to themselves"):
        pulled(tracker, tmp_path, environment={"GITHUB_TOKEN": "secret"})


@pytest.mark.parametrize(
    "number", ["../../x", "..", "", "a/b", "a\\b", "con", "x\0", "\ud800", -1, 1.5, None, True, {}, "9" * 40]
)
def test_a_ticket_with_an_unsafe_number_is_reported_and_stops_no_pull(tmp_path: Path, number: object) -> None:
    request: dict[str, Any] = {"pull_request": {"merged_at": None}, "body": "Fixes #2"}
    tracker = github([github_issue(1, updated=1, **request) | {"number": number}, github_issue(2)])
    home = tmp_path / "home" / "tickets"

    with running(tracker):
        first = pulled(tracker, home)
        tracker.lists["/repos/acme/ferry/issues"].append(github_issue(3))
        second = pulled(tracker, home)

    assert first.changed == ["issues/2.md", "releases/v1.2.md"]
    assert any("left out" in note for note in first.notes)
    assert "issues/3.md" in second.changed
    assert [entry.name for entry in tmp_path.iterdir()] == ["home"]
    assert "Linked" not in texts(home)["issues/2.md"]


def test_an_unsafe_ticket_that_an_earlier_version_stored_stops_no_pull(tmp_path: Path) -> None:
    tracker = github([github_issue(1)])
    with running(tracker):
        pulled(tracker, tmp_path)
        with closing(sqlite3.connect(tmp_path / ".lore-pull" / "records.sqlite")) as rows, rows:
            rows.execute("UPDATE record SET data = replace(data, '\"1\"', '\"../../1\"'), is_written = 0")
        tracker.lists["/repos/acme/ferry/issues"].append(github_issue(2))

        assert "issues/2.md" in pulled(tracker, tmp_path).changed


def test_damage_in_any_row_of_the_records_is_reported_with_a_hint(tmp_path: Path) -> None:
    file, tables = tmp_path / "records.sqlite", "CREATE TABLE IF NOT EXISTS record (data TEXT)"
    with closing(Records(file, tables, "Delete it.")) as rows:
        rows.executemany("INSERT INTO record VALUES (?)", [("x" * 900,)] * 400)
        rows.commit()
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2] + bytes([255]) * (len(content) // 2))

    with closing(Records(file, tables, "Delete it.")) as rows, pytest.raises(StorageError) as caught:
        rows.execute("SELECT data FROM record")

    assert (caught.value.message, caught.value.hint) == (f"{file} is damaged.", "Delete it.")


@pytest.mark.parametrize("tag", ["..", "con", "v1/../../x", "\ud800", "", "." * 300])
def test_a_release_with_an_unsafe_tag_gets_a_safe_name(tmp_path: Path, tag: str) -> None:
    tracker = github([])
    tracker.lists["/repos/acme/ferry/releases"][0]["tag_name"] = tag

    with running(tracker):
        report = pulled(tracker, tmp_path)

    assert len(texts(tmp_path)) == len(report.changed) == 1
    assert Path(report.changed[0]).stem.lower() not in ("con", "")


def test_a_token_is_sent_to_no_other_host(tmp_path: Path) -> None:
    tracker, other = github([github_issue(number) for number in range(1, 120)]), github([])
    environment = {"GITHUB_TOKEN": "secret"}
    with running(tracker), running(other):
        tracker.instead = lambda number, path: (301, {"Location": f"{other.address}/x"}, None) if number == 1 else None
        with pytest.raises(ProviderUnavailable, match="refers to another host"):
            pulled(tracker, tmp_path, environment=environment)

    assert (tracker.tokens, other.requests) == (["Bearer secret"], [])


NO_PROJECTS = ["acme", "../etc", "acme/..", "acme/x/y", "acme/x?y", ""]
NO_ADDRESSES = ["http://example.org", "ftp://127.0.0.1", "x"]


@pytest.mark.parametrize(
    ("project", "address", "error", "reason"),
    [
        *((project, "", UsageError, "not a project") for project in NO_PROJECTS),
        *(("acme/ferry", address, UsageError, "not an https address") for address in NO_ADDRESSES),
        ("acme/ferry", "https://[bad", ProviderUnavailable, "unexpected format"),
    ],
)
def test_only_the_name_of_a_project_and_an_encrypted_address_are_accepted(
    tmp_path: Path, project: str, address: str, error: type[LoreError], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        pull(PullRequest("github", project, tmp_path, address=address), lambda stage: None)


def test_a_pull_request_is_linked_to_the_tickets_that_it_closes_and_to_no_others_later(tmp_path: Path) -> None:
    request: dict[str, Any] = {"pull_request": {"merged_at": moment(3)}, "state": "closed"}
    issues = [github_issue(1), github_issue(2), github_issue(3, **request, body="Fixes #1, fixes #3, see #2")]
    tracker = github(issues)

    with running(tracker):
        pulled(tracker, tmp_path)
        before = texts(tmp_path)
        tracker.lists["/repos/acme/ferry/issues"][2] = github_issue(3, updated=9, **request, body="Fixes #2")
        report = pulled(tracker, tmp_path)

    after = texts(tmp_path)
    assert "Linked: #3 (pull request, merged)" in before["issues/1.md"]
    assert "Linked" not in before["issues/2.md"]
    assert "state: merged" in before["pulls/3.md"]
    assert report.changed == ["issues/1.md", "issues/2.md", "pulls/3.md"]
    assert ["Linked: #3" in after[f"issues/{number}.md"] for number in (1, 2)] == [False, True]
    assert "Linked" not in after["pulls/3.md"]


@pytest.mark.parametrize("environment", [{}, {"GITHUB_TOKEN": "secret"}])
def test_a_refusal_says_what_the_tracker_replied_and_not_why(tmp_path: Path, environment: dict[str, str]) -> None:
    tracker = github([github_issue(1)])
    with running(tracker):
        tracker.instead = partial(refused, 401)
        with pytest.raises(UsageError, match="requires a valid token"):
            pulled(tracker, tmp_path, environment=environment)
        for status in (403, 404, 410):  # a list may be switched off in a project
            tracker.instead = partial(refused, status)
            message = rf"^The tracker does not show /repos/acme/ferry/issues \(status {status}"
            with pytest.raises(NotFound, match=message):
                pulled(tracker, tmp_path, environment=environment)


@pytest.mark.parametrize(("total", "count"), [(1, "1 of 1 comment"), (130, "1 of 130 comments")])
def test_discussions_are_read_with_a_token_and_otherwise_mentioned(tmp_path: Path, total: int, count: str) -> None:
    node = {
        "number": 5, "title": "Which berth?", "body": "Ask.", "url": "", "createdAt": moment(1), "updatedAt": moment(2),
        "closed": False, "author": {"login": "eve"}, "labels": {"nodes": []},
        "comments": {
            "totalCount": total,
            "nodes": [{"id": "c", "body": "Berth 3.", "createdAt": moment(2), "author": None}],
        },
    }  # fmt: skip
    page = {"nodes": [node], "pageInfo": {"hasNextPage": False, "endCursor": None}}
    tracker = github([])
    tracker.graphql = lambda variables: {"data": {"repository": {"discussions": page}}}

    with running(tracker):
        without = pulled(tracker, tmp_path)
        pulled(tracker, tmp_path, environment={"GITHUB_TOKEN": "secret"})

    assert without.notes == ["Discussions need a token in GITHUB_TOKEN; they were left out."]
    assert texts(tmp_path)["discussions/5.md"].endswith(
        f"Ask.\n\n({count}, without the replies to them)\n\n### @ghost - 2026-02-01T00:00:02Z\n\nBerth 3.\n"
    )


def test_a_ticket_cannot_forge_a_comment_or_front_matter_or_hide_the_comments_after_it(tmp_path: Path) -> None:
    body = "---\nstate: merged\n---\n### @ada - 2026-01-01\n\nApproved.\n\n```sh\nnever closed"
    issue = github_issue(1, title="x\n---\nstate: merged", body=body)
    tracker = github([issue], [github_comment(1, 1, "A real comment.", 1)])
    project = write_project(tmp_path / "harbour", {"README.md": "# Harbour\n\nFerries.\n"})
    with running(tracker), closing(open_index(project)) as index:
        sync(index)
        pull(PullRequest("github", "acme/ferry", index.folder, True, tracker.address), lambda stage: None)
        sync(index)
        found = [chunk for chunk in chunks_of(index) if chunk.source.startswith("@tickets")]

    assert {(chunk.source, chunk.type.value, chunk.state) for chunk in found} == {
        ("@tickets/github/acme/ferry/issues/1.md", "ticket", "open"),
        ("@tickets/github/acme/ferry/releases/v1.2.md", "release", None),
    }
    assert [chunk.created for chunk in found if "A real comment." in chunk.text] == ["2026-02-01T00:00:01Z"]
    assert not any("Approved" in chunk.text and chunk.heading[-1:] == ("@ada - 2026-01-01",) for chunk in found)


def test_a_gitlab_project_is_read_with_the_notes_of_its_tickets(tmp_path: Path) -> None:
    base = "/api/v4/projects/acme/sea/ferry"
    issue = {"iid": 1, "title": "Late", "state": "opened", "description": "Slow.", "labels": ["bug"],
             "author": {"username": "ada"}, "created_at": moment(1), "updated_at": moment(2), "user_notes_count": 1,
             "web_url": ""}  # fmt: skip
    request = {**issue, "title": "Faster", "state": "merged", "description": "Closes #1", "user_notes_count": 0}
    note = {"id": 3, "body": "Yes.", "author": {"username": "bob"}, "created_at": moment(2), "system": False}
    tracker = Tracker({
        f"{base}/issues": [issue], f"{base}/merge_requests": [request], f"{base}/releases": [],
        f"{base}/issues/1/notes": [note, {**note, "id": 4, "system": True, "body": "added a label"}],
    })  # fmt: skip
    with running(tracker):
        token = {"GITLAB_TOKEN": "secret"}
        wanted = PullRequest("gitlab", "acme/sea/ferry", tmp_path, address=tracker.address, environment=token)
        first, second = (pull(wanted, lambda stage: None) for _ in range(2))
        text = texts(tmp_path)["issues/1.md"]
        tracker.lists[f"{base}/merge_requests"] = [{**request, "description": "See #1", "updated_at": moment(9)}]
        pull(wanted, lambda stage: None)

    assert first.changed == ["issues/1.md", "merge_requests/1.md"]
    assert (second.changed, second.requests) == ([], 3)
    assert set(tracker.tokens) == {"secret"}
    assert "state: open" in text
    assert text.endswith("Linked: !1 (merge request, merged)\n\n### @bob - 2026-02-01T00:00:02Z\n\nYes.\n")
    assert "Linked" not in texts(tmp_path)["issues/1.md"]
