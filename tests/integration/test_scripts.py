"""Scripts without an extension are indexed in the language that their first line names."""

import os
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lore_etl.config.settings import IndexSettings, Settings
from lore_etl.core.model import Chunk, SyncReport
from lore_etl.index import Index
from lore_etl.pipeline.sync import sync
from lore_server.app import App
from tests.harness.calls import edit
from tests.harness.models import HashModel
from tests.harness.projects import chunks_of, open_index, write_project

PYTHON = 'class Harbour:\n    """Where ships wait."""\n\n    def moor(self) -> None:\n        pass\n'
SCRIPTS = {
    "bin/env-python": ("#!/usr/bin/env python3", PYTHON, "Python"),
    "bin/direct": ("#! /opt/python/bin/python3.12 -u", PYTHON, "Python"),
    "bin/split": ("#!/usr/bin/env -S LANG=C python3 -u", PYTHON, "Python"),
    "bin/crlf": ("#!/usr/bin/env python\r", PYTHON, "Python"),
    "bin/shell": ("#!/bin/sh", "moor() {\n  echo moored\n}\n", "Bash"),
    "bin/zsh": ("#!/usr/bin/env zsh", "moor() {\n  echo moored\n}\n", "Bash"),
    "bin/node": ("#!/usr/bin/env node", "function moor() {\n  return 1;\n}\n", "JavaScript"),
    "bin/ruby": ("#!/usr/bin/ruby -w", "class Harbour\n  def moor\n  end\nend\n", "Ruby"),
    "bin/perl": ("#!/usr/bin/perl", "sub moor {\n  return 1;\n}\n", "Perl"),
}
OTHERS: dict[str, str | bytes] = {
    "bin/text": "No first line of a script: python\n",
    "bin/later": "\n#!/usr/bin/env python3\npass\n",
    "bin/unknown": "#!/usr/bin/env brainfuck\n+\n",
    "bin/pythonic": "#!/usr/bin/env pythonista\npass\n",
    "bin/bare": "#!\nprint(1)\n",
    "bin/nul": b"#!/bin/sh\0\necho a\n",
    "bin/packed": b'#!/bin/sh\ntail -n +3 "$0" | tar x\n\x00\x01\x02\n',
    "bin/latin": b"#!/bin/sh\necho caf\xe9\n",
    "bin/far": "#!" + " " * 300 + "/bin/sh\necho a\n",
    "configure": "#!/bin/sh\necho generated\n",
    "data.bin": "#!/bin/sh\necho a\n",
    "empty": "",
}


def synced(root: Path, **sources: list[str]) -> tuple[dict[str, list[Chunk]], dict[str, int], list[str]]:
    """Return the chunks of each file, the number of files by language, and the files with problems."""
    with closing(Index(root, Settings(sources=sources), HashModel())) as index:
        report = sync(index, allow_mass_delete=True)
        chunks = {path: index.catalogue.of_source(path) for path in index.catalogue.paths()}
    found = {row["language"]: row["files"] for row in (report.inventory or {})["found"]}
    return chunks, found, [problem.source for problem in report.failed]


def test_scripts_are_indexed_in_the_languages_of_their_first_lines(tmp_path: Path) -> None:
    files = {path: f"{first}\n{code}" for path, (first, code, _) in SCRIPTS.items()}
    chunks, found, failed = synced(write_project(tmp_path.resolve(), files))

    assert (found, failed) == (Counter(language for _, _, language in SCRIPTS.values()), [])
    for path, (_, _, language) in SCRIPTS.items():
        assert {(one.type.value, one.title, one.source) for one in chunks[path]} == {("src", path, path)}
        assert language == "Perl" or "moor" in str([one.symbols for one in chunks[path]])


def test_a_search_by_language_finds_scripts(hash_app: App) -> None:
    files = {path: f"{first}\n{code}" for path, (first, code, _) in SCRIPTS.items()}
    edit(hash_app, files)
    found = {
        query: {row["source"] for row in hash_app.call("query_documents", {"query": query, "limit": 100})["results"]}
        for query in ("moor lang:ruby", "moor -lang:python", "moor lang:python path:bin/d*")
    }

    assert found["moor lang:ruby"] == {"bin/ruby"}
    assert found["moor -lang:python"] == {path for path, row in SCRIPTS.items() if row[2] != "Python"}
    assert found["moor lang:python path:bin/d*"] == {"bin/direct"}


def test_other_files_without_an_extension_are_left_out_without_a_failure(tmp_path: Path) -> None:
    root = write_project(tmp_path.resolve() / "project", OTHERS | {"a.py": "pass\n"})
    (tmp_path / "outside").write_text("#!/bin/sh\necho secret\n")
    (root / "link").symlink_to(tmp_path / "outside")
    if hasattr(os, "mkfifo"):  # Windows has no FIFOs
        os.mkfifo(root / "pipe")
    chunks, found, failed = synced(root)

    assert (set(chunks), found, failed) == ({"a.py"}, {"Python": 1}, [])


def test_the_patterns_of_sources_decide_about_scripts_as_about_other_code(tmp_path: Path) -> None:
    script = f"#!/usr/bin/env python3\n{PYTHON}"
    files = {path: script for path in ("bin/a", "tests/b", "examples/c", "tools/d", "vendor/node_modules/e")}
    root = write_project(tmp_path.resolve(), files)
    everything = synced(root)[0]
    some = synced(root, python=["bin/*.py"], tests=[], examples=["tools/**"])[0]

    assert {path: chunks[0].type.value for path, chunks in everything.items()} == {
        "bin/a": "src", "tests/b": "test", "examples/c": "example", "tools/d": "src",
    }  # fmt: skip
    assert {path: chunks[0].type.value for path, chunks in some.items()} == {"bin/a": "src", "tools/d": "example"}


def test_a_script_is_indexed_again_if_its_language_changes_or_it_stops_being_a_script(tmp_path: Path) -> None:
    root = write_project(tmp_path.resolve(), {"a.py": "pass\n", "run": f"#!/usr/bin/env python3\n{PYTHON}"})
    first = synced(root)[1]
    write_project(root, {"run": "#!/bin/sh\nmoor() {\n  echo moored\n}\n"})
    second = synced(root)[1]
    unchanged = synced(root)[1]
    write_project(root, {"run": b"#!/bin/sh\n\x00"})
    third, found, failed = synced(root)

    assert (first, second, unchanged) == ({"Python": 2}, {"Python": 1, "Bash": 1}, {"Python": 1, "Bash": 1})
    assert (set(third), found, failed) == ({"a.py"}, {"Python": 1}, [])


@pytest.mark.skipif(os.name == "nt" or os.getuid() == 0, reason="the system lets this user read every file")
def test_the_chunks_of_a_script_that_cannot_be_read_are_kept(tmp_path: Path) -> None:
    root = write_project(tmp_path.resolve(), {"a.py": "pass\n", "run": f"#!/usr/bin/env python3\n{PYTHON}"})
    before = synced(root)[0]
    (root / "run").chmod(0)
    after, found, failed = synced(root)
    (root / "run").chmod(0o600)

    assert (after, found, failed) == (before, {"Python": 2}, ["run"])


MARK = "// Code generated by protoc-gen-go. DO NOT EDIT.\n\n"
CODE = "package a\n\nfunc Berth() int {\n\treturn 1\n}\n"
TOOL = "#!/usr/bin/env python3\na = 1\n"
FILES: dict[str, str | bytes] = {
    "hand.go": CODE,
    "late.go": f"{CODE}\n{MARK}",
    "made.go": MARK + CODE,
    "client.go": MARK + CODE,
    "run": f"#!/usr/bin/env python3\n# Generated by make. DO NOT EDIT.\n{'a = 1'}\n",
    "theme.css": ".a{color:red}" * 100,
    "docs/marker.md": f"# Markers\n\n```go\n{MARK}```\n",
}


def left_out(report: SyncReport) -> list[tuple[str, str, int]]:
    rows: list[dict[str, Any]] = (report.inventory or {})["left_out"]
    return [(row["extension"], row["reason"], row["files"]) for row in rows]


def test_generated_files_are_left_out_and_counted_until_they_are_included(tmp_path: Path) -> None:
    project = write_project(tmp_path / "harbour", FILES)
    included = Settings(index=IndexSettings(include=["made.go", "*.css", "run"]))
    with closing(open_index(project)) as index:
        first, second = sync(index), sync(index)
        found = {chunk.source for chunk in chunks_of(index)}
    with closing(open_index(project, included)) as index:
        third = sync(index)
        more = {chunk.source for chunk in chunks_of(index)}

    assert found == {"hand.go", "late.go", "docs/marker.md"}
    assert left_out(first) == left_out(second)
    assert left_out(first) == [(".go", "generated", 2), (".css", "minified or bundled", 1), ("run", "generated", 1)]
    assert (first.files, first.failed, first.warnings) == (3, [], [])
    assert more == {*found, "made.go", "theme.css", "run"}
    assert left_out(third) == [(".go", "generated", 1)]


def test_a_file_that_becomes_generated_loses_its_chunks_and_regains_them(tmp_path: Path) -> None:
    more = {f"src/{n}.go": CODE for n in range(9)}
    project = write_project(tmp_path / "harbour", {**FILES, **more, "src/tool": TOOL})
    with closing(open_index(project)) as index:
        sync(index)
        write_project(
            project,
            {"hand.go": MARK + CODE, "src/.gitattributes": "3.go linguist-generated\ntool linguist-generated\n"},
        )
        marked = sync(index)
        without = {chunk.source for chunk in chunks_of(index)}
        write_project(project, {"hand.go": CODE, "src/.gitattributes": "3.go -linguist-generated\n"})
        sync(index)
        again = {chunk.source for chunk in chunks_of(index)}

    assert again - without == {"hand.go", "src/3.go", "src/tool"}
    assert left_out(marked)[0] == (".go", "generated", 4)
