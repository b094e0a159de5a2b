"""A query is parsed into words, exact names and versions."""

import pytest

from lore_server.query.parse import looks_like_name, parse


@pytest.mark.parametrize(
    ("text", "names", "is_bare"),
    [
        ("PersistentClient", ("persistentclient",), True),
        ("retry", ("retry",), True),
        ("run_once()", ("run_once",), True),
        ("neo.button.Base", ("neo.button.base", "base"), True),
        ("how does ThreadWorker stop", ("threadworker",), False),
        ("what is in ferry/stores/sqlite.py", ("ferry/stores/sqlite.py", "sqlite.py"), False),
        ("how do workers stop", (), False),
        ("MAX_RETRIES default", ("max_retries",), False),
    ],
)
def test_names_are_tokens_that_look_like_identifiers(text: str, names: tuple[str, ...], is_bare: bool) -> None:
    query = parse(text)

    assert (query.names, query.is_bare_name) == (names, is_bare)


@pytest.mark.parametrize(
    ("text", "versions"),
    [("v11.18.0", ("11.18.0",)), ("what changed in 2.0", ("2.0",)), ("V1.0.0-rc.1", ("1.0.0-rc.1",)), ("step 3", ())],
)
def test_versions_are_found_with_all_their_numbers(text: str, versions: tuple[str, ...]) -> None:
    assert parse(text).versions == versions


def test_stop_words_are_dropped_and_digits_are_kept() -> None:
    assert parse("How do I use utf8 in the Grid?").words == ("utf8", "grid")


def test_words_in_other_scripts_are_kept() -> None:
    assert parse("очередь задач").words == ("очередь", "задач")


@pytest.mark.parametrize("token", ["aB", "a_b", "a.b", "HTTPServer", "x/y"])
def test_camel_case_and_separators_make_a_name(token: str) -> None:
    assert looks_like_name(token)


@pytest.mark.parametrize("token", ["word", "Word", "API"])
def test_plain_words_are_not_names(token: str) -> None:
    assert not looks_like_name(token)
