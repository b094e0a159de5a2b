"""How sending can fail: for now, for this memory, or for all."""

from __future__ import annotations

from lore_etl.core.errors import (
    LoreError,
    NotFound,
    ProviderError,
    ProviderUnavailable,
    TokenRequired,
    UnknownOperation,
)

_BUSY = 75


class Unreachable(ProviderUnavailable):
    """The server does not answer now, or wants to be asked later. `is_unsure`: it may have done what it was sent."""

    def __init__(self, message: str, wait_seconds: float = 0, is_unsure: bool = False) -> None:
        super().__init__(message, "The memories stay where they are, and the next session tries again.")
        self.wait_seconds = wait_seconds
        self.is_unsure = is_unsure


class Unwilling(ProviderUnavailable):
    """The server takes no memory of ours, now or later: a wrong token, or no tool for it."""


class UploadRefused(ProviderError):
    """The server does not take this one. `is_missing`: what was to be deleted is not there."""

    def __init__(self, message: str, is_missing: bool = False) -> None:
        super().__init__(message, "Correct the named memory file, and run the hook again.")
        self.is_missing = is_missing


def failure_of(error: LoreError) -> LoreError:
    """An error of Lore's own server as one of these."""
    if error.exit_code == _BUSY:
        return Unreachable(error.message, is_unsure=True)
    if isinstance(error, TokenRequired):
        return Unwilling(error.message, "Put the server's token into LORE_HOOK_TOKEN.")
    if isinstance(error, UnknownOperation):
        return Unwilling(error.message, error.hint)
    return UploadRefused(error.message, is_missing=isinstance(error, NotFound))
