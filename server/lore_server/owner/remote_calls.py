"""Send the shell's calls to the owner of the index."""

from __future__ import annotations

from contextlib import suppress

from lore_etl.config.project import Place
from lore_etl.core.errors import Unavailable, from_record
from lore_etl.core.json_types import JSON
from lore_server.execution.progress import Listener, ignore_text
from lore_server.owner import find
from lore_server.owner.ending import stop_if_free
from lore_server.owner.line import LineSocket

BUILDS = ("manage_knowledge_base", "init_project")
"""The operations that the configuration decides: they never run in an owner with another one."""


class OwnerCalls:
    """Operations in the owner of the index, which is started when it is first needed."""

    def __init__(self, where: Place) -> None:
        self._place = where
        self._line: LineSocket | None = None
        self._fits = False

    def call(self, operation: str, arguments: JSON, listener: Listener) -> JSON:
        """Run one operation in the owner. If the owner ends during the call, repeat it once if it is repeatable.

        Raises:
            LoreError: the operation failed, or the owner is not available.
        """
        try:
            return self._call(operation, arguments, listener)
        except OSError:
            self.close()
        from lore_server.contract import load_contract

        if not load_contract()[operation].is_repeatable:
            raise Unavailable("The owner of the index exited during this call.")
        try:
            return self._call(operation, arguments, listener)
        except OSError as error:
            raise Unavailable("The owner of the index exited twice during this call.") from error

    def _call(self, operation: str, arguments: JSON, listener: Listener) -> JSON:
        must_fit = operation in BUILDS
        if must_fit and not self._fits:
            self.close()
        if self._line is None:
            self._line, self._fits = find.connect(self._place, {"want": "call"}, must_fit=must_fit)[0], must_fit
        line = self._line
        is_followed = listener.text is not ignore_text
        line.send_message({"operation": operation, "arguments": arguments, "streams": is_followed})
        while True:
            reply = line.receive()
            if "progress" in reply:
                listener.progress(*reply["progress"])
            elif "text" in reply:
                listener.text(reply["text"])
            elif "problem" in reply:
                raise from_record(reply["problem"])
            elif "result" in reply:
                result: JSON = reply["result"]
                return result

    def close(self) -> None:
        if self._line is not None:
            with suppress(OSError):
                self._line.close()
        self._line = None


def step_aside(where: Place) -> None:
    """Stop a background owner that is idle and has no clients, for a command that must hold the index itself."""
    note = find.holder(where.folder)
    if note is not None and note.kind == "background":
        with suppress(OSError):
            stop_if_free(where.folder, note)
