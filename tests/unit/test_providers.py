"""The provider, its address and its key come from the user: the environment or the user's configuration."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from lore_etl.config.settings import AnswerSettings, load_settings
from lore_etl.core.errors import ConfigError
from lore_server.answer.written_answers import Provider, chosen

LOCAL = "http://127.0.0.1:11434/v1"
KEYS = {"GEMINI_API_KEY": "g", "OPENAI_API_KEY": "o"}


def settings(**values: Any) -> AnswerSettings:
    return AnswerSettings(**values)


@pytest.mark.parametrize("provider", ["auto", "gemini"])
def test_gemini_needs_its_key_and_has_a_default_model(provider: str) -> None:
    found = chosen(settings(provider=provider), KEYS)

    assert (found.kind, found.model, found.key, found.missing) == ("gemini", "gemini-2.5-flash", "g", "")
    assert chosen(settings(provider=provider), {"OPENAI_API_KEY": "o"}).missing == "GEMINI_API_KEY is not set"


NO_OPENAI_KEY = "OPENAI_API_KEY is not set"


@pytest.mark.parametrize(
    ("values", "environment", "base_url", "missing"),
    [
        ({"model": "gpt-5-mini"}, KEYS, None, ""),
        ({}, KEYS, None, "answer.model is not set"),
        ({"model": "x"}, {}, None, NO_OPENAI_KEY),
        # a server on this machine needs no key; another host needs one and the environment
        ({"model": "qwen3", "base_url": LOCAL}, {}, LOCAL, ""),
        ({"model": "qwen3"}, {"OPENAI_BASE_URL": LOCAL}, LOCAL, ""),
        (
            {"model": "x"},
            {"OPENAI_BASE_URL": "https://gpu.example.com/v1"},
            "https://gpu.example.com/v1",
            NO_OPENAI_KEY,
        ),
    ],
)
def test_an_openai_endpoint_needs_a_model_and_on_another_host_a_key(
    values: dict[str, Any], environment: dict[str, str], base_url: str | None, missing: str
) -> None:
    found = chosen(settings(provider="openai", **values), environment)

    assert (found.kind, found.base_url, found.missing) == ("openai", base_url, missing)
    assert environment is not KEYS or found.key == "o"


def test_a_key_for_openai_alone_sends_nothing_anywhere() -> None:
    assert chosen(settings(), {"OPENAI_API_KEY": "o", "OPENAI_BASE_URL": LOCAL}).missing


@pytest.mark.parametrize(
    ("provider", "address", "reason"),
    [
        ("openai", "http://api.openai.com/v1", "would receive the key"),
        ("openai", "https://api.openai.com.evil.example", "would receive the key"),
        ("openai", "https://evil.example/api.openai.com", "would receive the key"),
        ("openai", "//x", "would receive the key"),
        ("openai", "https://x.googleapis.com", "would receive the key"),
        ("gemini", "https://api.openai.com/v1", "would receive the key"),
        ("openai", "https://gpu.example.com/v1", "set OPENAI_BASE_URL in the environment"),
    ],
)
def test_a_file_cannot_send_the_key_to_another_host_or_provider(provider: str, address: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        settings(provider=provider, base_url=address)


def test_a_missing_client_library_is_reported_with_the_extra_that_installs_it_and_the_key_is_not_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    missing = chosen(settings(provider="openai", model="x"), KEYS).missing
    found = Provider("openai", "x", None, "secret-key")

    assert "extra `openai`" in missing
    assert re.search(r"'\.\[documents,models,eval,openai,team(,ray)?\]'", missing)
    assert "secret-key" not in f"{found} {found!r}"


@pytest.mark.parametrize(
    "table",
    [
        'provider = "openai"', 'provider = "gemini"', 'model = "gpt-5"', f'base_url = "{LOCAL}"',
        "requests_per_minute = 0", "tokens_per_day = 0", "timeout_seconds = 600", "attempts = 10",
    ],
)  # fmt: skip
def test_a_project_cannot_choose_the_model_its_address_or_its_cost(
    tmp_path: Path, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    (tmp_path / "lore.toml").write_text(f"[answer]\n{table}\n")

    assert load_settings(tmp_path).answer == AnswerSettings()


def test_the_user_chooses_the_model_in_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    file = tmp_path / "lore" / "config.toml"
    file.parent.mkdir()
    file.write_text(f'[answer]\nprovider = "openai"\nmodel = "qwen3"\nbase_url = "{LOCAL}"\n')

    found = load_settings(tmp_path).answer
    assert (found.provider, found.model, found.base_url) == ("openai", "qwen3", LOCAL)

    file.write_text('[answer]\nprovider = "openai"\nbase_url = "https://gpu.example.com"\n')
    with pytest.raises(ConfigError, match="OPENAI_BASE_URL"):
        load_settings(tmp_path)
