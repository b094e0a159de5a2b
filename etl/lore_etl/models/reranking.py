"""Models that read a question and a passage together: slower than vectors, and better at telling which is right."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from lore_etl.models.model_cache import ModelKind, compiled, origin

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HINT = (
    "Name a cross-encoder that gives one score, by its folder or by its name on the hub, such as"
    " cross-encoder/ms-marco-MiniLM-L6-v2, which is downloaded once. An empty name disables reranking."
)
KIND = ModelKind("lore_etl.models.export_reranker", "cross-encoder 1", "query.reranker", HINT)


class CrossEncoder(Protocol):
    """Says how well passages answer a question."""

    name: str

    def score(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """One number for each passage, shape (len(passages),): a higher one answers better."""
        ...


def prepared(name: str) -> Path:
    """The folder of the compiled model, made now if it never was; a child process imports sentence-transformers.

    Raises:
        ConfigError: there is no such model, or it is no cross-encoder that gives one score.
        ProviderError: it cannot be compiled.
    """
    return compiled(name, origin(name, KIND), KIND)


def open_cross_encoder(name: str, threads: int = 0) -> CrossEncoder:
    """The cross-encoder that `query.reranker` names; 0 threads are one for each core. Raises as `prepared` does."""
    from lore_etl.models.onnx_reranker import OnnxCrossEncoder

    return OnnxCrossEncoder(name, prepared(name), threads)
