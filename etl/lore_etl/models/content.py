"""Digests of model files, by content, so that a copy elsewhere is the same model."""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from pathlib import Path

from lore_etl.config.user_folders import cache_folder
from lore_etl.core.atomic import replace_content
from lore_etl.core.progress import Progress, silent

LARGE_BYTES = 1_000_000
_SHA256 = re.compile(r"[0-9a-f]{64}")


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
