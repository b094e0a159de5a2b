"""Questions about classes are answered exactly, from the class tree."""

import pytest

from lore_etl.core.model import ClassNode, Member
from lore_etl.relations.classes import Hierarchy
from lore_etl.stores.catalogue_rows import User
from lore_server.answer.class_questions import Fact, class_fact

TREE = Hierarchy(
    [
        ClassNode("shop.Store", ("abc.ABC",), "shop/base.py", (3, 20)),
        ClassNode("shop.SQLStore", ("shop.Store",), "shop/sql.py", (5, 40)),
        ClassNode("shop.SQLiteStore", ("shop.SQLStore",), "shop/sqlite.py", (7, 90)),
        ClassNode("shop.MemoryStore", ("shop.Store",), "shop/memory.py", (2, 30)),
        ClassNode("lake.Boat", (), "lake/boat.go", (3, 4)),
        ClassNode("lake.Ship", (), "lake/ship.go", (3, 4), ("sea.Floating",)),
        ClassNode("sea.Ship", ("sea.Hull",), "sea/ship.go", (3, 4), ("sea.Floating",)),
        ClassNode("sea.Floating", (), "sea/sea.go", (1, 2)),
        ClassNode("sea.Large", ("sea.Floating",), "sea/sea.go", (3, 4)),
        ClassNode("Neo.form.field.Base", (), "src/form/field/Base.mjs", (1, 9)),
        ClassNode("Neo.form.field.Text", ("Neo.form.field.Base",), "src/form/field/Text.mjs", (1, 9)),
    ]
)
MEMBERS = {
    "shop.Store": [Member("claim", "method", (8, 12)), Member("revive", "method", (14, 18))],
    "shop.SQLStore": [Member("claim", "method", (9, 20))],
}


USERS = {
    "shop.Store": [User("shop/sql.py", 3, 2), User("app.py", 1, 9)],
    "shop/base.py:open_store": [User("app.py", 2, 4)],
    "a.py:re_open": [User("b.py", 1, 1)],
    "c.py:re_open": [User("d.py", 1, 2)],
}


def users_of(name: str) -> dict[str, list[User]]:
    return {full: users for full, users in USERS.items() if full == name or full.endswith(f":{name}")}


def ask(question: str) -> Fact | None:
    return class_fact(question, TREE, lambda node: MEMBERS.get(node.name, []), users_of)


def names(question: str) -> list[str]:
    fact = ask(question)
    return [] if fact is None else [one.name for one in fact.places]


@pytest.mark.parametrize(
    "question",
    [
        "list subclasses of shop.Store",
        "Which classes derive from shop.Store?",
        "what extends shop.Store",
        "everything that inherits from shop.Store",
        "which stores implement shop.Store",
        "How many subclasses does shop.Store have?",
        "how many stores extend shop.Store",
        "the number of subclasses that shop.Store has",
        "count the subclasses of shop.Store",
    ],
)
def test_subclasses_are_listed_at_any_depth(question: str) -> None:
    fact = ask(question)

    assert fact is not None
    assert fact.text == "`Store` has 3 subclasses: `shop.MemoryStore` {1}, `shop.SQLStore` {2}, `shop.SQLiteStore` {3}."
    assert [one.source for one in fact.places] == ["shop/memory.py", "shop/sql.py", "shop/sqlite.py"]


def test_all_subclasses_and_members_are_counted_although_only_some_are_listed() -> None:
    below = [ClassNode(f"shop.S{number}", ("shop.Store",), f"shop/s{number}.py", (1, 2)) for number in range(70)]
    tree = Hierarchy([ClassNode("shop.Store", (), "shop/base.py", (3, 20)), *below])
    members = [Member(f"m{number}", "method", (4, 5)) for number in range(70)]

    for question, count in [
        ("list subclasses of shop.Store", "has 70 sub"),
        ("members of shop.Store", "defines 70 mem"),
    ]:
        fact = class_fact(question, tree, lambda _: members, users_of)

        assert fact is not None
        assert count in fact.text
        assert fact.text.endswith(" {60} and 10 more.")
        assert len(fact.places) == 60


def test_only_direct_subclasses_are_listed_on_request() -> None:
    assert names("Which classes derive directly from shop.Store?") == ["shop.MemoryStore", "shop.SQLStore"]


def test_a_dotted_name_of_a_script_is_found() -> None:
    assert names("list subclasses of Neo.form.field.Base") == ["Neo.form.field.Text"]


@pytest.mark.parametrize(
    "question", ["base class of SQLiteStore", "What does SQLiteStore extend?", "parents of SQLiteStore"]
)
def test_the_base_class_is_named_with_the_classes_above_it(question: str) -> None:
    fact = ask(question)

    assert fact is not None
    assert fact.text == "`SQLiteStore` extends `shop.SQLStore` {1}; above it: `shop.Store` > `abc.ABC`."
    assert [one.source for one in fact.places] == ["shop/sql.py"]


def test_a_member_is_inherited_from_the_nearest_class_that_defines_it() -> None:
    assert names("Where does SQLiteStore inherit claim from?") == ["SQLStore.claim"]
    assert names("In which class is the revive that SQLiteStore inherits?") == ["Store.revive"]


def test_members_are_listed_with_their_lines() -> None:
    fact = ask("What methods does shop.Store define?")

    assert fact is not None
    assert fact.text == "`Store` defines 2 members: `claim` {1}, `revive` {2}."
    assert [one.lines for one in fact.places] == [(8, 12), (14, 18)]


def test_a_definition_is_given_with_its_file_and_lines() -> None:
    fact = ask("Where is MemoryStore defined?")

    assert fact is not None
    assert fact.text == "`shop.MemoryStore` is defined in shop/memory.py:2-30 {1}."


def test_a_class_without_subclasses_is_reported_as_such() -> None:
    fact = ask("subclasses of MemoryStore")

    assert fact is not None
    assert fact.text == "No class of this project extends `MemoryStore` {1}."


@pytest.mark.parametrize(
    "question",
    [
        "Why is shop.Store slow?",
        "How do I use SQLiteStore with four threads?",
        "what extends the session",
        "MemoryStore",
        "which tests cover MemoryStore",
    ],
)
def test_other_questions_are_left_to_the_search(question: str) -> None:
    assert ask(question) is None


NAMESAKES = Hierarchy(
    [
        ClassNode("cloud.aws.ec2.Target", (), "cloud/aws/ec2/target.go", (3, 20)),
        ClassNode("cloud.aws.ecs.Target", (), "cloud/aws/ecs/target.go", (3, 20)),
        ClassNode("cloud.null.Target", (), "cloud/null/target.go", (3, 20)),
        ClassNode("cloud.mock.Target", ("cloud.null.Target",), "cloud/mock/other.go", (3, 20)),
        ClassNode("cloud.null.Fake", ("cloud.null.Target",), "cloud/null/fake.go", (3, 20)),
    ]
)


@pytest.mark.parametrize(
    ("question", "begin", "count"),
    [
        ("which classes extend Target", "4 classes are called `Target`: ", 4),
        ("What are the members of Target in aws?", "4 classes are called `Target`, 2 of them in `aws`: ", 2),
    ],
)
def test_several_classes_of_one_name_are_asked_back_with_their_full_names(
    question: str, begin: str, count: int
) -> None:
    fact = class_fact(question, NAMESAKES, lambda _: [], lambda _: {})

    assert fact is not None
    assert fact.text.startswith(begin)
    assert fact.text.endswith("Which of them do you mean?")
    assert "`cloud.aws.ec2.Target` {1}" in fact.text
    assert len(fact.places) == count


def test_one_class_of_its_name_is_chosen_by_its_place_or_full_name() -> None:
    for question in ("which classes extend Target in null", "which classes extend null.Target"):
        fact = class_fact(question, NAMESAKES, lambda _: [], lambda _: {})

        assert fact is not None
        assert "`cloud.null.Fake` {2}" in fact.text


@pytest.mark.parametrize(
    "question",
    ["who uses shop.Store?", "Which files import shop.Store", "where is shop.Store used", "usages of shop.Store"],
)
def test_the_users_of_a_class_are_listed_with_their_places(question: str) -> None:
    fact = ask(question)

    assert fact is not None
    assert fact.text == "`shop.Store` is used by at least 2 files: shop/sql.py {1}, app.py {2}."
    assert [(place.source, place.lines) for place in fact.places] == [("shop/sql.py", (2, 2)), ("app.py", (9, 9))]


@pytest.mark.parametrize(
    "question", ["what breaks if I change shop.Store?", "who is affected by a change of shop.Store"]
)
def test_a_change_affects_users_and_subclasses(question: str) -> None:
    fact = ask(question)

    assert fact is not None
    assert "shop/sql.py {1}, app.py {2}. `Store` has 3 subclasses: " in fact.text
    assert "{5}" in fact.text
    assert len(fact.places) == 5


def test_the_callers_of_a_function_are_listed_for_each_definition() -> None:
    one, two = ask("who calls open_store()?"), ask("what calls re_open")

    assert one is not None
    assert one.text == "`shop/base.py:open_store` is used by at least 1 file: app.py {1}."
    assert two is not None
    assert two.text == (
        "`a.py:re_open` is used by at least 1 file: b.py {1}. `c.py:re_open` is used by at least 1 file: d.py {2}."
    )


@pytest.mark.parametrize(
    "question",
    [
        "what does shop.Store use?",
        "who uses shop.MemoryStore",
        "what calls nothing_known",
        "who calls the store",
        "who calls shop.Store.find?",
        "who calls Store::find",
    ],
)
def test_what_is_not_known_is_not_stated(question: str) -> None:
    assert ask(question) is None


@pytest.mark.parametrize(
    "question", ["who calls shop.Store.claim?", "what uses Store::claim", "where is `Store.claim()` called"]
)
def test_callers_of_a_method_are_said_to_be_unknown(question: str) -> None:
    fact = ask(question)

    assert fact is not None
    assert fact.text == "`Store.claim` {1} is a member, and calls through objects are not recorded: search for `claim`."
    assert [(place.source, place.lines) for place in fact.places] == [("shop/base.py", (8, 12))]


def test_mixins_are_base_classes() -> None:
    fact = ask("which mixins does shop.SQLStore use?")

    assert fact is not None
    assert "shop.Store" in fact.text


def test_the_types_that_implement_an_interface_have_full_names_and_are_no_subclasses() -> None:
    fact = ask("which structs implement sea.Floating?")

    assert fact is not None
    assert fact.text == "`sea.Floating` is implemented by at least 2 types: `lake.Ship` {1}, `sea.Ship` {2}."
    assert [place.source for place in fact.places] == ["lake/ship.go", "sea/ship.go"]
