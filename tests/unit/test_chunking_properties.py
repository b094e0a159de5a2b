"""The chunks of any file cover each of its lines exactly once and fit the model."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lore_etl.core.frontmatter import front_matter_lines
from lore_etl.core.model import Chunk, Document, KnowledgeType
from tests.harness.texts import chunks_in, document, input_tokens
from tests.harness.trying import trying

INPUT_TOKENS = 256
PIECES = [
    # prose
    "\n", "\n\n\n", "# A\n", "## B b\n", "### @ann - 2024-01-02T03:04:05Z\n", "A sentence, and another. ", "Top\n===\n",
    "---\n", "title: x\n", "- a\n  - b\n    - c\n      - d\n", "> q\n> > r\n", "```py\nx = 1\n", "```\n", "~~~\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n", "    indented\n", "\tx\n\t\ty\n", "<div>\n", "[a]: b\n", "Title\n-----\n",
    "| one two three | four five six |\n" * 30, "```\n" + "value = compute(1)\n\n" * 40,
    # code
    "def f(x):\n", "    return 1\n", "class A(B):\n", "    '''doc'''\n", "    def m(self): pass\n", "@dec\n", "X = 1\n",
    "# comment\n", '"""\n', "try:\n", "except E:\n", "    class N(M): pass\n", "if 1:\n", "else:\n", "\\\n", "async ",
    "class A extends B {\n", "  m() { return 1 }\n", "  static config = {className: 'a.B'}\n", "}\n", "/** doc */\n",
    "export default ", "const a = () => 1, b = () => 2;\n", "describe('x', () => {\n", "test('y', () => {\n", "});\n",
    "import A from './a.js';\n", "function f(){} function g(){}\n", "`${", "(", "[", "{", "/*", "*/", "<A>", "//", ";",
    "    call(alpha, beta, gamma)\n" * 30, "  if (a) {\n    b(c);\n  }\n" * 20,
    # hostile
    "漢字かな交じり文。" * 20, "한국어 문장입니다 " * 30, "🎉👩‍👩‍👧 " * 40, "e\u0301\u0300" * 40, "\u200b\ufeff",
    "\ufffd\n", "\x0b\x0c\x1c\x85\u2028", "word " * 400, "a" * 150 + " ", "x.y_z-" * 99, "\n[MASK]\n",
    "ﷺ" * 50, "İ" * 40, "𝔘𝔫𝔦 " * 30, "0123456789" * 12, "가나다라마바사" * 30, "\0", "[CLS][SEP][UNK]",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=8).map(lambda text: text.replace("\r", "\n")), max_size=24)
PATHS = ["a.md", "a.rst", "a.py", "a.js", "a.ts", "a.tsx", "a.txt"]
TITLES = ["Title", "한국어 제목 " * 40, "." * 300]


@pytest.mark.parametrize("path", PATHS)
@trying(100, derandomize=True)
@given(parts=TEXTS, title=st.sampled_from(TITLES), is_ticket=st.booleans())
def test_chunks_cover_every_line_of_their_file_exactly_once(
    path: str, parts: list[str], title: str, is_ticket: bool
) -> None:
    type_ = KnowledgeType.TICKET if is_ticket else KnowledgeType.GUIDE
    file = document(path, "".join(parts), type_, title)

    chunks = chunks_in(path, file.text, type_, title)

    assert [chunk.text for chunk in chunks] == [text_at(file, chunk) for chunk in chunks]
    assert all(ends(chunk) <= begins(other) for chunk, other in pairwise(chunks))
    assert uncovered(file, chunks) == []
    assert [input_tokens(chunk) for chunk in chunks if input_tokens(chunk) > INPUT_TOKENS] == []
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    assert chunks_in(path, file.text, type_, title) == chunks


def text_at(file: Document, chunk: Chunk) -> str:
    text = "\n".join(file.lines[chunk.lines[0] - 1 : chunk.lines[1]])
    return text[slice(*chunk.columns)] if chunk.columns else text


def begins(chunk: Chunk) -> tuple[int, int]:
    return chunk.lines[0], chunk.columns[0] if chunk.columns else 0


def ends(chunk: Chunk) -> tuple[int, int]:
    """Return the positions where the next chunk may begin: on the next line, or later on the same line."""
    return (chunk.lines[1], chunk.columns[1]) if chunk.columns else (chunk.lines[1] + 1, 0)


def uncovered(file: Document, chunks: list[Chunk]) -> list[str]:
    """Return the text that is in no chunk, except for whitespace and front matter."""
    lines = file.lines
    if file.syntax == "markdown":
        lines[: front_matter_lines(file.text)] = [""] * front_matter_lines(file.text)
    for chunk in chunks:
        if chunk.columns:
            line = lines[chunk.lines[0] - 1]
            start, end = chunk.columns
            lines[chunk.lines[0] - 1] = line[:start] + " " * (end - start) + line[end:]
        else:
            lines[chunk.lines[0] - 1 : chunk.lines[1]] = [""] * (chunk.lines[1] - chunk.lines[0] + 1)
    return [line for line in lines if line.strip()]
