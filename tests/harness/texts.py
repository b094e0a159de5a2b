"""Chunk a text in one call, and describe the chunks."""

import re
from collections.abc import Sequence
from itertools import takewhile

from lore_etl.chunking import chunk, parse
from lore_etl.chunking.fit import embedding_input
from lore_etl.core.model import Chunk, Document, FileFacts, KnowledgeType
from lore_etl.sources.source import syntax_of
from tests.harness.models import counter

SPECIAL_TOKENS = 2
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that control a terminal, and marks that reorder text."""
Outline = list[tuple[str, tuple[int, int], tuple[str, ...]]]


def document(path: str, text: str, type_: KnowledgeType = KnowledgeType.GUIDE, title: str = "Title") -> Document:
    is_prose = syntax_of(path) in ("markdown", "rst")
    return Document(path, type_, text, title if is_prose else path, syntax_of(path))


def chunks_in(path: str, text: str, type_: KnowledgeType = KnowledgeType.GUIDE, title: str = "Title") -> list[Chunk]:
    return chunk(document(path, text, type_, title), counter())[0]


def facts_of(path: str, text: str) -> FileFacts:
    return parse(document(path, text)).facts


def outline(chunks: Sequence[Chunk]) -> Outline:
    """Return (kind, lines, heading path) of each chunk."""
    return [(chunk.kind, chunk.lines, chunk.heading) for chunk in chunks]


def symbols(chunks: Sequence[Chunk]) -> list[tuple[str, ...]]:
    return [chunk.symbols for chunk in chunks]


def input_tokens(chunk: Chunk) -> int:
    """Return the number of tokens of the model's input, including special tokens."""
    return len(counter().starts(embedding_input(chunk))) + SPECIAL_TOKENS


def words(count: int, word: str = "word") -> str:
    """Return a line of `count` tokens."""
    return " ".join([word] * count)


def prose_of(text: str) -> str:
    """Return the paragraphs of a Markdown text, without headings, lists, tables, code and quotations.

    Independent of the parser that Lore uses.
    """
    blocks = re.split(r"\n\s*\n", re.sub(r"(?ms)^ *(```|~~~).*?^ *\1", "", text))
    start = re.compile(r"\s*(?:[-*+] |\d+[.)] |#|\||>|<|    )")
    # only the number 1 starts a list within a paragraph: a line may begin with the last number of a sentence
    within = re.compile(r"\s*(?:[-*+] |1[.)] |#|\||>|<)")
    prose = []
    for first, *others in (block.split("\n") for block in blocks):
        lines = [] if start.match(first) else [first, *takewhile(lambda line: not within.match(line), others)]
        prose.append(" ".join(" ".join(lines).split()))
    return re.sub(r"!?\[([^\]\[]*)\]\([^()]*\)", r"\1", "\n".join(prose))
