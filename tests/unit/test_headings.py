"""Texts that are split by their headings, in every syntax that has some."""

import json

import pytest

from lore_etl.core.model import KnowledgeType
from tests.harness.texts import chunks_in, outline, words

BODY = words(40)
Sections = list[tuple[tuple[int, int], str]]
"""The lines of each section and its path of headings."""
OUTLINES: dict[str, tuple[str, str, Sections]] = {
    "headings of Markdown": (
        "a.md", f"# Guide\n{BODY}\n## Setup\n{BODY}\n### Linux\n{BODY}\n## Use\n{BODY}\n",
        [((1, 2), "Guide"), ((3, 4), "Guide/Setup"), ((5, 6), "Guide/Setup/Linux"), ((7, 8), "Guide/Use")],
    ),
    "a heading that skips levels belongs to the nearest higher one": (
        "a.md", f"# A\n{BODY}\n#### D\n{BODY}\n## B\n{BODY}\n", [((1, 2), "A"), ((3, 4), "A/D"), ((5, 6), "A/B")]
    ),
    "underlined headings and closing marks": (
        "a.md", f"Top\n===\n{BODY}\n\nSub\n---\n{BODY}\n\n## Last ##\n{BODY}\n",
        [((1, 3), "Top"), ((5, 7), "Top/Sub"), ((9, 10), "Top/Last")],
    ),
    "a hash in a fence, a quotation or a list is no heading": (
        "a.md", f"# A\n{BODY}\n```sh\n# not a heading\nrun\n```\n\n> # quoted\n\n- # in a list\n", [((1, 10), "A")]
    ),
    "text before the first heading": ("a.md", f"{BODY}\n\n# A\n{BODY}\n", [((1, 1), ""), ((3, 4), "A")]),
    "front matter is in no section": ("a.md", f"---\ntitle: T\n---\n\n# A\n{BODY}\n", [((5, 6), "A")]),
    "a short section joins the one below, the last one that above": (
        "a.md", f"# A\n{BODY}\n## Short\nFew words.\n## B\n{BODY}\n## End\nBye.\n", [((1, 2), "A"), ((3, 8), "A/B")]
    ),
    "an author and a date are an ordinary heading in a guide": (
        "a.md", f"# @ann - 2024-05-01\n{BODY}\n", [((1, 2), "@ann - 2024-05-01")]
    ),
    "an empty file": ("a.md", "\n\n", []),
    "empty front matter": ("a.md", "---\n---\n", []),
    "the first use of an underline gives the level of titles in reStructuredText": (
        "a.rst", f"Guide\n=====\n{BODY}\n\nSetup\n-----\n{BODY}\n\nLinux\n~~~~~\n{BODY}\n\nUse\n---\n{BODY}\n",
        [((1, 3), "Guide"), ((5, 7), "Guide/Setup"), ((9, 11), "Guide/Setup/Linux"), ((13, 15), "Guide/Use")],
    ),
    "neither a short underline nor a transition is a title": (
        "a.rst", f"Long words\n===\n{BODY}\n\n-----\n\n{BODY}\n", [((1, 7), "")]
    ),
    "text before the first title": ("a.rst", f"{BODY}\n\nTitle\n=====\n{BODY}\n", [((1, 1), ""), ((3, 5), "Title")]),
    "a title joins the first section below it": ("a.rst", f"Top\n===\n\nSub\n---\n{BODY}\n", [((1, 6), "Top/Sub")]),
    "text with underlined titles": (
        "docs/a.txt", f"ferry(1)\n========\n\nNAME\n----\n{BODY}\n\nOPTIONS\n-------\n{BODY}\n",
        [((1, 6), "ferry(1)/NAME"), ((8, 10), "ferry(1)/OPTIONS")],
    ),
    "text without titles": ("docs/b.txt", f"{BODY}\n\n----\n\n{BODY}\n", [((1, 5), "")]),
    "a program in a file named as text": ("CMakeLists.txt", f"# Setup\n#######\n{BODY}\n", [((1, 3), "")]),
    "AsciiDoc": ("a.adoc", f"= Guide\n{BODY}\n\n== Setup\n{BODY}\n", [((1, 2), "Guide"), ((4, 5), "Guide/Setup")]),
    "Org": ("a.org", f"* Guide\n{BODY}\n\n** Setup\n{BODY}\n", [((1, 2), "Guide"), ((4, 5), "Guide/Setup")]),
    "LaTeX": (
        "a.tex", f"\\section{{Guide}}\n{BODY}\n\n\\subsection*{{Setup}}\n{BODY}\n",
        [((1, 2), "Guide"), ((4, 5), "Guide/Setup")],
    ),
    "HTML": (
        "a.html", f"<h1>Guide</h1>\n<p>{BODY}</p>\n\n<h2 id=x><b>Setup</b></h2>\n<p>{BODY}</p>\n",
        [((1, 2), "Guide"), ((4, 5), "Guide/Setup")],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("path", "text", "expected"), OUTLINES.values(), ids=OUTLINES)
def test_each_section_has_its_lines_and_the_path_of_its_headings(path: str, text: str, expected: Sections) -> None:
    found = outline(chunks_in(path, text))

    assert [(lines, "/".join(heading)) for _, lines, heading in found] == expected
    assert {kind for kind, _, _ in found} <= {"text" if path in ("docs/b.txt", "CMakeLists.txt") else "section"}


def test_a_heading_is_never_separated_from_its_text() -> None:
    text = f"# A\n{words(200)}\n## B\n### C\n" + f"{words(10)}\n" * 25

    first, *rest = chunks_in("a.md", text)

    assert first.heading == ("A",)
    assert [chunk.heading for chunk in rest] == [("A", "B", "C")] * len(rest)
    assert rest[0].text.startswith("## B\n### C\nword word")


def test_a_fence_or_table_that_fits_is_never_split() -> None:
    fence = "```py\n" + "\n\n".join(f"value_{n} = {n}" for n in range(25)) + "\n```"
    table = "| a | b |\n|---|---|\n" + "\n".join(f"| {n} | x |" for n in range(25))
    text = f"# A\n{words(120)}\n\n{fence}\n\n{words(100)}\n\n{table}\n\n{words(120)}\n"

    chunks = chunks_in("a.md", text)

    assert len(chunks) >= 3
    assert [[solid in chunk.text for chunk in chunks].count(True) for solid in (fence, table)] == [1, 1]


def test_a_long_fence_is_split_between_lines_and_stays_with_its_introduction() -> None:
    text = "# A\n\nRun this:\n\n```py\n" + "\n".join(f"call({n}, {n})" for n in range(100)) + "\n```"

    first, *rest = chunks_in("a.md", f"{text}\n")

    assert first.text.startswith("# A\n\nRun this:\n\n```py\ncall(0, 0)\n")
    assert "\n".join([first.text, *(chunk.text for chunk in rest)]) == text


def test_the_body_and_each_dated_comment_of_a_ticket_are_separate_chunks() -> None:
    text = (
        f"# Crash\n{BODY}\n## Comments\n"
        f"### @ann-b - 2024-05-01T10:00:00Z\nShort.\n### @bob — 2024-05-02\n{BODY}\n#### Detail\n{BODY}\n"
    )

    assert [(chunk.kind, chunk.lines, chunk.created) for chunk in chunks_in("i/1.md", text, KnowledgeType.TICKET)] == [
        ("ticket", (1, 2), None), ("comment", (3, 5), "2024-05-01T10:00:00Z"), ("comment", (6, 7), "2024-05-02"),
        ("comment", (8, 9), "2024-05-02"),
    ]  # fmt: skip
    (only,) = chunks_in("a.md", f"# @ann - 2024-05-01\n{BODY}\n")
    assert only.created is None


@pytest.mark.parametrize("body", ["", "\n", "\n \n\n"])
def test_a_document_with_only_front_matter_is_indexed_with_its_values(body: str) -> None:
    (chunk,) = chunks_in("a.md", f"---\ntitle: Berths\ntags: [night]\n---\n{body}", title="Berths")

    assert (chunk.text, chunk.lines, chunk.title) == ("title: Berths\ntags: [night]", (2, 3), "Berths")


def test_other_text_is_split_at_blank_lines() -> None:
    paragraphs = [f"{words(75)}\n{words(20)}" for _ in range(5)]

    chunks = chunks_in("a.go", "\n\n".join(paragraphs))

    assert [chunk.text for chunk in chunks] == ["\n\n".join(paragraphs[n : n + 2]) for n in (0, 2, 4)]


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<tr><td>Region</td><td>Price</td></tr><tr><td>Oslo</td></tr>", "Region Price Oslo "),
        ("<ul><li>one<li>two</ul>three<br>four", "one two three four "),
        ("<p>up<b>date</b> <code>a</code><i>b</i></p>", "update ab "),
        ("<style>\np { color: red }\n</style>\n<!-- note -->\n<p class='x'>Fish &amp; chips</p>", "Fish & chips "),
    ],
)
def test_a_page_is_indexed_without_its_markup_and_tags_separate_words_unless_they_are_inline(
    markup: str, expected: str
) -> None:
    assert [one.text for one in chunks_in("a.html", f"{markup}<p>{BODY}</p>")] == [expected + BODY]


def test_the_sections_of_an_ini_file_have_their_keys_as_symbols() -> None:
    chunks = chunks_in("setup.cfg", f"[tool]\nlimit = 3\n# {BODY}\n\n[other]\nname: x\n# {BODY}\n")

    assert [(one.heading, one.symbols) for one in chunks] == [
        (("tool",), ("tool.limit",)), (("other",), ("other.name",))
    ]  # fmt: skip


def test_the_cells_and_outputs_of_a_notebook_are_indexed() -> None:
    failed = {"output_type": "error", "ename": "ZeroDivisionError", "evalue": "division by zero"}
    cells = [
        {"cell_type": "markdown", "source": ["# Loading\n", BODY]},
        {"cell_type": "code", "source": "load()",
         "outputs": [{"text": ["3 rows\n"]}, {"data": {"text/plain": "True"}}]},
        {"cell_type": "code", "source": "1 / 0", "outputs": [failed]},
        {"cell_type": "code", "source": 3, "outputs": [None, {"data": {"image/png": "AAAA"}}]},
    ]  # fmt: skip

    (only,) = chunks_in("a.ipynb", json.dumps({"cells": cells}))

    assert only.heading == ("Loading",)
    shown = ("3 rows", "True", "ZeroDivisionError: division by zero", "AAAA")
    assert [text in only.text for text in shown] == [True, True, True, False]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "<" * 50_000, "<h1>" * 20_000, "<!--" * 20_000, "[" * 50_000, "\\section{" * 9_000]
)
@pytest.mark.parametrize("name", ["a.adoc", "a.org", "a.tex", "a.html", "a.ini", "a.ipynb"])
def test_hostile_text_is_indexed_in_bounded_time(name: str, text: str) -> None:
    chunks_in(name, text)
