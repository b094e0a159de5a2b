"""Resolve a model's name, and keep its compiled form in the user's cache folder; one process at a time compiles.

The default model is compiled in advance: its graph, by `python -m tests.golden.default_model`, is in the repository,
and `hatch_build.py` fetches weights and tokenizer. The graph refers to positions in exactly that file of weights.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from filelock import FileLock, Timeout

from lore_etl.config.project import cache_folder
from lore_etl.core.atomic import read_if_any, replace_content
from lore_etl.core.errors import ConfigError, PackageMissing, ProviderUnavailable
from lore_etl.core.extras import require
from lore_etl.core.progress import Progress, silent

T = TypeVar("T")
LARGE_BYTES = 1_000_000
_SHA256 = re.compile(r"[0-9a-f]{64}")
DEFAULT_MODEL = "all-MiniLM-L6-v2"
NAMES = (DEFAULT_MODEL, f"sentence-transformers/{DEFAULT_MODEL}")
ENGLISH_ONLY = frozenset(NAMES)  # models whose similarities mean little for other scripts
WEIGHTS = "model.safetensors"
FOLDER = Path(__file__).parent / "default_model"
DATA = Path(__file__).parent / "weights"
REINSTALL = "Install Lore again, from a clone of its repository or from a wheel."
EXPORT_SECONDS = 900
STEP_SECONDS = 1.0
HUB_SECONDS = 10.0
SUPERSEDED_SECONDS = 7 * 24 * 3600  # another version of Lore may still use its copy
USED_SECONDS = 24 * 3600  # the time of a folder is that of its last use, give or take a day
UNFIT = 3  # the exit status of a child process if the model is not of the required kind


def file_digest(file: Path, progress: Progress = silent) -> str:
    """Return the SHA-256 of a file; the digest of a large file is cached until the file changes. Raises OSError."""
    info = file.stat()
    state = f"{file.resolve()}:{info.st_size}:{info.st_mtime_ns}:{info.st_ctime_ns}"
    known = cache_folder() / "models" / "digests" / hashlib.sha256(state.encode()).hexdigest()[:32]
    if info.st_size >= LARGE_BYTES:
        if _SHA256.fullmatch(digest := read_if_any(known) or ""):
            return digest
        progress(f"checking {file.name}", 0, 0)
    with open(file, "rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    if info.st_size >= LARGE_BYTES:
        with suppress(OSError):  # it saves a tenth of a second per 100 MB
            known.parent.mkdir(parents=True, exist_ok=True)
            replace_content(known, [digest], 0o600)
    return digest


def folder_digest(folder: Path) -> str:
    """Return a digest of all files of a folder, except those of hidden folders. Raises OSError."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder)
        if file.is_file() and not any(part.startswith(".") for part in name.parts):
            digest.update(f"{name.as_posix()}:{file_digest(file)}\n".encode())
    return digest.hexdigest()


def weights_folder() -> Path:
    """Return the folder with the weights and the tokenizer. Raises PackageMissing."""
    if not (DATA / WEIGHTS).is_file():
        raise PackageMissing("The weights of the default model are missing from this installation of Lore.", REINSTALL)
    return (DATA / WEIGHTS).resolve().parent  # ONNX Runtime refuses weights behind a symlink


def check_folder(progress: Progress = silent) -> Path:
    """Return the folder of the weights if they are those of the graph. Raises PackageMissing."""
    folder = weights_folder()
    for name, digest in json.loads((FOLDER / "info.json").read_text(encoding="utf-8"))["files"].items():
        try:
            found = file_digest(folder / name, progress)
        except OSError as error:
            found = str(error)
        if found != digest:
            raise PackageMissing(f"The default model has a different {name} than Lore's graph.", REINSTALL)
    return folder


@dataclass(frozen=True)
class ModelKind:
    """A kind of compiled model: its name in `lore_etl.models.export`, its format, and its configuration key."""

    name: str
    version: str  # increase it when the compiled form changes
    key: str
    hint: str | None = None

    def refusal(self, reason: str) -> ConfigError:
        return ConfigError(f"Configuration key `{self.key}`: {reason.rstrip('.')}.", self.hint)


EMBEDDER = ModelKind("embedder", "2", "embedding.model")
RERANKER = ModelKind(
    "reranker",
    "cross-encoder 1",
    "query.reranker",
    "Name a cross-encoder that gives one score, by its folder or by its name on the hub, such as"
    " cross-encoder/ms-marco-MiniLM-L6-v2, which is downloaded once. An empty name disables reranking.",
)


@dataclass(frozen=True)
class PreparedModel:
    """A model for ONNX Runtime: `model.onnx` and `info.json` in `folder`, `tokenizer.json` and weights in `data`."""

    folder: Path
    data: Path
    name: str
    dimension: int
    max_tokens: int
    fingerprint: str

    @property
    def tokenizer(self) -> Path:
        return self.data / "tokenizer.json"


def is_prepared(name: str) -> bool:
    """Return whether the model needs no compilation on this machine. Raises ConfigError."""
    return name in NAMES or (compiled_folder(name, EMBEDDER) / "info.json").exists()


def prepared(name: str, progress: Progress = silent) -> PreparedModel:
    """Return the model, compiled if necessary. Raises ConfigError, PackageMissing, ProviderUnavailable."""
    if name in NAMES:
        folder, data = FOLDER, check_folder(progress)
    else:
        folder = data = compile_once(name, EMBEDDER, progress)
    return read_model(folder, data, name)


def read_model(folder: Path, data: Path | None = None, name: str = "") -> PreparedModel:
    """Return the model whose graph is in a folder; `data` has its weights and tokenizer if they are elsewhere."""
    info = json.loads((folder / "info.json").read_text(encoding="utf-8"))
    fingerprint = f"{name}:{info['digest'][:16]}"
    return PreparedModel(folder, data or folder, name, info["dimension"], info["max_tokens"], fingerprint)


def origin(name: str, kind: ModelKind) -> str:
    """Return a folder with the model, or a name on the hub (which is contacted only if the user named such a model).

    A name is a path only if written like one: a project's folder is never loaded by a model's name. Raises ConfigError.
    """
    if not name.startswith((".", "/", "~")) and not Path(name).is_absolute():
        return name
    folder = Path(os.path.expanduser(name))  # noqa: PTH111 - Path.expanduser raises where there is no home
    if not folder.is_dir():
        raise kind.refusal(f"there is no folder {name}")
    return str(folder.resolve())


def compile_once(name: str, kind: ModelKind, progress: Progress = silent) -> Path:
    """Return the model's folder, compiled in a child process if necessary. Raises LoreError, and as `progress` does."""
    source, folder = origin(name, kind), compiled_folder(name, kind)
    if not (folder / "info.json").exists():
        require("models", f"Preparing the model `{name}`")
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(f"{folder}.lock")
        busy = f"Another process has been preparing the model for over {EXPORT_SECONDS} s."
        with _wait_for(lambda: lock.acquire(timeout=STEP_SECONDS), "preparing the model", progress, busy):
            if not (folder / "info.json").exists():
                is_offline = Path(source).is_dir() or not needs_download(source, kind, progress)
                _export(source, folder, kind, is_offline, progress)
        remove_superseded(name, folder)
    elif time.time() - folder.stat().st_mtime > USED_SECONDS:
        with suppress(OSError):  # the cache may be read-only
            os.utime(folder)
    return folder


def remove_superseded(name: str, current: Path) -> None:
    """Delete other compilations of a model from the cache folder if they have not been used for a week."""
    left = re.compile(rf"{re.escape(_safe(name))}-[0-9a-f]{{16}}(\.lock|\.\d+\.tmp)?")
    for path in (cache_folder() / "models").glob("*"):
        if path == current or not left.fullmatch(path.name):
            continue
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > SUPERSEDED_SECONDS:
                path.unlink() if path.is_file() else shutil.rmtree(path)


def needs_download(name: str, kind: ModelKind, progress: Progress) -> bool:
    """Return whether the hub has files that are missing here. Raises ConfigError, ProviderUnavailable."""
    from httpx2 import HTTPError
    from huggingface_hub import HfApi, try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError

    repository = name if "/" in name else f"sentence-transformers/{name}"
    try:
        if isinstance(try_to_load_from_cache(repository, "config.json"), str):
            return False
        progress("downloading the model", 0, 0)
        HfApi().model_info(repository, timeout=HUB_SECONDS)
    except (RepositoryNotFoundError, HFValidationError) as error:
        raise kind.refusal(f"there is neither a local folder nor a model on the hub named {name}") from error
    except (HTTPError, OSError) as error:
        message = f"The model `{name}` is not on this machine, and its hub does not respond ({type(error).__name__})."
        hint = f"Check the network, or set `{kind.key}` to a local model, and sync again."
        raise ProviderUnavailable(message, hint) from error
    return True


def compiled_folder(name: str, kind: ModelKind) -> Path:
    """Return the compiled model's folder, named by its content, or by its hub name, as that original may be deleted."""
    source = origin(name, kind)
    content = folder_digest(Path(source)) if Path(source).is_dir() else source
    digest = hashlib.sha256(f"{kind.version}\0{content}".encode()).hexdigest()
    return cache_folder() / "models" / f"{_safe(name)}-{digest[:16]}"


def _safe(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in Path(name).name)


def _export(source: str, folder: Path, kind: ModelKind, is_offline: bool, progress: Progress) -> None:
    command = [sys.executable, "-P", "-m", "lore_etl.models.export", kind.name, source, str(folder)]
    environment = {**os.environ, "TOKENIZERS_PARALLELISM": "true", "PYTHONWARNINGS": "ignore", "PYTHONUTF8": "1"}
    if is_offline:
        environment["HF_HUB_OFFLINE"] = "1"
    root = str(Path(__file__).parents[2])
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, cwd=root, env=environment
        )
        try:
            stage = "preparing the model" if is_offline else "downloading the model"
            late = f"Preparing the model took over {EXPORT_SECONDS} s."
            code = _wait_for(lambda: child.wait(STEP_SECONDS), stage, progress, late)
        finally:
            child.kill()
            child.wait()
        errors.seek(0)
        output = errors.read()
    if code:
        line = next((line for line in reversed(output.splitlines()) if line.strip()), "no reason given")
        reason = line.strip()[:300]
        if code == UNFIT:
            raise kind.refusal(reason)
        raise ProviderUnavailable(f"The model cannot be compiled: {reason}", f"Check `{kind.key}`, then sync again.")


def _wait_for(attempt: Callable[[], T], stage: str, progress: Progress, late: str) -> T:
    """Return the result of the first attempt that is in time, and report the others. Raises ProviderUnavailable."""
    for second in range(EXPORT_SECONDS):
        with suppress(Timeout, subprocess.TimeoutExpired):
            return attempt()
        progress(stage, second, 0)
    raise ProviderUnavailable(late)
