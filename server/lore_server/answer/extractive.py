"""An answer without a model: the most relevant sentences, each with its citation."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from lore_server.answer.pack import Passage
from lore_server.answer.sentences import Sentence, sentences
from lore_server.query.parse import Query

MAX_SENTENCES = 60  # sentences to embed, about 3 ms each
QUOTED = 4
SAME = 0.6  # the share of common words at which two sentences count as equal
_WORD = re.compile(r"[^\W_]+")
Embed = Callable[[Sequence[str]], NDArray[np.float32]]


def extract(query: Query, passages: Sequence[Passage], embed: Embed | None) -> list[Sentence]:
    """Return the best sentences, best first: by query words, by meaning and by the rank of their passage."""
    found = [sentence for passage in passages for sentence in sentences(passage)]
    by_words = sorted(found, key=lambda sentence: -_word_share(query, sentence.text) + 0.01 * sentence.passage.number)
    shortlist = by_words[:MAX_SENTENCES]
    if not shortlist:
        return [Sentence(_first_line(passage), passage, passage.chunk.lines) for passage in passages[:1]]
    meaning = _similarities(query, shortlist, embed)
    scores = [
        0.5 * _word_share(query, sentence.text) + meaning[n] - 0.03 * (sentence.passage.number - 1)
        for n, sentence in enumerate(shortlist)
    ]
    best: list[Sentence] = []
    for position in sorted(range(len(shortlist)), key=lambda n: -scores[n]):
        sentence = shortlist[position]
        if len(best) < QUOTED and not any(_overlap(sentence.text, other.text) > SAME for other in best):
            best.append(sentence)
    return best


def _similarities(query: Query, shortlist: Sequence[Sentence], embed: Embed | None) -> list[float]:
    if embed is None:
        return [0.0] * len(shortlist)
    vectors = embed([query.text, *(sentence.text for sentence in shortlist)])
    return [float(value) for value in vectors[1:] @ vectors[0]]


def _word_share(query: Query, text: str) -> float:
    wanted = {word[:6] for word in query.words}
    return len(wanted & {word[:6] for word in _words(text)}) / max(1, len(wanted))


def _overlap(text: str, other: str) -> float:
    first, second = _words(text), _words(other)
    return len(first & second) / max(1, min(len(first), len(second)))


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def _first_line(passage: Passage) -> str:
    return next((line.strip() for line in passage.chunk.text.split("\n") if line.strip()), passage.chunk.title)[:400]
