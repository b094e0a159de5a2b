"""Extras that are not installed: the error names them, and the command that installs them."""

from __future__ import annotations

import shlex
import sys

import pytest

from lore_etl.core.errors import PackageMissing
from lore_etl.core.extras import EXTRAS, require


def test_an_installed_extra_is_accepted_without_being_imported() -> None:
    before = set(sys.modules)

    for extra in EXTRAS:
        require(extra, "This test")

    assert {name for name in set(sys.modules) - before if name.partition(".")[0] in ("torch", "scipy", "onnx")} == set()


def test_only_the_missing_packages_of_an_extra_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)

    with pytest.raises(PackageMissing) as found:
        require("eval", "`lore eval`")

    assert found.value.message == "`lore eval` needs the extra `eval`, which is not installed (scipy)."
    assert found.value.hint == f"Run `{shlex.quote(sys.executable)} -m pip install scipy`."
    assert (found.value.code, found.value.exit_code) == ("PACKAGE_MISSING", 2)


def test_without_pip_the_command_is_that_of_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    monkeypatch.setitem(sys.modules, "scipy", None)

    with pytest.raises(PackageMissing) as found:
        require("eval", "`lore eval`")

    assert found.value.hint == f"Run `uv pip install --python {shlex.quote(sys.executable)} scipy`."
