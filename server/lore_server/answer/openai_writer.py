"""Answers by any endpoint that speaks OpenAI's protocol: Ollama, llama.cpp, vLLM, OpenAI and others."""

import logging
from collections.abc import Iterator, Mapping
from typing import Any

import httpx2
import openai
from openai.types.chat import ChatCompletion, ChatCompletionChunk, chat_completion_chunk

from lore_server.answer import writer_interface
from lore_server.answer.writer_interface import ModelFailure, Piece, TokenUsage

logging.getLogger("openai").setLevel(logging.INFO)  # at DEBUG it logs whole requests
OPENAI_HOST = "api.openai.com"
UNSUPPORTED = (400, 422, 500, 501)  # llama-cpp-python replies 500
SCHEMA = {"name": "answer", "strict": True, "schema": writer_interface.ModelReply.model_json_schema()}
FORMATS: tuple[Mapping[str, object], ...] = (
    {"response_format": {"type": "json_schema", "json_schema": SCHEMA}},
    {"response_format": {"type": "json_object"}},
    {},
)


class OpenAIWriter:
    """Writes over the given HTTP client. If an endpoint rejects the schema of replies, requests omit it."""

    def __init__(self, model: str, key: str, base_url: str | None, seconds: float, http: httpx2.Client) -> None:
        self.name = model
        self._client = openai.OpenAI(api_key=key, base_url=base_url, timeout=seconds, max_retries=0, http_client=http)
        self._limit = "max_completion_tokens" if self._client.base_url.host == OPENAI_HOST else "max_tokens"
        self._format = 0

    def pieces(self, prompt: str, is_streamed: bool) -> Iterator[Piece]:
        with writer_interface.connection_failures():
            try:
                reply = self._reply(prompt, is_streamed)
                yield from _read(iter([reply]) if isinstance(reply, ChatCompletion) else reply)
            except openai.APIStatusError as error:
                retry_after = error.response.headers.get("retry-after")
                raise writer_interface.failed_status(error.status_code, retry_after) from error
            except openai.APITimeoutError as error:
                raise ModelFailure(writer_interface.LATE, is_temporary=True) from error
            except openai.APIConnectionError as error:
                cause = type(error.__cause__ or error).__name__
                raise ModelFailure(f"the connection to the answer model failed ({cause})", is_temporary=True) from error
            except openai.APIError as error:  # an error within a stream
                raise ModelFailure("the answer model failed while it wrote") from error

    def _reply(self, prompt: str, is_streamed: bool) -> ChatCompletion | openai.Stream[ChatCompletionChunk]:
        messages = [{"role": "system", "content": writer_interface.INSTRUCTION}, {"role": "user", "content": prompt}]
        limited = {"model": self.name, "messages": messages, self._limit: writer_interface.MAX_OUTPUT_TOKENS}
        streamed = {"stream": True, "stream_options": {"include_usage": True}} if is_streamed else {}
        create: Any = self._client.chat.completions.create  # its overloads need literal arguments
        for number in range(self._format, len(FORMATS)):
            try:
                reply: ChatCompletion | openai.Stream[ChatCompletionChunk] = create(
                    **limited, **streamed, **FORMATS[number]
                )
            except openai.APIStatusError as error:
                if error.status_code not in UNSUPPORTED or number == len(FORMATS) - 1:
                    raise
            else:
                self._format = number
                return reply
        raise AssertionError("the last format is returned or raises")


def _read(replies: Iterator[ChatCompletion | ChatCompletionChunk]) -> Iterator[Piece]:
    reason, failure = None, writer_interface.UNREADABLE
    for reply in replies:
        failure = writer_interface.CUT
        if reply.usage is not None:
            yield TokenUsage(reply.usage.prompt_tokens, reply.usage.completion_tokens)
        for choice in reply.choices[:1]:
            message = choice.delta if isinstance(choice, chat_completion_chunk.Choice) else choice.message
            if message.refusal:
                raise ModelFailure(writer_interface.REFUSED)
            reason = choice.finish_reason or reason
            yield message.content or ""
    if reason is None or reason == "length":
        raise ModelFailure(failure)
    if reason != "stop":
        raise ModelFailure(writer_interface.REFUSED)
