"""Which model turns text into vectors: a local one by default, Gemini by configuration."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from etl.embedding.models import DEFAULT_MODEL, prepared
from etl.settings import EmbeddingSettings

if TYPE_CHECKING:
    from etl.embedding.base import Embedder

GEMINI_MODEL = "gemini-embedding-001"


def model_name(settings: EmbeddingSettings) -> str:
    """The model in use, for people."""
    return settings.model or (GEMINI_MODEL if settings.provider == "gemini" else DEFAULT_MODEL)


class Model(Protocol):
    """A model that can be named without being loaded."""

    def fingerprint(self) -> str:
        """Changes whenever the same text would get another vector."""
        ...

    def open(self) -> Embedder:
        """Load it."""
        ...


class ConfiguredModel:
    """The model that `[embedding]` names."""

    def __init__(self, settings: EmbeddingSettings) -> None:
        self._settings = settings
        self._name = model_name(settings)

    def fingerprint(self) -> str:
        """The provider, the name and, of a local model, a digest of its files."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        if self._settings.provider == "gemini":
            return f"gemini:{self._name}"
        return prepared(self._name).fingerprint

    def open(self) -> Embedder:
        """Load it. Raises ConfigError, ProviderError."""
        if self._settings.provider == "gemini":
            from etl.embedding.gemini import GeminiEmbedder

            return GeminiEmbedder(self._name, self._settings.base_url)
        from etl.embedding.onnx import OnnxEmbedder

        return OnnxEmbedder(prepared(self._name), self._settings.threads)
