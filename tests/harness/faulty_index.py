"""Writes of an index that tests run with a fault at each call."""

import os
from contextlib import closing
from pathlib import Path

import chromadb.api.rust
import chromadb.telemetry.product.posthog  # noqa: F401
import numpy.random  # noqa: F401
import obstore.fsspec  # noqa: F401
import tantivy  # noqa: F401

from lore_etl.files.redaction import redact
from lore_etl.pipeline.sync import sync
from lore_etl.sources.kinds import SourceSet
from lore_etl.sources.source import SourceContext
from lore_etl.stores.chroma import client  # noqa: F401
from lore_etl.stores.embedding_cache import EmbeddingCache  # noqa: F401
from tests.harness.models import counter
from tests.harness.projects import SMALL, open_index
from tests.harness.published import fetch_project, public, publish_project

counter()  # loaded once, before the forks
redact("a text")
SourceSet(SourceContext((), lambda path: None), {}).owner("no/source")  # compiles all of their patterns
public()


def sync_project(root: str) -> None:
    with closing(open_index(Path(root), limits=SMALL)) as index:
        sync(index)


def begin_load(root: str) -> None:
    """Sync until the keyword index is about to change, and end without closing anything."""

    def end(stage: str, done: int, total: int) -> None:
        if stage == "indexing words":
            os._exit(0)

    sync(open_index(Path(root), limits=SMALL), end)


OPERATIONS = {"sync": sync_project, "begin": begin_load, "publish": publish_project, "fetch": fetch_project}
