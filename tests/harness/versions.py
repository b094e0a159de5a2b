"""Unpack the stores that earlier versions of Lore and Chroma wrote; `tests.fixtures.write` made them."""

import tarfile
from pathlib import Path

from tests.harness.projects import ROOT, write_project

FIXTURES = ROOT / "tests" / "fixtures"
FILES: dict[str, str | bytes] = {
    **{f"docs/{n}.md": f"# Page {n}\n\nsubject{n} lighthouse\n" for n in range(6)},
    "src/lamp.py": "class Light:\n    '''Shines.'''\n\n\nclass Lamp(Light):\n    '''Shines at night.'''\n",
}
PROJECT = "My App"
MAIN = "# My App\n\n## Build\n\nmake\n"
CHAPTERS = ("First", "Second")
MEMORY = "The ferry crosses the river at dawn.\n"


def unpacked(name: str, folder: Path) -> Path:
    """Unpack a fixture into this folder, and return the folder."""
    with tarfile.open(FIXTURES / f"{name}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def project_with(name: str, folder: Path) -> Path:
    """Return a project with the files and the index of a fixture."""
    project = write_project(folder / "project", FILES).resolve()
    unpacked(name, project / ".lore")
    return project
