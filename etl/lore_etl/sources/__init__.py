"""The registry of sources. The first source that claims a file owns it, so specific sources precede general ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lore_etl.core.errors import ConfigError
from lore_etl.sources.agent_files import AddedDocs, AgentFiles, PulledReleases, PulledTickets
from lore_etl.sources.code import Examples, JavaScriptCode, Jsdoc, OtherCode, Patterns, PythonCode, Tests
from lore_etl.sources.prose import (
    Adrs,
    Blogs,
    Guides,
    Knowledge,
    Libraries,
    Memories,
    OfficeDocuments,
    Prps,
    Releases,
    Rules,
    Tickets,
)
from lore_etl.sources.source import Source, SourceContext

REGISTRY: tuple[type[Source], ...] = (
    Rules, Patterns, Memories, Prps, Adrs, Tickets, Releases, Blogs, Knowledge, Libraries,
    OfficeDocuments, Tests, Examples, Jsdoc, Guides, PythonCode, JavaScriptCode, OtherCode,
)  # fmt: skip


class SourceSet:
    """The sources of one project, as configured under `[sources]` in `lore.toml`.

    Raises:
        ConfigError: the configuration names a source that does not exist.
    """

    def __init__(self, project: SourceContext, configured: Mapping[str, Sequence[str]]) -> None:
        known = [kind.name for kind in REGISTRY]
        for name in configured:
            if name not in known:
                raise ConfigError(f"Unknown source `sources.{name}`.", f"Known sources: {', '.join(known)}.")
        # the configuration takes precedence over the layout
        order = sorted(REGISTRY, key=lambda kind: kind.name not in configured)
        # neither applies to files that agents wrote through Lore
        self._sources = [
            AgentFiles(project),
            PulledTickets(project),
            PulledReleases(project),
            AddedDocs(project),
            *(kind(project, configured.get(kind.name)) for kind in order),
        ]

    def owner(self, path: str) -> Source | None:
        """Return the source that owns the file, if any."""
        return next((source for source in self._sources if source.claims(path)), None)
