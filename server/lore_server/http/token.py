"""The token for changes over HTTP: one per index, or the one in the environment."""

from __future__ import annotations

import os
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from lore_etl.config.user_folders import private_folder
from lore_etl.core.errors import ConfigError, StorageError, os_errors_as
from lore_etl.stores.claim import claim, is_ours
from lore_etl.system.durable import replace
from lore_etl.system.nofollow import open_regular
from lore_etl.system.ownership import is_private

VARIABLE = "LORE_TOKEN"
FILE = "token"
SHORTEST = 16
_ALLOWED = re.compile(rf"[!-~]{{{SHORTEST},512}}")


@dataclass(frozen=True)
class Token:
    """A secret and its location, which users may see. The `repr` does not contain the secret, so it is not logged."""

    value: str = field(repr=False)
    place: str

    def is_in(self, authorization: bytes) -> bool:
        """Return whether an Authorization header carries the token, in constant time."""
        scheme, _, given = authorization.partition(b" ")
        return scheme.lower() == b"bearer" and secrets.compare_digest(given.strip(), self.value.encode())


def token_of(folder: Path, make: bool = True, is_index: bool = True) -> Token:
    """Return `LORE_TOKEN`, or the token in an index folder or the user's state folder, created on first use.

    Raises:
        ConfigError: the variable is too short or has characters that a header cannot contain; or there is no token and
            `make` is False.
        StorageError: the file cannot be created or read.
    """
    given = os.environ.get(VARIABLE)
    if given is not None:
        if not _ALLOWED.fullmatch(given):
            rule = f"Use at least {SHORTEST} characters, without spaces, for example from `openssl rand -hex 32`."
            raise ConfigError(f"{VARIABLE} is not a valid token.", rule)
        return Token(given, f"the environment variable {VARIABLE}")
    file = folder / FILE
    with os_errors_as(StorageError, f"Cannot create or read the token in {FILE}"):
        value = _read(file) if not is_index or is_ours(folder) else None
        if value is None and not make:
            raise ConfigError("There is no token yet.", f"Set {VARIABLE}, or run `lore serve` on this machine once.")
        if value is None:
            (claim if is_index else private_folder)(folder)
            value = _make(file)
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


def _make(file: Path) -> str:
    """Create a token file atomically and readable only by its owner; the first of two writers wins."""
    value = secrets.token_urlsafe(32)
    temporary = file.with_name(f"{FILE}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "w", encoding="ascii") as opened:
            opened.write(value + "\n")
        try:
            os.link(temporary, file)
        except FileExistsError:
            other = _read(file)
            if other is not None:
                return other
            replace(temporary, file)
        return value
    finally:
        temporary.unlink(missing_ok=True)
