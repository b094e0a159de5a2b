"""Every requirement of the specifications has a test, and the page on compatibility is generated from both."""

from tests.harness.requirements import PAGE, listed, page, proven


def test_the_list_has_at_least_200_requirements_each_with_a_trial() -> None:
    assert len(listed()) >= 200
    assert all(one.text and one.trial for one in listed().values())
    assert len({one.text for one in listed().values()}) == len(listed())


def test_every_requirement_has_a_test_and_every_named_requirement_exists() -> None:
    assert listed().keys() - proven().keys() == set()
    assert proven().keys() - listed().keys() == set()


def test_the_page_on_compatibility_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()
