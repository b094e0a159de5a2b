"""The embedder interface: texts to vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lore_etl.chunking.tokens import TokenCounter

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into vectors of length 1."""

    name: str
    fingerprint: str
    dimension: int

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of documents, shape (len(texts), dimension). Raises ProviderError."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a query, shape (dimension,)."""
        ...

    def tokens(self) -> TokenCounter:
        """Return the counter of the model's own tokens."""
        ...
