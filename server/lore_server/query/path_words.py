"""Judge by the number of words that a path shares with a question whether this can be chance."""

from __future__ import annotations

from collections.abc import Iterable

from lore_etl.stores.keywords import path_stems, question_stems

WORDS_PER_MATCH = 4  # of the question: a question of eight words needs two in the path
ENOUGH = 3  # more words are never needed


def path_sureness(question: str, sources: Iterable[str]) -> dict[str, float]:
    """Return by source how far its path counts, from 0 to 1: the share of the words that are needed.

    A single word in the path of a file says much about a short question. A sentence shares one word with many paths.
    """
    wanted = question_stems(question)
    needed = min(ENOUGH, max(1.0, len(wanted) / WORDS_PER_MATCH))
    return {source: min(1.0, len(wanted & words) / needed) for source, words in path_stems(sources).items()}
