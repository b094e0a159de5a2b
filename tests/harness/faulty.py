"""The operations that tests run with a fault at each of their writes."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from lore_etl.pipeline.sync import sync
from lore_server.knowledge.memory_files import new_memory
from lore_server.knowledge.memory_store import MemoryStore
from lore_server.knowledge.store import KnowledgeStore
from tests.harness.knowledge import AGENT, PROJECT
from tests.harness.models import counter
from tests.harness.projects import SMALL, open_index

NOW = "2026-01-02T03:04:05.000Z"
counter()  # loaded once, before the forks


def sync_project(root: str) -> None:
    with closing(open_index(Path(root), limits=SMALL)) as index:
        sync(index)


def write_knowledge(home: str, text: str) -> None:
    KnowledgeStore(Path(home)).write_main(PROJECT, text, AGENT)


def add_memory(home: str, name: str) -> None:
    memory = new_memory(name, "group", f"Body of {name}.\n", "", {}, NOW)
    MemoryStore(KnowledgeStore(Path(home))).add(PROJECT, memory, AGENT)


OPERATIONS = {"sync": sync_project, "knowledge": write_knowledge, "memory": add_memory}
