"""Expect an error of Lore that says what is wrong and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lore_etl.core.errors import LoreError


@contextmanager
def refused(error: type[LoreError], match: str | None = None, *, message: str = "", hint: str) -> Iterator[None]:
    """Expect the body to fail with this error, whose message and hint contain these words."""
    with pytest.raises(error, match=match) as caught:
        yield
    assert message in caught.value.message
    assert hint in caught.value.hint
