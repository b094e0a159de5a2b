"""Every error has a code, a status, an exit code and a hint; that of a missing extra tells how to install it."""

import sys
from collections.abc import Iterator

import pytest

from lore_etl.core.errors import Busy, LoreError, PackageMissing
from lore_etl.core.extras import EXTRAS, install_advice, require
from lore_server.replies.problem import problem


def _all(kind: type[LoreError]) -> Iterator[type[LoreError]]:
    yield kind
    for child in kind.__subclasses__():
        if child.__module__ == "lore_etl.core.errors":
            yield from _all(child)


def test_codes_are_unique_every_error_has_a_hint_and_exit_codes_match_the_documentation() -> None:
    kinds = list(_all(LoreError))

    assert len({kind.code for kind in kinds}) == len(kinds)
    assert all(kind.default_hint for kind in kinds)
    assert {kind.exit_code for kind in kinds} == {1, 2, 70, 74, 75}


def test_a_known_error_is_shown_with_its_hint_and_the_text_of_an_unexpected_one_is_not_shown() -> None:
    known, unexpected = problem(Busy("Somebody else has it.", "Wait.")), problem(ValueError("the secret text"))

    assert {**known, "trace_id": ""} == {
        "error": True, "code": "BUSY", "message": "Somebody else has it.", "hint": "Wait.", "trace_id": "",
    }  # fmt: skip
    assert unexpected["code"] == "INTERNAL_ERROR"
    assert "secret" not in str(unexpected)


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
