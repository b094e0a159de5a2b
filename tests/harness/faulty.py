"""Writes that tests run with a fault at each call: to the knowledge folder, and of one file."""

from pathlib import Path

from lore_etl.core.atomic import write_atomically
from lore_etl.files.redaction import redact
from lore_server.knowledge.memory_store import MemoryStore, new_memory
from lore_server.knowledge.store import KnowledgeStore
from tests.harness.knowledge import AGENT, PROJECT

NOW = "2026-01-02T03:04:05.000Z"
redact("a text")  # loads the rules once, before the forks


def write_knowledge(home: str, text: str) -> None:
    KnowledgeStore(Path(home)).write_main(PROJECT, text, AGENT)


def add_memory(home: str, name: str) -> None:
    memory = new_memory(name, "group", f"Body of {name}.\n", "", {}, NOW)
    MemoryStore(KnowledgeStore(Path(home))).add(PROJECT, memory, AGENT)


def write_file(folder: str, text: str) -> None:
    write_atomically(Path(folder) / "file", [text])


OPERATIONS = {"knowledge": write_knowledge, "memory": add_memory, "file": write_file}
