"""Export the embeddings of an index to one file, and build an index elsewhere from the same project with them.

The file contains a line that names the format, a line of JSON, one record for each vector (the SHA-256 of the text,
then little-endian floats), and the SHA-256 of everything before it. It contains no text: an import reads the project's
own files, and uses only the vectors of texts found in them. The file is not trusted: an import recomputes a share of
its vectors, and a search those that reach its first results (`pipeline.distrust`).
"""

from __future__ import annotations

import errno
import hashlib
import json
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from lore_etl.core.atomic import remove_temporary, write_atomically
from lore_etl.core.errors import IndexMissing, InvalidArgument, ModelMismatch, NotFound, StorageError
from lore_etl.core.model import SyncReport
from lore_etl.core.progress import Progress, silent
from lore_etl.index import Index
from lore_etl.pipeline.distrust import chosen_by_chance, differ
from lore_etl.pipeline.sync import create_only, sync
from lore_etl.system.nofollow import open_regular

if TYPE_CHECKING:
    from lore_etl.models.embedder import Vectors

FORMAT = b"lore index 1\n"
HEADER_BYTES = 4_096
HASH_BYTES = 32
BLOCK = 1_024  # records that are read or written at a time
LEAST_RECOMPUTED, RECOMPUTED_SHARE = 64, 0.1  # a forged vector passes with a probability of .9, 44 of them with .01
LENGTH_TOLERANCE = 0.01
_NOT_THESE = "The vectors in the file are not those of this project's texts. Nothing was imported."


@dataclass(frozen=True)
class Prebuilt:
    """An open file with vectors, whose size and digest are as expected."""

    file: BinaryIO
    start: int
    model: str
    dimension: int
    count: int

    def vectors(self, wanted: Container[str]) -> dict[str, Vectors]:
        """Return content hash -> vector for those of the wanted texts that are in the file. Raises InvalidArgument."""
        found: dict[str, Vectors] = {}
        layout = np.dtype([("text", f"V{HASH_BYTES}"), ("vector", "<f4", (self.dimension,))])
        self.file.seek(self.start)
        for first in range(0, self.count, BLOCK):
            block = self.file.read(min(BLOCK, self.count - first) * layout.itemsize)
            for row in np.frombuffer(block, dtype=layout):
                name = row["text"].tobytes().hex()
                if name in wanted:
                    if not abs(float(row["vector"] @ row["vector"]) - 1) < LENGTH_TOLERANCE:  # also if it is not finite
                        raise InvalidArgument("The file contains something that is not a vector of length 1.")
                    found[name] = row["vector"].copy()
        return found


def export_index(index: Index, file: Path) -> int:
    """Write the vectors of all chunks that have one, and return their number. Raises IndexMissing, StorageError."""
    index.require()
    vectors = index.cache.get(sorted(index.catalogue.content_hashes()))
    if not vectors:
        raise IndexMissing("No chunk of this index has an embedding yet.")
    header = {"model": index.model, "dimension": index.embedder.dimension, "vectors": len(vectors)}
    remove_temporary(file)
    write_atomically(file, _parts(header, vectors))
    return len(vectors)


def _parts(header: Mapping[str, object], vectors: Mapping[str, Vectors]) -> Iterator[bytes]:
    digest = hashlib.sha256()
    for part in (FORMAT, json.dumps(header).encode() + b"\n"):
        digest.update(part)
        yield part
    for content_hash in sorted(vectors):
        part = bytes.fromhex(content_hash) + vectors[content_hash].astype("<f4").tobytes()
        digest.update(part)
        yield part
    yield digest.digest()


def import_index(
    index: Index,
    file: Path,
    progress: Progress = silent,
    allow_mass_delete: bool = False,
    choose: Callable[[Sequence[str], int], Collection[str]] = chosen_by_chance,
) -> tuple[int, SyncReport]:
    """Sync the index with the vectors of a file; return how many of them its chunks use, and the report.

    Chunks that are not in the file are embedded. The vectors stay in this index: other projects do not see them.
    `choose` selects the vectors that are recomputed. Raises NotFound, InvalidArgument, ModelMismatch; as `sync`.
    """
    with opened(file) as prebuilt:
        index.prepare_model(progress)
        if prebuilt.model != index.model or prebuilt.dimension != index.embedder.dimension:
            raise ModelMismatch(
                f"The file was made with the model {prebuilt.model!r:.100}, and this project uses {index.model!r}.",
                "Set the same model under [embedding], or export the file again with this version of Lore.",
            )
        created = create_only(index, progress, allow_mass_delete)
        wanted = {key.content_hash: key.id for key in index.catalogue.chunk_keys()}
        vectors = prebuilt.vectors(wanted)
        some = choose(sorted(vectors), recomputed(len(vectors)))
        chunks = index.catalogue.chunks(wanted[name] for name in some)
        chosen = {name: chunks[wanted[name]] for name in some}
        if differ(index, chosen, lambda name, vector: float(vectors[name] @ vector)):
            raise InvalidArgument(_NOT_THESE)
        index.cache.add(list(vectors), list(vectors.values()))
        index.cache.distrust(vectors.keys() - set(some))
    return len(vectors), created.then(sync(index, progress, allow_mass_delete))


def recomputed(count: int) -> int:
    """Return the number of vectors that the import of a file with so many useful vectors recomputes."""
    return min(count, max(LEAST_RECOMPUTED, round(RECOMPUTED_SHARE * count)))


@contextmanager
def opened(path: Path) -> Iterator[Prebuilt]:
    """Open a file that `export_index` wrote. Raises NotFound, InvalidArgument, StorageError."""
    try:
        with open(open_regular(path.resolve()), "rb") as file:  # without waiting for the writer of a FIFO
            yield _checked(file, path.name)
    except FileNotFoundError as error:
        raise NotFound(f"There is no file {path}.") from error
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise InvalidArgument(f"{path} is not a regular file.") from error
        raise StorageError(f"Cannot read {path}: {error.strerror}.") from error


def _checked(file: BinaryIO, name: str) -> Prebuilt:
    """Read the header, and compare the size and the digest of the file with it."""
    damaged = InvalidArgument(f"{name} is not a complete file of `lore index export`.")
    if file.readline(len(FORMAT)) != FORMAT:
        raise damaged
    try:
        header = json.loads(file.readline(HEADER_BYTES))
        model, dimension, count = str(header["model"]), int(header["dimension"]), int(header["vectors"])
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise damaged from error
    start = file.tell()
    size = file.seek(0, 2) - HASH_BYTES
    if not (0 < dimension <= 65_536 and count >= 0 and start + count * (HASH_BYTES + 4 * dimension) == size):
        raise damaged
    file.seek(0)
    digest = hashlib.sha256()
    while file.tell() < size:
        digest.update(file.read(min(1_000_000, size - file.tell())))
    if digest.digest() != file.read():
        raise damaged
    return Prebuilt(file, start, model, dimension, count)
