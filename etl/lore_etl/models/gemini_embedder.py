"""Embeddings by Gemini through google-genai, if configured."""

import os
import weakref
from collections.abc import Sequence

import httpx2
import numpy as np
from google import genai
from google.genai import errors, types
from numpy.typing import NDArray

from lore_etl.chunking.tokens import TokenCounter, token_counter
from lore_etl.core.errors import ConfigError, ProviderError, ProviderUnavailable
from lore_etl.models.model_cache import DEFAULT_MODEL, prepared
from lore_etl.system.request_limits import limit_requests

BATCH = 100  # the maximum of the API for one request
DIMENSION = 768
INPUT_TOKENS = 512  # counted with the default model's tokenizer: Gemini's is not public
TIMEOUT_MS = 60_000
MAX_REPLY_BYTES = 16_000_000  # 100 vectors take some 2 MB
REFUSED_INPUT = 400  # any other status is unrelated to the texts


class GeminiEmbedder:
    """`gemini-embedding-001`, or another model of the same API."""

    def __init__(self, model: str, base_url: str | None, first_delay: float = 1.0) -> None:
        key = os.environ.get("GEMINI_API_KEY")
        if not key:
            raise ConfigError("Configuration key `embedding.provider` is gemini, but GEMINI_API_KEY is not set.")
        self.name, self.fingerprint, self.dimension = model, f"gemini:{model}", DIMENSION
        retry = types.HttpRetryOptions(attempts=5, initial_delay=first_delay, max_delay=30)
        client = httpx2.Client()
        weakref.finalize(self, client.close)
        limit_requests(client, lambda: TIMEOUT_MS / 1_000, MAX_REPLY_BYTES, is_unpacked=True)
        options = types.HttpOptions(base_url=base_url, timeout=TIMEOUT_MS, retry_options=retry, httpx_client=client)
        self._client = genai.Client(api_key=key, http_options=options)

    def tokens(self) -> TokenCounter:
        """Return a counter that overestimates, so that chunks are rather too short."""
        return token_counter(prepared(DEFAULT_MODEL).tokenizer, INPUT_TOKENS)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        batches = [self._embed(texts[n : n + BATCH], "RETRIEVAL_DOCUMENT") for n in range(0, len(texts), BATCH)]
        return np.concatenate(batches) if batches else np.empty((0, DIMENSION), dtype=np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self._embed([text], "RETRIEVAL_QUERY")[0]
        return vector

    def _embed(self, texts: Sequence[str], task: str) -> NDArray[np.float32]:
        config = types.EmbedContentConfig(task_type=task, output_dimensionality=DIMENSION)
        try:
            reply = self._client.models.embed_content(model=self.name, contents=list(texts), config=config)
        except (errors.APIError, httpx2.HTTPError, ValueError) as error:
            code = getattr(error, "code", None)
            kind = ProviderError if code == REFUSED_INPUT else ProviderUnavailable
            raise kind(f"Gemini embeddings failed: {code or type(error).__name__}.") from error
        values = [embedding.values or [] for embedding in reply.embeddings or []]
        if len(values) != len(texts) or any(len(vector) != DIMENSION for vector in values):
            raise ProviderUnavailable("Gemini returned a different number or dimension of vectors than requested.")
        vectors = np.array(values, dtype=np.float32)
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(vectors).all() or (length == 0).any():
            raise ProviderError("Gemini returned a vector without a direction (zero or not finite).")
        found: NDArray[np.float32] = vectors / length
        return found
