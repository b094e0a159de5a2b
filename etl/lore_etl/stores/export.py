"""Write chunks and class tree to files that people and other programs can read. Lore itself never reads them."""

import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from lore_etl.core.atomic import write_atomically
from lore_etl.core.model import canonical_json
from lore_etl.stores.catalogue import Catalogue

CHUNKS = "chunks.jsonl.gz"
HIERARCHY = "class-hierarchy.json"
LEVEL = 1  # of compression: the default would save another tenth of the bytes, and take three times as long
GZIP = 31  # zlib's number for gzip with the largest window


def write_export(folder: Path, catalogue: Catalogue) -> None:
    """Replace `chunks.jsonl.gz` and `class-hierarchy.json`, reproducibly. Raises StorageError, CatalogueDamaged."""
    lines = (part for chunk in catalogue.every_chunk() for part in (chunk.line(), b"\n"))
    write_atomically(folder / CHUNKS, _compressed(lines))
    rows = ",\n".join(canonical_json(row) for row in catalogue.hierarchy().records())
    write_atomically(folder / HIERARCHY, (f"[\n{rows}\n]\n",))


def _compressed(parts: Iterable[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(LEVEL, wbits=GZIP)
    for part in parts:
        if packed := packer.compress(part):
            yield packed
    yield packer.flush()
