"""Questions about inheritance are answered from the class tree; all other questions are left alone."""

from __future__ import annotations

import pytest

from lore_etl.relations.classes import ClassNode, Hierarchy
from lore_server.query.structure import MOST_RELATIVES, relatives


def tree(**bases: str) -> Hierarchy:
    """Classes of the package `harbour` by name, each with its base."""
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
def test_classes_below_the_named_one_come_nearest_first(question: str) -> None:
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
def test_a_question_upwards_brings_the_ancestors_nearest_first(question: str) -> None:
    assert relatives(question, FLEET) == ["harbour.Ship", "harbour.Vessel"]


@pytest.mark.parametrize(
    "question",
    ["how does a Vessel sail", "Vessel", "Vessel.sail", "why is the Ship late", "where is Liner defined", ""],
)
def test_a_question_about_anything_else_has_no_relatives(question: str) -> None:
    assert relatives(question, FLEET) == []


def test_a_long_story_in_which_a_class_extends_another_is_no_question() -> None:
    story = "The crew was surprised that what extends Vessel did not float, and wrote down what they saw. " * 6

    assert relatives(story, FLEET) == []


@pytest.mark.parametrize("question", ["what extends Aeroplane", "what extends vessel", "what extends VESSEL"])
def test_a_class_is_named_as_it_is_written_or_not_at_all(question: str) -> None:
    assert relatives(question, FLEET) == []


def test_a_class_with_nothing_below_it_or_above_it_has_no_relatives() -> None:
    assert relatives("what extends Quay", FLEET) == []
    assert relatives("base class of Quay", FLEET) == []


def test_of_two_classes_with_one_name_the_relatives_of_both_come() -> None:
    nodes = [
        *(ClassNode(f"{package}.Vessel", (), f"{package}.py", (1, 2)) for package in ("sea", "river")),
        ClassNode("sea.Ship", ("sea.Vessel",), "sea.py", (3, 4)),
        ClassNode("river.Boat", ("river.Vessel",), "river.py", (3, 4)),
    ]

    assert set(relatives("what extends Vessel", Hierarchy(nodes))) == {"sea.Ship", "river.Boat"}
    assert relatives("what extends sea.Vessel", Hierarchy(nodes)) == ["sea.Ship"]


def test_a_base_outside_the_project_is_known_by_the_classes_below_it() -> None:
    nodes = [ClassNode("harbour.Kind", ("enum.StrEnum",), "kind.py", (1, 2))]

    assert relatives("which enumerations derive from StrEnum", Hierarchy(nodes)) == ["harbour.Kind"]


def test_there_are_never_more_than_a_few() -> None:
    many = tree(Vessel="", **{f"Ship{number}": "Vessel" for number in range(3 * MOST_RELATIVES)})

    assert len(relatives("subclasses of Vessel", many)) == MOST_RELATIVES


def test_classes_that_run_in_a_circle_end() -> None:
    circle = tree(Hen="Egg", Egg="Hen")

    assert relatives("what extends Hen", circle) == ["harbour.Egg"]
    assert relatives("base class of Hen", circle) == ["harbour.Egg"]


def test_a_class_whose_name_holds_a_hyphen_is_found_by_it() -> None:
    nodes = [
        ClassNode("Sea.old-boats.Boat", (), "boat.mjs", (1, 2)),
        ClassNode("Sea.Ferry", ("Sea.old-boats.Boat",), "ferry.mjs", (1, 2)),
    ]

    assert relatives("what extends Sea.old-boats.Boat?", Hierarchy(nodes)) == ["Sea.Ferry"]
