"""Which documents supersede which."""

from hypothesis import given
from hypothesis import strategies as st

from lore_etl.relations.supersession import succession

TITLES = {"docs/new.md": "New", "docs/old.md": "The old way", "adr/0001-a.md": "First", "adr/0002-b.md": "Second"}


def successor(source: str, *names: str) -> dict[str, str]:
    return dict(succession({source: names}, TITLES).successor)


def test_a_document_can_be_named_by_its_path_a_sibling_file_or_its_title() -> None:
    for name in ("docs/old.md", "docs/old", "old.md", "old", "./old.md", "The old way", " old "):
        assert successor("docs/new.md", name) == {"docs/old.md": "docs/new.md"}
    assert successor("docs/new.md", "../adr/0001-a.md") == {"adr/0001-a.md": "docs/new.md"}


def test_a_missing_or_outside_document_or_the_document_itself_supersedes_nothing() -> None:
    for name in ("gone.md", "First", "new", "", "..", "/", "/docs/old.md"):
        assert successor("docs/new.md", name) == {}


def test_the_last_document_of_a_chain_is_the_successor_of_all_others() -> None:
    found = succession({"c.md": ["b"], "b.md": ["a"]}, {"a.md": "A", "b.md": "B", "c.md": "C"})

    assert found.successor == {"a.md": "c.md", "b.md": "c.md"}
    assert found.circles == ()


def test_documents_that_supersede_each_other_are_reported_and_not_outdated() -> None:
    found = succession({"a.md": ["b"], "b.md": ["a"], "c.md": ["a"]}, {"a.md": "A", "b.md": "B", "c.md": "C"})

    assert found.successor == {"a.md": "c.md", "b.md": "c.md"}  # c replaced a, and a replaced b

    found = succession({"a.md": ["b"], "b.md": ["a"]}, {"a.md": "A", "b.md": "B"})

    assert found.successor == {}
    assert found.circles == ("a.md", "b.md")


@given(st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdef"), max_size=4)))
def test_a_successor_is_never_outdated_itself(supersedes: dict[str, list[str]]) -> None:
    found = succession(
        {f"{supersede}.md": names for supersede, names in supersedes.items()},
        {f"{letter}.md": letter for letter in "abcdef"},
    )

    assert not set(found.successor.values()) & set(found.successor)
    assert not set(found.circles) & set(found.successor)
