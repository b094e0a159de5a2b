"""Provide the real model, loaded once, and a fast, deterministic stand-in that passes the same tests."""

import hashlib
from collections.abc import Sequence
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from lore_etl.chunking.tokens import TokenCounter
from lore_etl.config.project import cache_folder
from lore_etl.config.settings import Settings
from lore_etl.core.errors import ProviderError
from lore_etl.core.progress import Progress
from lore_etl.models.embedder import ConfiguredModel, Embedder, Vectors
from lore_etl.models.model_cache import DEFAULT_MODEL, prepared
from lore_etl.stores.tokenizer import terms

DIMENSION = 64
INPUT_TOKENS = 256


@cache
def counter(limit: int = INPUT_TOKENS) -> TokenCounter:
    """Return the real tokenizer of the default model, loaded once because it has no state."""
    return TokenCounter(Tokenizer.from_file(str(prepared(DEFAULT_MODEL).data / "tokenizer.json")), limit)


class HashEmbedder:
    """Sums a fixed random vector for each word, so that texts with shared words are near each other.

    Texts that contain a word in `refuses` fail, as poisoned input does with a provider.
    """

    def __init__(self, name: str = "hash", refuses: Sequence[str] = ()) -> None:
        self.name, self.fingerprint, self.dimension = name, name, DIMENSION
        self.refuses = list(refuses)
        self.embedded: list[str] = []

    def tokens(self) -> TokenCounter:
        return counter()

    def embed(self, texts: Sequence[str]) -> Vectors:
        for text in texts:
            self._check(text)
        self.embedded += texts
        return np.stack([_vector(text) for text in texts]) if texts else np.empty((0, DIMENSION), np.float32)

    def embed_query(self, text: str) -> Vectors:
        self._check(text)
        return _vector(text)

    def _check(self, text: str) -> None:
        if any(word in text for word in self.refuses):
            raise ProviderError("the input was refused")


class HashModel(ConfiguredModel):
    """The stand-in as a model that an Index opens; its embedder records the embedded texts."""

    shares_vectors = False

    def __init__(self, name: str = "hash", refuses: Sequence[str] = ()) -> None:
        self.embedder: HashEmbedder = HashEmbedder(name, refuses)

    def prepare(self, progress: Progress, may_download: bool) -> None:
        """Do nothing: the stand-in needs no files."""

    @cached_property
    def fingerprint(self) -> str:
        return self.embedder.fingerprint

    def tokens(self) -> TokenCounter:
        return self.embedder.tokens()

    def open(self) -> HashEmbedder:
        return self.embedder


class LoadedModel(ConfiguredModel):
    """The default model, loaded once for all indexes of this process because it has no state."""

    shares_vectors = False

    @cache  # noqa: B019 - there is one of them
    def open(self) -> Embedder:
        return super().open()


LOADED = LoadedModel(Settings().embedding)


@cache
def _direction(word: str) -> Any:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "little")
    return np.random.default_rng(seed).normal(size=DIMENSION)


@lru_cache(maxsize=20_000)  # comparisons index the same tree again
def _vector(text: str) -> Vectors:
    total = np.full(DIMENSION, 1e-3)
    for word in terms(text):
        total += _direction(word)
    return np.asarray(total / np.linalg.norm(total), dtype=np.float32)


def own_cache(folder: Path) -> Path:
    """Return a cache folder with the user's models and compiled rules, which take long to prepare."""
    folder.mkdir()
    for name in ("models", "secrets"):
        real = cache_folder() / name
        real.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(real)
    return folder
