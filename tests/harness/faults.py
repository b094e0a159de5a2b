"""Make the nth write of an operation fail, or kill it there: a small C library replaces libc's writing calls.

It sees each call to libc of Lore, SQLite, Chroma, tantivy and git, but no writes to mapped memory, and none that libc
does for itself (`fwrite`). A kill loses nothing that was written; tests.harness.power_cut loses what was not synced.
"""

import errno
import json
import mmap
import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.harness.power_cut import Disk
from tests.harness.processes import child

SOURCE = Path(__file__).with_suffix(".c")
PLAN = struct.Struct("5i1024s32s4096s1024s")  # `struct plan` in C
MODES = {"EIO": errno.EIO, "ENOSPC": errno.ENOSPC, "EACCES": errno.EACCES, "killed before": -1, "killed after": -2}
COUNT = "counted"
RAISED = 3
"""The exit code of an operation that ends with an error that users can read."""

# imports everything, opens nothing, and forks a process group for each operation
ZYGOTE = """
import importlib, json, os, sys, traceback
from lore_etl.core.errors import LoreError
operations = {}
for module in sys.argv[1:]:
    operations |= importlib.import_module(module).OPERATIONS
for line in sys.stdin:
    name, arguments = json.loads(line)
    pid = os.fork()
    if not pid:
        os.setpgid(0, 0)
        code = 0
        try:
            operations[name](*arguments)
        except (LoreError, OSError) as error:  # the interfaces show an OSError as a StorageError
            print(json.dumps(f"{type(error).__name__}: {error}"), flush=True)
            code = 3
        except BaseException:
            print(json.dumps(traceback.format_exc()), flush=True)
            code = 4
        os._exit(code)
    print(json.dumps(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])), flush=True)
"""


@dataclass(frozen=True)
class Outcome:
    """The end of an operation: its exit code (negative: its signal), its error, its writes, and the call that failed.

    `call` and `path` are empty if the operation ended before its nth write.
    """

    code: int
    error: str
    writes: int
    call: str
    path: str

    def where(self) -> str:
        return f"{self.call} {self.path}"


class Faults:
    """Runs operations, one at a time, with a fault at their nth write below a folder."""

    def __init__(self, process: subprocess.Popen[str], memory: mmap.mmap) -> None:
        self._process = process
        self._memory = memory

    def run(
        self,
        name: str,
        *arguments: object,
        below: Path,
        at: int = 0,
        mode: str = COUNT,
        disk: Disk | None = None,
        ignores_syncs: bool = False,
    ) -> Outcome:
        """Run an operation to its end; with `at` 0, only count its writes.

        With a disk, its journal is written, for a cut of the power after the operation.
        """
        assert self._process.stdin and self._process.stdout
        journal = os.fsencode(disk.journal) if disk else b""
        numbers = at, MODES.get(mode, 0), 0, ignores_syncs, 0
        self._memory[:] = PLAN.pack(*numbers, os.fsencode(below.resolve()), b"", b"", journal)
        self._process.stdin.write(json.dumps([name, [str(argument) for argument in arguments]]) + "\n")
        self._process.stdin.flush()
        said = json.loads(self._process.stdout.readline())
        error = said if isinstance(said, str) else ""
        code = json.loads(self._process.stdout.readline()) if error else said
        _, _, writes, _, _, _, call, path, _ = PLAN.unpack(self._memory[:])
        where = os.path.relpath(path.rstrip(b"\0").decode(), below.resolve()) if call[0] else ""
        return Outcome(code, error, writes, call.rstrip(b"\0").decode(), where)


def has_compiler() -> bool:
    """Return whether the library can be compiled here."""
    return os.uname().sysname == "Linux" and shutil.which("gcc") is not None


@contextmanager
def faults(folder: Path, *modules: str) -> Iterator[Faults]:
    """Compile the library in this folder, and start the process whose children run the `OPERATIONS` of the modules."""
    library, plan = folder / "faults.so", folder / "plan"
    flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-Wno-format-truncation"]
    subprocess.run(["gcc", *flags, "-o", str(library), str(SOURCE), "-ldl"], check=True)
    plan.write_bytes(bytes(PLAN.size))
    environment = {"LD_PRELOAD": str(library), "LORE_FAULTS": str(plan)}
    with (
        open(plan, "r+b") as file,
        mmap.mmap(file.fileno(), PLAN.size) as memory,
        child(ZYGOTE, *modules, environment=environment) as process,
    ):
        yield Faults(process, memory)
