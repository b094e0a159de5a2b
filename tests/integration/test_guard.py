"""The guard against mass deletion counts files that are gone, never files that the project's rules now leave out."""

import shutil
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from lore_etl.config.settings import load_settings
from lore_etl.core.errors import GuardTripped
from lore_etl.core.model import SyncReport
from lore_etl.files.indexed import ADDED, KNOWLEDGE
from lore_etl.pipeline.extraction import _refuse_loss
from lore_etl.pipeline.sync import sync
from tests.harness.indexes import assert_equals_fresh
from tests.harness.projects import open_index, settle, write_project

FILES: dict[str, str | bytes] = {
    "README.md": "# Harbour\n\nFerries and tides.\n",
    **{f"docs/page{n}.md": f"# Page {n}\n\nAbout subject{n}.\n" for n in range(4)},
    **{f"src/ship{n}.py": f"def sail{n}() -> int:\n    return {n}\n" for n in range(4)},
}
Change = Callable[[Path], object]


def written(path: str, content: str) -> Change:
    """Return a change that writes one file of the project."""
    return lambda root: write_project(root, {path: content})


def user_excludes(root: Path) -> None:
    write_project(root.parent, {"user/lore/config.toml": '[index]\nexclude = ["docs/"]\n'})


def moved_away(name: str) -> Change:
    return lambda root: shutil.move(root / name, root.parent / "elsewhere")


def replaced_by_a_symlink(root: Path) -> None:
    shutil.move(root / "docs", root.parent / "elsewhere")
    (root / "docs").symlink_to(root.parent / "elsewhere")


def emptied(root: Path) -> None:
    write_project(root, {path: "" for path in FILES if path.startswith("docs/")})


LEFT_OUT: dict[str, tuple[Change, int]] = {
    "the project excludes one of them": (written("lore.toml", '[index]\nexclude = ["docs/page0.md"]\n'), 1),
    "a .gitignore names one of them": (written(".gitignore", "page0.md\n"), 1),
    "the project excludes them": (written("lore.toml", '[index]\nexclude = ["docs/"]\n'), 4),
    "the user excludes them": (user_excludes, 4),
    "a .gitignore names them": (written(".gitignore", "docs/\n"), 4),
    "a .gitignore beside them names them": (written("docs/.gitignore", "*.md\n"), 4),
    "their source is off": (written("lore.toml", "[sources]\nguides = []\n"), 5),
    "their source names other files": (written("lore.toml", '[sources]\nguides = ["README.md"]\n'), 4),
    ".gitattributes calls them generated": (written(".gitattributes", "src/*.py linguist-generated\n"), 4),
    "the size limit excludes them": (written("lore.toml", "[index]\nmax_file_bytes = 1024\n"), 0),
}
GONE: dict[str, tuple[Change, str]] = {
    "they were moved": (moved_away("docs"), "4 files disappeared"),
    "a symlink replaced their folder": (replaced_by_a_symlink, "4 files disappeared"),
    "they were emptied": (emptied, "4 files became empty"),
}


def synced(root: Path, allow_mass_delete: bool = False) -> SyncReport:
    with closing(open_index(root, load_settings(root))) as index:
        report = sync(index, allow_mass_delete=allow_mass_delete)
        assert_equals_fresh(index)
        return report


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    root = write_project(tmp_path / "harbour", FILES)
    synced(root)
    return root


@pytest.mark.parametrize("allow_mass_delete", [False, True])
@pytest.mark.parametrize(("change", "files"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_files_that_the_rules_leave_out_have_not_disappeared(
    project: Path, change: Change, files: int, allow_mass_delete: bool
) -> None:
    change(project)

    report = synced(project, allow_mass_delete)

    assert report.deleted == files
    said = [warning for warning in report.warnings if "still on disk" in warning]
    assert [warning.partition(" ")[0] for warning in said] == ([str(files)] if files else [])


@pytest.mark.parametrize(("change", "reason"), GONE.values(), ids=GONE)
def test_files_without_their_content_are_protected_with_the_true_reason(
    project: Path, change: Change, reason: str
) -> None:
    change(project)
    settle(project)

    with pytest.raises(GuardTripped, match=reason):
        synced(project)

    assert synced(project, allow_mass_delete=True).deleted == 4


def test_files_that_are_left_out_hide_neither_others_nor_themselves_if_they_disappeared(project: Path) -> None:
    written("lore.toml", '[index]\nexclude = ["docs/"]\n')(project)
    for path in sorted(project.glob("src/*.py"))[:2]:
        path.unlink()

    with pytest.raises(GuardTripped, match=r"2 of 5 chunks \(40 %\), because 2 files disappeared \(src/ship0.py, "):
        synced(project)

    shutil.rmtree(project / "docs")
    with pytest.raises(GuardTripped, match="6 files disappeared"):
        synced(project)


@pytest.mark.parametrize(("share", "is_refused"), [("0.25", False), ("0.24", True)])
def test_exactly_the_configured_share_may_be_deleted(tmp_path: Path, share: str, is_refused: bool) -> None:
    pages = {path: text for path, text in FILES.items() if path != "README.md"}
    config = f"[index]\nguard_share = {share}\n"
    root = write_project(tmp_path / "eight", {**pages, "lore.toml": config})
    synced(root)
    for name in ("docs/page0.md", "src/ship0.py"):
        (root / name).unlink()

    with pytest.raises(GuardTripped, match=r"2 of 8 chunks \(25 %\)") if is_refused else nullcontext():
        assert synced(root).deleted == 2


@pytest.mark.parametrize("folder", [KNOWLEDGE, ADDED])
def test_what_agents_and_the_user_delete_through_lore_is_no_loss(folder: str) -> None:
    before = {**dict.fromkeys(FILES, 1), f"{folder}/a.md": 50, f"{folder}/b.md": 50}

    _refuse_loss(before, (), [f"{folder}/a.md", f"{folder}/b.md"], share=0.3)

    with pytest.raises(GuardTripped, match=r"5 of 9 chunks"):  # nor does it dilute what the project lost
        _refuse_loss(before, (), sorted(FILES)[:5], share=0.3)
