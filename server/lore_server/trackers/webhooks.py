"""Let deliveries of GitHub and GitLab start a pull and a sync. All that Lore takes from one is that now is the time."""

import hmac
import logging
import os
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lore_etl.config.settings import Settings
from lore_etl.core.errors import ConfigError, Forbidden, InvalidArgument, LoreError, NotFound
from lore_server.app import App
from lore_server.contract import load_contract
from lore_server.execution.progress import NOBODY
from lore_server.execution.threads import PROJECTS, Call
from lore_server.http.access import ACCESS, SHORTEST, Access
from lore_server.http.application import audited
from lore_server.http.guard import WEBHOOK, refused
from lore_server.http.site import PROJECT, Site
from lore_server.trackers.pull import PullRequest, pull

log = logging.getLogger(__name__)
VARIABLE = "LORE_WEBHOOK_SECRET"
LARGEST_BYTES = 25_000_000  # GitHub delivers no larger payload
SIGNATURES = ("x-hub-signature-256", "webhook-signature", "x-gitlab-token")
EVENTS = frozenset(
    "push issues issue_comment pull_request pull_request_review pull_request_review_comment discussion "
    "discussion_comment release Push Issue Work-Item Note Merge-Request Release".split()
)
"""The events after which the index may be outdated, of GitHub and of GitLab, which calls them `Merge Request Hook`."""


def webhook_routes(
    settings: Settings, site: Site, call: Call, hold: Callable[[str], AbstractContextManager[App]]
) -> list[Route]:
    """Return the addresses for deliveries; none if the environment has no secret. Raises ConfigError."""
    secrets = os.environ.get(VARIABLE, "").split()
    keys = [_key(secret) for secret in secrets]
    run = audited(call, load_contract(), site)
    turns, waiting = {name: threading.Lock() for name in site.asked()}, set[str]()

    async def receive(request: Request) -> Response:
        asked, headers = site.asked(), request.headers
        try:
            if not await _is_signed(request, secrets, keys):  # the same reply whether there is such a project or not
                raise Forbidden("The delivery is not signed with a secret of this server.", f"Correct {VARIABLE}.")
            if request.path_params or len(asked) != 1:  # the guard removes the name of a project that is served
                raise NotFound("There is no such project.", f"Its address is {PROJECT}<project>{WEBHOOK}.")
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
                with hold(name) as app:
                    for tracker, _, project in (one.partition(" ") for one in settings.server.webhooks.get(name, ())):
                        app.index.require()
                        wanted = PullRequest(tracker, project, app.index.index_folder, True, environment=os.environ)
                        pull(wanted, log.info)
            except LoreError as error:
                log.warning("cannot pull the tickets of %s: %s %s", name, error.message, error.hint)
            run("manage_knowledge_base", {"action": "sync", "wait_seconds": 0}, NOBODY)

    paths = (WEBHOOK, f"{PROJECT}{{name}}{WEBHOOK}") if secrets else ()
    return [Route(path, receive, methods=["POST"]) for path in paths]


async def _is_signed(request: Request, secrets: Sequence[str], keys: Sequence[bytes]) -> bool:
    """Read the body, which may be large and from anyone, without keeping it. Raises InvalidArgument."""
    headers, size = request.headers, 0
    identity = f"{headers.get('webhook-id')}.{headers.get('webhook-timestamp')}.".encode("latin-1")
    github = [hmac.new(secret.encode(), digestmod="sha256") for secret in secrets]
    gitlab = [hmac.new(key, identity, "sha256") for key in keys]
    async for part in request.stream():
        size += len(part)
        if size > LARGEST_BYTES:
            raise InvalidArgument(f"The body is over {LARGEST_BYTES:,} bytes.")
        for digest in (*github, *gitlab):
            digest.update(part)
    valid = [*secrets, *(f"sha256={digest.hexdigest()}" for digest in github)]
    valid += [f"v1,{b64encode(digest.digest()).decode()}" for digest in gitlab]
    sent = [text.encode("latin-1") for name in SIGNATURES for text in headers.get(name, "").split()]
    return any([hmac.compare_digest(given, one.encode()) for given in sent for one in valid])


def _key(secret: str) -> bytes:
    """Return the key with which GitLab signs; a signing token has it in base64. Raises ConfigError."""
    with suppress(ValueError):
        if len(secret) >= SHORTEST and secret.isascii():
            return b64decode(secret[6:], validate=True) if secret.startswith("whsec_") else secret.encode()
    raise ConfigError(f"{VARIABLE} is not valid.", f"Separate secrets of at least {SHORTEST} characters by spaces.")
