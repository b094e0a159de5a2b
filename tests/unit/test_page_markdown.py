"""The page renders any Markdown as a known set of elements and text."""

from collections.abc import Iterator
from typing import Any

import anyio
import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette

from lore_server.http.rendering import (
    CLASSES,
    DEEPEST,
    EMPTY,
    LONGEST,
    MARKDOWN,
    TAGS,
    coloured,
    elements_of,
    is_safe,
    rendered,
    rendering_route,
)  # fmt: skip

KNOWN_TAGS = {*TAGS.values(), *EMPTY.values(), "pre", "code", "span", "h2", "h3", "h4", "h5", "h6"}
KNOWN_ATTRIBUTES = {"href", "start", "class", "data-language"}
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "text <svg/onload=alert(1)> text",
    "<a href='javascript:alert(1)'>x</a>",
    "<style>@import '//evil.example/x'</style>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java&#x0A;script:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](vbscript:x)",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](//evil.example/x)",
    "[x](file:///etc/passwd)",
    "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    "![x](javascript:alert(1))",
    "<javascript:alert(1)>",
    "[x]\n\n[x]: javascript:alert(1)",
    '[x](https://example.org/"onmouseover="alert(1))',
    '```"><script>\n</script>\n```',
    "| <script> |\n|---|\n| <b onclick=x> |",
]


def every(nodes: list[Any]) -> Iterator[list[Any]]:
    """Return all elements."""
    for node in nodes:
        if not isinstance(node, str):
            yield node
            yield from every(node[2:])


def text_in(nodes: list[Any]) -> str:
    return "".join(node if isinstance(node, str) else text_in(node[2:]) for node in nodes)


def assert_harmless(elements: list[Any]) -> None:
    for tag, attributes, *_ in every(elements):
        assert tag in KNOWN_TAGS
        assert set(attributes) <= KNOWN_ATTRIBUTES
        assert all(isinstance(value, str) for value in attributes.values())
        assert "href" not in attributes or is_safe(attributes["href"])


def test_markdown_becomes_elements_with_consecutive_heading_levels() -> None:
    text = (
        "# A\n\n#### B\n\n## C\n\n1. x\n2. *y* **z** ~~s~~ `c`\n\n> q\n\n- t\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n"
        "```py more\nx = 1\n```\n\n---\n[l](guide.md 'title') ![alt](a.png) [![badge](b.png)](c)\n"
    )

    assert elements_of(text) == [
        ["h2", {}, "A"], ["h3", {}, "B"], ["h3", {}, "C"],
        ["ol", {}, ["li", {}, "x"], ["li", {}, ["em", {}, "y"], " ", ["strong", {}, "z"], " ", ["s", {}, "s"], " ",
                                     ["code", {}, "c"]]],
        ["blockquote", {}, ["p", {}, "q"]], ["ul", {}, ["li", {}, "t"]],
        ["table", {}, ["thead", {}, ["tr", {}, ["th", {}, "a"], ["th", {"class": "right"}, "b"]]],
         ["tbody", {}, ["tr", {}, ["td", {}, "1"], ["td", {"class": "right"}, "2"]]]],
        ["pre", {"data-language": "py"}, ["code", {}, "x = ", ["span", {"class": "tok-n"}, "1\n"]]],
        ["hr", {}],
        ["p", {}, ["a", {"href": "guide.md"}, "l"], " ", ["a", {"href": "a.png"}, "alt"], " ",
         ["a", {"href": "c"}, "badge"]],
    ]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.promise(22)
def test_hostile_markup_stays_text_or_loses_its_address(text: str) -> None:
    elements = elements_of(text)

    assert_harmless(elements)
    assert text_in(elements).strip()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([*HOSTILE, "[", "](", ")", "<", "`", "*", "> ", "- ", "\n", "\n\n", "    ", "|"])))
def test_any_mixture_of_hostile_texts_is_harmless(parts: list[str]) -> None:
    assert_harmless(elements_of("".join(parts)))


@pytest.mark.parametrize("text", ["*a " * 3000 + "b*" * 3000, "> " * 3000 + "a", "- " * 3000 + "a", "[" * 3000])
def test_deep_nesting_is_shown_up_to_a_limit(text: str) -> None:
    elements = elements_of(text)

    assert text_in(elements).strip().endswith(text.rstrip("*")[-1])

    def depth(nodes: list[Any]) -> int:
        return 1 + max((depth(node[2:]) for node in nodes if not isinstance(node, str)), default=0)

    assert depth(elements) <= DEEPEST


def test_nested_quotes_are_shown_completely() -> None:
    assert text_in(elements_of("> " * 25 + "the end")) == "the end"
    assert elements_of("> " * 40 + "the end") == [["pre", {}, ["code", {}, "> " * 40 + "the end"]]]


def test_front_matter_is_separated_and_text_over_the_limit_stays_plain() -> None:
    head = '---\ntitle: "<b>x</b>"\nkeywords: [a]\nsupersedes: old\nvalid_until: 2026-01-01\n---\n'
    long = "line\n" * (LONGEST // 5 + 1)

    assert rendered(f"{head}\n## C\n") == {
        "metadata": {
            "title": "<b>x</b>", "keywords": ["a"], "created": None, "updated": None, "supersedes": ["old"],
            "valid_until": "2026-01-01",
        },
        "front": {"title": "<b>x</b>", "keywords": ["a"], "supersedes": "old", "valid_until": "2026-01-01"},
        "elements": [["h2", {"data-line": "8"}, "C"]],
        "rest": "",
    }  # fmt: skip
    assert "line 3" in rendered("---\ntitle: [a\n---\n\nx")["metadata"]["problem"]
    assert rendered(long)["rest"] == "line\n"
    assert len(rendered("x" * (LONGEST + 5))["rest"]) == 5


def test_the_route_accepts_text_as_json_and_reports_other_input() -> None:
    async def post(**given: Any) -> httpx2.Response:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(Starlette(routes=[rendering_route()]))) as client:
            return await client.post(f"http://localhost{MARKDOWN}", **given)

    def asked(**given: Any) -> tuple[int, str]:
        response = anyio.run(lambda: post(**given))
        return response.status_code, response.json().get("code", "")

    assert asked(json={"text": "# A"}) == (200, "")
    assert asked(json={"parts": [{"text": "# A", "path": ""}, {"text": "x = 1", "path": "a.py"}]}) == (200, "")
    assert asked(json={"parts": [{"text": "# A"}]}) == (400, "INVALID_ARGUMENT")
    assert asked(json={"text": 1}) == (400, "INVALID_ARGUMENT")
    assert asked(json=[]) == (400, "INVALID_ARGUMENT")
    assert asked(json={"text": "\0"}) == (400, "INVALID_CONTENT")
    assert asked(content=b'{"text": "\\ud800"}', headers={"Content-Type": "application/json"})[0] == 400
    assert asked(content=b"# A", headers={"Content-Type": "text/plain"}) == (415, "INVALID_ARGUMENT")


@pytest.mark.parametrize("name", ["a.py", "python", "a.html", "a.js", "a.md", "a.rs", "Dockerfile", "a.unknown", ""])
@pytest.mark.parametrize("text", [*HOSTILE, "def f():\n    return '<b>'  # x", "x" * 9000, "'\n" * 500, "\n\n", ""])
def test_coloured_code_is_the_same_text_in_known_elements(name: str, text: str) -> None:
    elements = coloured(text, name)

    assert text_in(elements) == text
    assert_harmless(elements)
    assert {attributes["class"] for _, attributes, *_ in every(elements)} <= {f"tok-{one}" for one in CLASSES.values()}
