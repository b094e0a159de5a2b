"""The interface of answer models, and the schema of their replies. Each provider is one module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict

from lore_etl.core.errors import ProviderError

MAX_OUTPUT_TOKENS = 8192  # including those that some models use to think
TEMPORARY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})


class Statement(BaseModel):
    """A statement of a model's reply: first its evidence, then the text based on it."""

    model_config = ConfigDict(extra="forbid")

    quotes: list[str]
    passages: list[int]
    text: str


class ModelReply(BaseModel):
    """The whole reply of a model. Without statements, the passages do not answer the question."""

    model_config = ConfigDict(extra="forbid")

    statements: list[Statement]


class TokenUsage(NamedTuple):
    """The number of tokens of one reply, as the provider reports it."""

    input_tokens: int
    output_tokens: int


class ModelRequest(NamedTuple):
    """A question to a model. A request without a listener is answered as a whole."""

    instruction: str
    prompt: str
    is_streamed: bool


class ModelFailure(ProviderError):
    """A request to an answer model failed."""

    def __init__(self, message: str, is_temporary: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.is_temporary, self.retry_after = is_temporary, retry_after


class AnswerModel(Protocol):
    """A model that writes text. It keeps its connections, and several threads may use it."""

    name: str

    def pieces(self, request: ModelRequest) -> Iterator[str | TokenUsage]:
        """Yield the reply piece by piece, and its usage. Makes a single attempt. Raises ModelFailure."""

    def close(self) -> None:
        """Close the connections."""


def failed_status(status: int, retry_after: str | None) -> ModelFailure:
    """Return the failure for a status, without the text of the reply: it may contain anything."""
    seconds = float(retry_after) if retry_after and retry_after.isascii() and retry_after.isdigit() else None
    return ModelFailure(f"the answer model replied {status}", status in TEMPORARY, seconds)


UNREADABLE = "the answer model's reply cannot be read"
REFUSED = "the answer model refused to answer"
CUT = "the answer model's reply was truncated"
LATE = "the answer model did not reply in time"
