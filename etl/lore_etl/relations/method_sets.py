"""Find the interfaces that types of Go implement without saying so, by the methods of both with their types."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from lore_etl.core.model import ClassNode

MAX_EMBEDDED = 200  # types that a type embeds, directly or not
_ELSEWHERE = {
    "error": "Error()(string)",
    "io.Closer": "Close()(error)",
    "io.Reader": "Read([]uint8)(int,error)",
    "io.Writer": "Write([]uint8)(int,error)",
    "fmt.Stringer": "String()(string)",
}


def implementers(
    own: Mapping[str, Collection[str]], nodes: Mapping[str, ClassNode], interfaces: Collection[str]
) -> dict[str, list[str]]:
    """Return the types that implement each interface; `own` are the methods that each of them declares.

    The methods of an interface from elsewhere are not known: a type has them if it embeds that interface too.
    """
    types = defaultdict[str, set[str]](set)
    for name in own.keys() | nodes.keys() - interfaces:
        for method in _methods(name, own, nodes) if name not in interfaces else ():
            types[method].add(name)
    found = dict[str, list[str]]()
    for name in interfaces:
        if methods := _methods(name, own, nodes):
            found[name] = sorted(set.intersection(*(types.get(method, set()) for method in methods)))
    return found


def _methods(name: str, own: Mapping[str, Collection[str]], nodes: Mapping[str, ClassNode]) -> set[str]:
    """Return the methods of a type and of those that it embeds."""
    found, waiting = set[str](), [name]
    for one in waiting:  # which grows below
        node = nodes.get(one)
        if one in own or node:
            found.update(own.get(one, ()))
            bases = node.bases if node else ()
            waiting += [base for base in bases if base not in waiting][: MAX_EMBEDDED - len(waiting)]
        else:
            found.add(_ELSEWHERE.get(one, one))
    return found
