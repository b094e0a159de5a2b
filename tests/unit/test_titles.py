"""The title of a document is in its text, whatever its syntax."""

import json

import pytest

from lore_etl.chunking import title_of
from lore_etl.sources.source import syntax_of
from tests.harness.texts import chunks_in, words
from tests.unit.test_sources import read

BODY = words(40)
NOTEBOOK = [
    {"cell_type": "code", "source": "# load the rows\nload()"},
    {"cell_type": "markdown", "source": ["Rows.\n", "\n", "# Loading data\n"]},
]
TITLES = {
    # reStructuredText: any first title, overlined or not, with markup or without
    "a.rst": ("Guide\n=====\nText\n", "Guide"),
    "over.rst": ("=======\n Guide\n=======\n\nSetup\n-----\n", "Guide"),
    "late.rst": (".. image:: a.png\n\n# a comment of nothing\n\nGuide\n~~~~~\n", "Guide"),
    "role.rst": (":mod:`!asyncio` --- ``async`` *I/O*\n" + "=" * 40 + "\n", "asyncio --- async I/O"),
    "link.rst": ("`Ferry <https://ferry.example>`_ guide\n" + "=" * 40 + "\n", "Ferry guide"),
    "punctuation.rst": (".NET: `paths`\n=============\n", ".NET: paths"),
    "CHANGES.rst": ("Changes\n=======\n", "Changes"),
    # text
    "docs/a.txt": (".. _guide:\n\nGuide\n=====\nText\n", "Guide"),
    "docs/b.txt": ("Text\n", "b"),
    # AsciiDoc
    "a.adoc": ("= Guide\n:toc:\n\n== Setup\n", "Guide"),
    "header.adoc": ("// note\n:toc:\n\n= Guide of C&#43;&#43;\nAnn\n", "Guide of C++"),
    "part.asciidoc": ("Text\n\n== Setup\n", "Setup"),
    # Org
    "a.org": ("# a comment\n#+AUTHOR: Ann\n#+TITLE: Guide\n\n* Setup\n", "Guide"),
    "two.org": ("#+title: Guide\n#+title: of Ferry\n", "Guide of Ferry"),
    "headline.org": ("# a comment\n* TODO [#A] Call Ann  :work:home:\n", "Call Ann"),
    # LaTeX
    "a.tex": ("% \\title{Old}\n\\documentclass{article}\\title[A]{A \\textbf{long}\\\\ {\\LaTeX} guide\\thanks{x}}\n",
              "A long LaTeX guide"),
    "lines.tex": ("\\title{\n  Fish \\& chips\n}\n\\section{Setup}\n", "Fish & chips"),
    "chapter.tex": ("\\chapter{Using \\texttt{ferry}}\n", "Using ferry"),
    # pages
    "docs/a.html": ("<html><head>\n<title>\n  Guide &amp; more\n</title></head><body><h1>Other</h1>", "Guide & more"),
    "docs/b.htm": ("<!-- <title>Old</title> --><svg><title>Icon</title></svg><H1 id=a>\n<b>Gui</b>de"
                   "<a href='#a'>¶</a></H1>", "Guide"),
    "docs/empty.html": ("<title> </title><h1>Guide</h1>", "Guide"),
    "base.html": ("<title>{% block title %}{% endblock %}</title><h1>Ferry</h1>", "Ferry"),
    # notebooks
    "a.ipynb": (json.dumps({"cells": NOTEBOOK}), "Loading data"),
    # Markdown: also an underlined heading, and none that is code, a quotation or front matter
    "a.md": ("# Guide #\n", "Guide"),
    "under.md": ("Text\n\nGuide\n=====\n", "Guide"),
    "fence.md": ("```sh\n# install it\n```\n\n## Guide\n", "Guide"),
    "front.md": ("---\n# a comment\ntags: [a]\n---\n\n> # Quoted\n\n# Guide\n", "Guide"),
    "empty.md": ("#\n\n## Guide\n", "Guide"),
    "README": ("Harbour\n=======\n", "Harbour"),
    "logo.md": ("<h1 align='center'>\n  <img src='a.png'><br>\n  Tide &amp; <b>wind</b>\n</h1>\n\n## Install\n",
                "Tide & wind"),
    "div.md": ("<div>\n<p>\n<h1>Tide</h1>\n</div>\n\n# Other\n", "Tide"),
    "image.md": ("<h1><img src='a.png'></h1>\n\n# Tide\n", "Tide"),
    "hidden.md": ("<!-- <h1>Old</h1> -->\n\n> <h1>Quoted</h1>\n\n`<h1>Code</h1>`\n\n# Tide\n", "Tide"),
}  # fmt: skip


@pytest.mark.parametrize(("path", "text", "title"), [(path, *row) for path, row in TITLES.items()])
def test_a_document_has_the_title_in_its_text(path: str, text: str, title: str) -> None:
    assert read(path, text).title == title


@pytest.mark.parametrize(
    ("path", "text"),
    [(path, "no heading\n") for path in TITLES]
    + [
        ("base.html", "<title>{{ title }}</title><h1>{{ title }}</h1>"),
        ("base.html", "<title>${title}</title>"),
        ("a.ipynb", "{"),
        ("a.tex", "\\title{\\thanks{x}}"),
        ("a.rst", "Short title\n===\n\n====\n\ntext\n"),
        ("a.md", "    # code\n"),
    ],
)
def test_a_document_without_a_title_is_named_after_its_file(path: str, text: str) -> None:
    assert read(path, text).title == path.rpartition("/")[2].partition(".")[0]


@pytest.mark.parametrize("suffix", ["rst", "adoc", "org", "tex", "html", "md"])
def test_a_title_is_one_storable_line_of_bounded_length(suffix: str) -> None:
    name = "x\x00\ud800\t" + "word " * 200
    texts = {"rst": f"{name}\n{'=' * len(name)}\n", "adoc": f"= {name}\n", "org": f"#+TITLE: {name}\n",
             "tex": f"\\title{{{name}}}\n", "html": f"<title>{name[:590]}</title>", "md": f"# {name}\n"}  # fmt: skip

    title = read(f"docs/a.{suffix}", texts[suffix]).title

    assert title.startswith("x\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER} word word")
    assert 150 < len(title) <= 300


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ('<a name="stays" />Stays', "Stays"),
        ('Stays <a id="stays"></a>', "Stays"),
        ("[2.1.0](https://example.org/2.1.0) - 2024-02-01", "2.1.0 - 2024-02-01"),
        (":ship: Stays [![built](https://example.org/b.svg)](https://example.org) ![](c.svg)", ":ship: Stays"),
        ("![Stays](logo.svg)", "Stays"),
        ("[`stay(rope)`](api.md)", "`stay(rope)`"),
        ("The `<a>` tag, `ropes[0](end)` and Knot<Rope>", "The `<a>` tag, `ropes[0](end)` and Knot<Rope>"),
    ],
)
def test_a_heading_is_read_as_it_is_shown(heading: str, title: str) -> None:
    assert read("a.md", f"# {heading}\n").title == title
    assert chunks_in("a.md", f"{BODY}\n\n## {heading}\n\n{BODY}\n")[1].heading == (title,)


def test_headings_in_html_divide_markdown_like_others() -> None:
    parts = "<h1>Tide</h1>", "<details>\n<h2 id='a'>Setup</h2>", "### Linux", "<h2>Use</h2>"
    text = "\n\n".join(f"{heading}\n\n{BODY}" for heading in parts)

    assert [(one.lines, one.heading) for one in chunks_in("a.md", text)] == [
        ((1, 5), ("Tide",)),
        ((6, 8), ("Tide", "Setup")),
        ((10, 12), ("Tide", "Setup", "Linux")),
        ((14, 16), ("Tide", "Use")),
    ]


def test_the_levels_of_rst_titles_depend_on_their_overlines() -> None:
    text = (
        f"=====\nGuide\n=====\n{BODY}\n\nSetup\n=====\n{BODY}\n\n=====\n Use\n=====\n{BODY}\n\nLinux\n=====\n{BODY}\n"
    )

    chunks = chunks_in("a.rst", text)

    assert [(one.lines, one.heading) for one in chunks] == [
        ((1, 4), ("Guide",)),
        ((6, 8), ("Guide", "Setup")),
        ((10, 13), ("Use",)),
        ((15, 17), ("Use", "Linux")),
    ]


def test_a_comment_in_the_code_of_a_notebook_is_not_a_heading() -> None:
    cells = [*NOTEBOOK, {"cell_type": "code", "source": f"# {BODY}\n# {BODY}"}]

    chunks = chunks_in("a.ipynb", json.dumps({"cells": cells}))

    assert {step for one in chunks for step in one.heading} == {"Loading data"}


HOSTILE = ["\\title{", "\\title{ x ", "\\title", "{", "<title>", "<title", "<h1>", "<h1 ", "<!--", "<svg", "`a",
           "*a ", ":a:", "#+title: a\n", "a\n===\n", "===\n", "> ", "[", "#\n", "```\n"]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize("suffix", ["rst", "adoc", "org", "tex", "html", "md", "ipynb"])
def test_a_hostile_text_has_a_title_in_bounded_time(suffix: str, piece: str) -> None:
    text = piece * 20_000
    title_of(text, syntax_of(f"a.{suffix}"))
    title_of(f"{text[:40_000]}\n{'=' * 40_000}", syntax_of(f"a.{suffix}"))
