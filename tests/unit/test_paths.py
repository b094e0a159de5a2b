"""Paths named by callers reach only files inside the folder."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lore_etl.core.errors import PathRefused
from lore_server.framework.reading import has_part, leads_to, plain

HOSTILE = {
    "nothing": "",
    "too long": "x" * 4_000,
    "up": "../x.md",
    "up and down": "PRPs/../../x.md",
    "up at the end": "PRPs/..",
    "here": "./x.md",
    "absolute": "/etc/passwd",
    "of another system": "C:\\Windows\\x.md",
    "a drive": "C:x.md",
    "a backslash": "..\\x.md",
    "a share": "\\\\host\\x.md",
    "an address": "file://x.md",
    "two slashes": "PRPs//x.md",
    "a slash at the end": "PRPs/",
    "a NUL": "x.md\0.png",
    "a line end": "x\n.md",
    "reversed writing": "\u202edm.x",
    "a zero-width blank": "x\u200b.md",
    "half of a character": "\ud800.md",
    "a dot at the end": "PRPs./x.md",
    "a blank at the end": ".ce /x.md",
    "a wide blank at the end": ".ce\u00a0/x.md",
    "wide dots": "\uff0e\uff0e/x.md",
    "two-dot leader": "\u2025/x.md",
    "one-dot leaders": "\u2024\u2024/x.md",
    "an ellipsis": "\u2026/x.md",
    "a wide slash": "..\uff0fx.md",
    "a wide backslash": "..\uff3cx.md",
    "a fraction slash": "a\u2044x.md",
    "a division slash": "a\u2215x.md",
    "account of": "a\u2100x.md",
}


@pytest.mark.parametrize("path", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_path_with_special_components_is_rejected_with_a_hint(path: str) -> None:
    with pytest.raises(PathRefused) as caught:
        plain(path)

    assert (caught.value.code, caught.value.http_status, caught.value.exit_code) == ("PATH_REFUSED", 403, 2)
    assert "PRPs/executed/PRP-1.md" in caught.value.hint


ORDINARY = ["a.md", ".ce/RULES.md", "PRPs/executed/PRP-1 (draft).md", "docs/Ünïcode – straße.md", "v1.2/..a.md"]


@pytest.mark.parametrize("path", [*ORDINARY, "文書/設計.md"])
def test_an_ordinary_name_in_any_language_is_accepted_unchanged(path: str) -> None:
    assert plain(path) == path


def test_a_path_is_resolved_through_its_symlinks_also_in_a_project_reached_through_one(tmp_path: Path) -> None:
    root, link = tmp_path / "real", tmp_path / "link"
    (root / "docs").mkdir(parents=True)
    (root / "docs" / "a.md").write_text("x")
    (root / "CLAUDE.md").symlink_to("docs/a.md")
    (root / "pages").symlink_to("docs")
    link.symlink_to("real")

    for start, below, path, found in (
        (root, "", "docs/a.md", "docs/a.md"),
        (root, "", "CLAUDE.md", "docs/a.md"),
        (root, "", "pages/a.md", "docs/a.md"),
        (root, "docs", "a.md", "docs/a.md"),
        (root, "docs", "none/b.md", "docs/none/b.md"),
        (link, "", "docs/a.md", "docs/a.md"),
    ):
        assert leads_to(start, below, path) == found


@pytest.mark.requirement("KM-028")
def test_no_symlink_on_the_path_leads_outside(tmp_path: Path) -> None:
    root, evil = tmp_path / "root", tmp_path / "root-evil"
    for folder in (root / ".ce" / "docs", root / ".cefoo", evil):
        folder.mkdir(parents=True)
    (evil / "secret.md").write_text("x")
    (root / "file.md").symlink_to(evil / "secret.md")
    (root / "folder").symlink_to(evil)
    (root / "up").symlink_to("..")
    (root / "loop").symlink_to("loop")
    (root / ".ce" / "out").symlink_to("..")
    (root / ".ce" / "near").symlink_to("../.cefoo")

    for path in ("file.md", "folder/secret.md", "up/root-evil/secret.md", "up"):
        with pytest.raises(PathRefused):
            leads_to(root, "", path)
    for path in ("out/file.md", "out/PRPs/x.md", "near/x.md"):
        with pytest.raises(PathRefused):
            leads_to(root, ".ce", path)
    assert leads_to(root, "", "loop/x.md") == "loop/x.md"  # no file exists


@given(st.lists(st.sampled_from(["..", ".", "", "a", ".ce", "link", "b.md", "\\", "/", "~", "%2e%2e", "\uff0e\uff0e"])))
def test_every_path_is_inside_or_rejected(parts: list[str]) -> None:
    root = Path("/nowhere/root")
    try:
        found = leads_to(root, ".ce", "/".join(parts))
    except PathRefused:
        return
    assert os.path.normpath(root / found).startswith(f"{root}/.ce/")


def test_a_name_is_recognized_in_any_case() -> None:
    assert has_part(".CE/RULES.md", ".ce")
    assert has_part("packages/a/.Ce/x.md", ".ce")
    assert not has_part(".cefoo/x.md", ".ce")
