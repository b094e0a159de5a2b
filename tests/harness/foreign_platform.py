"""Make Lore's modules see Windows or macOS, in an interpreter on Linux.

Only the imports of `lore_etl` and `lore_server` are replaced, and `pathlib`. Python and the libraries keep the real
platform, because they support the other platforms themselves. `site_folder` prepares a folder for PYTHONPATH that does
this in every child process. Names that the other system lacks are missing, and the functions that differ behave as
they do there.
"""

from __future__ import annotations

import builtins
import os
import pathlib
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

VARIABLE = "LORE_TEST_PLATFORM"
PACKAGES = frozenset({"lore_etl", "lore_server"})
POSIX_MODULES = frozenset({"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog"})
LINUX_OS = (
    "sched_getaffinity sched_setaffinity sched_yield pipe2 posix_fallocate posix_fadvise memfd_create eventfd splice "
    "copy_file_range getrandom O_PATH O_TMPFILE pidfd_open"
).split()
POSIX_OS = [
    *LINUX_OS,
    *"fork forkpty register_at_fork geteuid getuid getegid getgid getgroups setuid setgid setsid getpgid".split(),
    *"killpg setpgid wait waitid wait3 wait4 WNOHANG fchmod fchown chown lchown mkfifo mknod pread pwrite".split(),
    *"O_NOFOLLOW O_DIRECTORY O_NONBLOCK O_CLOEXEC O_SYNC O_NOCTTY uname sysconf getloadavg nice statvfs".split(),
]
POSIX_SIGNALS = (
    "SIGKILL SIGHUP SIGSTOP SIGCONT SIGALRM SIGUSR1 SIGUSR2 SIGCHLD SIGPIPE SIGQUIT alarm setitimer pause sigwait "
    "pthread_kill pthread_sigmask"
).split()


class View(ModuleType):
    """A module of another platform: some names are missing and others are replaced."""

    def __init__(self, module: ModuleType, hidden: list[str], **changed: Any) -> None:
        super().__init__(module.__name__)
        self.__dict__.update(changed, _module=module, _hidden=frozenset(hidden))

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__["_hidden"]:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name)
        return getattr(self.__dict__["_module"], name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self.__dict__["_module"], name, value)


def become(platform: str) -> None:
    """Show Lore's modules that platform from now on."""
    views = windows() if platform == "win32" else macos()
    missing = POSIX_MODULES if platform == "win32" else frozenset()
    builtins.__import__ = importing(views, missing)
    if platform == "win32":
        vars(sys.modules[pathlib.Path.__module__])["os"] = View(os, POSIX_OS, **windows_os())


def importing(views: Mapping[str, ModuleType], missing: frozenset[str]) -> Callable[..., ModuleType]:
    """Return an `__import__` that gives the views to Lore's modules."""
    usual = builtins.__import__

    def import_(
        name: str, globals: Mapping[str, Any] | None = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> ModuleType:
        importer = globals or {}
        spec = importer.get("__spec__")  # a module started with `python -m` is named `__main__`
        if level or str(spec.name if spec else importer.get("__name__")).partition(".")[0] not in PACKAGES:
            return usual(name, globals, locals, fromlist, level)
        first = name if fromlist else name.partition(".")[0]
        if first in missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        found = usual(name, globals, locals, fromlist, level)  # which also loads the names in `fromlist`
        return views.get(first, found)

    return import_


def macos() -> dict[str, ModuleType]:
    """Return the modules as macOS has them."""
    return {"os": View(os, LINUX_OS), "sys": View(sys, [], platform="darwin")}


def windows() -> dict[str, ModuleType]:
    """Return the modules as Windows has them."""
    import asyncio
    import ctypes
    import select
    import socket

    import anyio

    def no_signals(*_: object) -> Any:
        raise NotImplementedError("the event loop of Windows")

    def no_pipes(*_: object) -> Any:
        raise OSError("select takes only sockets")

    def started(*command: Any, creationflags: int = 0, pass_fds: Any = (), **options: Any) -> subprocess.Popen[Any]:
        if pass_fds or options.get("preexec_fn"):
            raise ValueError("not supported on Windows")
        return subprocess.Popen(*command, **{**options, "start_new_session": bool(creationflags)})

    return {
        "os": View(os, POSIX_OS, name="nt", **windows_os()),
        "sys": View(sys, [], platform="win32"),
        "signal": View(signal, POSIX_SIGNALS, SIGBREAK=signal.SIGUSR2),
        "socket": View(socket, ["AF_UNIX", "socketpair", "send_fds"], SO_EXCLUSIVEADDRUSE=socket.SO_REUSEADDR),
        "select": View(select, ["poll", "epoll"], select=no_pipes),
        "subprocess": View(subprocess, [], Popen=started, CREATE_NO_WINDOW=1, CREATE_NEW_PROCESS_GROUP=2),
        "anyio": View(anyio, ["create_unix_listener", "connect_unix"], open_signal_receiver=no_signals),
        "asyncio": View(asyncio, ["start_unix_server", "open_unix_connection"]),
        "ctypes": View(ctypes, [], WinDLL=lambda *_, **__: kernel(), get_last_error=lambda: 87),
    }


def windows_os() -> dict[str, Any]:
    """Return the functions of `os` that differ on Windows."""

    def without_dir_fd(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **options: Any) -> Any:
            if any(options.pop(name, None) is not None for name in ("dir_fd", "src_dir_fd", "dst_dir_fd")):
                raise NotImplementedError("dir_fd unavailable on this platform")
            found = function(*arguments, **options)
            return changed(found) if isinstance(found, os.stat_result) else found

        return called

    def opened(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if dir_fd is not None:
            raise NotImplementedError("dir_fd unavailable on this platform")
        if Path(path).is_dir():
            raise PermissionError(13, "Permission denied", str(path))
        return os.open(path, flags, mode)

    def renamed(source: Any, target: Any) -> None:
        if os.path.lexists(target):
            raise FileExistsError(17, "File exists", str(target))
        Path(source).replace(target)

    def ended(pid: int, number: int) -> None:
        assert number == signal.SIGTERM, "any other number is a key press or an exit code"
        if not pathlib.Path(f"/proc/{pid}").exists():
            raise OSError(22, "The parameter is incorrect")
        os.kill(pid, signal.SIGKILL)

    names = "stat lstat fstat unlink remove mkdir rmdir replace chmod link symlink readlink access".split()
    same = {name: without_dir_fd(getattr(os, name)) for name in names}
    return {
        **same, "open": opened, "rename": renamed, "kill": ended, "scandir": scanned,
        "supports_dir_fd": set(), "supports_fd": set(), "O_BINARY": 0,
    }  # fmt: skip


def changed(info: os.stat_result, **others: int) -> os.stat_result:
    """Return a file's status as Windows reports it: no owner, no permissions, and the creation time as ctime."""
    reduced: Any = info.__reduce__()
    values, more = reduced[1]
    kept = {"st_ino": info.st_ino, "st_dev": info.st_dev, "st_nlink": info.st_nlink, **others}
    mode = stat.S_IFMT(info.st_mode) | (0o777 if stat.S_ISDIR(info.st_mode) else 0o666)
    created = {"st_ctime": 0.0, "st_ctime_ns": 0}
    return os.stat_result((mode, *kept.values(), 0, 0, *values[6:9], 0, *values[10:]), {**more, **created})


class Entry:
    """An `os.DirEntry` of Windows, which knows neither inode nor device nor the number of hard links."""

    def __init__(self, entry: os.DirEntry[str]) -> None:
        self._entry = entry
        self.name, self.path = entry.name, entry.path

    def __getattr__(self, name: str) -> Any:
        return getattr(self._entry, name)

    def __fspath__(self) -> str:
        return self.path

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        return changed(self._entry.stat(follow_symlinks=follow_symlinks), st_ino=0, st_dev=0, st_nlink=0)


class scanned:
    """Scan a folder as `os.scandir` of Windows does, which does not accept a descriptor."""

    def __init__(self, path: Any = ".") -> None:
        if isinstance(path, int):
            raise TypeError("scandir: path should be string, bytes, os.PathLike or None, not int")
        self._entries = os.scandir(path)

    def __enter__(self) -> scanned:
        return self

    def __exit__(self, *_: object) -> None:
        self._entries.close()

    def __iter__(self) -> Iterator[Entry]:
        return map(Entry, self._entries)

    def close(self) -> None:
        self._entries.close()


def kernel() -> SimpleNamespace:
    """Return the functions of kernel32.dll that report processes; a handle is the process id."""

    def state(pid: int) -> list[str]:
        try:
            text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return []
        return text[text.rindex(")") + 2 :].split()

    def times(process: Any, began: Any, *_: Any) -> bool:
        number = int(state(process.value)[19])
        began._obj.dwHighDateTime, began._obj.dwLowDateTime = divmod(number, 2**32)
        return True

    functions: dict[str, Any] = {
        "OpenProcess": lambda access, inherit, pid: pid.value if state(pid.value) else None,
        "WaitForSingleObject": lambda process, wait: 0x102 if state(process.value)[:1] not in ([], ["Z"]) else 0,
        "GetProcessTimes": times,
        "CloseHandle": lambda process: True,
    }
    return SimpleNamespace(**functions)


def site_folder(folder: Path) -> Path:
    """Return a folder for PYTHONPATH that shows Lore the platform named by VARIABLE in every interpreter."""
    site = folder / "site-packages"  # Lore keeps only such folders of PYTHONPATH
    site.mkdir(parents=True)
    code = f"import os, runpy\nrunpy.run_path({__file__!r})['become'](os.environ[{VARIABLE!r}])\n"
    (site / "sitecustomize.py").write_text(code, encoding="utf-8")
    return site
