"""Let deliveries of GitHub and GitLab start a pull and a sync. All that Lore takes from one is that now is the time."""

import hmac
import logging
import os
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lore_etl.core.errors import Forbidden, InvalidArgument, LoreError
from lore_etl.core.progress import NOBODY
from lore_server.app import App
from lore_server.execution.threads import PROJECTS, Call
from lore_server.http.access import ACCESS, Access
from lore_server.http.guard import WEBHOOK, refused
from lore_server.http.site import PROJECT, WEBHOOK_VARIABLE, Site
from lore_server.trackers.pull import PullRequest, pull

log = logging.getLogger(__name__)
LARGEST_BYTES = 25_000_000  # GitHub delivers no larger payload
SIGNATURES = ("x-hub-signature-256", "webhook-signature", "x-gitlab-token")
EVENTS = frozenset(
    "push issues issue_comment pull_request pull_request_review pull_request_review_comment discussion "
    "discussion_comment release Push Issue Work-Item Note Merge-Request Release".split()
)
"""The events after which the index may be outdated, of GitHub and of GitLab, which calls them `Merge Request Hook`."""


def webhook_routes(site: Site, call: Call, hold: Callable[[], AbstractContextManager[App]]) -> list[Route]:
    """Return the addresses for deliveries; none without a secret. `hold` opens the project of the current call."""
    turns, waiting = {name: threading.Lock() for name in site.asked()}, set[str]()

    async def receive(request: Request) -> Response:
        asked, headers = site.asked(), request.headers
        try:
            is_signed = await _is_signed(request, str(site.webhook_secret))
            if not is_signed or request.path_params or len(asked) != 1:  # the guard removes the name of a known project
                hint = f"Check {WEBHOOK_VARIABLE}."
                raise Forbidden("The delivery is not signed, or there is no such project.", hint)
        except LoreError as error:
            return refused(error)
        event = headers.get("x-github-event", headers.get("x-gitlab-event", "")).removesuffix(" Hook")
        is_relevant = event.removeprefix("Confidential ").replace(" ", "-") in EVENTS
        if is_relevant and asked[0] not in waiting:
            waiting.add(asked[0])
            threading.Thread(target=update, args=asked, daemon=True).start()
        return JSONResponse({"started": is_relevant}, 202 if is_relevant else 200)

    def update(name: str) -> None:
        PROJECTS.set((name,))
        ACCESS.set(Access("webhook", {}))
        with turns[name], suppress(LoreError):  # the audit log has the error of the sync
            waiting.discard(name)
            try:
                with hold() as app:
                    for tracker, _, project in (one.partition(" ") for one in site.webhooks.get(name, ())):
                        app.index.require()
                        wanted = PullRequest(tracker, project, app.index.index_folder, True, environment=os.environ)
                        pull(wanted, log.info)
            except LoreError as error:
                log.warning("cannot pull the tickets of %s: %s %s", name, error.message, error.hint)
            call("manage_knowledge_base", {"action": "sync", "wait_seconds": 0}, NOBODY)

    paths = (WEBHOOK, f"{PROJECT}{{name}}{WEBHOOK}") if site.webhook_secret else ()
    return [Route(path, receive, methods=["POST"]) for path in paths]


async def _is_signed(request: Request, secret: str) -> bool:
    """Read the body, which may be large and from anyone, without keeping it. Raises InvalidArgument."""
    headers, size = request.headers, 0
    try:  # a signing token of GitLab contains its key
        key = b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        key = secret.encode()
    github = hmac.new(secret.encode(), digestmod="sha256")
    identity = f"{headers.get('webhook-id')}.{headers.get('webhook-timestamp')}."
    gitlab = hmac.new(key, identity.encode("latin-1"), "sha256")
    async for part in request.stream():
        size += len(part)
        if size > LARGEST_BYTES:
            raise InvalidArgument(f"The body is over {LARGEST_BYTES:,} bytes.")
        github.update(part)
        gitlab.update(part)
    valid = (secret, f"sha256={github.hexdigest()}", f"v1,{b64encode(gitlab.digest()).decode()}")
    sent = [text.encode("latin-1") for name in SIGNATURES for text in headers.get(name, "").split()]
    return any([hmac.compare_digest(given, one.encode()) for given in sent for one in valid])
