"""Opening Chroma's files, with nothing taken from the environment; and a first look at them in a process of its own.

Chroma's settings read environment variables and the `.env` of the current folder. That folder is somebody's project:
a line in it could point the client at another server, so here only what we say counts.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import chromadb
from chromadb.config import Settings
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from etl.stores.vectors import SAME_PLACE

SAMPLES, ROWS = 25, 20


class OurSettings(Settings):  # type: ignore[misc]
    """Chroma's settings from arguments and defaults alone."""

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource, *_: Any, **__: Any
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Neither the environment nor `.env`."""
        return (init_settings,)


def open_client(folder: Path) -> Any:
    """An embedded client over the folder: the Rust one, without telemetry. Raises what Chroma raises."""
    return chromadb.PersistentClient(str(folder), OurSettings(anonymized_telemetry=False))


def finds_its_rows(folder: Path, name: str) -> bool:
    """Whether searches for rows from all over the collection find them, or others at the same place."""
    client = open_client(folder)
    if name not in [one.name for one in client.list_collections()]:
        return True
    collection = client.get_collection(name, embedding_function=None)
    total = collection.count()
    for offset in range(0, total, max(ROWS, total // SAMPLES)):
        some = collection.get(limit=ROWS, offset=offset, include=["embeddings"])
        found = collection.query(query_embeddings=some["embeddings"], n_results=5, include=["distances"])
        for one, ids, distances in zip(some["ids"], found["ids"], found["distances"], strict=True):
            if one not in ids and max(distances, default=1) > SAME_PLACE:
                return False
    return True


if __name__ == "__main__":
    sys.exit(0 if finds_its_rows(Path(sys.argv[1]), sys.argv[2]) else 3)
