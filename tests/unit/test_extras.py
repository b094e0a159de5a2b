"""Extras that are not installed: the error names them, and how to install them."""

from __future__ import annotations

import sys

import pytest

from lore_etl.core.errors import PackageMissing
from lore_etl.core.extras import EXTRAS, install_advice, require


def test_an_installed_extra_is_accepted_without_being_imported() -> None:
    before = set(sys.modules)

    for extra in EXTRAS.keys() - {"ray"}:  # which is not installed for development
        require(extra, "This test")

    assert {name for name in set(sys.modules) - before if name.partition(".")[0] in ("torch", "scipy", "onnx")} == set()


def test_only_the_missing_packages_of_an_extra_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setitem(sys.modules, "ray", None)

    with pytest.raises(PackageMissing) as found:
        require("eval", "`lore eval`")

    assert found.value.message == "`lore eval` needs the extra `eval`, which is not installed (scipy)."
    assert found.value.hint == (
        "Repeat the command that installed Lore, with `'.[documents,models,eval,openai,team]'` instead of `.`."
    )
    assert (found.value.code, found.value.exit_code) == ("PACKAGE_MISSING", 2)


def test_the_advice_keeps_the_installed_extras_and_leaves_out_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setitem(sys.modules, "ray", None)

    assert "`'.[documents,models,eval,team]'`" in install_advice("eval")
