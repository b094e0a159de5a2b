"""Hostile inputs take linear time and never raise."""

import gc
import json
import time
from collections.abc import Callable
from itertools import product
from math import isqrt
from pathlib import Path

import pytest

from lore_etl.chunking import chunk
from lore_etl.core.frontmatter import FrontMatterError, read_front_matter
from lore_etl.files.git_folder import Head, head
from lore_etl.files.redaction import redact
from lore_etl.relations.classes import resolve
from lore_etl.sources.kinds import SourceSet
from lore_etl.sources.source import SourceContext
from lore_etl.stores.tokenizer import terms
from lore_server.answer.class_questions import call_of
from lore_server.query.parse import verbs
from lore_server.query.reference import titles
from tests.harness.models import counter
from tests.harness.projects import write_project
from tests.harness.steps import steps
from tests.harness.texts import facts_of

pytestmark = pytest.mark.later

MAX_SECONDS = 10  # seconds of processor time: a limit against endless runs, not a target
MAX_RATIO = 2.5  # ratio of the steps, or of the seconds, for twice the input; 2 is linear, 4 quadratic
ATTEMPTS = 3  # other processes take the processor's caches, which costs a larger text more
LONG_ENOUGH = 0.04  # seconds; the ratio of shorter times is meaningless
MOST = 200_000  # of the size: larger texts do not fit into the caches of a processor, which costs more than twice
FRONT_MATTER = 60_000  # larger front matter is not read
COUNTED = 20  # steps are counted for a part of the size, because counting is exact but slow
SHAPES: dict[tuple[str, str], Callable[[int], str]] = {
    ("a.md", "brackets"): lambda n: "[" * n,
    ("a.md", "spaces in a heading"): lambda n: "#" + " " * n + "x",
    ("a.md", "spaces within a heading"): lambda n: "# a" + " " * n + "b",
    ("a.md", "tabs and signs within a heading"): lambda n: "# a" + "\t#" * (n // 2) + "b",
    ("a.md", "deep lists"): lambda n: "".join("  " * m + "- a\n" for m in range(isqrt(n))),
    ("a.md", "list marks"): lambda n: "- " * n,
    ("a.md", "deep quotes"): lambda n: ">" * n,
    ("a.md", "lazy quotes"): lambda n: "> a\n" + "b\n" * n,
    ("a.md", "tables"): lambda n: "|a|b|\n|-|-|\n|1|2|\n\n" * (n // 10),
    ("a.md", "wide table"): lambda n: "|" * n + "\n" + "|-" * n + "\n",
    ("a.md", "fences"): lambda n: "```\nx\n```\n\n" * (n // 10),
    ("a.md", "headings"): lambda n: "# a\n" * (n // 20),
    ("a.md", "references"): lambda n: "[a]: x\n" * (n // 5),
    ("a.md", "tags"): lambda n: "<a\n" * (n // 2),
    ("a.md", "lines without tokens"): lambda n: "\ufffd\n" * n,
    ("a.rst", "titles"): lambda n: "a\n===\n" * (n // 20),
    ("a.txt", "one word"): lambda n: "a" * n,
    ("a.txt", "points"): lambda n: "." * n,
    ("a.txt", "blank lines"): lambda n: "x\n" + "\n" * n + "x",
    ("a.cpp", "parameters after a condition"): lambda n: (
        ("f(int a,\n#if X\n" + ("(" * 100 + ",\n") * 3 + "x\n") * (n // 300)
    ),
    ("a.py", "brackets"): lambda n: "[" * n,
    ("a.py", "signs"): lambda n: "-" * n + "1",
    ("a.py", "attributes"): lambda n: "a" + ".b" * n,
    ("a.py", "a dotted base"): lambda n: "class A(a" + ".b" * (n // 20) + "): pass",
    ("a.py", "elif"): lambda n: "if a:\n pass\n" + "elif a:\n pass\n" * (n // 20),
    ("a.py", "targets"): lambda n: "a=" * (n // 5) + "1",
    ("a.py", "functions"): lambda n: "def a(): pass\n" * (n // 20),
    ("a.py", "constants between functions"): lambda n: "A = 1\ndef a(): pass\n" * (n // 40),
    ("a.py", "comments"): lambda n: "# a\n" * n + "def f(): pass",
    ("a.py", "deep blocks"): lambda n: "".join(" " * m + "if 1:\n" for m in range(isqrt(n))),
    ("a.js", "brackets"): lambda n: "[\n" * n,
    ("a.js", "mixed brackets"): lambda n: "([{\n" * (n // 4),
    ("a.js", "templates"): lambda n: "`${\n" * (n // 4),
    ("a.js", "comment marks"): lambda n: "/*\n" * (n // 2),
    ("a.js", "functions in functions"): lambda n: "function a(){\n" * (n // 10),
    ("a.js", "closed functions"): lambda n: "function a(){\n" * (n // 20) + "}" * (n // 20),
    ("a.js", "suites in suites"): lambda n: "describe('a',()=>{\n" * (n // 10),
    ("a.js", "methods"): lambda n: "class A {\n" + "a(){}\n" * (n // 20) + "}",
    ("a.js", "nonsense"): lambda n: "@#$ )( ]]\n" * (n // 10),
    ("a.js", "quotes"): lambda n: "'\n\"\n`" * (n // 10),
    ("a.js", "whole suites in suites"): lambda n: "describe('a',()=>{\n" * (n // 100) + "})\n" * (n // 100),
    ("a.js", "variables beside a function"): lambda n: "const f=()=>1" + "".join(f",\na{m}=1" for m in range(n // 20)),
    ("a.js", "names of an import"): lambda n: "import {" + "".join(f"a{m},\n" for m in range(n // 8)) + "} from 'x'\n",
    ("a.js", "names of a require"): lambda n: (
        "let {" + "".join(f"a{m},\n" for m in range(n // 8)) + "} = require('x')\n"
    ),
    ("a.js", "names of an export"): lambda n: "export {" + "".join(f"a{m},\n" for m in range(n // 8)) + "} from 'x'\n",
    ("a.js", "imports between variables"): lambda n: "".join(f"import b{m} from 'b'\na{m}=1\n" for m in range(n // 30)),
    ("a.py", "imports between variables"): lambda n: "".join(f"import b{m}\na{m} = 1\n" for m in range(n // 20)),
    ("a.ts", "modules in modules"): lambda n: "module A {\n" * (n // 100) + "}\n" * (n // 100),
    ("a.ts", "brackets"): lambda n: "[\n" * n,
    ("a.ts", "less than"): lambda n: "a<\n" * (n // 4),
    ("a.tsx", "tags"): lambda n: "<A<\n" * (n // 4),
    ("docs/output/all.json", "deep arrays"): lambda n: "[" * n,
    ("docs/output/all.json", "deep objects"): lambda n: '[{"a":' + '{"a":' * (n // 5),
    ("docs/output/all.json", "doclets"): lambda n: json.dumps([{"name": "x", "comment": "y"}] * (n // 20), indent=0),
}
SECRETS = [
    *("ey" + "J", "gh" + "p_", "xo" + "xb-", "sk" + "-", "-----BEGIN PRIVATE " + "KEY-----\n", "A" * 9),
    *("://a:b", "eyJ-eyJ.", "eyJabcdefghijkl.eyJabcdefghijk.", "a:5432:", "user=a  ", "otpauth://", "# ", " "),
    *("password='", "password=", "password: ", "Passwort: ", "--password ", "TOKEN_KEY=", "bearer ", "identified by "),
    *("<password", "<password>", "<key>password</key>", "Cookie: a=", "wallet abandon ", "login a password b"),
    *("curl -u a:b", "mysql -p", "login -u a -p ", "echo a|"),
]


def seconds(call: Callable[[], object]) -> float:
    gc.disable()  # the cost of a collection depends on all other objects in the process
    try:
        start = time.process_time()
        call()
        return time.process_time() - start
    finally:
        gc.enable()


def assert_linear(call: Callable[[int], object], size: int) -> None:
    call(size // 50)  # load everything that is loaded only once
    assert seconds(lambda: call(2 * size)) < MAX_SECONDS
    few = size // COUNTED
    assert steps(lambda: call(2 * few)) < MAX_RATIO * steps(lambda: call(few))


def assert_quick(call: Callable[[int], object], size: int) -> None:
    """Measure processor time, which includes slow single steps; other processes only add to it."""
    call(size // 50)
    assert seconds(lambda: call(2 * size)) < MAX_SECONDS
    if shortest(lambda: call(size)) >= LONG_ENOUGH:
        assert min(shortest(lambda: call(2 * size)) / shortest(lambda: call(size)) for _ in range(ATTEMPTS)) < MAX_RATIO
    elif size < MOST:
        assert_quick(call, 2 * size)


def shortest(call: Callable[[], object]) -> float:
    return min(seconds(call) for _ in range(3))


Check = Callable[[Callable[[int], object], int], None]
BY = [assert_linear, pytest.param(assert_quick, marks=pytest.mark.long)]
both = pytest.mark.parametrize("is_linear", BY, ids=["steps", "seconds"])


@both
@pytest.mark.parametrize(("path", "name"), SHAPES, ids=lambda value: value.replace(" ", "-"))
@pytest.mark.promise(20)
def test_files_are_read_in_linear_time(path: str, name: str, is_linear: Check) -> None:
    source = SourceSet(SourceContext([path], lambda _: None), {"guides": ["*.md", "*.rst", "*.txt"]}).owner(path)
    assert source is not None

    is_linear(lambda n: chunk(source.document(path, SHAPES[path, name](n)), counter()), 30_000)


@both
@pytest.mark.parametrize("piece", ["\r", " ", '"', "worktree = "])
def test_the_configuration_of_a_submodule_is_read_in_linear_time(tmp_path: Path, piece: str, is_linear: Check) -> None:
    write_project(tmp_path, {".git": "gitdir: git", "git/config": ""})

    def read(size: int) -> None:
        (tmp_path / "git" / "config").write_text(f"worktree = a{piece * (size // len(piece))}b")
        assert head(tmp_path) == Head()

    is_linear(read, 50_000)


KEY = "-----BEGIN PRIVATE " + "KEY-----\n"
IN_A_KEY = ["/", "+", " ", '"', "\\n", "A: ", "a", "a\n", "=\n", f"{'+' * 498}!\n{KEY}"]


@both
@pytest.mark.parametrize(("begin", "piece"), [*product([""], SECRETS), *product([KEY], IN_A_KEY)])
@pytest.mark.promise(20)
def test_secrets_are_searched_for_in_linear_time(begin: str, piece: str, is_linear: Check) -> None:
    is_linear(lambda n: redact(begin + piece * (n // len(piece)) + "!"), 200_000)


@both
@pytest.mark.parametrize("piece", ["a", "aA", "a.", "a1", "漢", "$", "-", "A_"])
@pytest.mark.promise(20)
def test_words_are_found_in_linear_time(piece: str, is_linear: Check) -> None:
    is_linear(lambda n: list(terms(piece * n)), 50_000)


@both
@pytest.mark.parametrize("piece", ["is ", "is bed ", "what ", "how to ", "do as ", "does the a ", "if as "])
@pytest.mark.promise(20)
def test_verbs_are_found_in_linear_time(piece: str, is_linear: Check) -> None:
    is_linear(lambda n: verbs(piece * (n // len(piece))), 20_000)


@both
@pytest.mark.parametrize("piece", [" ", "\n", "a ", "<b>"])
@pytest.mark.promise(20)
def test_titles_are_found_in_linear_time(piece: str, is_linear: Check) -> None:
    is_linear(lambda n: list(titles("<h3>" + piece * (n // len(piece)))), 20_000)


@both
@pytest.mark.parametrize("piece", ["<>", "[]", "<a>[]", " *"])
@pytest.mark.promise(20)
def test_calls_are_found_in_linear_time(piece: str, is_linear: Check) -> None:
    is_linear(lambda n: call_of("sail").match(f"Boat{piece * (n // len(piece))}=sail("), 20_000)


@both
@pytest.mark.parametrize("piece", ["[", "{", "a: &a [", "- ", "? ", "' ", "*a ", "!!x "])
@pytest.mark.promise(20)
def test_front_matter_is_rejected_in_linear_time(piece: str, is_linear: Check) -> None:
    def read(n: int) -> None:
        with pytest.raises(FrontMatterError):
            read_front_matter("---\na: " + piece * (min(n, FRONT_MATTER) // len(piece)) + "\n---\n")

    is_linear(read, 30_000)


@both
@pytest.mark.promise(20)
def test_a_long_chain_of_classes_is_resolved_in_linear_time(is_linear: Check) -> None:
    def resolved(n: int) -> None:
        text = "class A0: pass\n" + "".join(f"class A{m}(A{m - 1}): pass\n" for m in range(1, n))
        assert len(resolve({"m.py": facts_of("m.py", text)}, ["m.py"]).hierarchy.chain(f"m.A{n - 1}")) > 10

    is_linear(resolved, 3_000)


@both
@pytest.mark.promise(20)
def test_modules_that_import_everything_from_each_other_are_resolved_in_linear_time(is_linear: Check) -> None:
    def resolved(n: int) -> None:
        stars = [f"from m{m} import *\nfrom m{m + 1} import *\nfrom m{m // 2} import *\n" for m in range(n)]
        files = {f"m{m}.py": text for m, text in enumerate(stars)} | {"main.py": f"{stars[0]}class C(Absent): pass\n"}
        resolve({path: facts_of(path, text) for path, text in files.items()}, files)

    is_linear(resolved, 800)
