"""The questions that init suggests come from the project, and are safe to paste into a shell."""

from hypothesis import given
from hypothesis import strategies as st

from lore_etl.core.model import ClassNode
from lore_etl.relations.classes import Hierarchy
from lore_server.framework.init_service import first_questions

NO_CLASSES = Hierarchy([])


def file(source: str, title: str, chunks: int = 1, type_: str = "guide") -> dict[str, object]:
    return {"source": source, "title": title, "type": type_, "chunks": chunks, "lines": 1}


def test_the_longest_specific_guide_is_suggested() -> None:
    files = [file("README.md", "Ferry", 50), file("docs/a.md", "Short"), file("docs/b.md", "Retry policies", 9)]

    assert first_questions(files, NO_CLASSES) == {
        "search": "Retry policies", "ask": "What is Retry policies about?",
    }  # fmt: skip
    assert first_questions([], NO_CLASSES) is None


def test_the_most_extended_class_of_the_project_is_suggested() -> None:
    nodes = [ClassNode("a.Store", (), "a.py", (1, 2)), ClassNode("a.One", ("a.Store",), "a.py", (3, 4))]
    nodes += [ClassNode("a.Two", ("a.Store",), "a.py", (5, 6))]
    nodes += [ClassNode(f"a.E{n}", ("Exception",), "a.py", (7, 8)) for n in range(3)]

    found = first_questions([file("a.py", "a.py", type_="source")], Hierarchy(nodes))

    assert found == {"search": "Store", "ask": "Which classes extend Store?"}


def test_without_a_guide_the_longest_class_is_suggested_rather_than_a_manifest() -> None:
    nodes = [ClassNode("src/index.Component", (), "src/index.d.ts", (1, 90)), ClassNode("a.B", (), "a.js", (1, 2))]
    files = [file("README.md", "Preact", 9), file("package.json", "package.json", 30, "src")]

    assert first_questions(files, Hierarchy(nodes)) == {"search": "Component", "ask": "Where is Component defined?"}
    assert first_questions(files, NO_CLASSES) == {"search": "package.json", "ask": "What is package.json about?"}


@given(st.lists(st.text(max_size=30), max_size=4), st.text(min_size=1, max_size=20))
def test_no_suggestion_contains_a_character_that_a_shell_interprets(titles: list[str], name: str) -> None:
    nodes = [ClassNode(name, (), "x", (1, 1)), *(ClassNode(f"C{n}", (name,), "x", (1, 1)) for n in range(2))]

    found = first_questions([file(f"{n}.md", title) for n, title in enumerate(titles)], Hierarchy(nodes))

    for text in found.values() if found else ():
        assert not set("\"'`$\\!;&|<>(){}*~#\n\r\t\x1b") & set(str(text))
        assert not str(text).startswith("-")
