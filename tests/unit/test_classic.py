"""The classic ranking reproduces the scores of the original system."""

import math

import pytest

from lore_etl.core.model import Chunk
from lore_server.query.classic import rank
from lore_server.query.ranking import CLASSIC
from tests.harness.chunks import make_chunk


def chunk(type_: str, source: str, title: str = "", class_name: str | None = None, *above: str) -> Chunk:
    return make_chunk(source, type_, title=title, class_name=class_name, chain=[("Neo.X", path) for path in above])


BUTTON, CONFIG = (
    chunk(
        "src", "src/button/Base.mjs", f"src/button/Base.mjs - {member}", "Neo.button.Base",
        "src/component/Base.mjs", "src/core/Base.mjs",
    )
    for member in ("click()", "[Config]")
)  # fmt: skip
GUIDE = make_chunk("/repo/learn/guides/Buttons.md", "guide", title="Buttons", heading=("Using Buttons",))
TICKET = chunk("ticket", "/repo/issues/issue-1.md", "The button is gone")
EXAMPLE = chunk("example", "examples/button/base/MainContainer.mjs", "x", "Neo.examples.button.base.MainContainer")
RELEASE = chunk("release", "/repo/rn/v11.0.0.md", "Release notes")
BLOG = chunk("blog", "/repo/learn/blog/a.md", "Button story")
ROWS = [BUTTON, GUIDE, TICKET, EXAMPLE, RELEASE, CONFIG, BLOG]

B, C, G, K = "src/button/Base.mjs", "src/component/Base.mjs", "/repo/learn/guides/Buttons.md", "src/core/Base.mjs"
E, S, V, I = EXAMPLE.source, BLOG.source, RELEASE.source, TICKET.source  # noqa: E741


def rounded(score: float) -> int:
    """Round as JavaScript's toFixed(0) does: halves away from zero."""
    return int(math.copysign(math.floor(abs(score) + 0.5), score))


@pytest.mark.parametrize(
    ("query", "type_", "rows", "expected"),
    [
        pytest.param(
            "button component", "all", ROWS,
            [(B, 186), (C, 176), (G, 150), (K, 106), (E, 70), (S, 61), (V, -47), (I, -65)], id="A",
        ),
        pytest.param(
            "How do I use the Buttons?", "all", ROWS,
            [(G, 260), (B, 186), (C, 176), (K, 106), (S, 78), (E, 64), (V, -47), (I, -65)], id="B",
        ),
        pytest.param(
            "v11.0.0", "all", ROWS,
            [(V, 1048), (C, 176), (K, 106), (B, 54), (G, 7), (E, 4), (S, 1), (I, -65)], id="C",
        ),
        pytest.param("v11.0.0", "release", [RELEASE], [(V, 1046)], id="C2"),
        pytest.param("neo.button.base", "src", [BUTTON, CONFIG], [(C, 176), (K, 106), (B, 47)], id="D"),
        pytest.param("button", "ticket", [TICKET], [(I, 1)], id="E"),
        pytest.param("class", "all", [chunk("src", "src/class/A.mjs", "x")], [("src/class/A.mjs", 1)], id="F"),
        pytest.param("button", "all", [chunk("src", "unknown")], [], id="G"),
        pytest.param("按钮怎么用", "all", [GUIDE], [(G, 1)], id="I"),
    ],
)  # fmt: skip
def test_scores_match_the_golden_values(
    query: str, type_: str, rows: list[Chunk], expected: list[tuple[str, int]]
) -> None:
    assert [(source, rounded(sum(terms.values()))) for source, terms in rank(query, type_, rows, CLASSIC)] == expected
