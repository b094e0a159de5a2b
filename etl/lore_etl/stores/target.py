"""Read and write objects at a target: a folder, or an object store that fsspec knows."""

import hashlib
import secrets
import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

from lore_etl.core.extras import require

SECONDS = 30.0  # for one request
LARGEST_BYTES = 200_000_000
OBJECT_STORES = ("s3", "s3a", "gs", "gcs", "az", "azure", "abfs", "abfss", "adl")
T = TypeVar("T")


class TargetFailed(Exception):
    """The target does not respond, refuses, or returns something else than it was given."""


class Target:
    """The objects below an address, by path, for `run_limited`. Raises PackageMissing without `team`."""

    def __init__(self, address: str, purpose: str) -> None:
        require("team", purpose)
        self._address = address

    def names(self, folder: str) -> list[str]:
        system, base = self._system
        try:
            return sorted(str(path).rpartition("/")[2] for path in system.ls(f"{base}/{folder}", detail=False))
        except FileNotFoundError:
            return []

    def read(self, path: str) -> bytes:
        system, base = self._system
        if (size := int(system.size(f"{base}/{path}") or 0)) > LARGEST_BYTES:
            raise TargetFailed(f"an object of {size:,} bytes")
        return bytes(system.cat_file(f"{base}/{path}", 0, size or LARGEST_BYTES))  # a device has no end

    def read_named(self, path: str) -> bytes:
        """Return the content of an object whose name is its hash. Raises TargetFailed if it is not."""
        content = self.read(path)
        if hashlib.sha256(content).hexdigest() != path.rpartition("/")[2].partition(".")[0]:
            raise TargetFailed("an object that is not the one it is named after")
        return content

    def write(self, path: str, content: bytes) -> None:
        system, base = self._system
        place = f"{base}/{path}"
        system.makedirs(place.rpartition("/")[0], exist_ok=True)
        is_local = "file" in (system.protocol if isinstance(system.protocol, tuple) else (system.protocol,))
        temporary = f"{place}.{secrets.token_hex(8)}.tmp" if is_local else place
        system.pipe_file(temporary, content)
        if is_local:  # object stores show an object when it is complete
            system.mv(temporary, place)

    @cached_property
    def _system(self) -> tuple[Any, str]:
        import fsspec
        from obstore.fsspec import register

        register(OBJECT_STORES)
        system, folder = fsspec.core.url_to_fs(self._address)
        return system, folder.rstrip("/")


def run_limited(work: Callable[[], T]) -> T:
    """Run work for a limited time. Raises TargetFailed for every error, because libraries raise their own."""
    done: list[T | Exception] = []

    def run() -> None:
        try:
            done.append(work())
        except Exception as error:  # noqa: BLE001 - any implementation of fsspec
            done.append(error)

    thread = threading.Thread(target=run, name="target", daemon=True)
    thread.start()
    thread.join(SECONDS)
    if not done:
        raise TargetFailed(f"no answer within {SECONDS:.0f} s")
    if isinstance(done[0], Exception):
        text = " ".join(str(done[0]).split())[:200]
        raise TargetFailed(text or type(done[0]).__name__) from done[0]
    return done[0]
