"""Models that read a query and a passage together: slower than vectors, but more precise."""

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
    """Scores how well passages answer a query."""

    name: str

    def score(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """Return a number per passage, shape (len(passages),); higher is more relevant."""


def prepared(name: str) -> Path:
    """Return the folder of the compiled model, compiled if necessary. Raises ConfigError, ProviderError."""
    return compiled(name, origin(name, KIND), KIND)


def open_cross_encoder(name: str, threads: int = 0) -> CrossEncoder:
    """Open the cross-encoder in `query.reranker`; 0 threads means one per core. Raises the errors of `prepared`."""
    from lore_etl.models.onnx_models import OnnxCrossEncoder

    return OnnxCrossEncoder(name, prepared(name), threads)
