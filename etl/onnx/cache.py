"""Compiled models in the user's cache folder: found by their files, made by one process at a time."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

from etl.errors import ConfigError, ProviderError

EXPORT_SECONDS = 900
UNFIT = 3  # the status of a child process that says the named model is not of the wanted kind


@dataclass(frozen=True)
class Kind:
    """What is compiled: by which module, in which form, and which configuration key names it."""

    exporter: str
    version: str  # changes with the compiled form
    key: str
    hint: str | None = None

    def refusal(self, reason: str) -> ConfigError:
        """The error that says why the configured name is wrong."""
        return ConfigError(f"Configuration key `{self.key}`: {reason.rstrip('.')}.", self.hint)


def cache_folder() -> Path:
    """Where compiled models live: `LORE_CACHE`, else the user's cache folder."""
    return Path(os.environ.get("LORE_CACHE") or user_cache_path("lore", appauthor=False))


def origin(name: str, kind: Kind) -> str:
    """A folder with the model, or a name for the hub (which is asked only if the user named such a model).

    A name is a path only if it is written as one: a folder of that name in the current project is never loaded.

    Raises:
        ConfigError: the name is a path, and there is no such folder.
    """
    if not name.startswith((".", "/", "~")):
        return name
    folder = Path(os.path.expanduser(name))  # noqa: PTH111 - Path.expanduser raises where there is no home
    if not folder.is_dir():
        raise kind.refusal(f"there is no folder {name}")
    return str(folder.resolve())


def compiled(name: str, source: str, kind: Kind) -> Path:
    """The folder of the compiled model, made now if it never was. `info.json` is in it.

    Raises:
        ConfigError: the model is not of this kind.
        ProviderError: it cannot be compiled.
    """
    folder = compiled_folder(name, source, kind)
    if not (folder / "info.json").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(str(folder) + ".lock"):
            if not (folder / "info.json").exists():
                _export(source, folder, kind)
    return folder


def compiled_folder(name: str, source: str, kind: Kind) -> Path:
    """Where the compiled model is, if it is; the name changes with the model's files and the way they are compiled."""
    digest = hashlib.sha256(f"{kind.version}\0{source}".encode())
    folder = Path(source)
    for file in sorted(folder.rglob("*")) if folder.is_dir() else ():
        if file.is_file():
            info = file.stat()
            digest.update(f"{file.relative_to(folder)}:{info.st_size}:{info.st_mtime_ns}".encode())
    safe = "".join(c if c.isalnum() or c in "-_." else "-" for c in Path(name).name)
    return cache_folder() / "models" / f"{safe}-{digest.hexdigest()[:16]}"


def _export(source: str, folder: Path, kind: Kind) -> None:
    command = [sys.executable, "-m", kind.exporter, source, str(folder)]
    environment = {**os.environ, "TOKENIZERS_PARALLELISM": "true", "PYTHONWARNINGS": "ignore"}
    if Path(source).is_dir():
        environment["HF_HUB_OFFLINE"] = "1"
    root = str(Path(__file__).parents[2])
    try:
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=EXPORT_SECONDS, cwd=root,
            env=environment, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise ProviderError(f"Preparing the model took over {EXPORT_SECONDS} s.") from error
    if done.returncode:
        line = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "no reason given")
        reason = line.strip()[:300]
        if done.returncode == UNFIT:
            raise kind.refusal(reason)
        raise ProviderError(f"The model cannot be prepared: {reason}")
