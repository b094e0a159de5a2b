"""An answer contains no address outside its cited passages, no image and no HTML."""

import html
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from lore_server.answer.answer_markdown import addresses, shown_text, without_links
from lore_server.answer.pack import Passage
from lore_server.answer.statements import verified
from lore_server.answer.writer_interface import Statement
from lore_server.http.rendering import elements_of
from tests.harness.chunks import make_chunk

GOOD = "https://docs.example.org/guide"
PASSAGES = [
    Passage(1, make_chunk("a.md", text=f"See {GOOD}, and Vec<String> for more.")),
    Passage(2, make_chunk("b.md", text="Other: https://second.example.org/x.")),
]
PIECES = [
    *"[]()!<>`\\\"' \n\t|*_:/a",
    *("\n\n", "    ", "- ", "> ", "# ", "1. ", "```\n", "~~~\n", "|-|-|\n", "**", "~~", "//", "word"),
    *("&#58;", "&colon;", "&#x2f;", "\\:", "\\/", "https", "HTTPS:", "https://", "javascript:", "JaVaScRiPt&#58;"),
    *("data:text/html,", "mailto:", "www.", "evil.example", "evil.example/?q=SECRET", GOOD, "a@evil.example"),
    *("[1]", "[2]", "[9]", "[r]", "[r]:", "[r]: https://evil.example 'title'\n", "](https://evil.example)", "![x]("),
    *("//evil.example", "](", "](<", "]( ", "]:", "\\/\\/evil.example", "/\\evil.example", "&sol;", "x:y"),
    *("\t", "<svg/onload=x>", "<svg"),
    *("<img src=x>", "<a href=", "<!--", "-->", "<![CDATA[", "<?", "</a>", "<script>"),
]
SCHEME = re.compile(r"(?i)[a-z][a-z0-9+.-]*://|(?:java|vb)script:|mailto:|data:[a-z]|www\.")


class Lenient(MarkdownIt):
    """Recognize everything that some program might treat as a link."""

    def validateLink(self, url: str) -> bool:
        return True


TARGET = re.compile(r"\][\s]*\(|\]:")
LEADS_OUT = re.compile(r"(?i)[/\\]{2}|[a-z][a-z0-9+.-]*:(?=\S)")


def assert_other_readers_find_nothing(text: str, allowed: frozenset[str]) -> None:
    """Check what readers that are not CommonMark may treat as markup: any tag, and any target after brackets."""
    for match in TARGET.finditer(text):
        after = text[match.end() :]
        written = html.unescape(after).lstrip().removeprefix("<")
        for read in (written.replace("\\", ""), written.replace("\\", "/")):
            target = re.sub(r"^[\s<]+|[\t\r\n]", "", read)
            assert not LEADS_OUT.match(target) or any(target.startswith(prefix) for prefix in allowed), text
    tokens = MarkdownIt("commonmark").disable("text_join").enable(["table", "strikethrough"]).parse(text)
    plain = [child.content for token in tokens for child in token.children or () if child.type == "text"]
    assert not [content for content in plain if re.search(r"<[A-Za-z/!?]|(?<![\w:/])//[\w-]+\.\w", content)], text


def assert_leads_nowhere(text: str, cited: list[int]) -> None:
    allowed = addresses(passage.chunk.text for passage in PASSAGES if passage.number in cited)
    assert_other_readers_find_nothing(text, allowed)
    tokens = Lenient("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)
    inline = [child for token in tokens for child in token.children or ()]
    assert not [token for token in (*tokens, *inline) if token.type in ("html_block", "html_inline", "image")], text
    assert {token.attrs["href"] for token in inline if token.type == "link_open"} <= allowed, text
    shown = re.findall(r'"href", "([^"]*)"', str(elements_of(text)).replace("'", '"'))
    assert set(shown) <= allowed, text
    for match in SCHEME.finditer(text):
        rest = text[match.start() :]
        assert any(rest.startswith(prefix) for prefix in allowed), text
        address = next(prefix for prefix in allowed if rest.startswith(prefix))
        assert re.match(r"[\s<>\"'`.,;:!?*_~|)]|$", rest[len(address) :]), text


def checked(text: str) -> str:
    """Return a statement with this text that quotes the whole first passage; empty if it is dropped."""
    statement = Statement(quotes=[PASSAGES[0].chunk.text], passages=[1], text=text)
    return verified(statement, {passage.number: passage for passage in PASSAGES}, []) or ""


@settings(max_examples=600, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=24).map("".join))
def test_no_statement_contains_an_external_address(text: str) -> None:
    shown = checked(text)

    assert_leads_nowhere(shown, [1])
    assert without_links(shown, [PASSAGES[0].chunk.text]) == shown


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.sampled_from([*PIECES, ". "]), max_size=12).map("".join), max_size=4))
def test_no_answer_of_several_statements_contains_an_external_address(texts: list[str]) -> None:
    assert_leads_nowhere("\n\n".join(filter(None, map(checked, texts))), [1])


TARGETS = (
    "<https://evil.example> HTTPS://EVIL.example //evil.example \\/\\/evil.example /\\evil.example \\\\evil.example "
    "&#47;/evil.example &sol;&sol;evil.example /&NewLine;/evil.example &nbsp;//evil.example evil:y evil&colon;y "
    "https&colon;//evil.example https:\\/\\/evil.example javascript:alert(1) JAVA&Tab;SCRIPT:alert(1) "
    "data:text/html;base64,PHN2Zz4="
).split()
TAGS = (
    "//evil.example https://evil.example me@evil.example svg/onload=evil svg//onload=evil "
    "script/src=//evil.example /evil=1 !evil"
).split()


@pytest.mark.parametrize(
    "link",
    [
        *(f"[x]({target})" for target in TARGETS),
        *(f"x <{inside}>" for inside in TAGS),
        "![x](https://evil.example/x.png)",
        "![x]( https://evil.example/x.png)",
        '[x](https://evil.example "title")',
        "[x](\n  https://evil.example)",
        "[x] (//evil.example)",
        "[x](//evil.example",
        "[x](//evil.example a b)",
        "[x]( <  //evil.example>)",
        "[x](/\t/evil.example)",
        "[x](tel:evil",
        "[x[](//evil.example)",
        "x [r]: //evil.example",
        "x\n[r]: //evil.example",
        "* x\n      [r]: //evil.example",
        "[x][r]\n\n[r]: <//evil.example>",
        "x [r]:\n<evil:y>",
        "x <//evil.example",
        "x //evil.example/y",
        "x [//evil.example y]",
        "x <svg/onload=evil",
        "x <a\x0conclick=evil>",
        "x <?evil",
        "**<svg/onload=evil>** x",
        "| x <svg/onload=evil> |\n|---|\n| x |",
        "[x][9](https&colon;//evil.example)",
        "[x [y](https://evil.example)](https://evil.example)",
        "[![x](https://evil.example)](https://evil.example)",
        "x\n\n[x]: https://evil.example",
        "[x][r]\n\n[r]:\n  https://evil.example\n  'title'",
        "![x][r]\n\n[r]: https://evil.example",
        "> [x]\n>\n> [x]: https://evil.example",
        "x https://evil.example/?q=x",
        "x www.evil.example",
        'x <img src="https://evil.example">',
        "x <IMG\nSRC=https://evil.example>",
        "<div>\n[x](https://evil.example)\n</div>",
        "x <!-- https://evil.example -->",
        "| x | [x](https://evil.example) |\n|---|---|\n| x | ![x](https://evil.example) |",
        "`x https://evil.example`",
        "```\nx https://evil.example\n```",
        f"x {GOOD}?q=SECRET",
        f"x {GOOD}(evil",
        f"[x]({GOOD}/..)",
        "x https://second.example.org/x",
    ],
)
def test_a_link_loses_its_address_and_keeps_its_text(link: str) -> None:
    shown = checked(f"{link}\n\nIt ends.")

    assert "evil" not in re.sub(r"&lt;\S*[ /=!?\f]evil|\(evil", "", shown.lower())
    assert "SECRET" not in shown
    assert "x" in shown
    assert shown.endswith("It ends. [1]")
    assert_leads_nowhere(shown, [1])


@pytest.mark.parametrize(
    "text",
    [
        f"See [the guide]({GOOD}).",
        f"See {GOOD}.",
        f"See {GOOD}. It says all.",
        f"See <{GOOD}>.",
        f"```\ncurl {GOOD}\n```\nThat is it.",
        "```js\nx = a<b; // note.txt\n```\n`<svg/onload=x>` and `a //b.c` are code.",
        "Divide a//b, and 5 <6.",
        "- `Vec<String>`\n- a < b, c > d and std::vector\n\n| a | b |\n|---|---|\n| *x* | **y** |",
        "Call `f(a)[1]`, **not** _g_; 5 * 3 \\* 2 &amp; more.",
    ],
)
def test_addresses_from_the_quote_and_plain_text_are_unchanged(text: str) -> None:
    assert checked(text) in (f"{text} [1]", f"{text}\n[1]", f"{text}\n\n[1]")


@pytest.mark.parametrize(
    "text", ["x [1] (see below) or [2]: it works", "[the file](docs/a.md#top)", f"[r]: {GOOD}", "a[0](x)"]
)
def test_brackets_that_lead_to_no_host_are_unchanged(text: str) -> None:
    assert without_links(f"`{text}`", [GOOD]) == f"`{text}`"
    assert without_links(f"x\n{text}", []).startswith("x") and "removed" not in without_links(f"x\n{text}", [GOOD])


@pytest.mark.parametrize(
    "citation", ["[1](https://evil.example)", "[7]", " [1, 9]", " ［９］", "【9】", " [^9]", " [٣]"]
)
def test_a_citation_in_the_text_of_a_statement_is_removed(citation: str) -> None:
    assert checked(f"So it is{citation}.") == "So it is. [1]"


def test_an_html_tag_from_a_passage_is_shown_as_code_and_a_fence_of_one_statement_does_not_open_the_next() -> None:
    assert checked("A Vec<String>.") == "A Vec`<String>`. [1]"
    assert_leads_nowhere("\n\n".join(map(checked, ("~~~\n```", "~~~\n<img src=x>\n```"))), [1])


@pytest.mark.parametrize("text", ["> " * 200 + "x", "[" * 3_000 + "x", "<a" * 5_000, "![" * 500 + "x" + "](y)" * 500])
def test_deeply_nested_text_is_rejected_or_harmless(text: str) -> None:
    assert_leads_nowhere(checked(text), [1])


@pytest.mark.parametrize("piece", ["a", "a.", "1", "_", "é", "x@", "a@b.", "http:", "[a](", "<a "])
def test_long_runs_are_read_in_little_time(piece: str) -> None:
    text = (piece * 40_000)[:40_000]
    start = time.process_time()

    shown_text(text)

    assert time.process_time() - start < 3


def test_an_address_after_a_long_run_is_removed() -> None:
    for address in ("://evil.example/x", "@evil.example"):
        assert "evil" not in without_links("a" * 1_000 + address, [GOOD])
