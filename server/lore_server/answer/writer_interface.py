"""The interface of the writers of answers, and the schema of their replies. Each provider is one module."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

import httpx2
from pydantic import BaseModel, ConfigDict

from lore_etl.core.errors import ProviderError

MAX_OUTPUT_TOKENS = 8192  # including those that some models use to think
MAX_REPLY_BYTES = 8_000_000  # a streamed token takes up to some 400
TEMPORARY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
UNREADABLE = "the answer model's reply cannot be read"
REFUSED = "the answer model refused to answer"
CUT = "the answer model's reply was truncated"
LATE = "the answer model did not reply in time"
INSTRUCTION = Path(__file__).with_name("instruction.md").read_text(encoding="utf-8").rstrip()


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


Piece = str | TokenUsage


class ModelFailure(ProviderError):
    """A request to an answer model failed."""

    def __init__(self, message: str, is_temporary: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.is_temporary, self.retry_after = is_temporary, retry_after


class AnswerModel(Protocol):
    """A model that writes text over a client that is given to it. Several threads may use it."""

    name: str

    def pieces(self, prompt: str, is_streamed: bool) -> Iterator[Piece]:
        """Yield the reply piece by piece or as a whole, and its usage. Makes a single attempt. Raises ModelFailure."""


def failed_status(status: int, retry_after: str | None) -> ModelFailure:
    """Return the failure for a status, without the text of the reply: it may contain anything."""
    seconds = float(retry_after) if retry_after and retry_after.isascii() and retry_after.isdigit() else None
    return ModelFailure(f"the answer model replied {status}", status in TEMPORARY, seconds)


@contextmanager
def connection_failures() -> Iterator[None]:
    """Raise ModelFailure for errors of the HTTP client, and of a client library that cannot read a reply."""
    try:
        yield
    except httpx2.TimeoutException as error:
        raise ModelFailure(LATE, is_temporary=True) from error
    except httpx2.HTTPError as error:
        raise ModelFailure(
            f"the connection to the answer model failed ({type(error).__name__})", is_temporary=True
        ) from error
    except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        raise ModelFailure(UNREADABLE) from error
