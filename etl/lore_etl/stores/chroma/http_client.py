"""Connect to Chroma over HTTP, through Chroma's client, with the timeouts that it lacks and with Lore's errors."""

import json
import ssl
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx

from lore_etl.core.json_types import JSON
from lore_etl.stores.chroma.client import OurSettings, bare, fit, hnsw  # isort: split

from chromadb.api import ServerAPI
from chromadb.api.models.Collection import Collection
from chromadb.auth.token_authn import TokenTransportHeader
from chromadb.config import System
from chromadb.errors import ChromaError, NotFoundError, error_types

from lore_etl.config.settings import DatabaseSettings
from lore_etl.core.errors import DatabaseUnavailable, IndexDamaged, LoreError, explaining
from lore_etl.stores.chroma.address import API_KEY, Address
from lore_etl.stores.chroma.backend import LIMIT, Limits
from lore_etl.system.request_limits import limit_requests

CONNECT_SECONDS = 10
TIMEOUTS = 4  # that a request of a sync may take in all: it may send a megabyte over a slow connection
MAX_BYTES = 256_000_000  # of a reply: a page of rows takes a few megabytes
PAGE = 100
_CHECK_KEY = f"Check the variable that `database.headers` names, or {API_KEY}."
_CHECK_PLACE = "Check `database.host`, `port` and `ssl` in your configuration."


class HttpChroma:
    """A connection to one database of one tenant on one server. Raises DatabaseUnavailable."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._system = System(_settings(address))
        self._api: Any = self._system.instance(ServerAPI)
        self._api._session.close()
        self._api._session = self._session = _session(address, dict(self._api._session.headers), self._check)
        try:
            with explaining(self.explain):
                self._place = self._greet()
        except BaseException:
            self._session.close()
            raise

    def collection(self, name: str, configuration: JSON, rows: int) -> Any:
        """Return a collection, created if necessary, for so many rows. Raises StorageError and Chroma's errors."""
        model = self._api.get_or_create_collection(name=name, configuration=configuration, **self._place)
        collection = bare(Collection(client=self._api, model=model, embedding_function=None))
        fit(collection, configuration, rows)
        return collection

    def count(self, name: str) -> int | None:
        """Return the number of rows in the collection of that name; None if it does not exist."""
        try:
            model = self._api.get_collection(name=name, **self._place)
            return int(self._api._count(model.id, **self._place))
        except NotFoundError:
            return None

    def names(self) -> list[str]:
        found: list[str] = []
        while True:
            page = self._api.list_collections(PAGE, len(found), **self._place)
            found += [collection.name for collection in page]
            if len(page) < PAGE:
                return found

    def remove(self, name: str) -> None:
        with suppress(NotFoundError):
            self._api.delete_collection(name=name, **self._place)

    def close(self) -> None:
        self._system.stop()
        self._session.close()

    def explain(self, error: BaseException) -> LoreError | None:
        """Return the Lore error for a connection error; None for other errors, such as those that Chroma reports."""
        if isinstance(error, LoreError):
            return error
        if isinstance(error, httpx.TimeoutException):
            seconds = min(LIMIT.get() or self.address.timeout_seconds, self.address.timeout_seconds)
            return self._unavailable(f"did not respond within {seconds:g} s")
        if isinstance(error, httpx.HTTPError):
            reason = (str(error) or type(error).__name__).rstrip(".")[:200]
            return self._unavailable(f"cannot be reached: {reason}")
        if isinstance(error, json.JSONDecodeError):
            return DatabaseUnavailable(f"The server at {self.address} is not Chroma.", _CHECK_PLACE)
        return None

    def explain_all(self, error: BaseException) -> LoreError | None:
        if isinstance(error, NotFoundError):
            return IndexDamaged(f"The collection no longer exists in Chroma at {self.address}.")
        explained = self.explain(error)
        if explained is None and isinstance(error, (ChromaError, ValueError)):
            return self._reported(error)
        return explained

    def _reported(self, error: Exception) -> DatabaseUnavailable:
        text = f"{type(error).__name__}: {str(error)[:200]}".rstrip(".")
        return self._unavailable(f"reports {text}", "See the server's log.")

    def _unavailable(self, problem: str, hint: str | None = None) -> DatabaseUnavailable:
        return DatabaseUnavailable(f"Chroma at {self.address} {problem}.", hint)

    def _greet(self) -> dict[str, str]:
        """Check the server; return the arguments that name its tenant and database. Raises DatabaseUnavailable."""
        try:
            self._api.heartbeat()
        except ChromaError as error:
            raise self._reported(error) from error
        except (KeyError, TypeError, ValueError) as error:
            raise DatabaseUnavailable(f"The server at {self.address} is not Chroma.", _CHECK_PLACE) from error
        tenant, database = self.address.tenant, self.address.database
        if tenant is None or database is None:
            identity = self._api.get_user_identity()
            tenant, database = tenant or identity.tenant, database or _only(identity.databases)
        try:
            self._api.get_tenant(name=tenant)
            self._api.get_database(name=database, tenant=tenant)
        except ChromaError as error:
            hint = "Check `database.tenant` and `database.database` in your configuration; Lore does not create them."
            raise self._unavailable(f"has no database `{database}` in a tenant `{tenant}`", hint) from error
        return {"tenant": tenant, "database": database}

    def _check(self, response: httpx.Response) -> None:
        """Raise clear errors for replies that are not from Chroma; Chroma's client would raise their raw text."""
        if response.is_success:
            return
        response.read()
        status = response.status_code
        if status in (401, 403):
            raise self._unavailable(f"denied access (HTTP {status})", _CHECK_KEY)
        if status == 429:
            raise self._unavailable("is overloaded (HTTP 429)", "Wait, then try again.")
        try:
            name = response.json()["error"]
        except (ValueError, KeyError, TypeError):
            name = None
        if name not in error_types:
            raise self._unavailable(f"replied with HTTP {status}", _CHECK_PLACE)


@dataclass
class RemoteBackend:
    """A collection of a server, with the methods of `FolderBackend`."""

    chroma: HttpChroma
    name: str
    settings: DatabaseSettings
    limits: Limits
    _is_lost: bool = False

    def open(self, rows: int) -> Any:
        # Chroma Cloud has another kind of index, and chooses its settings itself
        is_cloud = self.chroma.address.token is not None
        configuration = {"spann": {"space": "cosine"}} if is_cloud else hnsw(self.settings)
        return self.chroma.collection(self.name, configuration, rows)

    def where(self) -> str:
        return f"at {self.chroma.address}, collection {self.name}"

    def is_alive(self) -> bool:
        return not self._is_lost

    def unseal(self) -> None:
        """Do nothing: a server manages its own files."""

    clean = seal = unseal

    def close(self, is_sound: bool) -> None:
        self.chroma.close()

    def explain(self, error: BaseException) -> LoreError | None:
        explained = self.chroma.explain_all(error)
        self._is_lost = self._is_lost or explained is not None
        return explained


def _settings(address: Address) -> OurSettings:
    settings = OurSettings(
        chroma_api_impl="chromadb.api.fastapi.FastAPI",
        chroma_server_host=f"[{address.host}]" if ":" in address.host else address.host,
        chroma_server_http_port=address.port,
        chroma_server_ssl_enabled=address.ssl,
        chroma_server_headers=dict(address.headers),
        anonymized_telemetry=False,
    )
    if address.token is not None:
        settings.chroma_client_auth_provider = "chromadb.auth.token_authn.TokenAuthClientProvider"
        settings.chroma_client_auth_credentials = address.token
        settings.chroma_auth_token_transport_header = TokenTransportHeader.X_CHROMA_TOKEN
    return settings


def _session(address: Address, headers: dict[str, str], check: Any) -> httpx.Client:
    """Return a session to replace Chroma's, whose calls have no timeout. Raises DatabaseUnavailable."""
    try:
        verify = ssl.create_default_context(cafile=address.ca_file) if address.ca_file else True
    except OSError as error:
        message = f"Cannot read the certificates in `database.ca_file`: {error.strerror or error}."
        hint = "Give a PEM file with the certificate of the authority that signed the server's certificate."
        raise DatabaseUnavailable(message, hint) from error
    client = httpx.Client(
        headers=headers,
        timeout=httpx.Timeout(address.timeout_seconds, connect=min(CONNECT_SECONDS, address.timeout_seconds)),
        verify=verify,
        trust_env=not address.is_ours,  # proxies of the environment are only for remote servers
        event_hooks={"response": [check]},
    )
    limit_requests(client, lambda: LIMIT.get() or TIMEOUTS * address.timeout_seconds, MAX_BYTES, is_unpacked=True)
    return client


def _only(databases: Any) -> str:
    names = [database for database in databases or () if database != "*"]
    if len(names) != 1:
        raise DatabaseUnavailable("The key does not identify a database.", "Set `database.database`.")
    return str(names[0])
