import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from lore_etl.core.errors import ConfigError
from lore_etl.core.model import Problem
from lore_etl.files.ignore import lenient, rules_for
from lore_etl.files.indexed import ProjectFiles
from lore_etl.files.scan import FileEntry, Scan, Unreadable, is_skipped, walk
from tests.harness.permissions import without_permission
from tests.harness.projects import settle, write_project

LIMIT = 1_000
TREE = ["a.md", "b.py", "build/a.md", "build/keep.md", "src/a.md", "src/build/x.md", "src/deep/b.py", "src/deep/a b.md"]
PATTERNS = [
    "*.md", "!a.md", "build", "build/", "/build", "build/*", "!build/keep.md", "src/**/b.py", "**/deep", "deep/*.py",
    "# comment", "", "\\#x", "a\\ b.md", "a b.md ", "[ab].md", "?.py", "!*.py", "/src/a.md", "**", "!**/", "*", "!*/",
    "src/**", "!src/a.md", "build/**", "!deep", "!build/", "!build", "**/b.py", "!/a.md", "*/deep", "b*/",
]  # fmt: skip


def scan(root: Path, exclude: Sequence[str] = (), include: Sequence[str] = ()) -> Scan:
    return walk(root, rules_for(root, exclude, include=include))


def files(root: Path, exclude: Sequence[str] = ()) -> list[str]:
    return list(scan(root, exclude).files)


def text_at(root: Path, path: str) -> str:
    return read_text(root, path, scan(root).files[path])


def read_text(root: Path, path: str, entry: FileEntry) -> str:
    return ProjectFiles(root, [], root / ".lore").read(FileEntry(path, entry.size, entry.stamp), LIMIT)


def not_ignored_by_git(root: Path, paths: list[str]) -> list[str]:
    """Return the files that git itself lists."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "init", "-q", "."], cwd=root, check=True, env=environment)
    command = ["git", "ls-files", "-z", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, check=True, env=environment, capture_output=True, text=True).stdout
    return sorted(set(listed.split("\0")) & set(paths))


def test_files_are_listed_by_their_relative_posix_path_in_order(tmp_path: Path) -> None:
    write_project(tmp_path, {"b/c.md": "", "a.md": "abc", "b.md": ""})

    found = scan(tmp_path)

    assert list(found.files) == ["a.md", "b.md", "b/c.md"]
    assert found.files["a.md"] == FileEntry("a.md", 3, found.files["a.md"].stamp)
    assert (found.unreadable, found.refused) == ([], [])


def test_generated_folders_files_of_lore_and_names_that_are_not_utf8_are_skipped_and_agent_folders_are_read(
    tmp_path: Path,
) -> None:
    kept = [
        ".github/a.md", ".ce/a.md", ".serena/memories/a.md", ".claude/a.md", ".cursor/rules/a.mdc", ".cursorrules",
        ".ce/RULES.md", "sub/.ce/syntropy-index.json",
    ]  # fmt: skip
    dropped = [
        "node_modules/a.js", "src/__pycache__/a.py", ".git/a", ".lore/a", ".hidden.md", "venv/a.py",
        ".ce/syntropy-index.json", ".ce/syntropy-index.json.old",
    ]  # fmt: skip
    write_project(tmp_path, dict.fromkeys([*kept, *dropped], ""))
    (tmp_path / os.fsdecode(b"caf\xe9.md")).write_bytes(b"")

    assert files(tmp_path) == sorted(kept)
    assert [path for path in (*kept, *dropped) if not is_skipped(tmp_path, path, rules_for(tmp_path, []))] == kept
    assert is_skipped(tmp_path, ".ce/a.md", rules_for(tmp_path, ["/.ce/"]))
    assert is_skipped(tmp_path, ".ce/a.md", rules_for(tmp_path, [], {tmp_path / ".ce"}))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    top=st.lists(st.sampled_from(PATTERNS), max_size=6),
    nested=st.lists(st.sampled_from(PATTERNS), max_size=4),
    own=st.lists(st.sampled_from(PATTERNS), max_size=4),
)
def test_files_ignored_by_git_are_skipped(top: list[str], nested: list[str], own: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        contents = dict.fromkeys(TREE, "x")
        contents |= {".gitignore": "\n".join(top), "src/.gitignore": "\n".join(nested)}
        contents[".git/info/exclude"] = "\n".join(own)
        for path, text in contents.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")

        project = ProjectFiles(root, [], root / ".lore")
        found = list(project.scan().files)
        assert found == not_ignored_by_git(root, TREE)
        assert [path for path in sorted(TREE) if not project.is_skipped(path)] == found


def test_an_edited_exclude_file_of_the_repository_counts_in_the_next_scan(tmp_path: Path) -> None:
    write_project(tmp_path, {"a.md": "", "b.md": "", ".git/info/exclude": "a.md"})
    project = ProjectFiles(tmp_path, [], tmp_path / ".lore")
    before = list(project.scan().files)
    (tmp_path / ".git/info/exclude").write_text("b.md")

    assert (before, list(project.scan().files)) == (["b.md"], ["a.md"])


IGNORED = {
    ".gitignore": "out/\n*.log\n/private.md\n.env\nnode_modules/\n",
    "out/.gitignore": "!kept.md\n",
    **dict.fromkeys(
        ["a.md", "private.md", "b.log", "out/a.md", "out/kept.md", "out/api/b.md", "out/api/deep/c.md", "out/big/d.md",
         ".env", "out/.env", ".git/config.md", "out/.git/a.md", ".lore/a.md", "node_modules/a.md", "src/c.log"], "x"
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("include", "exclude", "more"),
    [
        ([], [], []),
        (["out/"], [], ["out/a.md", "out/api/b.md", "out/api/deep/c.md", "out/big/d.md", "out/kept.md"]),
        (["/out/api/"], [], ["out/api/b.md", "out/api/deep/c.md"]),
        (["out/api/*.md"], [], ["out/api/b.md"]),
        (["out/**/c.md"], [], ["out/api/deep/c.md"]),
        (["c.md"], [], ["out/api/deep/c.md"]),
        (["out/", "!out/api/"], [], ["out/a.md", "out/big/d.md", "out/kept.md"]),
        (["out/"], ["out/big/", "a.md"], ["out/api/b.md", "out/api/deep/c.md", "out/kept.md"]),
        (["*.log", "private.md"], ["/b.log"], ["private.md", "src/c.log"]),
        (["*", "**", ".env", ".git/", ".lore/", "node_modules/"], ["out/"], ["b.log", "private.md", "src/c.log"]),
    ],
)
def test_files_ignored_by_git_can_be_included_by_configuration(
    tmp_path: Path, include: list[str], exclude: list[str], more: list[str]
) -> None:
    write_project(tmp_path, IGNORED)
    found = list(scan(tmp_path, exclude, include).files)

    assert found == sorted([*more, *(["a.md"] if "a.md" not in exclude else [])])
    rules = rules_for(tmp_path, exclude, include=include)
    assert [path for path in sorted(IGNORED) if not is_skipped(tmp_path, path, rules)] == found


def test_a_folder_that_cannot_contain_an_included_file_is_not_walked(tmp_path: Path) -> None:
    write_project(tmp_path, {".gitignore": "*\n", "out/api/a.md": "", "big/b.md": ""})
    with without_permission(tmp_path / "big", tmp_path):
        found = scan(tmp_path, include=["out/api/*.md"])

    assert (list(found.files), found.unreadable) == (["out/api/a.md"], [])


def test_configured_patterns_also_exclude_and_an_invalid_one_is_reported_but_skipped_in_a_gitignore(
    tmp_path: Path,
) -> None:
    ignored = {".gitignore": "[z-a]\n!\nd.md\n", "d.md": "", "c/.gitignore": "!b.md"}
    write_project(tmp_path, {**ignored, **dict.fromkeys(("a.md", "b.md", "c/b.md"), "")})

    assert files(tmp_path) == ["a.md", "b.md", "c/b.md"]
    assert files(tmp_path, ["b.md"]) == ["a.md", "c/b.md"]  # a gitignore can include again
    with pytest.raises(ConfigError, match=r"`index\.exclude`: '\[z-a\]' is not a gitignore pattern"):
        scan(tmp_path, ["[z-a]"])


@pytest.mark.promise(19)
def test_symlinks_are_not_followed_and_those_leading_outside_the_project_are_reported(tmp_path: Path) -> None:
    root = write_project(tmp_path / "project", {"a.md": "", "b/c.md": "", ".gitignore": "ignored\n"}).resolve()
    write_project(tmp_path / "other", {"secret.md": ""})
    for name, target in {
        "outside.md": tmp_path / "other/secret.md", "folder": tmp_path / "other", "ignored": tmp_path / "other",
        "inside.md": root / "a.md", "b/up": root, "dangling": root / "absent", "loop": root / "loop",
    }.items():  # fmt: skip
        (root / name).symlink_to(target)
    (root / "one").symlink_to(root / "two")
    (root / "two").symlink_to(root / "one")

    found = scan(root)

    assert list(found.files) == ["a.md", "b/c.md"]
    assert sorted(found.refused, key=lambda value: value.source) == [
        Problem("folder", "symlink leads outside the project; not followed"),
        Problem("outside.md", "symlink leads outside the project; not followed"),
    ]


@pytest.mark.promise(19)
def test_a_fifo_is_skipped_without_blocking(tmp_path: Path) -> None:
    write_project(tmp_path, {"a.md": ""})
    os.mkfifo(tmp_path / "pipe.md")
    os.mkfifo(tmp_path / ".gitignore")

    assert files(tmp_path) == ["a.md"]
    with pytest.raises(Unreadable, match="not a regular file"):
        read_text(tmp_path, "pipe.md", FileEntry("pipe.md", 0, ""))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"plain\n", "plain\n"),
        (b"\xef\xbb\xbfmark\n", "mark\n"),
        (b"a\r\nb\rc\n", "a\nb\nc\n"),
        ("wide ü\n".encode("utf-16"), "wide ü\n"),
        ("wide ü\r\n".encode("utf-16-be").join([b"\xfe\xff", b""]), "wide ü\n"),
        (b"", ""),
        (b"x" * LIMIT, "x" * LIMIT),
    ],
)
def test_text_is_read_without_byte_order_mark_and_with_normalized_line_ends(
    tmp_path: Path, data: bytes, text: str
) -> None:
    write_project(tmp_path, {"a.md": data})

    assert text_at(tmp_path, "a.md") == text


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"x" * (LIMIT + 1), "too large: 1,001 bytes, the limit is 1,000 (index.max_file_bytes)"),
        (b"\x89PNG\0\0", "binary: it contains NUL bytes"),
        (b"caf\xe9", "not valid UTF-8 at byte 3; save it as UTF-8"),
        (b"\xff\xfea", "not valid UTF-16 at byte 2; save it as UTF-8"),
    ],
)
@pytest.mark.promise(18)
def test_a_file_that_is_not_text_is_rejected_with_a_reason(tmp_path: Path, data: bytes, reason: str) -> None:
    write_project(tmp_path, {"a.md": data})

    with pytest.raises(Unreadable) as found:
        text_at(tmp_path, "a.md")

    assert str(found.value) == reason


def test_a_file_that_changes_while_it_is_read_is_rejected(tmp_path: Path) -> None:
    write_project(tmp_path, {"grown.md": "x" * (LIMIT + 1), "other/secret.md": "x"})
    (tmp_path / "link.md").symlink_to(tmp_path / "other/secret.md")
    entries = [FileEntry(path, 1, "") for path in ("grown.md", "gone.md", "link.md")]

    for entry, reason in zip(entries, ["too large: over", "cannot be read: No such", "cannot be read: "], strict=True):
        with pytest.raises(Unreadable, match=reason):
            read_text(tmp_path, entry.path, entry)


def test_unreadable_folders_are_reported_and_other_files_are_found(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"a.md": "a", "closed/b.md": "b", "secret.md": "c"}).resolve()
    with without_permission(root / "closed", root), without_permission(root / "secret.md", root):
        found = scan(root)

        assert found == Scan(found.files, [Problem("closed/", "folder cannot be read: Permission denied")], [])
        assert list(found.files) == ["a.md", "secret.md"]
        with pytest.raises(Unreadable, match="cannot be read: Permission denied"):
            read_text(root, "secret.md", found.files["secret.md"])


@pytest.mark.promise(13)
def test_a_stamp_changes_with_the_text_also_if_the_time_is_reset_and_a_file_written_just_now_has_none(
    tmp_path: Path,
) -> None:
    write_project(tmp_path, {"a.md": "one", "b.md": "same"})
    before, info = scan(tmp_path), (tmp_path / "a.md").stat()
    (tmp_path / "a.md").write_text("two", encoding="utf-8")
    os.utime(tmp_path / "a.md", ns=(info.st_atime_ns, info.st_mtime_ns))
    settle(tmp_path)

    after = scan(tmp_path)

    assert (tmp_path / "a.md").stat().st_mtime_ns == info.st_mtime_ns
    assert after.files["a.md"].stamp not in ("", before.files["a.md"].stamp)
    assert after.files["b.md"] == before.files["b.md"]
    (tmp_path / "c.md").write_text("one", encoding="utf-8")
    os.utime(tmp_path / "c.md", ns=(0, 0))
    assert scan(tmp_path).files["c.md"].stamp == ""


@pytest.mark.parametrize("pattern", ["a**a**a**b", "*a*a*a*a*a*a*b", "/**/a*a*a*/b", "[!b]*[!b]*[!b]*c", "!*a*a*a*b"])
@pytest.mark.parametrize("path", ["a" * 250, "a/" * 1000 + "a", "a" * 250 + "/b"])
def test_pathological_patterns_do_not_hang_the_walk(pattern: str, path: str) -> None:
    """Python's `re` would take minutes to years for these patterns; the test passes by terminating."""
    spec = lenient([pattern])

    assert spec.verdict(path) in (None, False, True)
    assert spec.match_file(path) in (False, True)


@given(st.text("ab*?[]!/", max_size=12), st.text("ab/", max_size=12))
def test_a_pattern_with_many_wildcards_matches_as_in_pathspec(pattern: str, path: str) -> None:
    ours = lenient([pattern])
    theirs = GitIgnoreSpec.from_lines([pattern] if ours.patterns else [], backend="simple")

    assert ours.match_file(path) == theirs.match_file(path)
