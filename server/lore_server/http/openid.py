"""Accept tokens of an OpenID provider, as an OAuth 2.1 resource server; the groups in a token decide its rights."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import anyio.to_thread
import httpx
import jwt
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from pydantic import AnyHttpUrl
from starlette.routing import Route

from lore_etl.config.settings import AuthSettings
from lore_etl.core.errors import ProviderUnavailable
from lore_server.http.access import Access, Level

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
SECONDS = 10.0
AGAIN_SECONDS = 60.0  # between two requests for the keys, because anyone can name an unknown key
LONGEST_SECONDS = 3_600.0
LEEWAY_SECONDS = 30
LONGEST = 16_384  # characters of a token


class Issuer:
    """The provider that signs tokens for this server."""

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
        except jwt.PyJWTError:
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
    reply = httpx.get(address, timeout=SECONDS)
    reply.raise_for_status()
    found: dict[str, Any] = reply.json()
    return found
