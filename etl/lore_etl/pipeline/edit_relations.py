"""Find the classes of edited files without comparing the chunks of all others."""

from __future__ import annotations

from dataclasses import replace

from lore_etl.core.model import FileFacts
from lore_etl.pipeline.extraction import Extraction
from lore_etl.pipeline.resolve import Lines, moved_classes, related, same_relations
from lore_etl.relations.classes import Hierarchy, resolve
from lore_etl.stores import chunkfile
from lore_etl.stores.chunkfile import ChunkLine, Relations
from lore_etl.stores.file_facts import unpack


def edited(run: Extraction) -> dict[str, list[ChunkLine]] | None:
    """Return the chunks of the touched files with their classes, and write the class tree if it differs.

    Return None if the edit changes the classes or successors of other files.
    """
    return _moved(run) or _resolved_again(run)


def _moved(run: Extraction) -> dict[str, list[ChunkLine]] | None:
    """Return the chunks if nothing that other files can see has changed but the lines of classes."""
    groups, places = dict[str, list[ChunkLine]](), dict[str, dict[Lines, Lines]]()
    for path in run.touched:
        known, before = run.known.get(path), run.before.get(path)
        if known is None or not before:
            return None
        (was, names), (now, members) = unpack(known.facts), unpack(run.rows[path].facts)
        moved = moved_classes(was, now)
        if moved is None or not _same_document(run, path, was, now):
            return None
        relations: dict[str | None, Relations] = {None: Relations(None, (), before[0].chunk.superseded_by)}
        for chunk in (line.chunk for line in before if line.id in names):
            relations[names[chunk.id]] = Relations(chunk.class_name, chunk.chain, chunk.superseded_by)
        if not relations.keys() >= set(members.values()):
            return None
        groups[path] = [line.related(relations[members.get(line.id)]) for line in run.lines[path]]
        places[path] = moved
    nodes = run.index.hierarchy.nodes
    changed = {
        name: replace(node, lines=places[node.source].get(node.lines, node.lines))
        for name, node in nodes.items()
        if node.source in places and node.lines
    }
    if any(nodes[name] != node for name, node in changed.items()):
        chunkfile.write_hierarchy(run.index.folder, Hierarchy({**nodes, **changed}.values()))
    return groups


def _resolved_again(run: Extraction) -> dict[str, list[ChunkLine]] | None:
    """Resolve the classes of all files before and after the edit; return None if those of other files differ."""
    stored = run.index.catalogue.facts()
    before = {path: unpack(stored[path]) for path in sorted(run.known) if run.known[path].recipe}
    after = {
        path: before[path] if path in before and path not in run.touched else unpack(run.rows[path].facts)
        for path in sorted(run.rows)
        if run.rows[path].recipe
    }
    if any(facts.supersedes for facts, _ in (*before.values(), *after.values())) and not all(
        path in after and path in before and _same_document(run, path, before[path][0], after[path][0])
        for path in run.touched
    ):
        return None
    project = run.index.root.name
    was, tree = (resolve({path: facts for path, (facts, _) in rows.items()}, rows, project) for rows in (before, after))
    others = {(path, name) for path in after.keys() - run.touched for name in after[path][1].values()}
    if not same_relations(was, tree, others):
        return None
    if was.hierarchy.nodes != tree.hierarchy.nodes:
        chunkfile.write_hierarchy(run.index.folder, tree.hierarchy)
    chunks = {path: run.lines.get(path, ()) for path in run.touched}
    members = {path: after[path][1] for path in chunks if path in after}
    first = {path: group[0].chunk.superseded_by for path, group in run.before.items()}
    successor = {path: source for path, source in first.items() if source}
    groups = chunkfile.by_source(related(chunks, members, tree, successor))
    return {path: groups.get(path, []) for path in run.touched}


def _same_document(run: Extraction, path: str, before: FileFacts, after: FileFacts) -> bool:
    """Return whether a file has the same title as before and supersedes the same documents."""
    chunks, earlier = run.lines.get(path), run.before.get(path)
    if not chunks or not earlier:
        return False
    return (before.supersedes, earlier[0].chunk.title) == (after.supersedes, chunks[0].chunk.title)
