"""Log every change that a client makes over HTTP, with its author, its projects and its outcome."""

from __future__ import annotations

from lore_etl.config.user_folders import private_folder, user_state_folder
from lore_etl.core.clock import timestamp
from lore_etl.core.json_types import JSON
from lore_server.contract import Contract
from lore_server.execution.progress import Listener
from lore_server.execution.threads import Call, noting
from lore_server.http.access import ACCESS
from lore_server.http.site import Site
from lore_server.knowledge.activity_log import ActivityLog

FILE = "audit.log"
LONGEST = 200  # characters of an argument; texts are longer, and the history of the knowledge has them


def audited(call: Call, contract: Contract, site: Site) -> Call:
    """Return the call with a line in the log for each operation that may change something."""
    log = ActivityLog(private_folder(user_state_folder()), name=FILE)

    def run(operation: str, arguments: JSON, listener: Listener) -> JSON:
        if not contract[operation].changes_state:
            return call(operation, arguments, listener)

        def note(outcome: str) -> None:
            short = {name: value for name, value in arguments.items() if len(str(value)) <= LONGEST}
            record = {"at": timestamp(), "author": ACCESS.get().author, "projects": site.asked()}
            log.add({**record, "operation": operation, "arguments": short, "outcome": outcome})

        with noting(note):
            return call(operation, arguments, listener)

    return run
