"""Pull a project from its tracker: choose the tracker and the token, and read one stream after the other."""

import re
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from lore_etl.core.errors import Busy, ProviderUnavailable, UsageError
from lore_etl.core.json_types import JSON
from lore_etl.files.indexed import PULLED
from lore_server.trackers import github, gitlab
from lore_server.trackers.tickets import TicketStore
from lore_server.trackers.tracker_client import TrackerClient, pull_stream

TRACKERS = {"github": github, "gitlab": gitlab}
_PROJECT = {
    "github": re.compile(r"[A-Za-z0-9][\w.-]{0,99}/[\w.-]{1,100}"),
    "gitlab": re.compile(r"[\w][\w.-]{0,254}(?:/[\w][\w.-]{0,254}){1,19}"),
}


@dataclass(frozen=True)
class PullRequest:
    """The project to pull, the folder, which may be that of an index, and an address instead of the tracker's own."""

    tracker: str
    project: str
    home: Path
    is_index: bool = False
    address: str | None = None
    patience: float = 60
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def below(self) -> str:
        return f"{PULLED.removeprefix('@')}/{self.tracker}/{self.project.lower()}" if self.is_index else ""


@dataclass
class PullReport:
    """The result of a pull: the paths of the changed files, and notes on omissions."""

    changed: list[str]
    requests: int
    notes: list[str]

    def record(self) -> JSON:
        return {"changed": len(self.changed), "requests": self.requests, "notes": self.notes}


def check_project(tracker: str, project: str) -> None:
    if tracker not in TRACKERS:
        raise UsageError(f"Unknown tracker `{tracker}`.", f"Known trackers: {', '.join(TRACKERS)}.")
    if not _PROJECT[tracker].fullmatch(project) or any(part in (".", "..") for part in project.split("/")):
        wanted = "OWNER/REPO" if tracker == "github" else "GROUP/PROJECT"
        raise UsageError(f"`{project}` is not a project of {tracker}.", f"Give it as {wanted}.")


def pull(wanted: PullRequest, progress: Callable[[str], None]) -> PullReport:
    """Update the folder; tickets read before an error are kept. Raises Busy, and the errors of `TrackerClient.get`."""
    check_project(wanted.tracker, wanted.project)
    kind = TRACKERS[wanted.tracker]
    token = next((wanted.environment[name] for name in kind.TOKEN_VARIABLES if wanted.environment.get(name)), None)
    address = wanted.address or wanted.environment.get(kind.ADDRESS_VARIABLE) or kind.ADDRESS
    notes = []
    try:
        with (
            closing(TrackerClient(address, kind.headers(token), wanted.patience)) as client,
            closing(TicketStore(wanted.home, wanted.below)) as store,
            FileLock(store.hidden / "lock", timeout=0),
        ):
            try:
                for stream in kind.streams(wanted.project, client):
                    progress(stream.name)
                    pull_stream(client, store, stream)
                if wanted.tracker == "github" and token:
                    progress(github.DISCUSSIONS)
                    github.pull_discussions(client, store, wanted.project)
                elif wanted.tracker == "github":
                    notes.append(f"Discussions need a token in {github.TOKEN_VARIABLES[0]}; they were left out.")
                if store.refused:
                    some = ", ".join(sorted(store.refused)[:5])
                    notes.append(f"{len(store.refused)} tickets without a valid number were left out: {some}.")
            finally:
                store.write_files()
    except Timeout as error:
        raise Busy("Another pull into this folder is running.") from error
    except (KeyError, TypeError, AttributeError, ValueError) as error:  # the latter if an address is none
        raise ProviderUnavailable("The tracker's reply has an unexpected format.", "Check the address.") from error
    return PullReport(sorted(store.changed), client.requests, notes)
