"""Who may do what: by the server's token, or by named tokens with rights per project, which are stored as hashes."""

import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

from filelock import FileLock

from lore_etl.config.project import private_folder, user_state_folder
from lore_etl.core.atomic import replace_content
from lore_etl.core.errors import ConfigError, Conflict, InvalidArgument, NotFound, StorageError, os_errors_as
from lore_etl.stores.claim import claim, is_ours
from lore_etl.system.nofollow import is_private, open_regular, read_regular
from lore_server.contract import Operation

VARIABLE = "LORE_TOKEN"
FILE, NAMED_FILE = "token", "tokens.json"
SHORTEST = 16
LARGEST_BYTES = 10_000_000
PREFIX = "lore_"
KEYS = ("sha256", "rights", "expires", "per_minute")
ALL = "*"  # every project
_ALLOWED = re.compile(rf"[!-~]{{{SHORTEST},512}}")
_NAME = re.compile(r"[\w.@-]{1,100}")
DAY = 86_400


class Level(IntEnum):
    """What an access allows in a project; each includes those before."""

    NONE = 0
    READ = 1
    WRITE = 2
    ADMIN = 3


@dataclass(frozen=True)
class Access:
    """The rights of a request, by project, and the author that the audit log names, empty without a token."""

    author: str
    rights: Mapping[str, Level]
    per_minute: int = 0  # requests; 0: no limit

    def level(self, projects: Sequence[str]) -> Level:
        """Return what is allowed in each of these projects; without any, what is allowed in all."""
        levels = (self.rights.get(one, Level.NONE) for one in projects)
        return max(self.everywhere, min(levels, default=self.everywhere))

    @property
    def everywhere(self) -> Level:
        return self.rights.get(ALL, Level.NONE)

    def may(self, operation: Operation, projects: Sequence[str]) -> bool:
        """Return whether a call is allowed. Knowledge belongs to no served project, so it needs a right for all."""
        needed = Level.ADMIN if operation.needs_admin else Level.WRITE if operation.changes_state else Level.READ
        return self.level(() if operation.is_about_knowledge else projects) >= needed


ANYONE_HERE = Access("", {ALL: Level.READ})
OWNER = Access("the server's token", {ALL: Level.ADMIN})
NONE = Access("", {})
ACCESS = ContextVar("access", default=NONE)  # the rights of the current request


@dataclass(frozen=True)
class NamedTokens:
    """The named tokens of this user. The file is read for each request, so a revocation applies at once."""

    folder: Path

    def access(self, token: str) -> Access | None:
        """Return the rights of a token; None if it is unknown, expired or revoked."""
        digest = _digest(token)
        for name, record in self.all().items():
            if secrets.compare_digest(digest, record["sha256"]) and record["expires"] > time.time():
                rights = {project: Level[level.upper()] for project, level in record["rights"].items()}
                return Access(name, rights, record["per_minute"])
        return None

    def all(self) -> dict[str, dict[str, Any]]:
        file = self.folder / NAMED_FILE
        if not os.path.lexists(file):
            return {}
        with os_errors_as(StorageError, f"Cannot read {file}"):
            data = read_regular(file, LARGEST_BYTES)
        try:
            return {name: {key: record[key] for key in KEYS} for name, record in dict(json.loads(data)).items()}
        except (ValueError, TypeError, KeyError) as error:
            raise StorageError(f"{file} is damaged.", "Delete it, and create the tokens again.") from error

    def add(self, name: str, rights: Mapping[str, str], days: float, per_minute: int = 0) -> str:
        """Create a token and return it; it is not stored. Raises InvalidArgument, Conflict, StorageError."""
        if not _NAME.fullmatch(name):
            raise InvalidArgument("A token's name has up to 100 letters, digits or `_.@-`.")
        if not rights:
            raise InvalidArgument("The token would allow nothing.", "Give --read, --write or --admin.")
        token = PREFIX + secrets.token_urlsafe(32)
        expires = time.time() + days * DAY
        record = {"sha256": _digest(token), "rights": dict(rights), "expires": expires, "per_minute": per_minute}
        with self._change() as records:
            if name in records:
                raise Conflict(f"There is a token `{name}`.", f"Run `lore token revoke {name}` first.")
            records[name] = record
        return token

    def revoke(self, name: str) -> None:
        with self._change() as records:
            if name not in records:
                raise NotFound(f"There is no token `{name}`.", "`lore token list` lists them.")
            del records[name]

    @contextmanager
    def _change(self) -> Iterator[dict[str, dict[str, Any]]]:
        """Yield the records and write them afterwards; other processes wait meanwhile."""
        with os_errors_as(StorageError, f"Cannot write {NAMED_FILE}"):
            file = private_folder(self.folder) / NAMED_FILE
            with FileLock(f"{file}.lock", mode=0o600):
                records = self.all()
                yield records
                replace_content(file, [json.dumps(records, indent=1)], 0o600)


class Limits:
    """The number of requests of each token in the current minute."""

    def __init__(self) -> None:
        self._minute = 0
        self._counts: dict[str, int] = {}

    def admit(self, access: Access) -> bool:
        minute = int(time.monotonic() // 60)
        if minute != self._minute:
            self._minute, self._counts = minute, {}
        count = self._counts[access.author] = self._counts.get(access.author, 0) + 1
        return not access.per_minute or count <= access.per_minute


def _digest(token: str) -> str:
    """Return the hash of a token. Tokens are random, so a fast hash is enough."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


@dataclass(frozen=True)
class Token:
    """A secret and its location, which users may see. The `repr` does not contain the secret, so it is not logged."""

    value: str = field(repr=False)
    place: str

    def is_in(self, authorization: bytes) -> bool:
        """Return whether an Authorization header carries the token, in constant time."""
        scheme, _, given = authorization.partition(b" ")
        return scheme.lower() == b"bearer" and secrets.compare_digest(given.strip(), self.value.encode())


def secret_in(variable: str) -> str | None:
    """Return the secret in a variable, if it is set. Raises ConfigError."""
    given = os.environ.get(variable)
    if given is None or _ALLOWED.fullmatch(given):
        return given
    rule = f"Use at least {SHORTEST} characters, without spaces, for example from `openssl rand -hex 32`."
    raise ConfigError(f"{variable} is not a valid token.", rule)


def token_of(folder: Path, make: bool = True, is_index: bool = True) -> Token:
    """Return `LORE_TOKEN`, or the token in an index or state folder, created at first use. Raises LoreError."""
    if given := secret_in(VARIABLE):
        return Token(given, f"the environment variable {VARIABLE}")
    file = folder / FILE
    with os_errors_as(StorageError, f"Cannot create or read the token in {FILE}"):
        value = _read(file) if not is_index or is_ours(folder) else None
        if value is None and not make:
            raise ConfigError("There is no token yet.", f"Set {VARIABLE}, or run `lore serve` on this machine once.")
        if value is None:
            (claim if is_index else private_folder)(folder)
            with FileLock(private_folder(user_state_folder()) / f"{FILE}.lock", mode=0o600):  # the first writer wins
                value = _read(file) or secrets.token_urlsafe(32)
                replace_content(file, [f"{value}\n"], 0o600)
    return Token(value, f"the file {file}")


def _read(file: Path) -> str | None:
    """Return the token if only this user can read it: a file from a project, or readable by others, is not secret."""
    try:
        descriptor = open_regular(file)
    except FileNotFoundError:
        return None
    with open(descriptor, encoding="ascii", errors="replace") as opened:
        is_ours_alone = is_private(os.fstat(descriptor))
        text = opened.read(1024).strip()
    return text if is_ours_alone and _ALLOWED.fullmatch(text) else None
