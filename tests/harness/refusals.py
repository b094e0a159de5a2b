"""Expect an error of Lore that says what is wrong and what to do."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
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


def assert_each_fails(error: type[Exception], *acts: Callable[[], object], match: str = "") -> None:
    """Expect each action to fail with this error; name the source of one that does not."""
    for act in acts:
        source = inspect.getsource(act).strip()
        try:
            act()
        except error as failure:
            assert re.search(match, str(failure)), f"{source}: {failure}"
        else:
            pytest.fail(f"did not fail with {error.__name__}: {source}")
