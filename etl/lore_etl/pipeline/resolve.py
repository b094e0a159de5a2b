"""Assemble the chunks of a project in order, each with the full name and the ancestors of its class."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from lore_etl.core.model import FileFacts
from lore_etl.relations.classes import Hierarchy, Resolved, resolve
from lore_etl.relations.supersession import Succession, succession
from lore_etl.stores.chunkfile import ChunkLine, Relations

Lines = tuple[int, int]
NO_RELATIONS = Relations(None, (), None)


def assemble(
    chunks: Mapping[str, Sequence[ChunkLine]],
    facts: Mapping[str, FileFacts],
    members: Mapping[str, Mapping[str, str]],
    paths: Iterable[str],
    project: str,
    only: Collection[str] | None = None,
) -> tuple[list[ChunkLine], Hierarchy, Succession]:
    """Return the chunks with their relations to other files, the class tree, and the superseded documents.

    `only` restricts the returned chunks to those of some files.
    `members` maps source and chunk id to the chunk's class in its file; `paths` are all files that can be imported.
    """
    tree = resolve(facts, paths, project)
    supersedes = {source: file_facts.supersedes for source, file_facts in facts.items() if file_facts.supersedes}
    titles = {source: group[0].chunk.title for source, group in chunks.items() if group and supersedes}
    replaced = succession(supersedes, titles)
    wanted = chunks if only is None else {source: chunks[source] for source in only if source in chunks}
    return related(wanted, members, tree, replaced.successor), tree.hierarchy, replaced


def related(
    chunks: Mapping[str, Sequence[ChunkLine]],
    members: Mapping[str, Mapping[str, str]],
    tree: Resolved,
    successor: Mapping[str, str],
) -> list[ChunkLine]:
    """Return the chunks with their relations to other files; `successor` maps superseded documents to the final one."""

    @cache
    def relations(name: str | None, successor: str | None) -> Relations:
        return Relations(name, tree.hierarchy.chain(name) if name else (), successor)

    lines = list[ChunkLine]()
    for source in sorted(chunks):
        class_of = members.get(source, {})
        for chunk in chunks[source]:
            local = class_of.get(chunk.id)
            name = tree.full_names.get((source, local)) if local else None
            lines.append(chunk.related(relations(name, successor.get(source))))
    return lines


def same_relations(before: Resolved, after: Resolved, classes: Iterable[tuple[str, str]]) -> bool:
    """Return whether these classes, given by (file, name in the file), have the same full names and ancestors."""
    same_tree = _bases(before.hierarchy) == _bases(after.hierarchy)
    for key in classes:
        name = after.full_names.get(key)
        if before.full_names.get(key) != name:
            return False
        if name and not same_tree and before.hierarchy.chain(name) != after.hierarchy.chain(name):
            return False
    return True


def moved_classes(before: FileFacts, after: FileFacts) -> dict[Lines, Lines] | None:
    """Return the new lines of each class by its old lines; None if any other fact that other files can see differs."""
    if _without_lines(before) != _without_lines(after):
        return None
    pairs = {(old.lines, new.lines) for old, new in zip(before.classes, after.classes, strict=True)}
    moved = dict(pairs)
    return moved if len(moved) == len(pairs) else None


def _without_lines(facts: FileFacts) -> FileFacts:
    return replace(facts, members={}, classes=tuple(replace(class_, lines=(0, 0)) for class_ in facts.classes))


def _bases(tree: Hierarchy) -> dict[str, tuple[str | None, str | None]]:
    return {name: (node.parent, node.source) for name, node in tree.nodes.items()}
