"""Decide which source owns a file, and by which name it is read."""

from __future__ import annotations

from typing import NamedTuple

from lore_etl.files.indexed import ProjectFiles
from lore_etl.files.scan import FileEntry
from lore_etl.sources import SourceSet
from lore_etl.sources.scripts import suffix_in, suffix_of
from lore_etl.sources.source import Source
from lore_etl.stores.catalogue import FileRow


class Claim(NamedTuple):
    """A file with its source and the path that decides how it is read; the path of a script has an extension."""

    entry: FileEntry
    source: Source
    name: str

    @property
    def is_script(self) -> bool:
        return self.name != self.entry.path


def claim_of(files: ProjectFiles, sources: SourceSet, entry: FileEntry, known: FileRow | None) -> Claim | None:
    """Return the claim of the owning source, if any; a script counts as if its name had its language's extension."""
    if source := sources.owner(entry.path):
        return Claim(entry, source, entry.path)
    try:
        suffix = suffix_of(entry.path, files.beginning)
    except OSError:
        suffix = suffix_in(known.recipe) if known else ""  # so that the chunks of a script are kept
    name = entry.path + suffix
    return Claim(entry, source, name) if suffix and (source := sources.owner(entry.path, name)) else None
