"""Tokens are counted as the tokenizer of the model counts them, however the counting is shortened."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers.trainers import BpeTrainer

from lore_etl.chunking.tokens import TokenCounter
from lore_etl.core.model import Document, KnowledgeType
from tests.harness.models import counter
from tests.harness.trying import trying

PIECES = [
    "word", "Word", "HTTPServer", "snake_case", "don't", "a.b/c", "x" * 101, "0123456789" * 12, "naïve", "漢字",
    "한국어", "🎉", " ", "\t", "  ", "\x1f", "\0", "\x7f", "\u00a0", "\u200b", "\u2028", "[MASK]",
    "[mask]", "[CLS", "[SEP]]", "##ing",
    "!=", "<T>", "`$^~|", "\\", '"', "long " * 300, "e\u0301",
]  # fmt: skip
LINE = st.lists(st.sampled_from(PIECES) | st.text("aZ9 _-é漢", max_size=9), max_size=8).map("".join)


def byte_pairs() -> Tokenizer:
    """Return a tokenizer whose tokens may contain line breaks."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer, tokenizer.decoder = normalizers.NFC(), decoders.ByteLevel()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(["word\n\nword\n\n" * 9], BpeTrainer(vocab_size=300, show_progress=False))
    return tokenizer


@pytest.mark.parametrize("tokens", [counter(), TokenCounter(byte_pairs(), 256)], ids=["words", "byte pairs"])
@trying(60, derandomize=True)
@given(lines=st.lists(LINE, max_size=6))
def test_the_counts_are_those_of_the_tokenizer(tokens: TokenCounter, lines: list[str]) -> None:
    text = "\n".join(lines)
    places = tokens.starts(text)
    ends = [len("\n".join(lines[: number + 1])) for number in range(len(lines))]

    counts = tokens.by_line(lines)

    assert [sum(counts[: number + 1]) for number in range(len(lines))] == [
        sum(place <= end for place in places) for end in ends
    ]
    assert [tokens.count(line) for line in lines] == [len(tokens.starts(line)) for line in lines]


@pytest.mark.parametrize("piece", ["x", "[", "_x,", "x" * 101 + ",", "é b", "[CLS]", "漢x", "e\u0301<", "\x1fa"])
def test_a_long_text_is_encoded_in_pieces_with_the_same_tokens(piece: str) -> None:
    text = piece * (70_000 // len(piece))
    whole = Tokenizer.from_str(counter()._tokenizer.to_str())

    found = counter().starts(text)

    assert found == [start for start, _ in whole.encode(text, add_special_tokens=False).offsets]
    assert counter().count(text) == len(found)


def test_a_document_is_split_into_lines_once() -> None:
    document = Document("a.md", KnowledgeType.GUIDE, "a\nb", "A", "markdown")

    assert document.lines is document.lines
