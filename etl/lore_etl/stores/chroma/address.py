"""Check the address of a remote Chroma in the user's configuration, with secrets from the environment.

In case of a careless approval, it can name only variables `CHROMA_…`, and Chroma Cloud's key is sent only to it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from lore_etl.config.settings import DatabaseSettings, is_loopback
from lore_etl.core.errors import ConfigError

API_KEY = "CHROMA_API_KEY"
CLOUD, CLOUD_DOMAIN = "api.trychroma.com", ".trychroma.com"
NAME_LENGTH = 100  # Chroma Cloud allows 128, and a generation's name is longer than the configured name
_HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?|\[?[0-9a-fA-F:]+\]?")
_VARIABLE = re.compile(r"\benv:([A-Za-z_][A-Za-z0-9_]*)")
_HEADER = re.compile(r"[A-Za-z0-9-]+")
_SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "x-chroma-token", "x-api-key", "cookie"})
_REMOTE_KEYS = ("host", "port", "ssl", "ca_file", "headers", "tenant", "database")


@dataclass(frozen=True)
class Address:
    """The address of a Chroma server. A tenant or database of None is determined by the key; `repr` omits secrets."""

    host: str
    port: int
    ssl: bool = False
    ca_file: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    token: str | None = field(default=None, repr=False)
    tenant: str | None = "default_tenant"
    database: str | None = "default_database"
    timeout_seconds: float = 30
    is_ours: bool = False
    """Whether this is Lore's own child server on this machine, for which no proxy is used."""

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def check_local(settings: DatabaseSettings) -> None:
    """Reject keys that have no effect when Lore manages the files. Raises ConfigError."""
    for key in _REMOTE_KEYS:
        if getattr(settings, key):
            hint = 'Remove it, or set `database.mode` to "http" or "cloud".'
            raise _wrong(key, f' has no effect with `database.mode = "{settings.mode}"`', hint)


def http_address(settings: DatabaseSettings, environment: Mapping[str, str]) -> Address:
    """Return the configured address of a Chroma server. Raises ConfigError."""
    if not settings.host:
        hint = 'Set the host of Chroma, such as `host = "chroma.example.org"`, or set `mode = "server"`.'
        raise _wrong("host", ' is missing: `database.mode = "http"` needs it', hint)
    address = _address(settings, settings.host, bool(settings.ssl))
    headers = {name: _header(name, value, environment) for name, value in settings.headers.items()}
    tenant, database = address.tenant or "default_tenant", address.database or "default_database"
    return replace(address, headers=headers, tenant=tenant, database=database)


def cloud_address(settings: DatabaseSettings, environment: Mapping[str, str]) -> Address:
    """Return the address of Chroma Cloud, with the key from the environment. Raises ConfigError."""
    host = settings.host.strip("[]") or CLOUD
    if not (host.endswith(CLOUD_DOMAIN) or is_loopback(host)):
        hint = f'Remove it to use {CLOUD}, or set `database.mode = "http"`.'
        raise _wrong("host", f": `{host}` is not a host of Chroma Cloud and does not receive the key", hint)
    if settings.ssl is False and not is_loopback(host):
        raise _wrong("ssl", ": Chroma Cloud requires TLS", "Remove it.")
    if settings.headers:
        raise _wrong("headers", " has no effect in the cloud", f"Remove it: {API_KEY} is used instead.")
    address = _address(settings, host, settings.ssl is not False)
    token = environment.get(API_KEY, "").strip()
    if not token:
        hint = f"Set {API_KEY} to a key of your Chroma Cloud database. It is read from the environment only."
        raise ConfigError(f'The environment has no {API_KEY}: `database.mode = "cloud"` needs it.', hint)
    return replace(address, token=token, port=settings.port or 443)


def _address(settings: DatabaseSettings, host: str, ssl: bool) -> Address:
    if not _HOST.fullmatch(host):
        hint = "Give only the host name; set `database.port` and `database.ssl` separately."
        raise _wrong("host", f": `{host}` is not a valid host", hint)
    if settings.ca_file and not ssl:
        raise _wrong("ca_file", " needs TLS", "Set `database.ssl = true`.")
    if len(settings.collection) > NAME_LENGTH:
        raise _wrong("collection", f" is longer than {NAME_LENGTH} characters", "Choose a shorter one.")
    return Address(
        host.strip("[]"),
        settings.port or (443 if ssl else 8000),
        ssl=ssl,
        ca_file=settings.ca_file or None,
        tenant=settings.tenant or None,
        database=settings.database or None,
        timeout_seconds=settings.timeout_seconds,
    )


def _header(name: str, value: str, environment: Mapping[str, str]) -> str:
    key = f"headers.{name}"
    if not _HEADER.fullmatch(name):
        raise _wrong(key, " is not a valid header name", "Use letters, digits and `-`.")
    variables = _VARIABLE.findall(value)
    if name.casefold() in _SECRET_HEADERS and not variables:
        hint = f'Put it in the environment and write `{name} = "env:CHROMA_TOKEN"`, or `"Bearer env:CHROMA_TOKEN"`.'
        raise _wrong(key, " contains a secret", hint)
    for variable in variables:
        if not variable.startswith("CHROMA_"):
            hint = "Only variables whose names begin with CHROMA_ are sent to a database."
            raise _wrong(key, f" names the variable {variable}", hint)
        if not environment.get(variable, "").strip():
            raise _wrong(key, f": the environment has no {variable}", f"Set {variable}.")
    found = _VARIABLE.sub(lambda match: environment[match[1]].strip(), value)
    if not (found.isascii() and found.isprintable()):
        raise _wrong(key, " contains characters that are not allowed in a header", "Use printable ASCII.")
    return found


def _wrong(key: str, problem: str, hint: str) -> ConfigError:
    return ConfigError(f"Configuration key `database.{key}`{problem}.", hint)
