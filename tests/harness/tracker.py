"""A tracker on this machine with the wire format of GitHub and GitLab: pages by `Link`, tags, rate limits, failures."""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from tests.harness.local_server import QuietHandler, listening

Answer = tuple[int, dict[str, str], object]


@dataclass
class Tracker:
    """The lists by path, each request so far, and answers that replace the next ones."""

    lists: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    tokens: list[str | None] = field(default_factory=list)
    instead: Callable[[int, str], Answer | None] = lambda number, path: None
    graphql: Callable[[dict[str, Any]], object] = lambda variables: {}
    address: str = ""

    def answer(self, target: str, tag: str | None) -> Answer:
        """Return the page of a list as the trackers do: changed since a time, in the order of changes."""
        parts = urlsplit(target)
        given = dict(parse_qsl(parts.query))
        if (items := self.lists.get(unquote(parts.path))) is None:
            return 404, {}, {"message": "Not Found"}
        since = given.get("since") or given.get("updated_after") or ""
        changed = [item for item in items if item.get("updated_at", "") >= since] if since else list(items)
        if {"updated", "updated_at"} & {given.get("sort"), given.get("order_by")}:
            changed.sort(key=lambda item: item["updated_at"])
        size, page = int(given.get("per_page", "30")), int(given.get("page", "1"))
        shown = changed[(page - 1) * size : page * size]
        headers = {"ETag": f'W/"{hashlib.sha256(json.dumps(shown).encode()).hexdigest()}"'}
        if page * size < len(changed):
            query = urlencode({**given, "page": str(page + 1)})
            headers["Link"] = f'<{self.address}{parts.path}?{query}>; rel="next"'
        return (304, headers, None) if tag == headers["ETag"] else (200, headers, shown)


@contextmanager
def running(tracker: Tracker) -> Iterator[str]:
    """Serve the tracker, and yield its address."""

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._reply(tracker.answer(self.path, self.headers.get("If-None-Match")))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._reply((200, {}, tracker.graphql(body["variables"])))

        def _reply(self, answer: Answer) -> None:
            tracker.requests.append(self.path)
            tracker.tokens.append(self.headers.get("Authorization") or self.headers.get("PRIVATE-TOKEN"))
            status, headers, data = tracker.instead(len(tracker.requests), self.path) or answer
            content = data if isinstance(data, bytes) else b"" if data is None else json.dumps(data).encode()
            self.send(status, content, headers)

    with listening(Handler) as port:
        tracker.address = f"http://127.0.0.1:{port}"
        yield tracker.address


def github_issue(number: int, *, updated: int | None = None, **more: Any) -> dict[str, Any]:
    """Return an issue in GitHub's format; `updated` is the second of its last change."""
    second = number if updated is None else updated
    return {
        "id": 1000 + number, "number": number, "title": f"Ferry {number} is late", "state": "open",
        "user": {"login": "ada"}, "labels": [{"name": "bug"}], "body": f"The ferry {number} waited.",
        "created_at": "2026-01-01T00:00:00Z", "updated_at": moment(second), "html_url": f"https://x.test/{number}",
        **more,
    }  # fmt: skip


def github_comment(number: int, ticket: int, body: str, updated: int) -> dict[str, Any]:
    """Return a comment in GitHub's format."""
    return {
        "id": number, "issue_url": f"https://x.test/repos/acme/ferry/issues/{ticket}", "user": {"login": "bob"},
        "body": body, "created_at": moment(updated), "updated_at": moment(updated),
    }  # fmt: skip


def moment(second: int) -> str:
    """Return a time of the trackers."""
    return f"2026-02-01T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"


def github(issues: list[dict[str, Any]], comments: list[dict[str, Any]] | None = None) -> Tracker:
    """Return a GitHub with the project acme/ferry."""
    base = "/repos/acme/ferry"
    release = {"id": 7, "tag_name": "v1.2", "name": "Spring", "body": "Faster.", "created_at": moment(1),
               "published_at": moment(2), "html_url": "", "author": {"login": "ada"}}  # fmt: skip
    return Tracker({
        f"{base}/issues": issues, f"{base}/issues/comments": comments or [], f"{base}/pulls/comments": [],
        f"{base}/releases": [release],
    })  # fmt: skip
