"""The wording of a query shows which type of document it asks for."""

import pytest

from lore_server.query.parse import MAX_WORDS, wanted_types


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("How do I start a worker?", {"guide"}),
        ("how to change the port", {"guide"}),
        ("what happens to running jobs on a signal", {"guide"}),
        ("why SQLite and not Redis", {"adr", "prp", "ticket"}),
        ("where is the retry policy defined", {"src"}),
        ("how is the upgrade tested", {"test"}),
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
    ],
)
def test_the_wording_of_a_query_selects_types(text: str, types: set[str]) -> None:
    assert {type_.value for type_ in wanted_types(text)} == types


def test_a_long_text_selects_no_types() -> None:
    assert wanted_types("why " * (MAX_WORDS + 1)) == frozenset()
