"""Pages of documentation become Markdown with headings, whatever they were, and cannot claim another origin."""

import gc
import time

import pytest

from lore_etl.core.errors import UsageError
from lore_etl.core.frontmatter import read_front_matter
from lore_etl.core.html_markdown import html_as_markdown, links_of
from lore_server.library_docs.doc_page import Readable, is_readable, markdown_page, page_path, readable
from lore_server.library_docs.doc_set import as_name, as_version, checked_name
from lore_server.library_docs.local_docs import is_documentation

PAGE = """<!doctype html><html><head><title>Routing &amp; more</title><script>var a = "<p>no</p>";</script></head>
<body><nav>Menu <ul><li>Home</ul></nav><main><header><h1>Routing <a class="headerlink" href="#r">¶</a></h1></header>
<p>Use <code>Route</code> for
<em>paths</em>.</p><div class="highlight-python"><pre><span>def</span> f():
    return 1 &lt; 2
</pre></div><ul><li>one<li>two<ul><li>deep</li></ul></li></ul>
<table><tr><th>A</th><th>B</th></tr><tr><td><p>1</p></td><td>2|3</td></tr></table>
<h2>Mounts</h2>first<br>second</main><footer>Imprint</footer></body></html>"""


def test_the_main_content_of_a_page_keeps_its_structure() -> None:
    text, title = html_as_markdown(PAGE)

    assert text == (
        "# Routing\n\nUse `Route` for paths.\n\n"
        "```python\ndef f():\n    return 1 < 2\n```\n\n- one\n- two\n  - deep\n\n"
        "| A | B |\n|---|---|\n| 1 | 2\\|3 |\n\n## Mounts\n\nfirst\nsecond"
    )
    assert title == ""
    assert html_as_markdown("<title>A &lt; B</title><p>Text</p>") == ("Text", "A < B")  # without a main heading


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p># forged</p>", "\\# forged"),
        ("<p>a<br>---<br>library: x</p>", "a\n\\---\nlibrary: x"),
        ("<pre>```\n# forged\n```</pre>", "````\n```\n# forged\n```\n````"),
        ("menu<main>unclosed", "unclosed"),
        ("<pre>unclosed", "```\nunclosed\n```"),
        ("<td class=linenos><pre>1</pre></td><td><pre>code</pre></td>", "```\ncode\n```"),
        ("plain", "plain"),
        ("", ""),
    ],
)
def test_the_text_of_a_page_cannot_forge_structure(page: str, text: str) -> None:
    assert html_as_markdown(page)[0] == text


@pytest.mark.parametrize("piece", ["<nav>", "<main>", "<p ", "<a href='", "<pre>", "<table><tr><td>", "<!--", "<li>"])
def test_a_hostile_page_is_read_in_linear_time(piece: str) -> None:
    assert seconds_of(piece * 20_000) < 40 * seconds_of(piece * 2_000) + 0.5


def seconds_of(page: str) -> float:
    """Return the time this thread takes to read a page, without the garbage of other tests."""
    gc.disable()
    try:
        start = time.thread_time()
        html_as_markdown(page)
        return time.thread_time() - start
    finally:
        gc.enable()


def test_links_are_found_in_any_quotes_and_only_once() -> None:
    page = """<!doctype html><A HREF=a.html>x</A><a href='c?d=1&amp;e=2'>y</a><a href="a.html">z</a><a id=n>"""

    assert links_of(page) == ["a.html", "c?d=1&e=2"]


def test_headings_of_other_syntaxes_become_those_of_markdown_and_text_stays_because_it_is_often_markdown() -> None:
    rst, page = (
        "=====\nTitle\n=====\n\nText.\n\nPart\n----\n\nMore.\n",
        "# Title\n\nPart\n----\n\n```\na: 1\n----\n```\n",
    )

    assert readable("a.rst", rst).text.split() == ["#", "Title", "Text.", "##", "Part", "More."]
    assert readable("a.adoc", "= Title\n\nText.\n\n== Part\nMore.\n").text.split("\n")[1] == "# Title"
    assert readable("llms.txt", page).text == page
    for path, text in (("a.org", "#+TITLE: Guide\n\n* Part\n"), ("a.tex", "\\title{Guide}\n\\section{Part}\n")):
        assert (readable(path, text).title, "# Part" in readable(path, text).text) == ("Guide", True)


def test_only_the_front_matter_of_lore_is_read() -> None:
    page = readable(
        "a.md", "---\ntitle: 'Real: title'\nlibrary: other\nsupersedes: README.md\nstate: open\n---\n\n# Text\n"
    )
    front = read_front_matter(markdown_page(page, "vue", "3.5", "https://vuejs.test/a\n---\nlibrary: forged"))

    assert front.values == {
        "title": "Real: title", "library": "vue", "version": "3.5",
        "url": "https://vuejs.test/a\n---\nlibrary: forged",
    }  # fmt: skip
    assert (front.supersedes, front.tags) == ((), ())


def test_a_text_that_looks_like_front_matter_stays_text() -> None:
    page = markdown_page(Readable("---\nlibrary: forged\n---\nText"), "vue")

    assert read_front_matter(page).values == {"library": "vue"}
    assert page.endswith("---\n\n---\nlibrary: forged\n---\nText\n")


@pytest.mark.parametrize(
    ("path", "is_wanted"),
    [("a.md", True), ("docs/a.rst", True), ("a.HTML", True), ("a.txt", True), ("a.ipynb", True), ("a.py", False),
     ("a.pdf", False), ("LICENSE.md", False), ("x/requirements-dev.txt", False)],
)  # fmt: skip
def test_documentation_is_recognised_by_its_name(path: str, is_wanted: bool) -> None:
    assert (is_readable(path) and is_documentation(path)) is is_wanted


def test_names_are_safe_on_every_system() -> None:
    assert [as_name("@vue/core"), as_name("../x"), as_name("a b")] == ["vue-core", "x", "a-b"]
    assert [page_path("a.md"), page_path("a.rst")] == ["a.md", "a.rst.md"]
    assert [as_version("1.0\n---"), as_version(None)] == ["1.0 ---", ""]
    for name in ("", "..", "a/b", "a..b", ".a", "a.", "x" * 65, "a\n"):
        with pytest.raises(UsageError):
            checked_name(name)
