"""Tell what uses and implements a class or function, as far as the code says so by names."""

from __future__ import annotations

import re

from lore_etl.chunking.code_languages import code_languages
from lore_etl.chunking.section import CLASS_KINDS
from lore_etl.core.model import Chunk
from lore_etl.core.text import counted, is_named, last_part
from lore_etl.index import Index
from lore_etl.sources.source import syntax_of

SHOWN = 3
NOT_COVERED = "calls of methods through objects, dynamic calls, and names that several definitions share"


def functions_named(index: Index, name: str) -> list[str]:
    """Return the full names of the functions that are used and have this name, perhaps after a package or module."""
    folded = name.replace("::", ".")
    package = folded.rpartition(".")[0].rpartition(".")[2]
    found = (one for one in index.catalogue.used_names(last_part(folded)) if one not in index.hierarchy.nodes)
    return [one for one in found if is_named(one, folded) or package in re.split(r"[/.]", one.rpartition(":")[0])]


def not_covered(source: str | None) -> str:
    """Return what the numbers of users leave out."""
    syntax = syntax_of(source or "")
    language = code_languages().get(syntax)
    is_recorded = language.has_uses if language else syntax != "plain"
    return NOT_COVERED if is_recorded else "uses, which are not recorded in this language"


def relations_of(index: Index, chunk: Chunk) -> str:
    """Return the relations of the class or function that a chunk defines in a short line, if it has any."""
    if chunk.kind == "function" and chunk.symbols:
        name: str | None = f"{chunk.source}:{chunk.symbols[0]}"
    else:
        name = chunk.class_name if chunk.kind in CLASS_KINDS else None
    if not name:
        return ""
    users = [user.path for user in index.catalogue.users(name)]
    tree = index.hierarchy
    types = [last_part(child) for child in tree.children(name) if name in tree.nodes[child].implements]
    parts = (
        ("used by at least " + counted(len(users), "file"), users),
        (f"implemented by at least {len(types)}", types),
    )
    return "; ".join(f"{text}: {', '.join(some[:SHOWN])}{', …' * (len(some) > SHOWN)}" for text, some in parts if some)
