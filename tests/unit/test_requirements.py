"""Every requirement of the specifications has a test, and the page on compatibility is generated from both."""

from tests.harness.requirements import PAGE, listed, page, proven


def test_there_are_at_least_200_requirements_each_with_a_trial_and_a_test_and_the_page_shows_them() -> None:
    assert len(listed()) >= 200
    assert all(one.text and one.trial for one in listed().values())
    assert len({one.text for one in listed().values()}) == len(listed())
    assert listed().keys() == proven().keys()
    assert PAGE.read_text(encoding="utf-8") == page()
