"""Models that turn text into vectors: a local one by default, Gemini by configuration. Imports no numpy."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from lore_etl.config.settings import EmbeddingSettings
from lore_etl.core.errors import ConfigError, LoreError, ProviderError, ProviderUnavailable
from lore_etl.core.progress import Progress
from lore_etl.models.model_cache import (
    DEFAULT_MODEL,
    EMBEDDER,
    NAMES,
    REINSTALL,
    PreparedModel,
    is_prepared,
    origin,
    prepared,
    remove_superseded,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lore_etl.chunking.tokens import TokenCounter

GEMINI_MODEL = "gemini-embedding-001"
Vectors: TypeAlias = "NDArray[np.float32]"


class Embedder(Protocol):
    """Turns texts into vectors of length 1."""

    name: str
    fingerprint: str
    dimension: int

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of documents, shape (len(texts), dimension). Raises ProviderError."""

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a query, shape (dimension,)."""

    def tokens(self) -> TokenCounter:
        """Return the counter of the model's own tokens."""


def model_name(settings: EmbeddingSettings) -> str:
    return settings.model or (GEMINI_MODEL if settings.provider == "gemini" else DEFAULT_MODEL)


class ConfiguredModel:
    """The model in `[embedding]`. Only `prepare` is slow or uses the network; before it, searches use only keywords."""

    shares_vectors = True  # with other projects, in which a model of this name is the same

    def __init__(self, settings: EmbeddingSettings) -> None:
        self._settings = settings
        self._name = model_name(settings)
        self._failure: LoreError | None = None

    def prepare(self, progress: Progress, may_download: bool) -> None:
        """Compile the model, and download it if allowed; both can take minutes. Raises ConfigError, ProviderError."""
        if self._settings.provider == "gemini":
            return
        try:
            if not may_download and self._name not in NAMES and not Path(origin(self._name, EMBEDDER)).is_dir():
                return
            remove_superseded(self._name, prepared(self._name, progress).folder)
        except (ConfigError, ProviderError) as error:
            self._failure = error
            raise
        self._failure = None

    @cached_property
    def fingerprint(self) -> str:
        """Return provider, name and, for a local model, a digest of its files. Raises ConfigError, ProviderError."""
        if self._settings.provider == "gemini":
            return f"gemini:{self._name}"
        with self._open_compiled() as files:
            return files.fingerprint

    def open(self) -> Embedder:
        """Load the model. Raises ConfigError, ProviderError."""
        if self._settings.provider == "gemini":
            from lore_etl.models.gemini_embedder import GeminiEmbedder

            return GeminiEmbedder(self._name, self._settings.base_url)
        from lore_etl.models.onnx_models import OnnxEmbedder

        with self._open_compiled() as files:
            return OnnxEmbedder(files, self._settings.threads)

    def tokens(self) -> TokenCounter:
        """Return the counter of the model's tokens, without loading the model. Raises ConfigError, ProviderError."""
        if self._settings.provider == "gemini":
            return self.open().tokens()
        from lore_etl.chunking.tokens import token_counter

        with self._open_compiled() as files:
            return token_counter(files.tokenizer, files.max_tokens)

    @contextmanager
    def _open_compiled(self) -> Iterator[PreparedModel]:
        """Yield the compiled model; an error while its files are read means that they are damaged."""
        if not is_prepared(self._name):
            raise self._failure or ProviderUnavailable(
                f"The model `{self._name}` is not compiled on this machine yet.",
                "Run `lore sync` to compile the model, and to download it if necessary.",
            )
        files = prepared(self._name)
        try:
            yield files
        except Exception as error:
            hint = f"Delete {files.folder}, then run `lore sync` to compile the model again."
            hint = REINSTALL if self._name in NAMES else hint
            raise ProviderUnavailable(f"The compiled files of the model `{self._name}` are damaged.", hint) from error


QUERIES_KEPT = 256  # vectors of queries, 1.5 KB each


class SharedModel(ConfiguredModel):
    """A configured model that all indexes of a process share: it is loaded once, and embeds the same query once."""

    def __init__(self, settings: EmbeddingSettings) -> None:
        super().__init__(settings)
        self._guard = threading.Lock()
        self._opened: Embedder | None = None

    def open(self) -> Embedder:
        with self._guard:
            self._opened = self._opened or RecentQueries(super().open())
            return self._opened


class RecentQueries:
    """An embedder that remembers the vectors of recent queries, because a question may go to many projects at once."""

    def __init__(self, embedder: Embedder) -> None:
        self.name, self.fingerprint, self.dimension = embedder.name, embedder.fingerprint, embedder.dimension
        self.embed, self.tokens = embedder.embed, embedder.tokens
        self._guard = threading.Lock()
        self._embed_query = lru_cache(QUERIES_KEPT)(embedder.embed_query)

    def embed_query(self, text: str) -> Vectors:
        with self._guard:  # the other threads with the same query find it then
            return self._embed_query(text)
