"""Share vectors with other machines: immutable packs of vectors at any target that fsspec knows, verified by hash.

A pack has a line that names the format, a line of JSON, and for each vector the SHA-256 of its text and its numbers in
half precision. Its list of texts is an object of its own, so that a reader loads only the packs that it needs. Each is
named by its hash, and so is never changed. They contain no text.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections.abc import Callable, Mapping, Set
from typing import Any, TypeVar

import numpy as np

from lore_etl.core.extras import require
from lore_etl.models.embedder import Vectors

FORMAT = b"lore vectors 1\n"
HASH_BYTES = 32
SECONDS = 30.0  # for one request
LARGEST_BYTES = 200_000_000
PACKED = 50_000  # vectors in a pack at most: 40 MB
LENGTH_TOLERANCE = 0.01
OBJECT_STORES = ("s3", "s3a", "gs", "gcs", "az", "azure", "abfs", "abfss", "adl")
T = TypeVar("T")
log = logging.getLogger(__name__)


class TargetFailed(Exception):
    """The target does not respond, refuses, or returns something else than it was given."""


class VectorPacks:
    """The packs of one model below a target.

    Raises:
        PackageMissing: the extra `team` is not installed.
    """

    def __init__(self, target: str, model: str, dimension: int) -> None:
        require("team", "`embedding.shared`")
        self._target = target
        self._model = model
        self._dimension = dimension
        self._folder = hashlib.sha256(model.encode()).hexdigest()[:16]
        self._opened: tuple[Any, str] | None = None

    def get(self, wanted: Set[str]) -> dict[str, Vectors]:
        """Return content hash -> vector of those of the wanted texts that are shared. Raises TargetFailed."""
        found: dict[str, Vectors] = {}
        for pack, texts in self._limited(self._listed).items():
            if texts & (wanted - found.keys()):
                found |= self._limited(lambda pack=pack: self._vectors(pack, wanted))  # type: ignore[misc]
        return found

    def put(self, vectors: Mapping[str, Vectors]) -> int:
        """Share those of the vectors that are not shared yet, and return their number. Raises TargetFailed."""
        known = set[str]().union(*self._limited(self._listed).values())
        names = sorted(vectors.keys() - known)
        for start in range(0, len(names), PACKED):
            some = {name: vectors[name] for name in names[start : start + PACKED]}
            self._limited(lambda some=some: self._write(some))  # type: ignore[misc]
        return len(names)

    def _listed(self) -> dict[str, set[str]]:
        """Return the texts of each pack; what is not a list, or a damaged one, is an error."""
        system, folder = self._system()
        try:
            paths = [str(path) for path in system.ls(folder, detail=False)]
        except FileNotFoundError:
            return {}
        found = {}
        for path in sorted(path for path in paths if path.endswith(".keys")):
            content = self._read(path)
            packed = content[HASH_BYTES:]
            texts = {packed[at : at + HASH_BYTES].hex() for at in range(0, len(packed), HASH_BYTES)}
            found[content[:HASH_BYTES].hex()] = texts
        return found

    def _vectors(self, pack: str, wanted: Set[str]) -> dict[str, Vectors]:
        content = self._read(f"{self._system()[1]}/{pack}.pack")
        start = content.index(b"\n", len(FORMAT)) + 1
        layout = np.dtype([("text", f"V{HASH_BYTES}"), ("vector", "<f2", (self._dimension,))])
        header = json.loads(content[len(FORMAT) : start])
        if content[: len(FORMAT)] != FORMAT or header != self._header():
            raise TargetFailed("a pack of another model")
        rows = np.frombuffer(content[start:], dtype=layout)
        named = ((row["text"].tobytes().hex(), row["vector"]) for row in rows)
        found = {name: vector.astype(np.float32) for name, vector in named if name in wanted}
        if any(not abs(float(vector @ vector) - 1) < LENGTH_TOLERANCE for vector in found.values()):
            raise TargetFailed("a pack has something that is not a vector of length 1")
        return found

    def _write(self, vectors: Mapping[str, Vectors]) -> None:
        names = [bytes.fromhex(name) for name in vectors]
        rows = (name + vector.astype("<f2").tobytes() for name, vector in zip(names, vectors.values(), strict=True))
        content = FORMAT + json.dumps(self._header()).encode() + b"\n" + b"".join(rows)
        pack = hashlib.sha256(content)
        keys = pack.digest() + b"".join(names)
        self._put(f"{pack.hexdigest()}.pack", content)
        self._put(f"{hashlib.sha256(keys).hexdigest()}.keys", keys)  # last: a pack without its list is not used

    def _header(self) -> dict[str, object]:
        return {"model": self._model, "dimension": self._dimension}

    def _read(self, path: str) -> bytes:
        """Return the content of an object, whose name is its hash."""
        system, _ = self._system()
        if (size := int(system.size(path) or 0)) > LARGEST_BYTES:
            raise TargetFailed(f"an object of {size:,} bytes")
        content = bytes(system.cat_file(path))
        if hashlib.sha256(content).hexdigest() != path.rpartition("/")[2].partition(".")[0]:
            raise TargetFailed("an object that is not the one it is named after")
        return content

    def _put(self, name: str, content: bytes) -> None:
        system, folder = self._system()
        system.makedirs(folder, exist_ok=True)
        is_local = "file" in (system.protocol if isinstance(system.protocol, tuple) else (system.protocol,))
        temporary = f"{folder}/{name}.tmp" if is_local else f"{folder}/{name}"
        system.pipe_file(temporary, content)
        if is_local:  # object stores show an object when it is complete
            system.mv(temporary, f"{folder}/{name}")

    def _system(self) -> tuple[Any, str]:
        """Return the file system of the target, and the folder of the model's packs in it."""
        if self._opened is None:
            import fsspec
            from obstore.fsspec import register

            register(OBJECT_STORES)
            system, folder = fsspec.core.url_to_fs(self._target)
            self._opened = system, f"{folder.rstrip('/')}/{self._folder}"
        return self._opened

    def _limited(self, work: Callable[[], T]) -> T:
        """Run work for a limited time. Raises TargetFailed for every error, because libraries raise their own."""
        done: list[T | Exception] = []

        def run() -> None:
            try:
                done.append(work())
            except Exception as error:  # noqa: BLE001 - any implementation of fsspec
                done.append(error)

        thread = threading.Thread(target=run, name="shared vectors", daemon=True)
        thread.start()
        thread.join(SECONDS)
        if not done:
            raise TargetFailed(f"no answer within {SECONDS:.0f} s")
        if isinstance(done[0], Exception):
            text = " ".join(str(done[0]).split())[:200]
            raise TargetFailed(text or type(done[0]).__name__) from done[0]
        return done[0]
