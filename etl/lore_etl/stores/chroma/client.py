"""Open Chroma without settings from the environment, and check its files in a separate process.

Chroma reads environment variables and the `.env` of the current folder, an untrusted project, which could name another
server or end Lore: only explicit arguments are used here, even while `chromadb` is imported. Each write loads the
models that a collection's configuration and schema name, including remote code: collections are opened without an
embedding function, and lose their schema before they are used.
"""

import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from lore_etl.config.settings import DatabaseSettings
from lore_etl.core.errors import IndexDamaged
from lore_etl.core.json_types import JSON
from lore_etl.stores.chroma.backend import DATABASE, NEIGHBOURS, effort, unreached

__all__ = ["ChromaError", "NotFoundError", "OurSettings", "bare", "fit", "hnsw", "open_client"]
SAMPLES = 500
PAGE = 1_000
LENGTH_TOLERANCE = 0.01  # as of cached vectors
MAX_EF = 10_000
PAUSES = (0.05, 0.2, 0.5, 1.0, 2.0)  # seconds


def _only_arguments(
    settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource, *_: Any, **__: Any
) -> tuple[PydanticBaseSettingsSource, ...]:
    return (init_settings,)


_usual = BaseSettings.__dict__["settings_customise_sources"]
BaseSettings.settings_customise_sources = staticmethod(_only_arguments)  # type: ignore[method-assign]
try:  # only the first import reads settings
    import chromadb
    from chromadb.config import Settings
    from chromadb.errors import ChromaError, NotFoundError
finally:
    BaseSettings.settings_customise_sources = _usual  # type: ignore[method-assign]


class OurSettings(Settings):  # type: ignore[misc]
    """Chroma's settings from arguments and defaults alone, without the environment or `.env`."""

    settings_customise_sources = staticmethod(_only_arguments)


def open_client(folder: Path) -> Any:
    """Return an embedded Rust client for the folder, without telemetry. Raises Chroma's errors."""
    return chromadb.PersistentClient(str(folder), OurSettings(anonymized_telemetry=False))


def hnsw(settings: DatabaseSettings) -> JSON:
    """Return the configuration of a collection on a single node of Chroma."""
    return {
        "hnsw": {
            "space": "cosine",
            "ef_search": settings.ef_search,
            "ef_construction": settings.ef_construction,
            "max_neighbors": settings.max_neighbors,
        }
    }


def bare(collection: Any) -> Any:
    """Return the collection without its schema, which could name models to load. Raises IndexDamaged."""
    collection._model.serialized_schema = None
    known = collection.configuration_json or {}
    for kind in ("hnsw", "spann"):
        space = (known.get(kind) or {}).get("space") or "cosine"
        if space != "cosine":
            reason = f"its distance function is {space}"
            raise IndexDamaged(f"The collection `{collection.name}` was not created by Lore: {reason}.")
    return collection


def fit(collection: Any, configuration: JSON, rows: int) -> None:
    """Set `ef_search` for a number of rows. This must be the first call, because Chroma ignores a later change.

    If it fails, searches find less until the next open. `Collection.modify` needs the schema, which `bare` removes.
    """
    known = (collection.configuration_json or {}).get("hnsw")
    if not known or "hnsw" not in configuration:  # Chroma Cloud has another kind of index
        return
    wanted = min(configuration["hnsw"]["ef_search"] * effort(rows), MAX_EF)
    for pause in () if known["ef_search"] == wanted else PAUSES:
        try:
            there = {"id": collection.id, "tenant": collection.tenant, "database": collection.database}
            collection._client._modify(**there, new_configuration={"hnsw": {"ef_search": wanted}})
            return
        except ChromaError:  # "database is locked": a client that was just closed may still be writing
            time.sleep(pause)


def has_all_rows(collection: Any) -> bool:
    """Return whether every row can be read and has a vector of length 1, and searches for samples find them."""
    total, ids = int(collection.count()), set[str]()
    for offset in range(0, total, PAGE):
        page = collection.get(limit=PAGE, offset=offset, include=["embeddings"])
        vectors = np.asarray(page["embeddings"], dtype=np.float32)
        if not (np.abs(np.linalg.norm(vectors, axis=1) - 1) < LENGTH_TOLERANCE).all():  # false for a NaN, too
            return False
        ids.update(page["ids"])
        some = slice(None, None, max(1, total // SAMPLES))
        found = collection.query(query_embeddings=vectors[some], n_results=NEIGHBOURS, include=["distances"])
        if unreached(page["ids"][some], found):
            return False
    return len(ids) == total


def is_sound(folder: Path, name: str) -> bool:
    """Return whether the database is whole, every row can be read, and a search finds its content."""
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        if connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
            return False
    client = open_client(folder)
    if name not in [collection.name for collection in client.list_collections()]:
        return True
    return has_all_rows(bare(client.get_collection(name, embedding_function=None)))


if __name__ == "__main__":
    sys.exit(0 if is_sound(Path(sys.argv[1]), sys.argv[2]) else 3)
