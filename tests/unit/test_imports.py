"""Imports join the code that follows them and never form a chunk alone."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lore_etl.core.model import Chunk, KnowledgeType
from tests.harness.texts import chunks_in, input_tokens

SCRIPT = {
    "import": "import Thing from '../some/folder/Thing.mjs';\n",
    "several lines": "import {\n    One,\n    Two as Three\n} from './numbers.mjs';\n",
    "effect": "import './side-effect.css';\n",
    "require": "const fs = require('fs');\n",
    "comment": "// what follows is needed\n",
    "doc": "/**\n * A class of things.\n * @class Thing\n */\n",
    "class": "class Thing extends Base {\n    static config = {\n        a: 1\n    }\n\n    run() {\n        go();\n"
    "    }\n}\n",
    "function": "export function run(a, b) {\n    return a + b;\n}\n",
    "constant": "export const LIMIT = 5, OTHER = compute(LIMIT);\n",
    "call": "start(application, {with: options});\n",
    "long": "function long() {\n" + "    call(alpha, beta, gamma);\n" * 40 + "}\n",
    "blank": "\n",
}
MODULE = {
    "import": "import some.folder.thing\n",
    "several lines": "from .numbers import (\n    One,\n    Two as Three,\n)\n",
    "guarded": "if TYPE_CHECKING:\n    from typing import Any\n",
    "tried": "try:\n    import fast as impl\nexcept ImportError:\n    import slow as impl\n",
    "comment": "# what follows is needed\n",
    "doc": '"""A module of things."""\n',
    "class": "class Thing(Base):\n    a = 1\n\n    def run(self):\n        go()\n",
    "function": "def run(a, b):\n    return a + b\n",
    "constant": "LIMIT, OTHER = 5, compute(5)\n",
    "long": "def long():\n" + "    call(alpha, beta, gamma)\n" * 40,
    "blank": "\n",
}
_SCRIPT_IMPORT = re.compile(r"\bimport\b[^;'\"]*['\"][^'\"]*['\"];|const \w+ = require\('\w+'\);|//.*")
_MODULE_IMPORT = re.compile(
    r"if TYPE_CHECKING:|try:|except ImportError:|(?:from [\w.]+ )?import (?:\([^)]*\)|[\w. ]+)|#.*"
)
FULL = 200  # tokens, most of which the imports of a file need


def chunks_of(path: str, text: str) -> list[Chunk]:
    return chunks_in(path, text, KnowledgeType.SRC)


def is_bare(chunk: Chunk) -> bool:
    """Report whether a chunk contains only imports and comments."""
    pattern = _MODULE_IMPORT if chunk.source.endswith(".py") else _SCRIPT_IMPORT
    return "import" in chunk.text + chunk.text.replace("require", "import") and not pattern.sub("", chunk.text).strip()


@pytest.mark.parametrize("path", ["a.mjs", "a.ts", "a.tsx", "a.py"])
@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_chunk_has_only_imports_only_if_they_fill_the_chunk_or_the_file(path: str, data: st.DataObject) -> None:
    pieces = MODULE if path.endswith(".py") else SCRIPT
    names = data.draw(st.lists(st.sampled_from(sorted(pieces)), min_size=1, max_size=14))
    chunks = chunks_of(path, "".join(pieces[name] for name in names))
    importing = [chunk for chunk in chunks if is_bare(chunk)]

    assert [chunk.lines for chunk in importing if chunk.kind != "imports"] == []
    if len(importing) < len(chunks):
        assert [chunk.lines for chunk in importing if input_tokens(chunk) < FULL] == []


@pytest.mark.parametrize(
    ("path", "import_", "rest"),
    [
        ("a.mjs", "import Thing{0} from '../some/folder/Thing{0}.mjs';\n", SCRIPT["doc"] + SCRIPT["class"]),
        ("a.ts", "import {{Thing{0}}} from '../some/folder/Thing{0}';\n", SCRIPT["function"]),
        ("a.cjs", "const thing{0} = require('../some/folder/Thing{0}');\n", SCRIPT["class"]),
        ("a.py", "from some.folder.thing{0} import Thing{0}\n", MODULE["class"]),
    ],
)
@pytest.mark.parametrize("count", [1, 5, 10, 13, 14, 15, 16, 20, 60])
def test_the_last_imports_join_the_following_code_whatever_their_number(
    path: str, import_: str, rest: str, count: int
) -> None:
    text = "".join(import_.format(number) for number in range(count)) + "\n" + rest

    chunks = chunks_of(path, text)
    importing = [chunk for chunk in chunks if chunk.kind != "imports"]

    assert f"hing{count - 1}" in importing[0].text
    assert "Thing" in importing[0].symbols or "run" in importing[0].symbols
    assert count > 9 or len(chunks) == 1


LICENCE = "/*\n * Licence: none.\n */\n"
LINES = ["let DragZone;", "setup();", "const NeoConfig = Neo.config;"]


@pytest.mark.parametrize(("above", "line"), [(LICENCE, ""), *(("", f"{line}\n\n") for line in LINES)])
def test_a_comment_or_a_line_next_to_the_imports_does_not_make_them_a_chunk(above: str, line: str) -> None:
    text = above + SCRIPT["import"] * 3 + "\n" + line + SCRIPT["doc"] + SCRIPT["class"]

    assert [chunk.kind for chunk in chunks_of("a.mjs", text)] == ["class"]


@pytest.mark.parametrize(
    ("path", "text", "first"),
    [
        ("all.mjs", SCRIPT["import"] * 3 + "export {Thing};\n", ("imports", (1, 4))),
        ("all.py", MODULE["import"] * 3, ("imports", (1, 3))),
        ("a.py", MODULE["doc"] + "\n" + MODULE["import"] * 3 + "\n\n" + MODULE["long"], ("module", (1, 5))),
    ],
    ids=["re-exports count as imports", "a file with only imports is indexed", "a docstring keeps its imports"],
)
def test_the_imports_of_a_file_are_a_chunk_only_with_a_docstring_or_if_there_is_nothing_else(
    path: str, text: str, first: tuple[str, tuple[int, int]]
) -> None:
    found = [(chunk.kind, chunk.lines) for chunk in chunks_of(path, text)]

    assert found[0] == first
    assert len(found) == 1 or first[0] == "module"
