"""Deliveries of GitHub and GitLab start a pull and a sync, and decide nothing but that now is the time."""

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from lore_etl.config.project import user_state_folder
from lore_server.trackers.webhooks import LARGEST_BYTES
from tests.harness import http_client
from tests.harness.commands import run_lore, synced_project
from tests.harness.interfaces import serving
from tests.harness.owners import stop_owners, wait_until
from tests.harness.projects import write_project
from tests.harness.tracker import Tracker, github, github_issue, moment, running

KEY = b"the key of a signing token"
SECRET = f"whsec_{base64.b64encode(KEY).decode()}"
TOKEN = "the-token-of-an-open-server"
FERRY = "/repos/acme/ferry"
PUSHED = {  # as GitHub documents it, with the parts that a receiver might be tempted to use
    "ref": "refs/heads/main", "before": "0" * 40, "after": "1" * 40, "deleted": False, "forced": False,
    "repository": {"full_name": "evil/other", "clone_url": "https://evil.example/other.git", "private": False},
    "commits": [{"id": "1" * 40, "message": "Sail", "added": ["../../etc/passwd"], "removed": [], "modified": []}],
    "head_commit": {"id": "1" * 40}, "pusher": {"name": "mallory"}, "sender": {"login": "mallory"},
}  # fmt: skip
OPENED = {  # as GitLab documents it
    "object_kind": "issue", "event_type": "issue", "user": {"username": "mallory"},
    "project": {"id": 1, "path_with_namespace": "evil/other", "git_http_url": "https://evil.example/other.git"},
    "object_attributes": {"iid": 23, "title": "New", "action": "open", "state": "opened"}, "changes": {},
}  # fmt: skip


@pytest.fixture(scope="module")
def tracker() -> Iterator[Tracker]:
    """A tracker with the same tickets as GitHub and as GitLab."""
    found = github([github_issue(1)])
    gitlab = {"iid": 5, "title": "Tide", "state": "opened", "updated_at": moment(9), "description": "It is low."}
    base = "/api/v4/projects/acme/sea"
    found.lists |= {f"{base}/issues": [gitlab], f"{base}/merge_requests": [], f"{base}/releases": []}
    with running(found):
        yield found


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two indexed projects; deliveries for `a` pull from both trackers."""
    folder = tmp_path_factory.mktemp("webhooks")
    pulled = '[server.webhooks]\na = ["github acme/ferry", "gitlab acme/sea"]\n'
    write_project(folder, {"config/lore/config.toml": pulled})
    for name in "ab":
        synced_project(folder / "projects" / name, {"lore.toml": "", "README.md": f"# {name}\n\nIt sails.\n"})
    stop_owners(folder)
    return folder


@pytest.fixture(scope="module")
def url(team: Path, tracker: Tracker) -> Iterator[str]:
    """An open server, to which a delivery brings no token."""
    variables = {
        "XDG_CONFIG_HOME": str(team / "config"), "LORE_TOKEN": TOKEN, "LORE_WEBHOOK_SECRET": SECRET,
        "LORE_GITHUB_URL": tracker.address, "LORE_GITLAB_URL": tracker.address, "GITHUB_TOKEN": "",
    }  # fmt: skip
    more = ["--projects", str(team / "projects"), "--host", "0.0.0.0"]
    with serving(team, more=more, variables=variables) as address:
        yield address.replace("0.0.0.0", "127.0.0.1")


def from_github(body: bytes, event: str = "push", secret: str = SECRET) -> dict[str, str]:
    """Return the headers of a delivery of GitHub."""
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {
        "X-GitHub-Event": event, "X-GitHub-Delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
        "X-Hub-Signature-256": f"sha256={digest}", "Content-Type": "application/json",
    }  # fmt: skip


def from_gitlab(body: bytes, event: str = "Issue Hook", key: bytes = KEY) -> dict[str, str]:
    """Return the headers of a signed delivery of GitLab."""
    identity, at = "f5e5f430-f57b-4e6e-9fac-d9128cd7232f", "1780000000"
    digest = hmac.new(key, f"{identity}.{at}.".encode() + body, hashlib.sha256).digest()
    return {
        "X-Gitlab-Event": event, "webhook-id": identity, "webhook-timestamp": at, "Content-Type": "application/json",
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }  # fmt: skip


def deliver(url: str, body: bytes, headers: dict[str, str], project: str = "a") -> httpx2.Response:
    return http_client.post(f"{url}/projects/{project}/webhook", content=body, headers=headers)


def sources(url: str, project: str = "a") -> set[str]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    reply = http_client.get(f"{url}/projects/{project}/api/sources", headers=headers).json()
    return {row["source"] for row in reply["sources"]}


def changes() -> list[dict[str, Any]]:
    """Return the syncs that deliveries have started."""
    log = user_state_folder() / "audit.log"
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return [record for record in map(json.loads, lines) if record["author"] == "webhook"]


def test_a_delivery_pulls_the_trackers_that_the_user_named_and_syncs(url: str, tracker: Tracker, team: Path) -> None:
    body, before = json.dumps(PUSHED).encode(), len(changes())
    write_project(team / "projects" / "a", {"new.md": "# New\n\nIt arrived.\n"})
    reply = deliver(url, body, from_github(body))

    assert (reply.status_code, reply.json()) == (202, {"started": True})
    pulled = {"@tickets/github/acme/ferry/issues/1.md", "@tickets/gitlab/acme/sea/issues/5.md", "new.md"}
    wait_until(lambda: pulled <= sources(url))
    assert not any("evil" in path for path in tracker.requests)
    assert "@tickets" not in str(sources(url, "b"))
    wait_until(lambda: ["a"] in [change["projects"] for change in changes()[before:]])


GITLAB = json.dumps(OPENED).encode()
FORM = b"payload=%7B%22ref%22%3A%22refs%2Fheads%2Fmain%22%7D"
ACCEPTED: dict[str, tuple[bytes, dict[str, str], bool]] = {
    "an issue of GitLab, signed": (GITLAB, from_gitlab(GITLAB), True),
    "one of several signatures": (
        GITLAB, from_gitlab(GITLAB) | {"webhook-signature": f"v1,AAAA {from_gitlab(GITLAB)['webhook-signature']}"}, True
    ),
    "an issue of GitLab, with a token": (GITLAB, {"X-Gitlab-Token": SECRET, "X-Gitlab-Event": "Issue Hook"}, True),
    "a confidential note": (GITLAB, from_gitlab(GITLAB, "Confidential Note Hook"), True),
    "a form of GitHub": (FORM, from_github(FORM, "issues"), True),
    "a body that is no JSON": (b"\xff{", from_github(b"\xff{", "release"), True),
    "no body": (b"", from_github(b"", "pull_request"), True),
    "a ping": (b"{}", from_github(b"{}", "ping"), False),
    "a star": (b"{}", from_github(b"{}", "star"), False),
    "a pipeline": (b"{}", from_gitlab(b"{}", "Pipeline Hook"), False),
    "no event": (b"{}", {"X-Gitlab-Token": SECRET}, False),
}  # fmt: skip


@pytest.mark.parametrize("kind", ACCEPTED)
def test_a_signed_delivery_starts_a_sync_if_its_event_matters(url: str, kind: str) -> None:
    body, headers, is_relevant = ACCEPTED[kind]
    before = len(changes())
    reply = deliver(url, body, headers, "b")

    assert (reply.status_code, reply.json()) == (202 if is_relevant else 200, {"started": is_relevant})
    wait_until(lambda: len(changes()) == before + is_relevant)


BODY = json.dumps(PUSHED).encode()
REFUSED: dict[str, dict[str, str]] = {
    "no signature": {"X-GitHub-Event": "push"},
    "another secret": from_github(BODY, secret="another-secret-of-it"),
    "a signing token as it is written": from_gitlab(BODY, key=SECRET.encode()),
    "the signature of another body": from_github(BODY + b" "),
    "the signature of another delivery": {**from_gitlab(BODY), "webhook-id": "other"},
    "the signature of another time": {**from_gitlab(BODY), "webhook-timestamp": "1780000001"},
    "half of a signature": {**from_github(BODY), "X-Hub-Signature-256": from_github(BODY)["X-Hub-Signature-256"][:40]},
    "an empty signature": {**from_github(BODY), "X-Hub-Signature-256": "sha256="},
    "only SHA-1": {"X-Hub-Signature": f"sha1={hmac.new(SECRET.encode(), BODY, 'sha1').hexdigest()}"},
    "another token": {"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": "another-secret-of-it"},
    "an empty token": {"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": ""},
    "a token in another alphabet": {"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": "\u00fc"},
    "the token of the server": {"X-Gitlab-Event": "Push Hook", "Authorization": f"Bearer {TOKEN}"},
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_without_a_valid_signature_known_and_unknown_projects_answer_alike(
    url: str, tracker: Tracker, kind: str
) -> None:
    before = len(tracker.requests), len(changes())
    headers = [(name.encode(), value.encode("latin-1")) for name, value in REFUSED[kind].items()]
    replies = [
        http_client.post(f"{url}{path}/webhook", content=BODY, headers=headers)
        for path in ("/projects/a", "/projects/nope", "/projects/a,b", "")
    ]

    assert {reply.status_code for reply in replies} == {403}
    assert len({json.dumps({**reply.json(), "trace_id": ""}) for reply in replies}) == 1
    assert SECRET not in replies[0].text
    assert (len(tracker.requests), len(changes())) == before


@pytest.mark.parametrize("path", ["/projects/nope/webhook", "/projects/a,b/webhook", "/webhook"])
def test_a_signed_delivery_for_no_single_project_is_refused_like_an_unsigned_one(url: str, path: str) -> None:
    reply = http_client.post(url + path, content=BODY, headers=from_github(BODY))

    unsigned = http_client.post(url + path, content=BODY)
    assert reply.status_code == unsigned.status_code == 403
    assert reply.json() == {**unsigned.json(), "trace_id": reply.json()["trace_id"]}


def test_a_body_that_is_too_large_is_refused(url: str) -> None:
    body = b" " * (LARGEST_BYTES + 1)
    reply = deliver(url, body, from_github(body))

    assert (reply.status_code, reply.json()["code"]) == (400, "INVALID_ARGUMENT")


def test_repeated_deliveries_start_one_pull_more_than_the_one_that_runs(url: str, tracker: Tracker) -> None:
    body, reached, released = json.dumps(PUSHED).encode(), threading.Event(), threading.Event()
    headers = from_github(body)

    def hold(number: int, path: str) -> None:
        if path.startswith(f"{FERRY}/issues") and not reached.is_set():
            reached.set()
            assert released.wait(60)

    before, synced = len(tracker.requests), len(changes())
    tracker.instead = hold
    try:
        assert deliver(url, body, headers).status_code == 202
        assert reached.wait(60)
        assert {deliver(url, body, headers).status_code for _ in range(20)} == {202}
    finally:
        released.set()
    wait_until(lambda: len(changes()) == synced + 2)
    tracker.instead = lambda number, path: None

    assert sum(path.startswith(f"{FERRY}/releases") for path in tracker.requests[before:]) == 2  # once in each pull


def test_a_tracker_that_fails_does_not_prevent_the_sync(url: str, tracker: Tracker) -> None:
    synced = len(changes())
    tracker.instead = lambda number, path: (404, {}, {"message": "Not Found"})
    try:
        assert deliver(url, BODY, from_github(BODY)).status_code == 202
        wait_until(lambda: len(changes()) == synced + 1)
    finally:
        tracker.instead = lambda number, path: None


def test_a_delivery_gives_no_other_access_to_an_open_server(url: str) -> None:
    for method, path in (("GET", "/projects/a/webhook"), ("POST", "/projects/a/api/webhook"), ("POST", "/webhook/x")):
        reply = http_client.request(method, url + path, content=BODY, headers=from_github(BODY))
        assert reply.status_code in (401, 405), path


def test_one_project_has_the_address_webhook_and_no_address_without_a_secret(tmp_path: Path) -> None:
    project = write_project(tmp_path, {"lore.toml": "", "README.md": "# Ferry\n\nIt sails.\n"})
    with serving(project, LORE_WEBHOOK_SECRET=SECRET) as url:
        before = len(changes())
        assert http_client.post(f"{url}/webhook", content=BODY, headers=from_github(BODY)).status_code == 202
        wait_until(lambda: len(changes()) == before + 1)
    with serving(project) as url:
        assert http_client.post(f"{url}/webhook", content=BODY, headers=from_github(BODY)).status_code == 404


@pytest.mark.parametrize(
    ("secret", "pulled", "problem"),
    [
        ("short", "", "LORE_WEBHOOK_SECRET is not a valid token"),
        (SECRET, 'a = ["github ../../etc"]', "should match pattern"),
        (SECRET, 'a = ["https://evil.example/a/b"]', "should match pattern"),
    ],
)
def test_a_wrong_setting_is_reported_at_the_start(tmp_path: Path, secret: str, pulled: str, problem: str) -> None:
    write_project(tmp_path, {"a/lore.toml": "", "config/lore/config.toml": f"[server.webhooks]\n{pulled}\n"})
    done = run_lore(
        "serve", "--port", "0", cwd=tmp_path / "a", LORE_WEBHOOK_SECRET=secret, XDG_CONFIG_HOME=str(tmp_path / "config")
    )

    assert done.returncode == 2
    assert problem in done.stderr
    assert secret not in done.stderr
