"""The answer model: Gemini through google-genai, with a deadline and a bounded number of attempts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx2
from google import genai
from google.genai import errors, types

from lore_etl.config.settings import AnswerSettings
from lore_etl.core.errors import ProviderError
from lore_server.answer.timeout import within
from lore_server.execution.progress import ignore_text

RETRIED = [408, 429, 500, 502, 503, 504]


class GeminiWriter:
    """Writes text with Gemini. The project's documents are sent only if a user asks and a key is set."""

    def __init__(self, settings: AnswerSettings, key: str) -> None:
        self._model = settings.model
        self._seconds = settings.timeout_seconds * settings.attempts
        retry = types.HttpRetryOptions(
            attempts=settings.attempts, initial_delay=0.5, max_delay=4, exp_base=2, http_status_codes=RETRIED
        )
        timeout = max(1, int(settings.timeout_seconds * 1000))
        options = types.HttpOptions(base_url=settings.base_url, timeout=timeout, retry_options=retry)
        self._client = genai.Client(api_key=key, http_options=options)

    def write(self, instruction: str, prompt: str, on_text: Callable[[str], None] = ignore_text) -> str:
        """Return the model's text, passing it on piece by piece if there is a listener.

        Raises:
            ProviderError: it failed, was blocked, or its reply was cut or empty; the message never contains the key.
        """
        pieces = self._whole(instruction, prompt) if on_text is ignore_text else self._streamed(instruction, prompt)
        text = ""
        with _failures():
            try:
                for piece in within(self._seconds, pieces):
                    text += piece
                    on_text(piece)
            finally:
                self._client.close()  # also stops reading an abandoned reply
        if not text.strip():
            raise ProviderError("the answer model's reply was empty")
        return text.strip()

    def _whole(self, instruction: str, prompt: str) -> Iterator[str]:
        reply = self._client.models.generate_content(model=self._model, contents=prompt, config=_config(instruction))
        yield reply.text or ""

    def _streamed(self, instruction: str, prompt: str) -> Iterator[str]:
        """Yield the reply. Raises ProviderError if it ends unannounced, which the client library does not detect."""
        is_ended = False
        for reply in self._client.models.generate_content_stream(
            model=self._model, contents=prompt, config=_config(instruction)
        ):
            is_blocked = reply.prompt_feedback is not None and reply.prompt_feedback.block_reason is not None
            is_ended = is_ended or is_blocked or any(candidate.finish_reason for candidate in reply.candidates or ())
            yield reply.text or ""
        if not is_ended:
            raise ProviderError("the answer model's reply was truncated")


def _config(instruction: str) -> types.GenerateContentConfig:
    return types.GenerateContentConfig(
        system_instruction=instruction,
        temperature=0.1,
        max_output_tokens=2048,
        automatic_continuation=False,  # otherwise the client would repeat each of our attempts
    )


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except errors.APIError as error:
        raise ProviderError(f"the answer model replied {error.code}") from error
    except (httpx2.TimeoutException, TimeoutError) as error:
        raise ProviderError("the answer model did not reply in time") from error
    except httpx2.HTTPError as error:
        raise ProviderError(f"the answer model cannot be reached ({type(error).__name__})") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ProviderError("the answer model's reply cannot be read") from error
