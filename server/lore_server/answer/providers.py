"""Choose the answer model from the user's settings and environment; a project can only disable it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from lore_etl.config.settings import AnswerSettings, is_this_machine
from lore_etl.core.errors import PackageMissing
from lore_etl.core.extras import require
from lore_server.answer.answer_model import AnswerModel

if TYPE_CHECKING:
    import httpx2

GEMINI_MODEL = "gemini-2.5-flash"
UNUSED_KEY = "unused"  # the client requires a key, local servers do not


class Provider(NamedTuple):
    """The chosen provider, or why none is available. `key` never appears in a reply or log."""

    kind: str
    model: str
    base_url: str | None
    key: str
    missing: str = ""

    def __repr__(self) -> str:
        return f"Provider({self.kind}, {self.model})"

    def open(self, seconds: float, http: httpx2.Client) -> AnswerModel:
        """Import the client library and create the model; `seconds` is the timeout between two bytes."""
        if self.kind == "gemini":
            from lore_server.answer.gemini_writer import GeminiWriter

            return GeminiWriter(self.model, self.key, self.base_url, seconds, http)
        from lore_server.answer.openai_writer import OpenAIWriter

        return OpenAIWriter(self.model, self.key, self.base_url, seconds, http)


def chosen(settings: AnswerSettings, environment: Mapping[str, str] = os.environ) -> Provider:
    """Return the provider that the settings choose, with the key from the environment."""
    if settings.provider == "none":
        return Provider("none", "", None, "", "answer.provider is none")
    if settings.provider != "openai":
        key = environment.get("GEMINI_API_KEY", "")
        missing = "" if key else "GEMINI_API_KEY is not set"
        return Provider("gemini", settings.model or GEMINI_MODEL, settings.base_url, key, missing)
    base_url = settings.base_url or environment.get("OPENAI_BASE_URL") or None
    key = environment.get("OPENAI_API_KEY", "")
    if not key and base_url and is_this_machine(base_url):
        key = UNUSED_KEY
    missing = ""
    if not settings.model:
        missing = "answer.model is not set"
    elif not key:
        missing = "OPENAI_API_KEY is not set"
    try:
        require("openai", 'answer.provider = "openai"')
    except PackageMissing as error:
        missing = f"{error.message} {error.hint}".rstrip(".")
    return Provider("openai", settings.model, base_url, key, missing)
