"""Where memories go: Lore's own server, or the one that the command line or the environment names.

A project's configuration has no say in it: it may be somebody else's, and memories are the user's own.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from lore_etl.config.project import knowledge_home, place_of
from lore_etl.core.errors import ConfigError
from lore_server.owner.session import Session

URLS = ("LORE_HOOK_URL", "MADEINOZ_KNOWLEDGE_MCP_URL")
TOKEN = "LORE_HOOK_TOKEN"


@dataclass(frozen=True)
class Target:
    """A knowledge server. Without address it is Lore's own; `name` is for people, and has no secret in it."""

    url: str = field(repr=False)
    token: str = field(repr=False)
    name: str
    key: str

    def file(self, environment: Mapping[str, str], kind: str) -> Path:
        """Where something about it is kept, such as its `state.json`."""
        return knowledge_home(environment) / "hook" / f"{self.key}.{kind}"


def target_of(url: str | None, environment: Mapping[str, str], index: Path) -> Target:
    """The address that was given, else that of the environment, else the owner of the project's index.

    Raises:
        ConfigError: it is no address.
    """
    given = url or next((environment[name] for name in URLS if environment.get(name)), "")
    if not given:
        return Target("", "", "Lore", _key(f"lore {index}"))
    try:
        parts = urlsplit(given.strip())
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise ConfigError("The address of the knowledge server is none.", "It is as http://localhost:8000/mcp/.")
    token = environment.get(TOKEN, "").strip()
    if not (token.isascii() and token.isprintable()):
        raise ConfigError(f"{TOKEN} has characters that no header can hold.", "Use printable ASCII.")
    public = parts._replace(netloc=parts.netloc.rpartition("@")[2].lower(), fragment="")
    name = urlunsplit(public._replace(query=""))
    return Target(urlunsplit(parts), token, name, _key(urlunsplit(public)))


def target_for(session: Session, url: str | None) -> Target:
    """The server that a command means. Raises ConfigError."""
    return target_of(url, os.environ, place_of(session.root, session.config_file).folder)


def _key(what: str) -> str:
    return hashlib.sha256(what.encode("utf-8", "replace")).hexdigest()[:16]
