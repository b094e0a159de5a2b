"""A query is parsed into words, names, versions and subjects, and its wording shows what it asks for."""

import pytest

from lore_etl.stores.tokenizer import MAX_TERM, STOPWORDS, terms
from lore_server.query.parse import MAX_WORDS, looks_like_name, parse, verbs, wanted_types
from lore_server.query.reference import Reference
from lore_server.query.subjects import nouns


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


def test_stop_words_are_dropped_and_digits_and_words_in_other_scripts_are_kept() -> None:
    assert parse("How do I use utf8 in the Grid?").words == ("utf8", "grid")
    assert parse("очередь задач").words == ("очередь", "задач")


def test_camel_case_and_separators_make_a_name_and_plain_words_are_none() -> None:
    assert all(looks_like_name(token) for token in ("aB", "a_b", "a.b", "HTTPServer", "x/y"))
    assert not any(looks_like_name(token) for token in ("word", "Word", "API"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("A plain word", "a plain word"),
        ("afterSetFoo", "aftersetfoo after set foo"),
        ("HTTPServer2", "httpserver2 http server 2"),
        ("snake_case_name", "snake_case_name snake case name"),
        ("Neo.button.Base", "neo.button.base neo button base"),
        ("kebab-case", "kebab-case kebab case"),
        ("v11.18.0", "v11.18.0 v11 v 11 18 0"),
        ("$scope.$apply()", "$scope.$apply scope apply"),
        ("call(a, b)", "call a b"),
        ("Größe STRASSE Straße", "grösse strasse strasse"),
        ("größenÄnderung", "größenänderung größen änderung".replace("ß", "ss")),
        ("知識ベース", "知識ベース 知識 識ベ ベー ース"),
        ("漢", "漢"),
        ("... --- !!!", ""),
        ("a" * (MAX_TERM + 1) + " b " + "c" * MAX_TERM, "b " + "c" * MAX_TERM),
    ],
)
def test_text_becomes_words_and_identifiers_and_their_parts(text: str, expected: str) -> None:
    assert list(terms(text)) == expected.split()


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("how do I deploy Crane to Heroku", ["Crane", "Heroku"]),
        ("Kafka: how do I read it?", []),
        ("How do I use IE 11 with PostgreSQL?", ["IE 11", "PostgreSQL"]),
        ("Does HTTP 1.1 keep 4 lines or Lane 4x open?", ["HTTP", "Lane"]),
        ("where is retry_worker_pool used", ["retry_worker_pool"]),
        ("How is the day's file written? With Rust?", ["Rust"]),
    ],
)
def test_names_are_known_by_their_spelling_except_at_the_beginning(question: str, names: list[str]) -> None:
    assert [noun.text for noun in nouns(question) if noun.is_name] == names


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("how do I spin up a worker", {"spin"}),
        ("can we just plug our own logger", {"plug"}),
        ("what trips the circuit", {"trips"}),
        ("how does Ferry guess the next job", {"guess"}),
        ("where are panics swallowed", {"swallowed"}),
        ("where is the graph of the classes drawn", {"drawn"}),
        ("how do I stop flooding my mailbox", {"stop", "flooding"}),
        ("why doesn't my component repaint", {"repaint"}),
        ("how do jobs restart automatically", {"restart", "automatically"}),
        ("how to deploy Ferry to heroku", {"deploy"}),
        ("which tests cover kafka", {"cover"}),
        ("where do uploaded files land", {"land"}),
        ("why do the old logs vanish", {"vanish"}),
        ("how do failed jobs pile up", {"pile"}),
        ("why does output wobble", {"wobble"}),
        ("will SQLite corrupt my data", {"corrupt"}),
        ("can this daemon read kafka", set()),
        ("why does the cursor blink on Windows", {"blink"}),
        ("can a job stall", {"stall"}),
        ("what happens when a job crashes", {"crashes"}),
        ("what happens if workers panic", {"panic"}),
        ("how do I stop without dropping jobs", {"stop", "dropping"}),
        ("how do I run a bunch of jobs", {"run", "bunch"}),
        ("how do I make an option mandatory", {"make", "mandatory"}),
        ("ask before something dangerous", {"dangerous"}),
        ("how caching is done", {"done"}),  # as many people ask
        ("do workers run kafka", {"run"}),
        ("how do I write logs kafka reads", {"write"}),
        ("what happens when a job reads kafka topics", set()),
        ("is kafka the default", set()),
        ("does the worker use kafka", set()),
        ("which kafka topics are read", {"read"}),
        ("what metrics are exported to datadog", {"exported"}),
        ("how do I get mail from the postfix of the company", set()),
        ("Retry a Job", set()),
    ],
)
def test_verbs_are_known_by_their_place(question: str, expected: set[str]) -> None:
    assert verbs(question) - STOPWORDS == expected


def test_contractions_kinds_of_definitions_and_what_was_looked_up_are_no_subjects() -> None:
    contractions = nouns("Why doesn't the dashboard’s page poll? It isn’t new")
    kinds = nouns("Which classes, functions and methods implement the matcher interface?")
    looked_up = [Reference("file", "src/retry.py"), Reference("ticket", "#7")]

    assert [noun.text for noun in contractions] == ["dashboard", "page", "poll"]
    assert [noun.text for noun in kinds] == ["matcher"]
    assert nouns("what is in src/Retry.py of #7", looked_up) == []


def test_other_words_are_no_names() -> None:
    assert [noun for noun in nouns("how do I deploy to heroku") if not noun.is_name] == nouns("deploy, heroku?")


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("How do I start a worker?", {"guide"}),
        ("how to change the port", {"guide"}),
        ("what happens to running jobs on a signal", {"guide"}),
        ("how does Ferry differ from Celery", {"guide"}),
        ("What is the difference between a lane and a slot?", {"guide"}),
        ("change log", {"release"}),
        ("Sort the change log", set()),
        ("why SQLite and not Redis", {"adr", "prp", "ticket"}),
        ("Why was the port moved to the settings?", {"adr", "prp", "release", "ticket"}),
        ("why did Ferry drop Python 3.9", {"adr", "prp", "release", "ticket"}),
        ("why were workers needed", {"adr", "prp", "ticket"}),
        ("where is the retry policy defined", {"src"}),
        ("where are the retries of a job documented?", {"guide"}),
        ("where is retrying described", {"guide"}),
        ("how is the upgrade tested", {"test"}),
        ("How do I test a worker?", {"guide"}),
        ("how to test a worker", {"guide"}),
        ("how do we test that workers stop", {"guide", "test"}),
        ("how do I run the tests", {"guide", "test"}),
        ("which rules must agents keep", {"rule"}),
        ("what is new in 2.0", {"release"}),
        ("what has changed since May", {"release"}),
        ("what has been added so far", {"release"}),
        ("what were the fixed costs", set()),
        ("lessons from the outage", {"memory"}),
        ("an example of a recurring job", {"example"}),
        ("RetryPolicy", set()),
        ("tests of the parser", {"test"}),
        ("may I edit archived issues?", {"guide", "rule", "ticket"}),
        ("Is it permitted to log tokens?", {"rule"}),
        ("what must I set for a proxy?", {"guide", "rule"}),
        ("what would users install", {"guide"}),
        ("How often is the log rotated?", set()),
        ("What have failed imports taught us?", {"memory"}),
        ("traps of the parser", {"memory"}),
        ("what to do during an outage", {"knowledge"}),
        ("the disk is full, what should I do", {"guide"}),
        ("The lock is stale: where is it taken", {"src"}),
        ("Fix the lock, which what was read before must keep", set()),
        ("jobs that never end well", set()),
        ("Fixed a race in the tests of the client", set()),
        ("Add support for a proxy", set()),
        ("Use wide versions of the functions", set()),
        ("Fix bug in the parser", set()),
        ("Values of a header must not contain a line break", set()),
        ("Dropped support for versions that never worked, because of an issue in the installer", set()),
        ("feat: users can define how the guide is installed", set()),
        ("why " * (MAX_WORDS + 1), set()),
    ],
)
def test_the_wording_of_a_query_selects_types(text: str, types: set[str]) -> None:
    assert {type_.value for type_ in wanted_types(text)} == types
