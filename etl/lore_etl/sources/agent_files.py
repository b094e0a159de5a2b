"""Files of agents in the knowledge folder, and the origin of a file by its folder."""

from __future__ import annotations

from dataclasses import replace

from lore_etl.core.model import Document, KnowledgeType
from lore_etl.files.indexed import ADDED, KNOWLEDGE, PULLED
from lore_etl.sources.source import Source

MEMORIES = f"{KNOWLEDGE}/memories"
_ORIGINS = {MEMORIES: "memory", KNOWLEDGE: "agent", PULLED: "tracker", ADDED: "library"}


def origin_of_file(source: str) -> str:
    """Return where an indexed file comes from, by its path."""
    return next((origin for folder, origin in _ORIGINS.items() if source.startswith(f"{folder}/")), "project")


class AgentFiles(Source):
    """A project's main document, its knowledge documents, and memories."""

    name, type = "written", KnowledgeType.KNOWLEDGE
    patterns = (f"/{KNOWLEDGE}/**/*.md",)

    def document(self, path: str, text: str) -> Document:
        found = super().document(path, text)
        return replace(found, type=KnowledgeType.MEMORY) if path.startswith(f"{MEMORIES}/") else found
