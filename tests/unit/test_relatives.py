"""Questions about inheritance are answered from the class tree; other queries are unaffected."""

from __future__ import annotations

import pytest

from lore_etl.relations.classes import ClassNode, Hierarchy
from lore_server.query.structure import MOST_RELATIVES, relatives


def tree(**bases: str) -> Hierarchy:
    """Return classes of the package `harbour` by name, each with its base class."""
    nodes = [
        ClassNode(f"harbour.{name}", (f"harbour.{base}",) if base else (), f"{name}.py", (1, 9))
        for name, base in bases.items()
    ]
    return Hierarchy(nodes)


FLEET = tree(Vessel="", Ship="Vessel", Boat="Vessel", Liner="Ship", Quay="")
BELOW = ["harbour.Boat", "harbour.Ship", "harbour.Liner"]


@pytest.mark.parametrize(
    "question",
    [
        "what extends Vessel",
        "Which classes inherit from Vessel?",
        "Who inherits from Vessel?",
        "subclasses of Vessel",
        "list all classes that derive from harbour.Vessel",
        "which classes implement Vessel",
        "every class that descends from Vessel",
    ],
)
def test_subclasses_of_the_named_class_come_nearest_first(question: str) -> None:
    assert relatives(question, FLEET) == BELOW


@pytest.mark.parametrize(
    "question",
    [
        "What is the base class of Liner?",
        "superclass of Liner",
        "parent class of Liner",
        "ancestors of harbour.Liner",
        "what does Liner extend",
        "Where does Liner inherit sail from?",
    ],
)
def test_a_question_about_base_classes_returns_ancestors_nearest_first(question: str) -> None:
    assert relatives(question, FLEET) == ["harbour.Ship", "harbour.Vessel"]


@pytest.mark.parametrize(
    "question",
    ["how does a Vessel sail", "Vessel", "Vessel.sail", "why is the Ship late", "where is Liner defined", ""],
)
def test_a_question_about_anything_else_has_no_relatives(question: str) -> None:
    assert relatives(question, FLEET) == []


def test_a_long_text_about_inheritance_is_not_a_question() -> None:
    story = "The crew was surprised that what extends Vessel did not float, and wrote down what they saw. " * 6

    assert relatives(story, FLEET) == []


@pytest.mark.parametrize("question", ["what extends Aeroplane", "what extends vessel", "what extends VESSEL"])
def test_a_class_must_be_named_exactly(question: str) -> None:
    assert relatives(question, FLEET) == []


def test_a_class_without_subclasses_or_base_classes_has_no_relatives() -> None:
    assert relatives("what extends Quay", FLEET) == []
    assert relatives("base class of Quay", FLEET) == []


def test_the_relatives_of_all_classes_with_the_same_name_are_returned() -> None:
    nodes = [
        *(ClassNode(f"{package}.Vessel", (), f"{package}.py", (1, 2)) for package in ("sea", "river")),
        ClassNode("sea.Ship", ("sea.Vessel",), "sea.py", (3, 4)),
        ClassNode("river.Boat", ("river.Vessel",), "river.py", (3, 4)),
    ]

    assert set(relatives("what extends Vessel", Hierarchy(nodes))) == {"sea.Ship", "river.Boat"}
    assert relatives("what extends sea.Vessel", Hierarchy(nodes)) == ["sea.Ship"]


def test_a_base_class_outside_the_project_is_found_through_its_subclasses() -> None:
    nodes = [ClassNode("harbour.Kind", ("enum.StrEnum",), "kind.py", (1, 2))]

    assert relatives("which enumerations derive from StrEnum", Hierarchy(nodes)) == ["harbour.Kind"]


def test_the_number_of_relatives_is_limited() -> None:
    many = tree(Vessel="", **{f"Ship{number}": "Vessel" for number in range(3 * MOST_RELATIVES)})

    assert len(relatives("subclasses of Vessel", many)) == MOST_RELATIVES


def test_circular_base_classes_terminate() -> None:
    circle = tree(Hen="Egg", Egg="Hen")

    assert relatives("what extends Hen", circle) == ["harbour.Egg"]
    assert relatives("base class of Hen", circle) == ["harbour.Egg"]


def test_a_class_with_a_hyphen_in_its_name_is_found() -> None:
    nodes = [
        ClassNode("Sea.old-boats.Boat", (), "boat.mjs", (1, 2)),
        ClassNode("Sea.Ferry", ("Sea.old-boats.Boat",), "ferry.mjs", (1, 2)),
    ]

    assert relatives("what extends Sea.old-boats.Boat?", Hierarchy(nodes)) == ["Sea.Ferry"]
