"""Publish an index as a signed snapshot at a target, and replace another index by it.

A snapshot is an Ed25519 signature and JSON that names the files by the hashes of their parts. Parts are objects named
by hash: unchanged ones are sent and fetched once. It is stored under its commit, and the latest under its branch.
"""

import base64
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from lore_etl.config.settings import DatabaseSettings
from lore_etl.core.atomic import remove_folder
from lore_etl.core.errors import (
    ConfigError,
    IndexMissing,
    InvalidArgument,
    ModelMismatch,
    NotFound,
    StorageError,
    os_errors_as,
)
from lore_etl.index import Index
from lore_etl.stores.readable import PREFIXES
from lore_etl.stores.target import Target, TargetFailed, run_limited
from lore_etl.system.durable import replace
from lore_etl.system.nofollow import open_regular

FORMAT = "lore snapshot 1"
SIGNATURE_BYTES = 64
PART_BYTES = 8_000_000
INCOMING = "incoming"  # the folder for a snapshot that is not complete yet
COMMITS, BRANCHES, PARTS = "commits", "branches", "parts"
T = TypeVar("T")
_KEYS = "docs/install.md tells how to make a pair of keys."
_PROJECT = re.compile(r"[\w][\w .-]{0,99}")
_FILE = re.compile(r"[\w.-]+(/[\w.-]+){0,3}")


@dataclass(frozen=True)
class Published:
    """A published state of an index: file -> time of its last change in ns, and hashes of its parts."""

    project: str
    branch: str
    commit: str
    model: str
    created: float
    expires: float
    format: str = FORMAT
    files: Mapping[str, tuple[int, list[str]]] = field(default_factory=dict)


def publish(
    index: Index, target: Target, key: str, branch: str, days: float, allowed: Callable[[str], bool]
) -> tuple[Published, int]:
    """Publish the index, which was synced at a commit; return the snapshot and the bytes that were sent.

    Raises ConfigError for a wrong key and for vectors elsewhere, IndexMissing, InvalidArgument, StorageError.
    """
    signing = _private(key)
    _require_files(index.settings.database)
    index.require()
    commit = index.catalogue.meta("synced_commit")
    if commit is None or not index.catalogue.total() or index.catalogue.waiting():
        raise IndexMissing("The index is not complete, or the project has no commit.")
    if private := sorted(path for path in index.catalogue.stamps() if not allowed(path)):
        message = f"Files of the index are not those of the commit, such as {private[0]}."
        raise InvalidArgument(message, "Publish from a clean checkout, such as a CI job.")
    index.close()  # the files are complete when their stores are closed
    index.own_for_writing()
    files, sent = {}, 0
    try:
        known = set(run_limited(lambda: target.names(PARTS)))
        for name in _files(index.folder):
            parts = []
            with open(open_regular(index.folder / name), "rb") as file:
                time_ns = os.fstat(file.fileno()).st_mtime_ns
                while part := file.read(PART_BYTES):
                    parts.append(digest := hashlib.sha256(part).hexdigest())
                    if digest not in known:
                        run_limited(partial(target.write, f"{PARTS}/{digest}", part))
                        sent += len(part)
            files[name] = time_ns, parts
        now = time.time()
        published = Published(index.root.name, branch, commit, index.model, now, now + days * 86_400, files=files)
        text = json.dumps(asdict(published)).encode()
        for place in (f"{COMMITS}/{commit}", _of_branch(branch)):
            run_limited(partial(target.write, place, signing.sign(text) + text))
    except TargetFailed as error:
        raise StorageError(f"Not published: {error}.", "Check the target, then repeat: what was sent stays.") from error
    return published, sent


def nearest(target: Target, keys: Collection[str], commits: Iterable[str]) -> Published:
    """Return the snapshot of the first of these commits that has one. Raises the errors of `latest`."""
    known = set(_answer(lambda: target.names(COMMITS)))
    commit = next((commit for commit in commits if commit in known), None)
    if commit is None:
        raise NotFound("No commit of this branch is published.", "Publish one, or get more of its history with git.")
    return _verified(_answer(lambda: target.read(f"{COMMITS}/{commit}")), keys, commit=commit)


def latest(target: Target, keys: Collection[str], branch: str) -> Published:
    """Return the last snapshot of a branch. Raises NotFound, InvalidArgument, StorageError."""
    return _verified(_answer(lambda: target.read(_of_branch(branch))), keys, branch=branch)


def install(index: Index, target: Target, published: Published) -> None:
    """Fetch what is missing of a verified snapshot, then replace the index by it. A kill leaves one of them, or none.

    Raises ModelMismatch; StorageError, InvalidArgument, if a part is not the one that was signed. The index stays.
    """
    if published.model != index.model:
        raise ModelMismatch(
            f"The snapshot was made with the model {published.model!r:.100}, and this project uses {index.model!r}.",
            "Set the same model under [embedding], or publish with this version of Lore.",
        )
    _require_files(index.settings.database)
    index.own_for_writing()
    incoming = index.folder / INCOMING
    with os_errors_as(StorageError, "Cannot store the snapshot"):
        for name, (time_ns, parts) in published.files.items():
            _fetch(target, incoming / name, parts)
            os.utime(incoming / name, ns=(time_ns, time_ns))
        index.close()
        index.own_for_writing()
        for entry in sorted(index.folder.iterdir()):  # the catalogue first: without it there is no index
            if entry.name.startswith(PREFIXES):
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        for top in sorted({name.partition("/")[0] for name in published.files}, reverse=True):
            replace(incoming / top, index.folder / top)
        remove_folder(incoming)


def _fetch(target: Target, path: Path, parts: Iterable[str]) -> None:
    """Complete a file, whose parts may be there from an earlier attempt."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(open_regular(path, os.O_RDWR | os.O_CREAT), "r+b") as file:
        for number, digest in enumerate(parts):
            file.seek(number * PART_BYTES)
            if hashlib.sha256(file.read(PART_BYTES)).hexdigest() != digest:
                part = _answer(partial(target.read_named, f"{PARTS}/{digest}"))
                file.seek(number * PART_BYTES)
                file.write(part)
        file.truncate(file.tell())


def _verified(content: bytes, keys: Collection[str], **expected: str) -> Published:
    """Return a snapshot that an accepted key signed and that has not expired. Raises InvalidArgument."""
    signature, text = content[:SIGNATURE_BYTES], content[SIGNATURE_BYTES:]
    if not any(_is_signed(key, signature, text) for key in keys):
        hint = "To accept its key, add the public key to `published.keys` in your own configuration."
        raise InvalidArgument("The snapshot is damaged, or not signed by a key that you accept.", hint)
    record: dict[str, Any] = json.loads(text)
    if record.get("format") != FORMAT:
        raise InvalidArgument("The snapshot is from another version of Lore.", "Install that version.")
    published = Published(**record)
    if {name: record[name] for name in expected} != expected:
        raise InvalidArgument("The snapshot is that of another commit or branch.")
    if published.expires < time.time():
        raise InvalidArgument("The snapshot has expired.", "Publish again.")
    names = all(_FILE.fullmatch(name) and ".." not in name and name.startswith(PREFIXES) for name in published.files)
    if not names or not _PROJECT.fullmatch(published.project):
        raise InvalidArgument("The snapshot contains a file that does not belong to an index.")
    return published


def _is_signed(key: str, signature: bytes, text: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    try:
        public = load_der_public_key(base64.b64decode(key, validate=True))
    except ValueError as error:
        raise ConfigError("An accepted key is not a public key.", _KEYS) from error
    with suppress(InvalidSignature):
        if isinstance(public, Ed25519PublicKey):
            public.verify(signature, text)
            return True
    return False


def _private(key: str) -> Any:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        found = load_pem_private_key(key.encode(), None)
    except (ValueError, TypeError) as error:
        raise ConfigError("The key is not a private key in PEM without a password.", _KEYS) from error
    if not isinstance(found, Ed25519PrivateKey):
        raise ConfigError("The key is not an Ed25519 key.", _KEYS)
    return found


def _require_files(settings: DatabaseSettings) -> None:
    if settings.mode not in ("embedded", "server"):
        raise ConfigError("A snapshot has its vectors in the index folder.", 'Set database.mode to "embedded".')


def _files(folder: Path) -> list[str]:
    entries = [entry for entry in folder.iterdir() if entry.name.startswith(PREFIXES)]
    files = (file for entry in entries for file in (entry.rglob("*") if entry.is_dir() else (entry,)))
    return sorted(file.relative_to(folder).as_posix() for file in files if file.is_file())


def _of_branch(branch: str) -> str:
    return f"{BRANCHES}/{quote(branch, safe='')}"


def _answer(ask: Callable[[], T]) -> T:
    """Return what the target answers. Raises NotFound, StorageError."""
    try:
        return run_limited(ask)
    except TargetFailed as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise NotFound("The target has no such snapshot.", "Publish it first.") from error
        raise StorageError(f"The published index cannot be read: {error}.", "The index stays as it was.") from error
