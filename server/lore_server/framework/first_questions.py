"""Suggest a first search and a first question about a project."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lore_etl.core.json_types import JSON
from lore_etl.relations.classes import Hierarchy

if TYPE_CHECKING:
    from lore_server.replies.records import FirstQuestionsRecord

_GENERAL = re.compile(
    r"^(?:readme|changelog|changes|license|contributing|code.of.conduct|security|index)\b", re.IGNORECASE
)
_PLAIN = re.compile(r"\w[\w .,-]{2,59}")
"""A title that is safe to paste into any shell, because projects are untrusted."""
MIN_SUBCLASSES = 2


def first_questions(files: Sequence[JSON], tree: Hierarchy) -> FirstQuestionsRecord | None:
    """Return a `search` for the longest guide and an `ask` about the class with most subclasses; None for an empty
    index.

    If there is no guide or subclass, both are about the longest class, or else about any file.
    `files` are the catalogue's rows: source, type, title and the number of chunks.
    """
    titled = [file for file in files if _PLAIN.fullmatch(file["title"])]
    specific = [file for file in titled if not _GENERAL.match(file["source"].rpartition("/")[2])]
    guide = _longest([file for file in specific if file["type"] == "guide"])
    name = _class_name(tree)
    title = guide or name or _longest(specific or titled)
    if title is None:
        return None
    defined = None if guide or not name else f"Where is {name} defined?"
    return {"search": title, "ask": _about_classes(tree) or defined or f"How does {title} work?"}


def _longest(files: Sequence[JSON]) -> str | None:
    """Return the title of the file with the most chunks."""
    return max(files, key=lambda file: file["chunks"])["title"] if files else None


def _class_name(tree: Hierarchy) -> str | None:
    """Return the short name of the longest class of the project."""
    lengths = {_short(name): node.lines[1] - node.lines[0] for name, node in tree.nodes.items() if node.lines}
    return max((name for name in lengths if _PLAIN.fullmatch(name)), key=lengths.__getitem__, default=None)


def _about_classes(tree: Hierarchy) -> str | None:
    extended = Counter(node.parent for node in tree.nodes.values() if node.parent)
    for name, count in extended.most_common():
        if count >= MIN_SUBCLASSES and tree.nodes[name].source and _PLAIN.fullmatch(name):
            return f"Which classes extend {_short(name)}?"
    return None


def _short(name: str) -> str:
    return name.rpartition(".")[2]
