"""Count the calls, functions, modules and SQL statements of one search and of the sync of one edited file.

    python -m benchmarks.walk [--functions]

The project is a copy of the installed starlette. Only functions of the two packages count, in all threads; a hop is a
call from one module into another. The counts do not depend on the machine: compare two checkouts with them.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import closing
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from benchmarks.before_after import SETTLED_SECONDS, copied_project
from lore_etl.config.settings import Settings
from lore_server.app import App
from lore_server.contract import load_contract
from tests.harness.models import own_cache

TOP = Path(__file__).resolve().parents[1]
OURS = tuple(str(TOP / folder) + os.sep for folder in ("server", "etl"))
REPEATED = 5  # statements to print


class Walk:
    """The counts of one step."""

    def __init__(self) -> None:
        self.functions: dict[CodeType, int] = {}
        self.hops = 0
        self.depth = 0
        self.statements: Counter[str] = Counter()

    def event(self, frame: FrameType, event: str, _: object) -> None:
        """Count the call of a named function; the profiler of Python calls this."""
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(OURS) or code.co_name.startswith("<"):
            return
        self.functions[code] = self.functions.get(code, 0) + 1
        files = []
        caller = frame.f_back
        while caller is not None:
            if caller.f_code.co_filename.startswith(OURS):
                files.append(caller.f_code.co_filename)
            caller = caller.f_back
        self.hops += bool(files) and files[0] != code.co_filename
        self.depth = max(self.depth, len(files) + 1)

    def report(self, name: str, with_functions: bool) -> None:
        """Print the counts and the statements that were repeated most."""
        modules = len({code.co_filename for code in self.functions})
        print(f"{name}: {sum(self.functions.values())} calls, {len(self.functions)} functions, {modules} modules, "
              f"{self.hops} hops, depth {self.depth}, {self.statements.total()} SQL statements")  # fmt: skip
        for statement, number in self.statements.most_common(REPEATED):
            print(f"    {number} times: {' '.join(statement.split())[:100]}")
        for code, number in list(self.functions.items()) if with_functions else ():
            print(f"    {number:5} {Path(code.co_filename).relative_to(TOP)}:{code.co_firstlineno} {code.co_qualname}")


class Walker:
    """Counts into the current walk, from the start of the program on, so that no thread escapes."""

    def __init__(self) -> None:
        self.walk = Walk()
        sqlite3.connect = partial(sqlite3.connect, factory=self.connection())  # type: ignore[assignment]
        threading.setprofile(self.event)
        sys.setprofile(self.event)

    def event(self, frame: FrameType, event: str, argument: object) -> None:
        self.walk.event(frame, event, argument)

    def connection(self) -> type[sqlite3.Connection]:
        """Return a class of connections that count their statements."""

        def count(statement: str) -> None:
            self.walk.statements[statement] += 1

        class Traced(sqlite3.Connection):
            def __init__(self, *arguments: Any, **named: Any) -> None:
                super().__init__(*arguments, **named)
                self.set_trace_callback(count)

        return Traced


def main() -> None:
    with_functions = "--functions" in sys.argv
    with tempfile.TemporaryDirectory() as folder:
        for name in ("LORE_HOME", "LORE_STATE", "LORE_RUNTIME"):
            os.environ[name] = str(Path(folder, name))
        os.environ["LORE_CACHE"] = str(own_cache(Path(folder, "cache")))
        project = copied_project(Path(folder, "starlette"))
        walker = Walker()
        with closing(App(project, Settings(), load_contract())) as app:
            app.freshness.watched = True  # as in an owner: otherwise chance decides which search looks at the files
            app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})
            app.call("query_documents", {"query": "how are websocket connections closed"})
            walker.walk = Walk()
            app.call("query_documents", {"query": "what does the CORS middleware do with credentials"})
            walker.walk.report("search", with_functions)
            with open(project / "routing.py", "a", encoding="utf-8") as file:
                file.write("\n# edited\n")
            time.sleep(SETTLED_SECONDS)
            walker.walk = Walk()
            app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})
            walker.walk.report("sync of one edited file", with_functions)


if __name__ == "__main__":
    main()
