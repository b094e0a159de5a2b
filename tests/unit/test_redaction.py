"""The secrets of these tests are put together at run time, so that no file holds anything that looks like one."""

from __future__ import annotations

import pytest

from etl.redaction import redact

WORD = "aB3" * 20
SECRETS = {
    "aws_key": "AK" + "IA" + "ABCDEFGH12345678",
    "github_token": "gh" + "p_" + WORD[:36],
    "gitlab_token": "gl" + "pat-" + WORD[:20],
    "google_key": "AI" + "za" + WORD[:35],
    "slack_token": "xo" + "xb-" + WORD[:24],
    "stripe_key": "sk" + "_live_" + WORD[:24],
    "openai_key": "sk" + "-proj-" + WORD[:40],
    "npm_token": "np" + "m_" + WORD[:36],
    "jwt": ".".join(["ey" + "J" + WORD[:20], "ey" + "J" + WORD[:30], WORD[:40]]),
}
OTHERS = {
    "github_token": "github" + "_pat_" + WORD[:40],
    "aws_key": "AS" + "IA" + "ABCDEFGH12345678",
    "openai_key": "sk" + "-ant-" + WORD[:40],
}


@pytest.mark.parametrize(("name", "secret"), [*SECRETS.items(), *OTHERS.items()])
@pytest.mark.parametrize("around", ["{}", 'key = "{}"', "Authorization: Bearer {}", "a {}, b", "x={}&y=1", "({})"])
def test_a_token_is_replaced_by_its_kind_wherever_it_stands(name: str, secret: str, around: str) -> None:
    assert redact(around.format(secret)) == (around.format(f"[redacted {name}]"), 1)


def test_a_password_in_an_address_goes_and_the_address_stays() -> None:
    secret = "user:" + WORD[:12]

    assert redact(f"postgres://{secret}@db.example.org:5432/x") == (
        "postgres://[redacted url_password]@db.example.org:5432/x",
        1,
    )


@pytest.mark.parametrize("prefix", ["", "# ", " * "])
def test_a_private_key_goes_line_by_line_and_the_lines_around_it_stay(prefix: str) -> None:
    begin, end = (f"-----{word} RSA PRIVATE " + "KEY-----" for word in ("BEGIN", "END"))
    lines = ["before", *(prefix + line for line in (begin, WORD[:60], WORD[:40] + "==", end)), WORD]

    text, count = redact("\n".join(lines))

    secret = "[redacted private_key]"
    assert text.split("\n") == ["before", prefix + begin, secret, secret, prefix + end, WORD]
    assert count == 1


def test_all_secrets_of_a_text_are_counted_and_its_lines_stay_in_place() -> None:
    lines = [f"line {n}: {secret}" for n, secret in enumerate(SECRETS.values())]

    text, count = redact("\n".join(lines))

    assert count == len(SECRETS)
    assert text.count("\n") == len(lines) - 1
    assert not any(secret in text for secret in SECRETS.values())


@pytest.mark.parametrize(
    "text",
    [
        "d41d8cd98f00b204e9800998ecf8427e",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "123e4567-e89b-12d3-a456-426614174000",
        "sk-learn, task-runner and AKIA are words; eyJ is not a token",
        "https://example.org:8080/path?user=a@b.c",
        "http://${USER}:${PASSWORD}@host and http://user:<password>@host",
        "const className = 'Neo.button.Base'; // v11.18.0",
        "npm_config_registry=https://example.org",
    ],
)
def test_hashes_ids_and_words_are_left_alone(text: str) -> None:
    assert redact(text) == (text, 0)
