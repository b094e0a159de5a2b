"""An answer contains no address outside its cited passages, no image and no HTML."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from lore_etl.core.errors import ProviderError
from lore_server.answer.grounding import grounded
from lore_server.answer.links import addresses
from lore_server.answer.pack import Passage
from lore_server.answer.streaming import AnswerStream
from lore_server.http.markdown_tree import elements_of
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
    *("<img src=x>", "<a href=", "<!--", "-->", "<![CDATA[", "<?", "</a>", "<script>"),
]
SCHEME = re.compile(r"(?i)[a-z][a-z0-9+.-]*://|(?:java|vb)script:|mailto:|data:[a-z]|www\.")


class Lenient(MarkdownIt):
    """Recognize everything that some program might treat as a link."""

    def validateLink(self, url: str) -> bool:
        return True


def assert_leads_nowhere(text: str, cited: list[int]) -> None:
    allowed = addresses(passage.chunk.text for passage in PASSAGES if passage.number in cited)
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


@settings(max_examples=600, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=24).map("".join))
def test_no_answer_contains_an_external_address(text: str) -> None:
    try:
        shown, cited = grounded(f"{text} [1]", PASSAGES)
    except ProviderError:
        return
    assert_leads_nowhere(shown, cited)
    assert grounded(shown, PASSAGES) == (shown, cited)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([*PIECES, ". ", " [1]. ", " [2]\n"]), max_size=40))
def test_no_streamed_part_of_an_answer_contains_an_external_address(pieces: list[str]) -> None:
    streamed: list[str] = []
    stream = AnswerStream(PASSAGES, streamed.append)
    for piece in pieces:
        stream.on_text(piece)
        assert_leads_nowhere("".join(streamed), [1, 2])


@pytest.mark.parametrize(
    "link",
    [
        "![x](https://evil.example/x.png)",
        "![x]( https://evil.example/x.png)",
        '[x](https://evil.example "title")',
        "[x](<https://evil.example>)",
        "[x](\n  https://evil.example)",
        "[x](HTTPS://EVIL.example)",
        "[x](//evil.example)",
        "[x](https&colon;//evil.example)",
        "[x](https:\\/\\/evil.example)",
        "[x](javascript:alert(1))",
        "[x](JAVA&Tab;SCRIPT:alert(1))",
        "[x](data:text/html;base64,PHN2Zz4=)",
        "[x][9](https&colon;//evil.example)",
        "[x [y](https://evil.example)](https://evil.example)",
        "[![x](https://evil.example)](https://evil.example)",
        "x\n\n[x]: https://evil.example",
        "[x][r]\n\n[r]:\n  https://evil.example\n  'title'",
        "![x][r]\n\n[r]: https://evil.example",
        "> [x]\n>\n> [x]: https://evil.example",
        "x <https://evil.example>",
        "x https://evil.example/?q=x",
        "x www.evil.example",
        "x <me@evil.example>",
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
    shown, cited = grounded(f"{link} [1]\n\nIt ends [1].", PASSAGES)

    assert "evil" not in shown.lower().replace("(evil", "")
    assert "SECRET" not in shown
    assert "x" in shown
    assert shown.endswith("It ends [1].")
    assert_leads_nowhere(shown, cited)


@pytest.mark.parametrize(
    "text",
    [
        f"See [the guide]({GOOD}) [1].",
        f"See {GOOD} [1].",
        f"See {GOOD}. It says all [1].",
        f"See <{GOOD}> [1].",
        f"```\ncurl {GOOD}\n```\nThat is it [1].",
        "- `Vec<String>` [1]\n- a < b, c > d and std::vector [1]\n\n| a | b |\n|---|---|\n| *x* | **y** |",
        "Call `f(a)[1]`, **not** _g_; 5 * 3 \\* 2 &amp; more [1].",
    ],
)
def test_addresses_from_cited_passages_and_plain_text_are_unchanged(text: str) -> None:
    assert grounded(text, PASSAGES)[0] == text


def test_an_html_tag_from_a_passage_is_shown_as_code() -> None:
    assert grounded("A Vec<String> [1].", PASSAGES)[0] == "A Vec`<String>` [1]."


def test_a_citation_written_as_a_link_becomes_a_citation() -> None:
    assert grounded("So it is [1](https://evil.example).", PASSAGES) == ("So it is [1].", [1])


@pytest.mark.parametrize("text", ["> " * 200 + "x", "[" * 3_000 + "x", "<a" * 5_000, "![" * 500 + "x" + "](y)" * 500])
def test_deeply_nested_text_is_rejected_or_harmless(text: str) -> None:
    try:
        shown, cited = grounded(f"{text} [1]", PASSAGES)
    except ProviderError:
        return
    assert_leads_nowhere(shown, cited)
