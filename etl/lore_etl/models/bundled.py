"""The default model: its graph is part of the repository; an installation also contains its weights and tokenizer.

`python -m tests.golden.default_model` writes the graph, which refers to the weights by their position in their
file. So nothing is compiled or copied, but the graph works only with the weights that it was written for.
`hatch_build.py` fetches these for every wheel and every editable installation.
"""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import suppress
from pathlib import Path

from lore_etl.config.user_folders import cache_folder
from lore_etl.core.atomic import replace_content
from lore_etl.core.errors import PackageMissing
from lore_etl.core.progress import Progress, silent

LARGE_BYTES = 1_000_000
_SHA256 = re.compile(r"[0-9a-f]{64}")
DEFAULT_MODEL = "all-MiniLM-L6-v2"
NAMES = (DEFAULT_MODEL, f"sentence-transformers/{DEFAULT_MODEL}")
ENGLISH_ONLY = frozenset(NAMES)  # models whose similarities mean little for other scripts
WEIGHTS = "model.safetensors"
FOLDER = Path(__file__).parent / "default_model"
DATA = Path(__file__).parent / "weights"
REINSTALL = "Install Lore again, from a clone of its repository or from a wheel."


def file_digest(file: Path, progress: Progress = silent) -> str:
    """Return the SHA-256 of a file; the digest of a large file is cached until the file changes. Raises OSError."""
    info = file.stat()
    state = f"{file.resolve()}:{info.st_size}:{info.st_mtime_ns}:{info.st_ctime_ns}"
    known = cache_folder() / "models" / "digests" / hashlib.sha256(state.encode()).hexdigest()[:32]
    if info.st_size >= LARGE_BYTES:
        with suppress(OSError, UnicodeDecodeError):
            if _SHA256.fullmatch(digest := known.read_text(encoding="utf-8")):
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


def checked_folder(progress: Progress = silent) -> Path:
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
