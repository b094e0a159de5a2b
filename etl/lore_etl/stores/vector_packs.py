"""Share vectors with other machines: immutable packs of vectors at any target that fsspec knows, verified by hash.

A pack has a line with the format, a line of JSON, and per vector the SHA-256 of its text and its numbers in half
precision. A list of its texts is another object, so that readers load only the packs they need. Hashes name both.
"""

import hashlib
import json
from collections.abc import Mapping, Set

import numpy as np

from lore_etl.models.embedder import Vectors
from lore_etl.stores.target import Target, TargetFailed, run_limited

FORMAT = b"lore vectors 1\n"
HASH_BYTES = 32
PACKED = 50_000  # vectors in a pack at most: 40 MB
LENGTH_TOLERANCE = 0.01


class VectorPacks:
    """The packs of one model below a target. Raises PackageMissing if the extra `team` is not installed."""

    def __init__(self, target: str, model: str, dimension: int) -> None:
        self._target = Target(target, "`embedding.shared`")
        self._dimension = dimension
        self._header = {"model": model, "dimension": dimension}
        self._folder = hashlib.sha256(model.encode()).hexdigest()[:16]

    def get(self, wanted: Set[str]) -> dict[str, Vectors]:
        """Return content hash -> vector of those of the wanted texts that are shared. Raises TargetFailed."""
        found: dict[str, Vectors] = {}
        for pack, texts in run_limited(self._listed).items():
            if texts & (wanted - found.keys()):
                found |= run_limited(lambda pack=pack: self._vectors(pack, wanted))  # type: ignore[misc]
        return found

    def put(self, vectors: Mapping[str, Vectors]) -> int:
        """Share those of the vectors that are not shared yet, and return their number. Raises TargetFailed."""
        names = sorted(vectors.keys() - self.known())
        for start in range(0, len(names), PACKED):
            some = {name: vectors[name] for name in names[start : start + PACKED]}
            run_limited(lambda some=some: self._write(some))  # type: ignore[misc]
        return len(names)

    def known(self) -> set[str]:
        return set[str]().union(*run_limited(self._listed).values())

    def _listed(self) -> dict[str, set[str]]:
        """Return the texts of each pack; what is not a list, or a damaged one, is an error."""
        found = {}
        for name in self._target.names(self._folder):
            if not name.endswith(".keys"):
                continue
            content = self._target.read_named(f"{self._folder}/{name}")
            packed = content[HASH_BYTES:]
            texts = {packed[at : at + HASH_BYTES].hex() for at in range(0, len(packed), HASH_BYTES)}
            found[content[:HASH_BYTES].hex()] = texts
        return found

    def _vectors(self, pack: str, wanted: Set[str]) -> dict[str, Vectors]:
        content = self._target.read_named(f"{self._folder}/{pack}.pack")
        start = content.index(b"\n", len(FORMAT)) + 1
        layout = np.dtype([("text", f"V{HASH_BYTES}"), ("vector", "<f2", (self._dimension,))])
        header = json.loads(content[len(FORMAT) : start])
        if content[: len(FORMAT)] != FORMAT or header != self._header:
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
        content = FORMAT + json.dumps(self._header).encode() + b"\n" + b"".join(rows)
        pack = hashlib.sha256(content)
        keys = pack.digest() + b"".join(names)
        self._target.write(f"{self._folder}/{pack.hexdigest()}.pack", content)
        # last, because a pack without its list is not used
        self._target.write(f"{self._folder}/{hashlib.sha256(keys).hexdigest()}.keys", keys)
