"""The properties of `lore serve` that the guard and the page need: host names, openness, project, and who signs in."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio.to_thread
import httpx
import jwt
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from pydantic import AnyHttpUrl, ValidationError
from starlette.routing import Route

from lore_etl.config.project import index_folder, user_state_folder
from lore_etl.config.settings import LOOPBACK, AuthSettings, ServerSettings, Settings, is_loopback
from lore_etl.core.errors import ConfigError, ProviderUnavailable, TokenRequired
from lore_server.contract import ACROSS_PROJECTS, Operation
from lore_server.execution.threads import PROJECTS
from lore_server.http.access import ANYONE_HERE, OWNER, Access, Level, NamedTokens, Token, secret_in, token_of

ASSETS = "/assets/"
PROJECT = "/projects/"  # precedes the name of one of many projects
EDITOR = "vscode://file/{path}:{line}"
_EVERYWHERE = frozenset({"0.0.0.0", "::"})
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
SECONDS = 10.0
AGAIN_SECONDS = 60.0  # between two requests for the keys, because anyone can name an unknown key
LONGEST_SECONDS = 3_600.0
LEEWAY_SECONDS = 30
LONGEST = 16_384  # characters of a token
WEBHOOK_VARIABLE = "LORE_WEBHOOK_SECRET"
_SIGNED = re.compile(r"[\w-]+\.[\w-]+\.[\w-]+")  # the form of a JSON Web Token


class Issuer:
    """The OpenID provider that signs tokens for this OAuth 2.1 resource server; the groups in one decide its rights."""

    def __init__(self, settings: AuthSettings, now: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._now = now
        self._keys: dict[str, Any] = {}
        self._asked_at = self._read_at = float("-inf")
        self._problem: Exception | None = None  # of the last request
        self.metadata_url = str(build_resource_metadata_url(AnyHttpUrl(settings.audience)))

    def routes(self) -> list[Route]:
        """Return the route with the metadata of this protected resource (RFC 9728)."""
        address = AnyHttpUrl(self._settings.audience)
        return create_protected_resource_routes(address, [AnyHttpUrl(self._settings.issuer)], resource_name="Lore")

    async def access(self, token: str) -> Access | None:
        """Return the rights of a token; None if it is not valid here. Raises ProviderUnavailable."""
        claims = await anyio.to_thread.run_sync(self._claims, token)
        if claims is None:
            return None
        named = claims.get(self._settings.groups_claim)
        groups = [one for one in (named if isinstance(named, list) else [named]) if isinstance(one, str)]
        rights: dict[str, Level] = {}
        for group in groups:
            for project, level in self._settings.groups.get(group, {}).items():
                rights[project] = max(rights.get(project, Level.NONE), Level[level.upper()])
        return Access(f"openid:{claims['sub']}", rights)

    def _claims(self, token: str) -> dict[str, Any] | None:
        """Return what a token says, after its signature, issuer, audience and time. Raises ProviderUnavailable."""
        try:
            head = jwt.get_unverified_header(token) if len(token) <= LONGEST else {}
            key = self._key(str(head.get("kid", "")))
            if key is None:
                return None
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=ALGORITHMS,
                audience=self._settings.audience,
                issuer=self._settings.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except (jwt.PyJWTError, TypeError):  # PyJWT raises a TypeError for a key of another kind
            return None
        return claims

    def _key(self, name: str) -> Any:
        """Return the provider's key with this name; its keys are read again if there is none, and every hour."""
        now = self._now()
        if (name not in self._keys or now - self._read_at > LONGEST_SECONDS) and now - self._asked_at > AGAIN_SECONDS:
            self._asked_at, self._problem = now, None
            try:
                found = _json(f"{self._settings.issuer.rstrip('/')}/.well-known/openid-configuration")
                keys = jwt.PyJWKSet.from_dict(_json(found["jwks_uri"])).keys
                self._keys, self._read_at = {str(key.key_id or ""): key.key for key in keys}, now
            except (httpx.HTTPError, ValueError, KeyError, TypeError, jwt.PyJWTError) as error:
                self._problem = error
        if now - self._read_at > LONGEST_SECONDS or (name not in self._keys and self._problem is not None):
            raise ProviderUnavailable("The OpenID provider does not return its keys.") from self._problem
        return self._keys.get(name)


def _json(address: str) -> dict[str, Any]:
    return dict(httpx.get(address, timeout=SECONDS).raise_for_status().json())


@dataclass(frozen=True)
class Site:
    """A running server of one project, or `many` by name; one that `is_open` to other machines requires the token."""

    project: str
    root: Path
    token: Token
    host: str = "127.0.0.1"
    port: int = 0
    hosts: frozenset[str] = LOOPBACK
    is_open: bool = False
    many: Mapping[str, Path] = field(default_factory=dict)
    tokens: NamedTokens = field(default_factory=lambda: NamedTokens(user_state_folder()))
    issuer: Issuer | None = None
    is_replica: bool = False
    webhook_secret: str | None = field(default=None, repr=False)
    webhooks: Mapping[str, Sequence[str]] = field(default_factory=dict)

    async def access(self, authorization: str | None, name: str | None) -> Access:
        """Return the rights of a request with this header. Raises TokenRequired, ProviderUnavailable."""
        if authorization is None:
            if self.is_private(name):
                return ANYONE_HERE
            raise TokenRequired("Every request to this server needs the token.")
        if self.token.is_in(authorization.encode("latin-1")):
            return OWNER
        scheme, _, given = authorization.partition(" ")
        given = given.strip() if scheme.lower() == "bearer" else ""
        found = self.tokens.access(given)
        if found is None and self.issuer is not None and _SIGNED.fullmatch(given):
            found = await self.issuer.access(given)
        if found is None:
            raise TokenRequired("The token is unknown, expired or revoked.")
        return found

    def asked(self) -> tuple[str, ...]:
        return PROJECTS.get() or tuple(self.many or (self.project,))

    def serves(self, operation: Operation) -> bool:
        """Return whether an operation is served at the address of the current call, which may be for many projects."""
        if self.is_replica:
            return operation.is_replicated
        return not self.many or len(PROJECTS.get()) == 1 or operation.id in ACROSS_PROJECTS

    def is_private(self, name: str | None) -> bool:
        """Return whether requests with this host name come from this machine only.

        A name that a project's configuration allows may belong to anyone, so its page does not get the token.
        """
        return not self.is_open and name in LOOPBACK

    @property
    def notice(self) -> str:
        """Return the notice at startup, without the token itself."""
        if not self.is_open:
            return f"Token for operations that make changes: {self.token.place}."
        return (
            f"OPEN TO OTHER MACHINES on {self.host}: every request needs the token ({self.token.place}). "
            f"It accepts only the names {', '.join(sorted(self.hosts))} (server.allowed_hosts); "
            "the traffic is not encrypted: put a TLS proxy in front of it."
        )


def listening(settings: Settings, host: str | None = None, port: int | None = None) -> ServerSettings:
    """Return where to listen: the configuration, overridden by the command line. Raises ConfigError."""
    given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    try:
        return ServerSettings.model_validate({**settings.server.model_dump(), **given})
    except ValidationError as error:
        key = error.errors()[0]["loc"][0]
        raise ConfigError(f"`{given.get(str(key))}` is not a valid {key}: {error.errors()[0]['msg']}.") from error


def site_of(
    root: Path,
    settings: Settings,
    host: str | None = None,
    port: int | None = None,
    many: Mapping[str, Path] | None = None,
    is_replica: bool = False,
) -> Site:
    """Return the site; its token is created if there is none and only this machine can reach it. Raises LoreError."""
    server, issuer = listening(settings, host, port), None
    if settings.auth.issuer:
        if not settings.auth.audience:
            hint = "Set it to the public address of MCP on this server."
            raise ConfigError("`auth.issuer` needs `auth.audience`.", hint)
        issuer = Issuer(settings.auth)
    is_open = not is_loopback(server.host)
    is_index = not many and not is_replica
    folder = index_folder(root, settings.index.path) if is_index else user_state_folder()
    bound = set() if server.host in _EVERYWHERE else {server.host.casefold()}
    return Site(
        project=root.name,
        root=root,
        token=token_of(folder, make=not is_open, is_index=is_index),
        many=many or {},
        is_replica=is_replica,
        webhook_secret=None if is_replica else secret_in(WEBHOOK_VARIABLE),
        webhooks=server.webhooks,
        issuer=issuer,
        host=server.host,
        port=server.port,
        hosts=LOOPBACK | bound | {name.casefold() for name in server.allowed_hosts},
        is_open=is_open,
    )
