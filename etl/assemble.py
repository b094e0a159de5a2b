"""All chunks of a project in order, each with the full name and the chain of its class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from etl.hierarchy import Hierarchy, Resolved, resolve
from etl.model import Chunk, FileFacts


def assemble(
    chunks: Mapping[str, Sequence[Chunk]],
    facts: Mapping[str, FileFacts],
    members: Mapping[str, Mapping[str, str]],
    paths: Iterable[str],
    project: str,
) -> tuple[list[Chunk], Hierarchy]:
    """Chunks by source with what only the whole project shows, and the class tree.

    `members` says of which class of its file a chunk is, by source and chunk id; `paths` are all files that can be
    imported.
    """
    tree = resolve(facts, paths, project)
    named = [
        _with_class(one, members.get(source, {}).get(one.id), tree)
        for source in sorted(chunks)
        for one in chunks[source]
    ]
    return named, tree.hierarchy


def _with_class(one: Chunk, member_of: str | None, tree: Resolved) -> Chunk:
    name = tree.full_names.get((one.source, member_of)) if member_of else None
    chain = tree.hierarchy.chain(name) if name else ()
    if one.metadata_hash and one.class_name == name and one.chain == chain:
        return one
    return one.model_copy(update={"class_name": name, "chain": chain}).sealed(one.content_hash)
