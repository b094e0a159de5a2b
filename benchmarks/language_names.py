"""Measure searches for exact names in any language: `python -m benchmarks.language_names SUFFIX=FOLDER …`.

Of the definitions that occur once in a project, 50 are picked at random (seeded); the bare name must rank its file
first. Definitions are found by regular expressions, independently of the parsers. At most 20 files are read. With
`--words` the vectors are random, so that only the words of the index decide, and no model is needed.
"""

from __future__ import annotations

import random
import re
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from benchmarks.exact_names import missed_names
from benchmarks.main_job import row
from lore_etl.chunking import parse
from lore_etl.chunking.section import parse_plain
from lore_etl.config.settings import Settings
from lore_etl.core.model import Document, KnowledgeType
from lore_etl.models.embedder import ConfiguredModel
from lore_etl.sources.source import syntax_of
from lore_server.app import App
from lore_server.contract import load_contract
from tests.harness.models import HashModel

PICKED = 50
FILES = 20
SEED = 7
MAX_BYTES = 60_000
_KEYWORD = re.compile(
    r"^[ \t]*(?:(?:pub(?:\(\w+\))?|public|private|protected|internal|open|static|final|abstract|sealed|data|inline"
    r"|export|suspend|async|unsafe|override|case|local|virtual|partial|fileprivate|@\w+)\s+)*"
    r"(?:class|interface|struct|enum|trait|protocol|object|module|defmodule|func|fun|fn|def|defp|defmacro|function)\s+"
    r"(?:\([^)\n]*\)\s*)?(?:self\.|[\w.]+[.:])?([A-Za-z_]\w{3,})",
    re.MULTILINE,
)
_BRACES = re.compile(
    r"^(?:[ \t]+(?:public|protected|private|internal)[\w<>\[\], \t.]*?|[A-Za-z_][\w \t*:<>&]*?)[ \t*&]([A-Za-z_]\w{3,})"
    r"\([^;{}]*\)[^;{}]*\{",
    re.MULTILINE,
)
_TYPESCRIPT = re.compile(
    r"^(?:export\s+)?(?:default\s+|declare\s+|abstract\s+|async\s+)*"
    r"(?:class|interface|function|enum|type|const|namespace)\s+([A-Za-z_]\w{3,})",
    re.MULTILINE,
)
_DART = re.compile(
    r"^(?:abstract\s+)?(?:class|mixin|enum|extension)\s+([A-Za-z_]\w{3,})"
    r"|^  (?:@override\s+)?(?:static\s+)?[\w<>?, ]+\s(?!super\b)([a-z_]\w{3,})\([^;{}]*\)\s*(?:async\s*)?(?:\{|=>)",
    re.MULTILINE,
)
_STATEMENTS = frozenset({"else", "switch", "while", "return", "catch", "foreach", "using", "lock", "when"})


def definitions(text: str, suffix: str) -> Iterator[str]:
    """Yield the names that a text defines."""
    if suffix == ".ts":
        yield from _TYPESCRIPT.findall(text)
        return
    if suffix == ".dart":
        yield from (name or member for name, member in _DART.findall(text))
        return
    yield from _KEYWORD.findall(text)
    if suffix in (".c", ".cc", ".cpp", ".h", ".java", ".cs"):
        yield from (name for name in _BRACES.findall(text) if name not in _STATEMENTS)


def sample(folder: Path, suffix: str, target: Path) -> dict[str, str]:
    """Copy some files of a project, and return the file of each name that is defined once in them."""
    files = [file for file in sorted(folder.rglob(f"*{suffix}")) if 1000 < file.stat().st_size < MAX_BYTES]
    places: dict[str, list[str]] = defaultdict(list)
    for file in random.Random(SEED).sample(files, min(FILES, len(files))):
        path = file.relative_to(folder).as_posix()
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target / path)
        for name in definitions(file.read_text(encoding="utf-8", errors="replace"), suffix):
            places[name].append(path)
    return {name: found[0] for name, found in places.items() if len(found) == 1}


def measure(suffix: str, folder: Path, target: Path, model: ConfiguredModel | None) -> None:
    """Print how many of the picked names rank first, and the time for parsing."""
    names = sample(folder, suffix, target)
    picked = random.Random(SEED).sample(sorted(names), min(PICKED, len(names)))
    speed = parsing(target, suffix)
    app = App(target, Settings(), load_contract(), model)
    try:
        job = app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})
        missed = missed_names(app, names, picked)
    finally:
        app.close()
    row(f"exact names at rank 1, `{folder.name}` ({suffix})", f"{len(picked) - len(missed)} of {len(picked)}; {speed}")
    for line in [*missed, *job["report"]["warnings"]]:
        print(f"  {line}", file=sys.stderr)


def parsing(folder: Path, suffix: str) -> str:
    """Return the seconds per MB of parsing, and of splitting as text."""
    texts = [(file, file.read_text(encoding="utf-8", errors="replace")) for file in sorted(folder.rglob(f"*{suffix}"))]
    size = sum(len(text.encode()) for _, text in texts) / 1e6
    seconds = []
    parse(Document(f"a{suffix}", KnowledgeType.SRC, "", suffix, syntax_of(f"a{suffix}")))  # compiles the query
    for parser in (parse, parse_plain):
        started = time.process_time()
        for file, text in texts:
            parser(Document(file.name, KnowledgeType.SRC, text, file.name, syntax_of(file.name)))
        seconds.append((time.process_time() - started) / size)
    return f"parsing {seconds[0]:.2f} s/MB, as text {seconds[1]:.3f} s/MB"


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        model = HashModel() if "--words" in sys.argv else None
        for number, argument in enumerate(argument for argument in sys.argv[1:] if argument != "--words"):
            suffix, _, folder = argument.partition("=")
            target = Path(name) / str(number)
            target.mkdir()
            measure(suffix, Path(folder), target, model)


if __name__ == "__main__":
    main()
