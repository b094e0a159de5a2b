from textwrap import dedent

import pytest

from lore_etl.chunking import chunk
from lore_etl.core.model import ClassDefinition
from tests.harness.models import counter
from tests.harness.texts import chunks_in, document, facts_of, outline, symbols, words

PASS = f'    """{words(30)}"""'
BODY = f'        """{words(30)}"""'


def code(text: str) -> str:
    """Return a module with PASS and BODY replaced by bodies that are long enough for their own chunks."""
    return dedent(text).strip("\n").replace("    PASS", PASS).replace("    BODY", BODY[4:])


def test_module_class_methods_and_functions_are_named_chunks() -> None:
    text = code("""
        '''What the module is for, in a sentence that is long enough to stand by itself and be found by what it says.'''
        import os

        LIMIT = 3
        names: list[str] = []


        class Store:
            PASS

            def get(self):
                BODY

            async def put(self):
                BODY


        def open_store():
            PASS
        """)

    chunks = chunks_in("store.py", text)

    assert outline(chunks) == [
        ("module", (1, 5), ()),
        ("class", (8, 9), ("Store",)),
        ("method", (11, 12), ("Store", "get")),
        ("method", (14, 15), ("Store", "put")),
        ("function", (18, 19), ("open_store",)),
    ]
    assert symbols(chunks) == [
        ("LIMIT", "names"), ("Store",), ("Store.get",), ("Store.put",), ("open_store",),
    ]  # fmt: skip
    assert [chunk.class_name for chunk in chunks] == [None, "Store", "Store", "Store", None]


def test_comments_and_decorators_above_a_definition_belong_to_it() -> None:
    text = code("""
        def first():
            PASS

        # Why second is
        # as it is.
        @cache
        @other(
            1,
        )
        def second():
            PASS
        """)

    assert [chunk.lines for chunk in chunks_in("a.py", text)] == [(1, 2), (4, 11)]


def test_small_classes_are_separate_chunks_and_a_class_keeps_its_name_when_joined_with_a_longer_method() -> None:
    (joined,) = chunks_in("a.py", code("class Small:\n    def run(self):\n        BODY\n"))
    two = chunks_in("a.py", "class AError(Exception):\n    pass\n\n\nclass BError(Exception):\n    pass\n")

    assert (joined.kind, joined.heading, joined.symbols) == ("class", ("Small",), ("Small", "Small.run"))
    assert symbols(two) == [("AError",), ("BError",)]


def test_syntax_warnings_of_parsed_code_are_not_reported(recwarn: pytest.WarningsRecorder) -> None:
    assert symbols(chunks_in("a.py", 'NAME = "\\d" is 1\n')) == [("NAME",)]
    assert list(recwarn) == []


def test_the_head_of_a_class_stays_with_its_first_method() -> None:
    method = "\n".join(f"        self.value_{n} = compute({n})" for n in range(60))

    first, *rest = chunks_in("a.py", f"class Big:\n    def __init__(self):\n{method}\n")

    assert first.text.startswith("class Big:\n    def __init__(self):\n")
    assert {chunk.kind for chunk in (first, *rest)} == {"class"}
    assert (first.symbols, rest[0].symbols) == (("Big", "Big.__init__"), ("Big.__init__",))


def test_the_pieces_of_a_long_module_head_name_only_their_own_definitions() -> None:
    text = "\n".join(f"NAME_{n} = compute_value({n}, {n})" for n in range(30))

    chunks = chunks_in("a.py", text)

    assert len(chunks) > 1
    assert [name for chunk in chunks for name in chunk.symbols] == [f"NAME_{n}" for n in range(30)]
    assert all(all(name in chunk.text for name in chunk.symbols) for chunk in chunks)


def test_a_long_function_is_split_where_nesting_is_lowest_and_keeps_its_name() -> None:
    block = "    for item in items:\n        first(item)\n        second(item)\n        third(item)\n"
    text = "def work(items):\n" + block * 20

    chunks = chunks_in("a.py", text)

    assert len(chunks) > 1
    assert {chunk.symbols for chunk in chunks} == {("work",)}
    assert all(chunk.text.startswith("    for item") for chunk in chunks[1:])


def test_definitions_inside_if_try_and_with_blocks_are_found_and_elif_chains_do_not_nest() -> None:
    text = code("""
        try:
            from fast import Base
        except ImportError:
            class Base:
                BODY
        if True:
            def one():
                BODY
        elif False:
            def two():
                BODY
        else:
            class Three(Base):
                BODY
        """)
    chain = "if x:\n    pass\n" + "elif x:\n    pass\n" * 1500 + "else:\n    class Deep: pass\n"

    assert [name for group in symbols(chunks_in("a.py", text)) for name in group] == ["Base", "one", "two", "Three"]
    assert facts_of("a.py", text).classes == (
        ClassDefinition("Base", (4, 5)),
        ClassDefinition("Three", (13, 14), ("Base",)),
    )
    assert [class_.name for class_ in facts_of("a.py", chain).classes] == ["Deep"]


def test_classes_have_their_base_classes_and_nested_classes_their_path() -> None:
    text = "class A(b.C, Generic[T], D[int], *rest, make(), metaclass=M):\n    class Inner(A):\n        pass\n"

    assert facts_of("a.py", text).classes == (
        ClassDefinition("A", (1, 3), ("b.C", "Generic", "D")),
        ClassDefinition("A.Inner", (2, 3), ("A",)),
    )


def test_classes_within_functions_have_the_path_of_the_function_but_no_sections() -> None:
    text = code("""
        class A:
            def of(self):
                if self:
                    class Own(A):
                        size = 1

                        def __len__(self):
                            return self.size
                return Own

        def make():
            def inner():
                class Deep(A.Inner):
                    pass
    """)
    facts = facts_of("a.py", text)

    assert [(one.name, one.bases) for one in facts.classes] == [
        ("A", ()),
        ("A.of.Own", ("A",)),
        ("make.inner.Deep", ("A.Inner",)),
    ]
    assert [member.name for member in facts.members["A.of.Own"]] == ["size", "__len__"]
    assert facts.members.keys() == {"A", "A.of.Own", "make.inner.Deep"}
    assert {one.class_name for one in chunks_in("a.py", text)} <= {"A", None}


def test_imports_map_local_names_and_the_outermost_import_wins() -> None:
    text = code("""
        import os.path
        import numpy as np
        from . import sibling
        from ..core import Base as Core
        from .parts import *
        def f():
            from other import Core
        """)

    assert facts_of("a.py", text).imports == {
        "os": ("os", None),
        "np": ("numpy", None),
        "sibling": (".", "sibling"),
        "Core": ("..core", "Base"),
        "* .parts": (".parts", "*"),
    }


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("def f(:\n  pass", "Python syntax error at line 1; indexed as plain text"),
        ("x = 1\nprint 'python 2'", "Python syntax error at line 2; indexed as plain text"),
        ("-" * 100_000 + "1", "Python that cannot be parsed; indexed as plain text"),
    ],
)
def test_invalid_python_is_indexed_as_plain_text_with_a_warning(text: str, warning: str) -> None:
    chunks, _, found = chunk(document("a.py", text), counter())

    assert found == warning
    assert {chunk.kind for chunk in chunks} == {"text"}
