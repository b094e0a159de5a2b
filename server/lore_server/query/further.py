"""Find further passages of a file that a search found."""

from __future__ import annotations

from lore_etl.core.model import Chunk
from lore_etl.index import Index
from lore_server.query.query_service import SearchOutcome
from lore_server.query.ranking import Ranked


def further_passages(index: Index, found: SearchOutcome, result: Ranked, number: int) -> list[Chunk]:
    """Return up to this many other passages of a result's file, best first.

    They are the other candidates; then the passages that contain a word of the query.
    """
    chosen = {result.chunk.id: result.chunk}
    chosen |= {other.chunk.id: other.chunk for other in found.passages if other.source == result.source}
    if len(chosen) <= number:
        own = {chunk.id: chunk for chunk in index.catalogue.of_source(result.source)}
        within = own.keys() if found.among is None else own.keys() & found.among.keys()
        chosen |= {id_: own[id_] for id_, _ in index.keywords.search(found.query.text, number + 1, only=within)}
    return list(chosen.values())[1 : number + 1]
