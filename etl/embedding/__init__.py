"""Which model turns text into vectors: a local one by default, Gemini by configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from etl.embedding.models import DEFAULT_MODEL, prepared
from etl.settings import EmbeddingSettings

if TYPE_CHECKING:
    from etl.embedding.base import Embedder

GEMINI_MODEL = "gemini-embedding-001"


def model_name(settings: EmbeddingSettings) -> str:
    """The model in use, for people."""
    return settings.model or (GEMINI_MODEL if settings.provider == "gemini" else DEFAULT_MODEL)


def fingerprint(settings: EmbeddingSettings) -> str:
    """Changes whenever the same text would get another vector."""
    if settings.provider == "gemini":
        return f"gemini:{model_name(settings)}"
    return prepared(model_name(settings)).fingerprint


def open_embedder(settings: EmbeddingSettings) -> Embedder:
    """The configured embedder, ready to use. Raises ConfigError, ProviderError."""
    if settings.provider == "gemini":
        from etl.embedding.gemini import GeminiEmbedder

        return GeminiEmbedder(model_name(settings), settings.base_url)
    from etl.embedding.onnx import OnnxEmbedder

    return OnnxEmbedder(prepared(model_name(settings)), settings.threads)
