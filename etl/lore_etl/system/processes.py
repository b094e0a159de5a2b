"""Check, identify, start and end processes, and set up this one: its encoding and its memory."""

import contextlib
import gc
import io
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

M_ARENA_MAX = -8  # glibc's number for `mallopt`
HEAPS = 2  # of glibc's allocator: one per thread, its default, keeps what each finished job has freed
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has only the other, which ends a process immediately, too
NEW_OBJECTS = 20_000  # a search creates some 5,000 and frees as many; by default, 700 start a collection

if sys.platform == "win32":
    import ctypes
    from ctypes import wintypes

    _QUERY_AND_WAIT = 0x1000 | 0x0010_0000  # PROCESS_QUERY_LIMITED_INFORMATION | SYNCHRONIZE
    _ACCESS_DENIED, _STILL_RUNNING = 5, 0x102  # ERROR_ACCESS_DENIED, WAIT_TIMEOUT

    def _state_and_start(pid: int) -> tuple[str, str]:
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        kernel.OpenProcess.restype = wintypes.HANDLE
        process = wintypes.HANDLE(kernel.OpenProcess(_QUERY_AND_WAIT, False, wintypes.DWORD(pid)))
        if not process:
            return ("?" if ctypes.get_last_error() == _ACCESS_DENIED else ""), ""
        try:
            if kernel.WaitForSingleObject(process, wintypes.DWORD(0)) != _STILL_RUNNING:
                return "", ""  # it has ended, but another process still has a handle of it
            began, *others = (wintypes.FILETIME() for _ in range(4))
            is_known = kernel.GetProcessTimes(process, ctypes.byref(began), *map(ctypes.byref, others))
            return "?", str(began.dwHighDateTime << 32 | began.dwLowDateTime) if is_known else ""
        finally:
            kernel.CloseHandle(process)

elif sys.platform == "linux":

    def _fields_of(pid: int) -> list[str]:
        """Return the state and what follows it in the kernel's record of a process; nothing if it does not exist."""
        try:
            text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return []
        return text[text.rindex(")") + 2 :].split()  # the name may contain any character (proc(5))

    def _state_and_start(pid: int) -> tuple[str, str]:
        fields = _fields_of(pid)
        return (fields[0], fields[19]) if fields else ("", "")

else:

    def _state_and_start(pid: int) -> tuple[str, str]:
        command = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
        environment = {**os.environ, "LC_ALL": "C"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        state, _, began = done.stdout.strip().partition(" ")
        return state, began.strip()


def born(pid: int) -> str | None:
    """Return the start time of a process: empty if it is unknown, None if the process does not exist."""
    state, began = _state_and_start(pid)
    return None if not state or state.startswith("Z") else began


def is_stopped(pid: int) -> bool:
    return _state_and_start(pid)[0].startswith("T")


def cpu_seconds(pid: int) -> float:
    """Return the time that a process has computed so far; 0 if it is unknown."""
    if sys.platform == "linux":
        return sum(map(int, _fields_of(pid)[11:13])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def may_run(name: str, folder: Path) -> bool:
    """Return whether a program whose name begins so may be running in a folder; True if that is unknown."""
    if sys.platform == "win32":
        return True
    if sys.platform != "linux":  # True if it runs anywhere
        done = subprocess.run(["ps", "-axo", "ucomm="], capture_output=True, text=True, check=False)
        return done.returncode != 0 or any(line.startswith(name) for line in done.stdout.splitlines())
    place = folder.resolve()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            if (process / "comm").read_text(encoding="utf-8", errors="replace").startswith(name):
                try:
                    if (process / "cwd").readlink().is_relative_to(place):
                        return True
                except PermissionError:
                    return True
    return False


def is_running(pid: int, began: str) -> bool:
    """Return whether a process with this id and start time runs; an unknown time counts as equal."""
    now = born(pid)
    return now is not None and (not began or not now or now == began)


def terminate(pid: int) -> None:
    """Ask a process to end; Windows ends it immediately. A missing process is ignored."""
    _send(os.kill, pid, signal.SIGTERM)


def kill(pid: int) -> None:
    """End a process immediately. A missing process is ignored."""
    _send(os.kill, pid, _KILL)


def kill_session(pid: int) -> None:
    """End a process that began a session, with its children; on Windows only the process. Missing ones are ignored."""
    _send(getattr(os, "killpg", os.kill), pid, _KILL)


def _send(send: Callable[[int, int], None], pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(OSError if sys.platform == "win32" else ProcessLookupError):
        send(pid, number)


def has_reader(output: TextIO | None) -> bool:
    """Return whether an output still has a reader, as far as the system shows."""
    if sys.platform == "win32" or output is None or output.closed:
        return True
    watch = select.poll()
    watch.register(output, 0)  # errors are always reported
    return not any(event & (select.POLLERR | select.POLLHUP) for _, event in watch.poll(0))


def detached() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def quiet() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NO_WINDOW}
    return {}


def wait_for_parent(parent: int, pause_seconds: float) -> None:
    if sys.platform == "win32":  # Windows keeps the id of a parent that has ended
        began = born(parent) or ""
        while is_running(parent, began):
            time.sleep(pause_seconds)
    else:
        while os.getppid() == parent:
            time.sleep(pause_seconds)


def cpu_count() -> int:
    """Return the number of cores that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def prepare_streams() -> None:
    """Open the standard streams that are closed, and use UTF-8 on Windows, whose code pages lack most characters."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - as long as the process
    if sys.platform == "win32":
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding="utf-8", errors="replace")


def limit_heaps() -> None:
    """Let all threads share a few heaps; call this before threads start. Only glibc has a heap for each thread."""
    if (mallopt := _libc("mallopt")) is not None:
        mallopt(M_ARENA_MAX, HEAPS)


def release_unused_memory() -> bool:
    """Give freed memory back and return whether that worked; only glibc keeps it and can give it back on request."""
    gc.collect()
    trim = _libc("malloc_trim")
    return trim is not None and trim(0) == 1


def keep_present_objects() -> None:
    """Exempt all existing objects from garbage collection, which delays searches, and collect others rarely."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS)


def _libc(name: str) -> Any:
    """Return a function of glibc; None on other systems, and with musl."""
    import ctypes  # most commands do without it

    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
