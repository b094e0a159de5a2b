"""Questions about classes are answered exactly, from the class tree."""

import pytest

from lore_etl.core.model import ClassNode, Member
from lore_etl.relations.classes import Hierarchy
from lore_etl.stores.catalogue_rows import User
from lore_server.answer.class_questions import DefinedPlace, Fact, class_fact, shown_line

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
        ClassNode("Buoyant", (), "sea/buoyant.rs", (1, 2)),
        ClassNode("sea.Yacht", ("lake.Boat", "Buoyant", "Sold"), "sea/yacht.ts", (3, 9), ("Buoyant", "Sold")),
        ClassNode("sea.Raft", ("Buoyant",), "sea/raft.rs", (3, 9), ("Buoyant",)),
        ClassNode(
            "sea.Dock",
            (),
            "sea/Dock.cs",
            (3, 9),
            parts=(("sea/Dock.cs", "Dock"), *((f"sea/Dock{n}.cs", "Dock") for n in range(12))),
        ),
        ClassNode("sea.Wave", ("Wave",), "sea/wave.php", (3, 9)),
        ClassNode("Towing", (), "sea/towing.php", (1, 2)),
        ClassNode("sea.Tug", ("Sold", "Towing"), "sea/tug.php", (3, 9), ("Sold", "Towing"), mixins=("Towing",)),
        ClassNode("sea.Large", ("sea.Floating",), "sea/sea.go", (3, 4)),
        ClassNode("Neo.form.field.Base", (), "src/form/field/Base.mjs", (1, 9)),
        ClassNode("Neo.form.field.Text", ("Neo.form.field.Base",), "src/form/field/Text.mjs", (1, 9)),
    ]
)
MEMBERS = {
    "shop.Store": [
        Member("size", "attribute", (4, 4)),
        Member("claim", "method", (8, 12)),
        Member("revive", "method", (14, 18)),
    ],
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


def ask(question: str, tree: Hierarchy = TREE) -> Fact | None:
    return class_fact(question, tree, lambda node: MEMBERS.get(node.name, []), users_of)


ANSWERS = {
    "`Store` has at least 3 subclasses: `shop.MemoryStore` [1], `shop.SQLStore` [2], `shop.SQLiteStore` [3].": [
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
    "`SQLiteStore` extends `shop.SQLStore` [1]; above it: `shop.Store` > `abc.ABC`.": [
        "base class of SQLiteStore",
        "What does SQLiteStore extend?",
        "parents of SQLiteStore",
    ],
    "`SQLStore` has at least 1 subclass: `shop.SQLiteStore` [1].": [
        "list the SQLStore classes, that is everything that derives from shop.SQLStore",
    ],
    "`SQLStore` extends `shop.Store` [1]; above it: `abc.ABC`.": ["which mixins does shop.SQLStore use?"],
    "`Store` defines at least 2 methods in shop/base.py: `claim` [1], `revive` [2].": [
        "What methods does shop.Store define?",
        "which functions does shop.Store have",
        "What methods does shop::Store define?",
        r"What methods does shop\Store define?",
    ],
    "`Store` defines at least 1 field in shop/base.py: `size` [1].": ["what fields does shop.Store have?"],
    "`Store` defines at least 3 members in shop/base.py: `size` [1], `claim` [2], `revive` [3].": [
        "members of shop.Store",
        "list the fields and methods of shop.Store",
    ],
    "`SQLStore` defines at least 1 member in shop/sql.py: `claim` [1].": ["which attributes does shop.SQLStore have"],
    "`shop.MemoryStore` is defined in shop/memory.py:2-30 [1].": ["Where is MemoryStore defined?"],
    "`sea.Dock` is defined in sea/Dock.cs:3-9 [1]; further parts are in "
    + ", ".join(f"sea/Dock{n}.cs" for n in range(10))
    + " and 2 more.": ["Where is Dock defined?"],
    "No class that extends `MemoryStore` [1] is recorded.": ["subclasses of MemoryStore"],
    "No base class of `Floating` [1] is recorded.": ["What is the base class of Floating?"],
    "`Yacht` extends `lake.Boat` [1] and implements `Buoyant` [2] and `Sold`.": [
        "What does sea.Yacht extend?",
        "base class of sea::Yacht",
    ],
    "`Raft` implements `Buoyant` [1].": ["What does Raft extend?", "What is the supertype of Raft?"],
    "`Ship` implements `sea.Floating` [1].": ["What does lake.Ship implement?", "base types of lake.Ship"],
    "`Ship` extends `sea.Hull` and implements `sea.Floating` [1].": ["Which interfaces does sea.Ship implement?"],
    "`Tug` implements `Sold` and mixes in `Towing` [1].": [
        "What does Tug extend?",
        "Which interface does Tug implement?",
        "which base types does sea.Tug implement",
        "Which traits does Tug mix in?",
        "which modules does sea.Tug include",
        "Which interfaces are implemented by sea.Tug?",
        "which traits are mixed in by sea.Tug",
    ],
    "`sea.Wave` extends `Wave`.": ["what does sea.Wave extend?"],
    "`Towing` is mixed in by at least 1 type: `sea.Tug` [1].": [
        "What implements Towing?",
        "what mixes in Towing",
        "who mixes in Towing?",
    ],
    "`shop.Store` is used by at least 2 files: shop/sql.py [1], app.py [2].": [
        "who uses shop.Store?",
        "Which files import shop.Store",
        "where is shop.Store used",
        "usages of shop.Store",
    ],
    "`shop/base.py:open_store` is used by at least 1 file: app.py [1].": ["who calls open_store()?"],
    "`a.py:re_open` is used by at least 1 file: b.py [1]. `c.py:re_open` is used by at least 1 file: d.py [2].": [
        "what calls re_open"
    ],
    "`sea.Floating` is implemented by at least 2 types: `lake.Ship` [1], `sea.Ship` [2].": [
        "which structs implement sea.Floating?",
        "What conforms to sea.Floating?",
    ],
}
PLACES = {  # of the answers to the first question of each
    "list subclasses of shop.Store": ["shop/memory.py:2-30", "shop/sql.py:5-40", "shop/sqlite.py:7-90"],
    "base class of SQLiteStore": ["shop/sql.py:5-40"],
    "What methods does shop.Store define?": ["shop/base.py:8-12", "shop/base.py:14-18"],
    "who uses shop.Store?": ["shop/sql.py:2-2", "app.py:9-9"],
    "which structs implement sea.Floating?": ["lake/ship.go:3-4", "sea/ship.go:3-4"],
}


def answered(question: str, tree: Hierarchy = TREE) -> Fact:
    fact = ask(question, tree)
    assert fact is not None
    return fact


@pytest.mark.parametrize(("question", "text"), [(one, text) for text, asked in ANSWERS.items() for one in asked])
def test_a_question_about_a_class_is_answered_from_the_tree_with_places(question: str, text: str) -> None:
    fact = answered(question)
    places = [f"{one.source}:{one.lines[0]}-{one.lines[1]}" for one in fact.places]

    assert fact.text == text
    assert places == PLACES.get(ANSWERS[text][0], places)


def test_all_subclasses_and_members_are_counted_although_only_some_are_listed() -> None:
    below = [ClassNode(f"shop.S{number}", ("shop.Store",), f"shop/s{number}.py", (1, 2)) for number in range(70)]
    tree = Hierarchy([ClassNode("shop.Store", (), "shop/base.py", (3, 20)), *below])
    members = [Member(f"m{number}", "method", (4, 5)) for number in range(70)]

    for question, count in [
        ("list subclasses of shop.Store", "has at least 70 sub"),
        ("members of shop.Store", "defines at least 70 mem"),
    ]:
        fact = class_fact(question, tree, lambda _: members, users_of)

        assert fact is not None
        assert count in fact.text
        assert fact.text.endswith(" [60] and 10 more.")
        assert len(fact.places) == 60


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which classes derive directly from shop.Store?", ["shop.MemoryStore", "shop.SQLStore"]),
        ("list subclasses of Neo.form.field.Base", ["Neo.form.field.Text"]),
        ("Where does SQLiteStore inherit claim from?", ["SQLStore.claim"]),
        ("In which class is the revive that SQLiteStore inherits?", ["Store.revive"]),
    ],
    ids=["direct subclasses", "a dotted name of a script", "the nearest definition", "the only definition"],
)
def test_an_answer_names_the_classes_or_members_asked_for(question: str, expected: list[str]) -> None:
    assert [one.name for one in answered(question).places] == expected


@pytest.mark.parametrize(
    "question",
    [
        "Why is shop.Store slow?",
        "How do I use SQLiteStore with four threads?",
        "what extends the session",
        "which stores extend shop.Store but not shop.SQLStore",
        "which types implement both sea.Floating and Buoyant",
        "MemoryStore",
        "which tests cover MemoryStore",
        "what does shop.Store use?",
        "who uses shop.MemoryStore",
        "what calls nothing_known",
        "who calls the store",
        "who calls shop.Store.claim?",
        "where is `Store::claim()` called",
    ],
)
def test_other_questions_and_those_about_unknown_names_are_left_to_the_search(question: str) -> None:
    assert ask(question) is None


HEIRS = Hierarchy(
    [
        ClassNode("m.Base", (), "m.py", (1, 9)),
        ClassNode("m.Left", ("m.Base",), "m.py", (11, 19)),
        ClassNode("m.Right", ("m.Base", "m.Sized"), "m.py", (21, 29), ("m.Sized",)),
        ClassNode("m.Sized", (), "m.py", (31, 39)),
        ClassNode("m.Both", ("m.Left", "m.Right"), "m.py", (41, 49)),
    ]
)
OWN = {"Base": "get save name log", "Left": "log", "Right": "save log", "Sized": "save size", "Both": "name"}


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which class does Both inherit save from?", "`save` of `Both` is defined in `m.Right` [1]."),
        ("Where does Both inherit name from?", "`name` of `Both` is defined in `m.Both` [1]."),
        ("From which class does m::Both inherit log?", "`log` of `Both` is defined in `m.Left` [1] and `m.Right` [2]."),
        ("From which class does Both get save?", "`save` of `Both` is defined in `m.Right` [1]."),
        ("Where is the save method of Both defined?", "`save` of `Both` is defined in `m.Right` [1]."),
        ("where is the method log of m.Right implemented", "`log` of `Right` is defined in `m.Right` [1]."),
        ("Which class does Both inherit get from?", "`get` of `Both` is defined in `m.Base` [1]."),
    ],
    ids=[
        "overridden beside the first base",
        "its own",
        "two bases",
        "a verb that is a member",
        "a method of",
        "the method",
        "such a member",
    ],
)
def test_a_member_is_looked_up_in_the_class_and_all_its_bases(question: str, text: str) -> None:
    members = {f"m.{name}": [Member(one, "method", (1, 2)) for one in own.split()] for name, own in OWN.items()}
    fact = class_fact(question, HEIRS, lambda node: members[node.name], users_of)

    assert fact is not None
    assert fact.text == text


@pytest.mark.parametrize(
    ("question", "ignored"),
    [
        ("Which sealed classes extend shop.Store?", "sealed"),
        ("which subclasses of shop.Store are not generic", "not generic"),
        ("Which subclass of shop.Store listens on port 5432?", "listens port 5432"),
        ("Which methods of shop.Store raise KeyError?", "raise KeyError"),
        ("list the async methods of shop.Store", "async"),
        ("which methods does shop.Store override", "override"),
        ("Which coroutines call `open_store`?", "coroutines"),
        ("Which classes extend shop.Store in this project?", ""),
        ("how many direct subclasses does shop.Store have", ""),
        ("who calls open_store()?", ""),
        ("what would break if I renamed shop.Store?", ""),
        ("which abstract class is above SQLiteStore", ""),  # what it extends is no list
    ],
)
def test_a_list_names_the_words_of_the_question_that_did_not_limit_it(question: str, ignored: str) -> None:
    fact = ask(question)

    assert fact is None or fact.with_ignored_words(question).text == fact.text + (
        f" The list is not limited by “{ignored}”." if ignored else ""
    )
    assert fact or not ignored


def test_who_does_not_extend_a_class_is_not_answered_by_its_tree() -> None:
    assert [ask(f"which stores {never} extend shop.Store") for never in ("do not", "don't")] == [None] * 2


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
    fact = answered(question, NAMESAKES)

    assert fact.text.startswith(begin)
    assert fact.text.endswith("Which of them do you mean?")
    assert "`cloud.aws.ec2.Target` [1]" in fact.text
    assert len(fact.places) == count


def test_one_class_of_its_name_is_chosen_by_its_place_or_full_name() -> None:
    for question in ("which classes extend Target in null", "which classes extend null.Target"):
        assert "`cloud.null.Fake` [2]" in answered(question, NAMESAKES).text


SHARED = Hierarchy(
    [
        ClassNode("paint/coat.go:Coat", (), "paint/coat.go", (3, 5)),
        ClassNode("test/b/paint/coat.go:Coat", (), "test/b/paint/coat.go", (3, 5)),
        ClassNode("a.Fake", (), "test/a/fake.go", (3, 9), ("paint/coat.go:Coat",)),
        ClassNode("b.Matte", (), "test/b/matte.go", (3, 9), ("b.paint.Coat",)),
        ClassNode("paint.Gloss", (), "paint/gloss.go", (3, 9), ("paint/coat.go:Coat",)),
    ]
)


def test_what_implements_an_interface_is_also_what_inherits_its_implementation() -> None:
    tree = Hierarchy(
        [
            ClassNode("Gauge", (), "gauge.java", (1, 3)),
            ClassNode("DepthGauge", ("Gauge",), "depth.java", (1, 3)),
            ClassNode("Sonar", ("Hull", "DepthGauge"), "sonar.java", (1, 9), ("DepthGauge",)),
            ClassNode("NightSonar", ("Sonar",), "night.java", (1, 9)),
        ]
    )

    fact = ask("Which classes implement Gauge?", tree)

    assert fact is not None
    assert fact.text == "`Gauge` is implemented by at least 2 types: `Sonar` [1], `NightSonar` [2]."


@pytest.mark.parametrize("name", ["paint.Coat", "Coat", "coat.Coat"])
def test_a_class_of_the_project_is_meant_rather_than_those_of_tests_and_of_others(name: str) -> None:
    tests = {"test/a/fake.go", "test/b/matte.go", "test/b/paint/coat.go"}
    fact = class_fact(f"what implements {name}", SHARED, lambda _: [], lambda _: {}, tests.__contains__)

    assert fact is not None
    assert fact.text == "`paint/coat.go:Coat` is implemented by at least 2 types: `paint.Gloss` [1], `a.Fake` [2]."
    assert SHARED.named(name) == ["paint/coat.go:Coat", "test/b/paint/coat.go:Coat"]


@pytest.mark.parametrize(
    "question", ["what breaks if I change shop.Store?", "who is affected by a change of shop.Store"]
)
def test_a_change_affects_users_and_subclasses(question: str) -> None:
    fact = answered(question)

    assert "shop/sql.py [1], app.py [2]. `Store` has at least 3 subclasses: " in fact.text
    assert "[5]" in fact.text
    assert len(fact.places) == 5


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("NewRouter", "// NewRouter returns a router.\nfunc NewRouter() *Router {\n}", 2),
        ("app.App", "/**\n * The App itself.\n */\nclass App {\n}", 4),
        ("name", "@rename\n# a name\ndef name(self):\n    return 1", 3),
        ("$el", "    @query('x')\n    $el: Element", 2),
        ("Shape.area", "  # the area\n  alias size area", 2),
        ("Shape.area", "  /** Return it:\n    int a = shape->area();\n  */\n  int area() const;", 4),
        ("Deck.swab", '@doc """\n    iex> Deck.swab(1)\n    plug :swab\n"""\ndefp swab(by), do: by', 5),
        ("absent", "attr_reader :one\nabsentee", 1),
    ],
)
def test_the_line_of_a_definition_is_cited_and_not_a_comment_before_it(name: str, text: str, line: int) -> None:
    lines = text.split("\n")
    assert shown_line(DefinedPlace(name, "a.x", (1, len(lines))), lines) == line
