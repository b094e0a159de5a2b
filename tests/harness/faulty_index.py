"""Writes of an index that tests run with a fault at each call."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import chromadb  # noqa: F401 - imported once, before the forks
import tantivy  # noqa: F401

from lore_etl.pipeline.sync import sync
from tests.harness.models import counter
from tests.harness.projects import SMALL, open_index

counter()  # loaded once, before the forks


def sync_project(root: str) -> None:
    with closing(open_index(Path(root), limits=SMALL)) as index:
        sync(index)


OPERATIONS = {"sync": sync_project}
