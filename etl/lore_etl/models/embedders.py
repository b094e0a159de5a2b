"""Which model turns text into vectors: a local one by default, Gemini by configuration."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from lore_etl.config.settings import EmbeddingSettings
from lore_etl.core.errors import ConfigError, LoreError, ProviderError, ProviderUnavailable
from lore_etl.core.model import Progress
from lore_etl.models.prepared import DEFAULT_MODEL, PreparedModel, is_prepared, prepared, source

if TYPE_CHECKING:
    from lore_etl.models.embedder import Embedder

GEMINI_MODEL = "gemini-embedding-001"


def model_name(settings: EmbeddingSettings) -> str:
    """The model in use, for people."""
    return settings.model or (GEMINI_MODEL if settings.provider == "gemini" else DEFAULT_MODEL)


class Model(Protocol):
    """A model that can be named without being loaded."""

    def prepare(self, progress: Progress, may_download: bool) -> None:
        """Compile it if need be, and download it first if that is allowed; both can take minutes."""
        ...

    def fingerprint(self) -> str:
        """Changes whenever the same text would get another vector. Fails at once if it is not prepared."""
        ...

    def open(self) -> Embedder:
        """Load it. Fails at once if it is not prepared."""
        ...


class ConfiguredModel:
    """The model that `[embedding]` names. Only `prepare` takes long or asks a hub: a search falls back to words."""

    def __init__(self, settings: EmbeddingSettings) -> None:
        self._settings = settings
        self._name = model_name(settings)
        self._failure: LoreError | None = None

    def prepare(self, progress: Progress, may_download: bool) -> None:
        """See `Model`.

        Raises:
            ConfigError: there is no such model.
            ProviderUnavailable: it cannot be had or compiled.
        """
        if self._settings.provider == "gemini":
            return
        try:
            if not may_download and not Path(source(self._name)).is_dir():
                return
            prepared(self._name, progress)
        except (ConfigError, ProviderError) as error:
            self._failure = error
            raise
        self._failure = None

    def fingerprint(self) -> str:
        """The provider, the name and, of a local model, a digest of its files. Raises ConfigError, ProviderError."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        if self._settings.provider == "gemini":
            return f"gemini:{self._name}"
        return self._files().fingerprint

    def open(self) -> Embedder:
        """Load it. Raises ConfigError, ProviderError."""
        if self._settings.provider == "gemini":
            from lore_etl.models.gemini_embedder import GeminiEmbedder

            return GeminiEmbedder(self._name, self._settings.base_url)
        from lore_etl.models.onnx_embedder import OnnxEmbedder

        files = self._files()
        try:
            return OnnxEmbedder(files, self._settings.threads)
        except Exception as error:
            raise ProviderUnavailable(
                f"The compiled files of the model `{self._name}` are damaged.",
                f"Delete {files.folder}, then run `lore sync` to compile the model again.",
            ) from error

    def _files(self) -> PreparedModel:
        if is_prepared(self._name):
            return prepared(self._name)
        if self._failure is not None:
            raise self._failure
        raise ProviderUnavailable(
            f"The model `{self._name}` is not compiled on this machine yet.",
            "Run `lore sync` to compile the model, and to download it if necessary.",
        )
