"""Questions about inheritance are answered from the class tree; other queries are unaffected."""

import pytest

from lore_etl.core.model import ClassNode
from lore_etl.relations.classes import Hierarchy
from lore_server.query.lineage import MAX_FILES, relatives


def tree(**bases: str) -> Hierarchy:
    """Return classes of the package `harbour` by name, each with its base class."""
    nodes = [
        ClassNode(f"harbour.{name}", (f"harbour.{base}",) if base else (), f"{name}.py", (1, 9))
        for name, base in bases.items()
    ]
    return Hierarchy(nodes)


FLEET = tree(Vessel="", Ship="Vessel", Boat="Vessel", Liner="Ship", Quay="")


BELOW = ["harbour.Boat", "harbour.Ship", "harbour.Liner"]
ABOVE = ["harbour.Ship", "harbour.Vessel"]
NONE = list[str]()


QUESTIONS = {
    "what extends Vessel": BELOW,
    "Which classes inherit from Vessel?": BELOW,
    "Who inherits from Vessel?": BELOW,
    "subclasses of Vessel": BELOW,
    "list all classes that derive from harbour.Vessel": BELOW,
    "which classes implement Vessel": BELOW,
    "every class that descends from Vessel": BELOW,
    "What is the base class of Liner?": ABOVE,
    "superclass of Liner": ABOVE,
    "parent class of Liner": ABOVE,
    "ancestors of harbour.Liner": ABOVE,
    "what does Liner extend": ABOVE,
    "Where does Liner inherit sail from?": ABOVE,
    "From which class does Liner inherit its sail method?": ABOVE,
    "Liner has a sail method that it does not define itself. Which class brings it?": ABOVE,
    # about anything else
    **dict.fromkeys(["how does a Vessel sail", "Vessel", "Vessel.sail", "why is the Ship late", ""], NONE),
    "where is Liner defined": NONE,
    # a class must be named exactly
    **dict.fromkeys(["what extends Aeroplane", "what extends vessel", "what extends VESSEL"], NONE),
    # neither subclasses nor base classes
    **dict.fromkeys(["what extends Quay", "base class of Quay"], NONE),
    # a long text is no question
    "The crew was surprised that what extends Vessel did not float, and wrote down what they saw. " * 6: NONE,
}


@pytest.mark.parametrize(("question", "expected"), QUESTIONS.items())
def test_a_question_about_inheritance_finds_relatives_nearest_first(question: str, expected: list[str]) -> None:
    assert relatives(question, FLEET) == expected


@pytest.mark.parametrize("question", ["what extends my-view", "subclasses of my-view.Panel?", "what extends sub-class"])
def test_the_name_of_a_class_may_begin_with_a_part_with_hyphens(question: str) -> None:
    nodes = [
        ClassNode(name, (base,) if base else (), f"{name}.js", (1, 9))
        for name, base in {"my-view": "", "my-list": "my-view", "my-view.Panel": "", "my-tab": "my-view.Panel"}.items()
    ]
    expected = {"what extends my-view": ["my-list"], "subclasses of my-view.Panel?": ["my-tab"]}

    assert relatives(question, Hierarchy(nodes)) == expected.get(question, [])


def test_the_relatives_of_all_classes_with_the_same_name_are_returned() -> None:
    nodes = [
        *(ClassNode(f"{package}.Vessel", (), f"{package}.py", (1, 2)) for package in ("sea", "river")),
        ClassNode("sea.Ship", ("sea.Vessel",), "sea.py", (3, 4)),
        ClassNode("river.Boat", ("river.Vessel",), "river.py", (3, 4)),
    ]

    assert set(relatives("what extends Vessel", Hierarchy(nodes))) == {"sea.Ship", "river.Boat"}
    assert relatives("what extends sea.Vessel", Hierarchy(nodes)) == ["sea.Ship"]


EDGES: dict[str, tuple[list[tuple[str, str]], str, list[str]]] = {
    "a base class outside the project is found through its subclasses": (
        [("harbour.Kind", "enum.StrEnum")], "which enumerations derive from StrEnum", ["harbour.Kind"]
    ),
    "circular base classes terminate downwards": (
        [("harbour.Hen", "harbour.Egg"), ("harbour.Egg", "harbour.Hen")], "what extends Hen", ["harbour.Egg"]
    ),
    "circular base classes terminate upwards": (
        [("harbour.Hen", "harbour.Egg"), ("harbour.Egg", "harbour.Hen")], "base class of Hen", ["harbour.Egg"]
    ),
    "a class with a hyphen in its name is found": (
        [("Sea.old-boats.Boat", ""), ("Sea.Ferry", "Sea.old-boats.Boat")], "what extends Sea.old-boats.Boat?",
        ["Sea.Ferry"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("classes", "question", "expected"), EDGES.values(), ids=EDGES)
def test_relatives_at_the_edges_of_a_tree(classes: list[tuple[str, str]], question: str, expected: list[str]) -> None:
    nodes = [ClassNode(name, (base,) if base else (), f"{name}.py", (1, 2)) for name, base in classes]

    assert relatives(question, Hierarchy(nodes)) == expected


def test_the_number_of_files_with_relatives_is_limited() -> None:
    many = tree(Vessel="", **{f"Ship{number}": "Vessel" for number in range(3 * MAX_FILES)})

    assert len(relatives("subclasses of Vessel", many)) == MAX_FILES


def test_many_relatives_in_a_file_do_not_displace_those_in_other_files() -> None:
    names = [f"errors.E{number:03}" for number in range(3 * MAX_FILES)]
    nodes = [ClassNode(name, ("errors.Base",), "errors.py", (1, 2)) for name in names]
    hierarchy = Hierarchy([*nodes, ClassNode("http.Refused", ("errors.Base",), "http.py", (1, 2))])

    assert relatives("what extends errors.Base", hierarchy) == [names[0], "http.Refused"]
