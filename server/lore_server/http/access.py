"""Who may do what: named tokens with rights per project. Only their hashes are stored; each expires or is revoked."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

from lore_etl.config.user_folders import private_folder
from lore_etl.core.atomic import replace_content
from lore_etl.core.errors import Conflict, InvalidArgument, NotFound, StorageError, os_errors_as
from lore_etl.system.nofollow import read_regular
from lore_server.contract import Operation

FILE = "tokens.json"
LARGEST_BYTES = 10_000_000
PREFIX = "lore_"
KEYS = ("sha256", "rights", "expires", "per_minute")
ALL = "*"  # every project
_NAME = re.compile(r"[\w.@-]{1,100}")
_ADMINISTRATION = frozenset({"manage_database", "delete_project", "sync_storage", "clear_insights"})
DAY = 86_400


class Level(IntEnum):
    """What an access allows in a project; each includes those before."""

    NONE = 0
    READ = 1
    WRITE = 2
    ADMIN = 3


@dataclass(frozen=True)
class Access:
    """The rights of a request, by project, and the author that the audit log names."""

    author: str
    rights: Mapping[str, Level]
    per_minute: int = 0  # requests; 0: no limit
    is_anonymous: bool = False

    def level(self, projects: Sequence[str]) -> Level:
        """Return what is allowed in each of these projects; without any, what is allowed in all."""
        return min(
            (max(self.rights.get(one, Level.NONE), self.everywhere) for one in projects), default=self.everywhere
        )

    @property
    def everywhere(self) -> Level:
        return self.rights.get(ALL, Level.NONE)

    def may(self, operation: Operation, projects: Sequence[str]) -> bool:
        """Return whether a call is allowed. Knowledge belongs to no served project, so it needs a right for all."""
        return self.level(() if operation.is_about_knowledge else projects) >= needed(operation)


ANYONE_HERE = Access("", {ALL: Level.READ}, is_anonymous=True)
OWNER = Access("the server's token", {ALL: Level.ADMIN})
ACCESS = ContextVar("access", default=ANYONE_HERE)


def needed(operation: Operation) -> Level:
    """Return the level that an operation needs."""
    if operation.is_private or operation.id in _ADMINISTRATION:
        return Level.ADMIN
    return Level.WRITE if operation.changes_state else Level.READ


@dataclass
class NamedTokens:
    """The named tokens of this user. The file is read again when it changes, so a revocation applies at once."""

    folder: Path
    _stamp: tuple[int, int] = field(default=(0, 0), init=False)
    _known: dict[str, dict[str, Any]] = field(default_factory=dict, init=False)

    def access(self, token: str) -> Access | None:
        """Return the rights of a token; None if it is unknown, expired or revoked."""
        digest = _digest(token)
        for name, record in self.all().items():
            if secrets.compare_digest(digest, record["sha256"]) and record["expires"] > time.time():
                rights = {project: Level[level.upper()] for project, level in record["rights"].items()}
                return Access(name, rights, record["per_minute"])
        return None

    def all(self) -> dict[str, dict[str, Any]]:
        """Return the records of all tokens by name. Raises StorageError."""
        file = self.folder / FILE
        with os_errors_as(StorageError, f"Cannot read {file}"):
            try:
                info = file.lstat()
            except FileNotFoundError:
                return {}
            if (info.st_mtime_ns, info.st_ino) != self._stamp:
                try:
                    known = dict(json.loads(read_regular(file, LARGEST_BYTES)))
                    self._known = {name: {key: record[key] for key in KEYS} for name, record in known.items()}
                except (ValueError, TypeError, KeyError) as error:
                    raise StorageError(f"{file} is damaged.", "Delete it, and create the tokens again.") from error
                self._stamp = (info.st_mtime_ns, info.st_ino)
        return self._known

    def add(self, name: str, rights: Mapping[str, str], days: float, per_minute: int = 0) -> str:
        """Create a token and return it; it is not stored. Raises InvalidArgument, Conflict, StorageError."""
        if not _NAME.fullmatch(name):
            raise InvalidArgument("A token's name has up to 100 letters, digits or `_.@-`.")
        if not rights:
            raise InvalidArgument("The token would allow nothing.", "Give --read, --write or --admin.")
        if name in self.all():
            raise Conflict(f"There is a token `{name}`.", f"Run `lore token revoke {name}` first.")
        token = PREFIX + secrets.token_urlsafe(32)
        expires = time.time() + days * DAY
        record = {"sha256": _digest(token), "rights": dict(rights), "expires": expires, "per_minute": per_minute}
        self._write({**self.all(), name: record})
        return token

    def revoke(self, name: str) -> None:
        """Delete a token. Raises NotFound, StorageError."""
        if name not in self.all():
            raise NotFound(f"There is no token `{name}`.", "`lore token list` lists them.")
        self._write({other: record for other, record in self.all().items() if other != name})

    def _write(self, records: Mapping[str, object]) -> None:
        with os_errors_as(StorageError, f"Cannot write {FILE}"):
            replace_content(private_folder(self.folder) / FILE, [json.dumps(records, indent=1)], 0o600)


class Limits:
    """The number of requests of each token in the current minute."""

    def __init__(self) -> None:
        self._minute = 0
        self._counts: dict[str, int] = {}

    def admit(self, access: Access) -> bool:
        """Count a request; return whether it is within the limit of its token."""
        minute = int(time.monotonic() // 60)
        if minute != self._minute:
            self._minute, self._counts = minute, {}
        count = self._counts[access.author] = self._counts.get(access.author, 0) + 1
        return not access.per_minute or count <= access.per_minute


def _digest(token: str) -> str:
    """Return the hash of a token. Tokens are random, so a fast hash is enough."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
