"""The answer model: Gemini through google-genai, with a deadline and a bounded number of attempts."""

from __future__ import annotations

import httpx2
from google import genai
from google.genai import errors, types

from etl.errors import ProviderError
from etl.settings import AnswerSettings

RETRIED = [408, 429, 500, 502, 503, 504]


class GeminiWriter:
    """Writes text from a prompt. The project's documents go to the API only when someone asks with a key set."""

    def __init__(self, settings: AnswerSettings, key: str) -> None:
        self._model = settings.model
        retry = types.HttpRetryOptions(
            attempts=settings.attempts, initial_delay=0.5, max_delay=4, exp_base=2, http_status_codes=RETRIED
        )
        timeout = max(1, int(settings.timeout_seconds * 1000))
        options = types.HttpOptions(base_url=settings.base_url, timeout=timeout, retry_options=retry)
        self._client = genai.Client(api_key=key, http_options=options)

    def write(self, instruction: str, prompt: str) -> str:
        """The model's text.

        Raises:
            ProviderError: it failed, was blocked or said nothing; the message never holds the key.
        """
        config = types.GenerateContentConfig(system_instruction=instruction, temperature=0.1, max_output_tokens=2048)
        try:
            reply = self._client.models.generate_content(model=self._model, contents=prompt, config=config)
            text = reply.text
        except errors.APIError as error:
            raise ProviderError(f"the answer model replied {error.code}") from error
        except httpx2.TimeoutException as error:
            raise ProviderError("the answer model did not reply in time") from error
        except httpx2.HTTPError as error:
            raise ProviderError(f"the answer model cannot be reached ({type(error).__name__})") from error
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ProviderError("the answer model's reply cannot be read") from error
        if not text or not text.strip():
            raise ProviderError("the answer model's reply was empty")
        return text.strip()
