"""Commands that talk to a server and write files, which tests run with a fault at each call."""

from functools import partial
from pathlib import Path

import anyio

from lore_etl.files.redaction import redact
from lore_server.hook.knowledge_server import target_of
from lore_server.hook.mcp_connection import open_session
from lore_server.hook.upload_run import upload
from lore_server.hook.upload_state import UploadRequest
from lore_server.trackers.pull import PullRequest, pull

redact("a text")  # loads the rules once, before the forks


def pull_tickets(home: str, address: str) -> None:
    pull(PullRequest("github", "acme/ferry", Path(home), True, address, patience=5), lambda stage: None)


def upload_memories(memories: str, state_file: str, url: str) -> None:
    target = target_of(url, {}, Path("/"))
    request = UploadRequest((Path(memories),), Path(state_file), target.name)
    connect = partial(open_session, target, str)
    anyio.run(partial(upload, request, connect))


OPERATIONS = {"pull": pull_tickets, "hook": upload_memories}
