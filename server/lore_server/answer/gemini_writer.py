"""Answers by Gemini through google-genai."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
from google import genai
from google.genai import errors, types

from lore_server.answer.answer_model import (
    CUT,
    LATE,
    MAX_OUTPUT_TOKENS,
    REFUSED,
    UNREADABLE,
    ModelFailure,
    ModelReply,
    ModelRequest,
    TokenUsage,
    failed_status,
)

FINISHED = types.FinishReason.STOP


class GeminiWriter:
    """Writes with Gemini over the given HTTP client."""

    def __init__(self, model: str, key: str, base_url: str | None, seconds: float, http: httpx2.Client) -> None:
        self.name = model
        once = types.HttpRetryOptions(attempts=1)  # its retries ignore `Retry-After`
        options = types.HttpOptions(
            base_url=base_url, timeout=max(1, int(seconds * 1000)), retry_options=once, httpx_client=http
        )
        self._client = genai.Client(api_key=key, http_options=options)

    def pieces(self, request: ModelRequest) -> Iterator[str | TokenUsage]:
        with _failures():
            yield from self._read(self._replies(request))

    def close(self) -> None:
        self._client.close()

    def _replies(self, request: ModelRequest) -> Iterator[types.GenerateContentResponse]:
        config = types.GenerateContentConfig(
            system_instruction=request.instruction,
            temperature=0.1,
            max_output_tokens=MAX_OUTPUT_TOKENS,
            response_mime_type="application/json",
            response_schema=ModelReply,
            automatic_continuation=False,  # otherwise the client would repeat each of our attempts
        )
        if request.is_streamed:
            return self._client.models.generate_content_stream(model=self.name, contents=request.prompt, config=config)
        return iter([self._client.models.generate_content(model=self.name, contents=request.prompt, config=config)])

    def _read(self, replies: Iterator[types.GenerateContentResponse]) -> Iterator[str | TokenUsage]:
        reason, usage = None, None
        for reply in replies:
            if reply.prompt_feedback is not None and reply.prompt_feedback.block_reason is not None:
                raise ModelFailure(REFUSED)
            reason = next((one.finish_reason for one in reply.candidates or () if one.finish_reason), reason)
            usage = reply.usage_metadata or usage
            yield _text(reply)
        if usage is not None:
            written = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
            yield TokenUsage(usage.prompt_token_count or 0, written)
        if reason is None or reason == types.FinishReason.MAX_TOKENS:
            raise ModelFailure(CUT)
        if reason != FINISHED:
            raise ModelFailure(REFUSED)


def _text(reply: types.GenerateContentResponse) -> str:
    parts = [part for one in (reply.candidates or [])[:1] if one.content for part in one.content.parts or ()]
    return "".join(part.text or "" for part in parts if not part.thought)


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except errors.APIError as error:
        headers = getattr(error.response, "headers", None) or {}
        raise failed_status(error.code, headers.get("retry-after")) from error
    except httpx2.TimeoutException as error:
        raise ModelFailure(LATE, is_temporary=True) from error
    except httpx2.HTTPError as error:
        raise ModelFailure(f"the answer model cannot be reached ({type(error).__name__})", is_temporary=True) from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelFailure(UNREADABLE) from error
