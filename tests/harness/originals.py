"""Save small random models, and run originals: `python -m tests.harness.originals STEP MODEL` with arguments as JSON.

A test forks these steps, and the compilations, from one process, because importing torch takes longer than all of them.
"""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] the ferry crosses at dawn ##s a b . how does boat stop".split()
LIMIT = 48


def bert(folder: Path, labels: int = 1, head: bool = True) -> None:
    """Save a BERT for pairs, with token types and the default activation, a sigmoid."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertModel, BertTokenizer

    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    BertTokenizer(vocab_file=str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=LIMIT, num_labels=labels, initializer_range=0.3,
    )  # fmt: skip
    (BertForSequenceClassification if head else BertModel)(config).save_pretrained(folder)


def qwen(folder: Path) -> None:
    """Save a model without token types or activation, padded on the left, with a prompt before each query."""
    import torch
    from sentence_transformers import CrossEncoder
    from transformers import BertTokenizer, Qwen3Config, Qwen3ForSequenceClassification

    bare = folder.with_name(folder.name + "-bare")
    bare.mkdir()
    (bare / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    names = ["input_ids", "attention_mask"]
    tokenizer = BertTokenizer(vocab_file=str(bare / "vocab.txt"), model_input_names=names, padding_side="left")
    tokenizer.save_pretrained(bare)
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(WORDS), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        num_key_value_heads=2, head_dim=16, max_position_embeddings=LIMIT, num_labels=1, pad_token_id=0,
        initializer_range=0.3,
    )  # fmt: skip
    Qwen3ForSequenceClassification(config).save_pretrained(bare)
    whole = CrossEncoder(
        str(bare), device="cpu", activation_fn=torch.nn.Identity(), prompts={"ask": "how "}, default_prompt_name="ask"
    )
    whole.save_pretrained(str(folder))


def embedder(folder: Path) -> None:
    """Save a BERT with random weights and a small vocabulary in the format of sentence-transformers."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizer

    bare = folder.with_name(folder.name + "-bare")
    bare.mkdir()
    (bare / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=LIMIT,
    )  # fmt: skip
    BertModel(config).save_pretrained(bare)
    BertTokenizer(vocab_file=str(bare / "vocab.txt")).save_pretrained(bare)
    word = Transformer(str(bare), max_seq_length=32)
    whole = SentenceTransformer(modules=[word, Pooling(16)], device="cpu", prompts={"query": "the "})
    whole.save(str(folder))


def encode(folder: Path, texts: Sequence[str], prompt: str | None = None) -> list[list[float]]:
    """Return the vectors of an embedding model."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu")
    vectors: list[list[float]] = model.encode(list(texts), prompt_name=prompt, normalize_embeddings=True).tolist()
    return vectors


def predict(folder: Path, queries: Sequence[str], passages: Sequence[str]) -> list[list[float]]:
    """Return the scores of a cross-encoder for every passage, per query."""
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(folder), device="cpu")
    return [model.predict([(query, passage) for passage in passages]).tolist() for query in queries]


def samples(_: Path) -> tuple[list[str], float]:
    """Return the texts with which the compilation compares vectors, and the largest permitted difference."""
    from lore_etl.models.export import SAMPLES, TOLERANCE

    return SAMPLES, TOLERANCE


STEPS: dict[str, Callable[..., Any]] = {
    step.__name__: step for step in (bert, qwen, embedder, encode, predict, samples)
}

if __name__ == "__main__":
    from huggingface_hub import constants

    constants.HF_HUB_OFFLINE = True
    sys.stdout.write(json.dumps(STEPS[sys.argv[1]](Path(sys.argv[2]), *json.load(sys.stdin))))
