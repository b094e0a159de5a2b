"""Kept decisions and reported changes give the same files as a new scan of the whole project."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from lore_etl.files.indexed import ProjectFiles
from lore_etl.files.scan import Scan
from tests.harness.projects import write_project
from tests.unit.test_files import PATTERNS, TREE

FOLDERS = ["", "build", "src", "src/build", "src/deep"]
RULES = st.lists(st.sampled_from(PATTERNS), max_size=4).map("\n".join)
EDITS = st.one_of(
    st.tuples(st.just("write"), st.sampled_from([*TREE, "new.md", "src/new/c.md", ".hidden", "build"]), st.just("")),
    st.tuples(st.just("delete"), st.sampled_from([*TREE, *FOLDERS[1:]]), st.just("")),
    st.tuples(st.just("rename"), st.sampled_from([*TREE, *FOLDERS[1:]]), st.sampled_from(["c.md", "src/moved", "lib"])),
    st.tuples(st.just("link"), st.sampled_from(TREE), st.sampled_from(["a.md", "src", "/"])),
    st.tuples(st.just("rules"), st.sampled_from(FOLDERS), RULES),
)


def project_files(root: Path) -> ProjectFiles:
    return ProjectFiles(root, ("*.tmp",), root / ".lore", include=("build/keep.md",))


def apply(root: Path, edit: tuple[str, str, str]) -> list[str]:
    """Make an edit, and return the places that a watcher would report."""
    kind, name, detail = edit
    path = root / name
    if kind == "rules":
        path = path / ".gitignore"
        if not path.parent.is_dir():
            return []
        path.write_text(detail, encoding="utf-8")
        return [str(path)]
    if kind == "write":
        if path.is_dir() or any(above.is_file() for above in path.parents):
            return []
        new = [above for above in path.parents if not above.exists()]
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_symlink():
            path.write_text(f"{path.exists() and path.stat().st_size}", encoding="utf-8")
        return [str(path), *map(str, new)]
    if not path.exists() or path.is_symlink():
        return []
    if kind == "rename":
        if (root / detail).exists() or not (root / detail).parent.is_dir() or (root / detail).is_relative_to(path):
            return []
        path.rename(root / detail)
        return [str(path), str(root / detail)]
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    if kind == "link":
        path.symlink_to(detail if detail == "/" else root / detail)
    return [str(path)]


def shown(found: Scan) -> tuple[list[tuple[str, int]], object, object]:
    refused = sorted(problem.source for problem in found.refused)
    return [(entry.path, entry.size) for entry in found.files.values()], refused, found.unreadable


@settings(max_examples=60, deadline=None, derandomize=True)
@given(top=RULES, nested=RULES, edits=st.lists(st.lists(EDITS, min_size=1, max_size=3), max_size=5))
def test_a_look_at_reported_files_and_a_repeated_scan_find_the_same_as_a_new_scan(
    top: str, nested: str, edits: list[list[tuple[str, str, str]]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        write_project(root, {**dict.fromkeys(TREE, "x"), ".gitignore": top, "src/.gitignore": nested})
        watched, repeated = project_files(root), project_files(root)
        watched.scan()
        for batch in edits:
            watched.notice([place for edit in batch for place in apply(root, edit)])
            fresh = shown(project_files(root).scan())

            assert shown(watched.look()) == fresh
            assert shown(repeated.scan()) == fresh
