"""Answers by Gemini through google-genai."""

from collections.abc import Iterator

import httpx2
from google import genai
from google.genai import errors, types

from lore_server.answer import writer_interface
from lore_server.answer.writer_interface import ModelFailure, Piece, TokenUsage


class GeminiWriter:
    """Writes with Gemini over the given HTTP client."""

    def __init__(self, model: str, key: str, base_url: str | None, seconds: float, http: httpx2.Client) -> None:
        self.name = model
        once = types.HttpRetryOptions(attempts=1)  # its retries ignore `Retry-After`
        options = types.HttpOptions(
            base_url=base_url, timeout=max(1, int(seconds * 1000)), retry_options=once, httpx_client=http
        )
        self._client = genai.Client(api_key=key, http_options=options)

    def pieces(self, prompt: str, is_streamed: bool) -> Iterator[Piece]:
        with writer_interface.connection_failures():
            try:
                yield from _read(self._replies(prompt, is_streamed))
            except errors.APIError as error:
                headers = getattr(error.response, "headers", None) or {}
                raise writer_interface.failed_status(error.code, headers.get("retry-after")) from error

    def _replies(self, prompt: str, is_streamed: bool) -> Iterator[types.GenerateContentResponse]:
        config = types.GenerateContentConfig(
            system_instruction=writer_interface.INSTRUCTION,
            temperature=0.1,
            max_output_tokens=writer_interface.MAX_OUTPUT_TOKENS,
            response_mime_type="application/json",
            response_schema=writer_interface.ModelReply,
            automatic_continuation=False,  # otherwise the client would repeat each of our attempts
        )
        if is_streamed:
            return self._client.models.generate_content_stream(model=self.name, contents=prompt, config=config)
        return iter([self._client.models.generate_content(model=self.name, contents=prompt, config=config)])


def _read(replies: Iterator[types.GenerateContentResponse]) -> Iterator[Piece]:
    reason, usage = None, None
    for reply in replies:
        if reply.prompt_feedback is not None and reply.prompt_feedback.block_reason is not None:
            raise ModelFailure(writer_interface.REFUSED)
        reason = next((one.finish_reason for one in reply.candidates or () if one.finish_reason), reason)
        usage = reply.usage_metadata or usage
        parts = [part for one in (reply.candidates or [])[:1] if one.content for part in one.content.parts or ()]
        yield "".join(part.text or "" for part in parts if not part.thought)
    if usage is not None:
        written = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
        yield TokenUsage(usage.prompt_token_count or 0, written)
    if reason is None or reason == types.FinishReason.MAX_TOKENS:
        raise ModelFailure(writer_interface.CUT)
    if reason != types.FinishReason.STOP:
        raise ModelFailure(writer_interface.REFUSED)
