"""The files of another project that import a class or function, in four languages, and what is no such import."""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from lore_etl.core.errors import CatalogueDamaged
from lore_etl.core.text import last_part
from lore_etl.pipeline.sync import sync
from lore_etl.stores.claim import CATALOGUE
from lore_server.query.lineage import defined_by, exported_by, importers_of
from tests.harness.projects import open_index, write_project

PYTHON = "class Crane:\n    def lift(self):\n        return 1\n\n\ndef load():\n    return Crane()\n"
TYPED = "export class Crane {}\nexport function load() { return new Crane(); }\nload();\n"


def lines(tmp_path: Path, library: dict[str, str], user: dict[str, str], name: str) -> list[str]:
    """Return what the chunks that define a name in the library are told about a project that uses it."""
    with ExitStack() as stack:
        theirs, ours = (
            stack.enter_context(closing(open_index(write_project(tmp_path / folder, files))))
            for folder, files in (("library", library), ("user", user))
        )
        sync(theirs)
        sync(ours)
        chunks = [one for one in theirs.catalogue.every_chunk() if last_part(defined_by(one) or "") == name]
        assert chunks
        found = [exported_by(theirs, chunk.id) for chunk in chunks]
        return [importers_of(ours, one) for one in found if one]


def python(text: str) -> dict[str, str]:
    return {"app.py": f"{text}\n"}


def go(imported: str) -> dict[str, str]:
    return {"app.go": f'package app\n\nimport "{imported}"\n\nfunc Use() {{ _ = crane.Crane{{}} }}\n'}


PACKAGE = {"src/yard/__init__.py": "", "src/yard/crane.py": PYTHON}
TWICE = {**PACKAGE, "src/yard/other.py": PYTHON}
OWN_PACKAGE = {"yard/__init__.py": "class Crane:\n    pass\n", **python("from yard import Crane\n\nCrane()")}
NODE = {"package.json": '{"name": "@harbour/yard"}', "lib/crane.ts": TYPED}
MODULE = {"go.mod": "module harbour.org/yard\n", "crane/crane.go": "package crane\n\ntype Crane struct{}\n"}
CASES = {
    "imported by its name": (PACKAGE, "Crane", python("from yard.crane import Crane\n\nCrane()"), "app.py"),
    "through its package": (PACKAGE, "load", python("import yard\n\nyard.load()"), "app.py"),
    "by another name": (PACKAGE, "Crane", python("from yard import Crane as Lift\n\nLift()"), ""),
    "of another package": (PACKAGE, "Crane", python("from port import Crane\n\nCrane()"), ""),
    "a method of an imported class": (PACKAGE, "load", python("from yard import Ship\n\nShip.load()"), ""),
    "of the user's own package": (PACKAGE, "Crane", OWN_PACKAGE, ""),
    "defined twice": (TWICE, "Crane", python("from yard.other import Crane\n\nCrane()"), None),
    "a function that is defined twice": (TWICE, "load", python("from yard.other import load\n\nload()"), None),
    "in a folder that is no package": ({"tools/crane.py": PYTHON}, "Crane", python("from tools import Crane\n"), None),
    "TypeScript": (NODE, "Crane", {"app.ts": 'import { Crane } from "@harbour/yard";\nnew Crane();\n'}, "app.ts"),
    "Go": (MODULE, "Crane", go("harbour.org/yard/crane"), "app.go"),
    "Go, of a neighbour's package": (MODULE, "Crane", go("harbour.org/yard/other/crane"), ""),
}


@pytest.mark.parametrize(("library", "name", "user", "path"), CASES.values(), ids=CASES)
def test_a_definition_is_imported_only_by_files_that_name_its_package(
    tmp_path: Path, library: dict[str, str], name: str, user: dict[str, str], path: str | None
) -> None:
    found = set(lines(tmp_path, library, user, name))

    assert found == (set() if path is None else {f"imported by at least 1 file: {path}" if path else ""})


def test_a_changed_record_of_imports_is_damage_and_never_told(tmp_path: Path) -> None:
    root = write_project(tmp_path / "user", python("from yard import Crane\n\nCrane()"))
    with closing(open_index(root)) as index:
        sync(index)
        assert index.catalogue.importers("yard", "Crane") == ["app.py"]
        with closing(sqlite3.connect(root / ".lore" / CATALOGUE, isolation_level=None)) as rows:
            rows.execute("UPDATE uses SET names = replace(names, 'Crane', 'Quay')")

        with pytest.raises(CatalogueDamaged):
            index.catalogue.importers("yard", "Quay")
