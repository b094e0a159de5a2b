"""Tokens of an OpenID provider: signature, issuer, audience and time count, and groups decide the projects."""

import time
from collections.abc import Callable, Iterator

import anyio
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key

from lore_etl.config.settings import AuthSettings
from lore_etl.core.errors import ProviderUnavailable
from lore_server.http.site import Issuer
from tests.harness import http_client
from tests.harness.interfaces import serving
from tests.harness.openid import AUDIENCE, Provider, new_key, provider
from tests.harness.projects import write_project

METADATA = "https://lore.example.com/.well-known/oauth-protected-resource/mcp"


@pytest.fixture(scope="module")
def issuer() -> Iterator[Provider]:
    with provider() as running:
        yield running


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory, issuer: Provider) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("openid")
    config = (
        f'[auth]\nissuer = "{issuer.address}"\naudience = "{AUDIENCE}"\n'
        '[auth.groups.team]\na = "write"\n[auth.groups.readers]\n"*" = "read"\n'
    )
    write_project(folder, {"config/lore/config.toml": config, "projects/a/lore.toml": "", "projects/b/lore.toml": ""})
    with serving(
        folder, more=["--projects", str(folder / "projects")], XDG_CONFIG_HOME=str(folder / "config")
    ) as address:
        yield address


def status(url: str, token: str, path: str = "/projects/a/api/healthcheck", method: str = "GET") -> tuple[int, str]:
    headers = {"Authorization": f"Bearer {token}"}
    sent = {"action": "delete"} if method == "POST" else None
    reply = http_client.request(method, url + path, headers=headers, json=sent)
    return reply.status_code, reply.json().get("code", "")


MANAGE = "/projects/a/api/db/data/manage"


@pytest.mark.parametrize(
    ("groups", "reads_a", "writes_a", "reads_b", "writes_b"),
    [
        (["team"], 200, 409, 403, 403),
        ("team", 200, 409, 403, 403),
        (["readers"], 200, 403, 200, 403),
        (["team", "readers"], 200, 409, 200, 403),
        (["others"], 403, 403, 403, 403),
        ([], 403, 403, 403, 403),
        (None, 403, 403, 403, 403),
        ([1, {}], 403, 403, 403, 403),
        ({"team": 1}, 403, 403, 403, 403),
    ],
)
def test_groups_decide_the_projects(
    url: str, issuer: Provider, groups: object, reads_a: int, writes_a: int, reads_b: int, writes_b: int
) -> None:
    token = issuer.token(groups=groups)
    calls = [
        status(url, token),
        status(url, token, MANAGE, "POST"),  # without `confirm`: 409 if it is admitted
        status(url, token, "/projects/b/api/healthcheck"),
        status(url, token, MANAGE.replace("/a/", "/b/"), "POST"),
    ]

    assert [code for code, _ in calls] == [reads_a, writes_a, reads_b, writes_b]


WRONG: dict[str, Callable[[Provider], str]] = {
    "expired": lambda issuer: issuer.token(exp=time.time() - 300),
    "not valid yet": lambda issuer: issuer.token(nbf=time.time() + 300),
    "for another audience": lambda issuer: issuer.token(aud="https://other.example.com"),
    "without an audience": lambda issuer: issuer.token(aud=None),
    "of another issuer": lambda issuer: issuer.token(iss="https://other.example.com"),
    "without an end": lambda issuer: issuer.token(exp=None),
    "without a subject": lambda issuer: issuer.token(sub=None),
    "signed by another key": lambda issuer: issuer.token(new_key()),
    "signed by an unknown key": lambda issuer: issuer.token(new_key(), kid="unknown"),
    "signed by a key of another kind": lambda issuer: jwt.encode(
        {"iss": issuer.address}, generate_private_key(SECP256R1()), algorithm="ES256", headers={"kid": "first"}
    ),
    "unsigned": lambda issuer: jwt.encode({"iss": issuer.address, "aud": AUDIENCE, "sub": "x"}, "", algorithm="none"),
    "signed with a shared secret": lambda issuer: jwt.encode(
        {"iss": issuer.address, "aud": AUDIENCE, "sub": "x", "exp": time.time() + 99},
        "s" * 64,
        headers={"kid": "first"},
    ),
    "changed": lambda issuer: issuer.token()[:-4] + "AAAA",
    "no token": lambda issuer: "a.b.c",
    "too long": lambda issuer: f"a.{'b' * 20_000}.c",
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_token_is_refused_with_the_address_of_the_metadata(url: str, issuer: Provider, kind: str) -> None:
    headers = {"Authorization": f"Bearer {WRONG[kind](issuer)}"}
    reply = http_client.get(f"{url}/mcp/a", headers=headers)

    assert (reply.status_code, reply.json()["code"]) == (401, "TOKEN_REQUIRED")
    assert reply.headers.get_list("WWW-Authenticate") == [f'Bearer realm="lore", resource_metadata="{METADATA}"']


def test_a_supervisor_needs_no_valid_token(url: str) -> None:
    reply = http_client.get(f"{url}/livez", headers={"Authorization": "Bearer lore_wrong-wrong-wrong"})

    assert (reply.status_code, reply.json()) == (200, {"live": True})


def test_the_metadata_names_the_issuer_without_a_token(url: str, issuer: Provider) -> None:
    reply = http_client.get(f"{url}/.well-known/oauth-protected-resource/mcp").json()

    assert reply["resource"] == AUDIENCE
    assert [address.rstrip("/") for address in reply["authorization_servers"]] == [issuer.address]


def test_unknown_keys_do_not_make_the_server_ask_again_and_again(url: str, issuer: Provider) -> None:
    status(url, issuer.token())
    before = len(issuer.requests)
    for number in range(20):
        status(url, issuer.token(new_key(), kid=f"unknown {number}") if number < 2 else issuer.token(kid=f"x{number}"))

    assert len(issuer.requests) - before <= 2


def test_a_provider_that_is_away_is_asked_once_a_minute(issuer: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    accepted = Issuer(AuthSettings(issuer=issuer.address, audience=AUDIENCE), now=lambda: now)

    def outcome(kid: str) -> str:
        try:
            return "accepted" if anyio.run(accepted.access, issuer.token(kid=kid)) else "refused"
        except ProviderUnavailable:
            return "unavailable"

    monkeypatch.setattr(issuer, "is_away", True)
    before = len(issuer.requests)
    assert {outcome(kid) for kid in ("first", "unknown", *map(str, range(20)))} == {"unavailable"}
    assert len(issuer.requests) - before == 1
    issuer.is_away, now = False, 61.0
    assert [outcome("first"), outcome("unknown")] == ["accepted", "refused"]
    issuer.is_away, now = True, 200.0
    before = len(issuer.requests)
    assert [outcome("unknown"), outcome("first"), outcome("other")] == ["unavailable", "accepted", "unavailable"]
    now = 61.0 + 3_601  # its keys are too old, and one of them may be revoked
    assert [outcome("first"), outcome("first")] == ["unavailable", "unavailable"]
    assert len(issuer.requests) - before == 2
