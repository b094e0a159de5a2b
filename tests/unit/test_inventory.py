"""Test the counts of what a project contains and leaves out."""

from __future__ import annotations

from lore_etl.sources.source import MAX_ROWS, inventory


def test_files_are_counted_by_type_and_language_and_the_others_by_extension_and_reason() -> None:
    owned = {"a.py": "src", "b.pyi": "src", "tests/a.py": "test", "main.tf": "src", "README.md": "guide"}

    counted = inventory(
        owned, dict.fromkeys(["a.png", "b.PNG", "a.min.js", "package-lock.json", "spec.pages", "LICENSE", "x.qqq"], "")
    )

    assert [(row["type"], row["language"], row["files"]) for row in counted["found"]] == [
        ("src", "Python", 2),
        ("test", "Python", 1),
        ("src", "Terraform", 1),
        ("guide", "Markdown", 1),
    ]
    assert [(row["extension"], row["reason"], row["files"]) for row in counted["left_out"]] == [
        (".png", "binary", 2),
        (".js", "minified or bundled", 1),
        (".json", "lock file", 1),
        (".pages", "document format that Lore does not read", 1),
        (".qqq", "type of file that Lore does not read", 1),
        ("LICENSE", "type of file that Lore does not read", 1),
    ]


def test_the_projects_own_configuration_is_not_reported_as_an_unknown_type() -> None:
    counted = inventory({}, dict.fromkeys(["lore.toml", "sub/lore.toml"], ""))

    assert {row["reason"] for row in counted["left_out"]} == {"configuration of Lore"}


def test_a_file_of_a_known_type_is_left_out_for_its_name() -> None:
    counted = inventory({}, dict.fromkeys(["LICENSE.rst", "words.txt"], ""))

    assert {row["reason"] for row in counted["left_out"]} == {"neither documentation nor code by its name"}


def test_many_extensions_are_summed_up() -> None:
    counted = inventory({}, dict.fromkeys([f"a.x{number}" for number in range(MAX_ROWS + 30)], ""))

    assert len(counted["left_out"]) == MAX_ROWS + 1
    assert sum(row["files"] for row in counted["left_out"]) == MAX_ROWS + 30
