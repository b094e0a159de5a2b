"""Texts that are split by their headings."""

from __future__ import annotations

import json

import pytest

from tests.harness.texts import chunks_in, outline, words

BODY = words(40)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.adoc", f"= Guide\n{BODY}\n\n== Setup\n{BODY}\n"),
        ("a.org", f"* Guide\n{BODY}\n\n** Setup\n{BODY}\n"),
        ("a.tex", f"\\section{{Guide}}\n{BODY}\n\n\\subsection*{{Setup}}\n{BODY}\n"),
        ("a.html", f"<h1>Guide</h1>\n<p>{BODY}</p>\n\n<h2 id=x><b>Setup</b></h2>\n<p>{BODY}</p>\n"),
    ],
)
def test_a_document_is_split_by_its_headings(path: str, text: str) -> None:
    assert outline(chunks_in(path, text)) == [
        ("section", (1, 2), ("Guide",)),
        ("section", (4, 5), ("Guide", "Setup")),
    ]


def test_a_page_is_indexed_without_its_markup() -> None:
    text = f"<style>\np {{ color: red }}\n</style>\n<!-- note -->\n<p class='x'>Fish &amp; chips {BODY}</p>\n"

    assert [one.text for one in chunks_in("a.html", text)] == [f"Fish & chips {BODY}"]


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<tr><td>Region</td><td>Price</td></tr><tr><td>Oslo</td></tr>", "Region Price Oslo"),
        ("<ul><li>one<li>two</ul>three<br>four", "one two three four"),
        ("<p>up<b>date</b> <code>a</code><i>b</i></p>", "update ab"),
    ],
)
def test_tags_separate_words_unless_they_are_inline(markup: str, expected: str) -> None:
    assert [one.text for one in chunks_in("a.html", f"{markup}<p>{BODY}</p>")] == [f"{expected} {BODY}"]


def test_the_sections_of_an_ini_file_have_their_keys_as_symbols() -> None:
    chunks = chunks_in("setup.cfg", f"[tool]\nlimit = 3\n# {BODY}\n\n[other]\nname: x\n# {BODY}\n")

    assert [(one.heading, one.symbols) for one in chunks] == [
        (("tool",), ("tool.limit",)),
        (("other",), ("other.name",)),
    ]


def test_the_cells_and_outputs_of_a_notebook_are_indexed() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Loading\n", BODY]},
        {
            "cell_type": "code",
            "source": "load()",
            "outputs": [{"text": ["3 rows\n"]}, {"data": {"text/plain": "True"}}],
        },
        {
            "cell_type": "code",
            "source": "1 / 0",
            "outputs": [{"output_type": "error", "ename": "ZeroDivisionError", "evalue": "division by zero"}],
        },
        {"cell_type": "code", "source": 3, "outputs": [None, {"data": {"image/png": "AAAA"}}]},
    ]

    chunks = chunks_in("a.ipynb", json.dumps({"cells": cells}))

    assert [one.heading for one in chunks] == [("Loading",)]
    assert "3 rows" in chunks[0].text
    assert "True" in chunks[0].text
    assert "ZeroDivisionError: division by zero" in chunks[0].text
    assert "AAAA" not in chunks[0].text


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "<" * 50_000, "<h1>" * 20_000, "<!--" * 20_000, "[" * 50_000, "\\section{" * 9_000]
)
@pytest.mark.parametrize("name", ["a.adoc", "a.org", "a.tex", "a.html", "a.ini", "a.ipynb"])
def test_hostile_text_is_indexed_in_bounded_time(name: str, text: str) -> None:
    chunks_in(name, text)
