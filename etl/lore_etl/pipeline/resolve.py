"""Assemble the chunks of a project in order, each with the full name and the ancestors of its class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from lore_etl.core.model import Chunk, FileFacts
from lore_etl.relations.classes import Hierarchy, resolve
from lore_etl.relations.supersession import Succession, succession
from lore_etl.stores.chunkfile import ChunkLine, Relations


def assemble(
    chunks: Mapping[str, Sequence[Chunk | ChunkLine]],
    facts: Mapping[str, FileFacts],
    members: Mapping[str, Mapping[str, str]],
    paths: Iterable[str],
    project: str,
) -> tuple[list[ChunkLine], Hierarchy, Succession]:
    """Return the chunks with their relations to other files, the class tree, and the superseded documents.

    `members` maps source and chunk id to the chunk's class in its file; `paths` are all files that can be imported.
    """
    tree = resolve(facts, paths, project)
    supersedes = {source: file_facts.supersedes for source, file_facts in facts.items() if file_facts.supersedes}
    titles = {source: group[0].title for source, group in chunks.items() if group and supersedes}
    replaced = succession(supersedes, titles)

    @cache
    def relations(name: str | None, successor: str | None) -> Relations:
        return Relations(name, tree.hierarchy.chain(name) if name else (), successor)

    lines = list[ChunkLine]()
    for source in sorted(chunks):
        class_of, successor = members.get(source, {}), replaced.successor.get(source)
        for chunk in chunks[source]:
            local = class_of.get(chunk.id)
            name = tree.full_names.get((source, local)) if local else None
            lines.append(completed(chunk, relations(name, successor)))
    return lines, tree.hierarchy, replaced


def completed(chunk: Chunk | ChunkLine, relations: Relations) -> ChunkLine:
    """Return the chunk with these relations, and with new hashes if they differ."""
    if isinstance(chunk, ChunkLine):
        if chunk.has(relations):
            return chunk
        chunk = chunk.chunk
    return ChunkLine.of(chunk.model_copy(update=relations.fields).sealed(chunk.content_hash))
