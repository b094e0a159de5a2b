"""All chunks of a project in order, each with the full name and the chain of its class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from lore_etl.core.model import Chunk, FileFacts
from lore_etl.relations.classes import Hierarchy, Resolved, resolve
from lore_etl.relations.supersession import Succession, succession


def assemble(
    chunks: Mapping[str, Sequence[Chunk]],
    facts: Mapping[str, FileFacts],
    members: Mapping[str, Mapping[str, str]],
    paths: Iterable[str],
    project: str,
) -> tuple[list[Chunk], Hierarchy, Succession]:
    """Chunks by source with what only the whole project shows; the class tree; which documents replaced which.

    `members` says of which class of its file a chunk is, by source and chunk id; `paths` are all files that can be
    imported.
    """
    tree = resolve(facts, paths, project)
    titles = {source: group[0].title for source, group in chunks.items() if group}
    replaced = succession({source: one.supersedes for source, one in facts.items() if one.supersedes}, titles)
    named = [
        _completed(one, members.get(source, {}).get(one.id), tree, replaced.successor.get(source))
        for source in sorted(chunks)
        for one in chunks[source]
    ]
    return named, tree.hierarchy, replaced


def _completed(one: Chunk, member_of: str | None, tree: Resolved, successor: str | None) -> Chunk:
    name = tree.full_names.get((one.source, member_of)) if member_of else None
    chain = tree.hierarchy.chain(name) if name else ()
    found = {"class_name": name, "chain": chain, "superseded_by": successor}
    if one.metadata_hash and all(getattr(one, field) == value for field, value in found.items()):
        return one
    return one.model_copy(update=found).sealed(one.content_hash)
