"""Build knowledge folders for tests: stores, git commands, remotes on disk, a folder of the earlier server."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from lore_server.knowledge.chapter_edit import NewChapter, new_document
from lore_server.knowledge.git.commits import Author
from lore_server.knowledge.store import KnowledgeStore

if TYPE_CHECKING:
    from lore_server.replies.records import KnowledgeWrittenRecord as Written


AGENT = Author("claude", "session-1")
PROJECT = "My App"
HOSTILE_FILENAMES = [
    "", " ", ".", "..", "...", ".md", "../x", "..\\x", "/etc/passwd", "C:\\x", "a/b", "a\0b", "a\nb", "x" * 300,
    "\uff0e\uff0e\uff0fx", "a\u2100b", "\u202emd.exe", "a\u200bb", "\ud800",
]  # fmt: skip
SAFE_FILENAMES = {
    "CON": "con-x.md",
    "nul.md": "nul-x.md",
    "COM1": "com1-x.md",
    "-rf": "rf.md",
    "--help.md": "help.md",
    ".hidden": "hidden.md",
    ".git": "git.md",
    "API Guide": "api-guide.md",
    "api-guide.md": "api-guide.md",
    "Ünïcode straße": "unicode-strasse.md",
    "$(rm -rf ~);`x`|&": "rm-rf-x.md",
    "v1.2": "v1-2.md",
    "a%2e%2e%2f": "a-2e-2e-2f.md",
}
PATH_IDS = [
    "..", "./.", "/", "\\", "../x", "..\\x", "a/../b", "a\\..\\b", "x/..", "x/.. ", "./x", "a/./b", "/etc/passwd",
    "//host/x", "\\\\host\\x", "~", "~/x", "C:\\x", "c:/x", "\uff0e\uff0e/x", "..\uff0fx", "file:///etc/passwd",
    "https://h/../x",
]  # fmt: skip
HOSTILE_IDS = ["", " ", "a\0b", "a\nb", "x" * 300, "\u202ea", "\ud800", "\x1b[31m", *PATH_IDS]


def git(home: Path, *arguments: str, check: bool = True) -> str:
    """Run git in the folder, as a user would."""
    command = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@localhost", *arguments]
    done = subprocess.run(command, cwd=home, capture_output=True, check=False)
    assert not check or done.returncode == 0, done.stderr
    return done.stdout.decode()


def assert_sound(home: Path) -> None:
    """Check that the repository is valid, everything is committed and no temporary file is left."""
    assert git(home, "fsck", "--full", "--strict", "--no-dangling").strip() == ""
    assert git(home, "status", "--porcelain") == ""
    left = [path.name for path in home.rglob("*") if path.name.endswith((".tmp", ".lock")) or "tmp_obj" in path.name]
    assert set(left) <= {"lore.lock"}
    assert (home / ".git" / "lore.lock").read_bytes() == b""


def messages(home: Path) -> list[str]:
    """Return the subjects of all commits, oldest first."""
    return git(home, "log", "--reverse", "--format=%s").splitlines()


def is_linear(home: Path) -> bool:
    """Return whether no commit has two parents."""
    return git(home, "rev-list", "--min-parents=2", "HEAD") == ""


def create(store: KnowledgeStore, filename: str = "guide", *titles: str, project: str = PROJECT) -> Written:
    """Create a document with chapters of these titles."""
    chapters = tuple(NewChapter(title, f"Text of {title}.") for title in titles or ("First", "Second"))
    return store.create_document(
        project, filename, new_document("Guide", "Intro.", ("one",), chapters, store.now()), AGENT
    )


def bare_remote(folder: Path, *homes: Path) -> Path:
    """Create an empty repository and make it the origin of these folders."""
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(folder)], check=True)
    for home in homes:
        git(home, "remote", "add", "origin", str(folder))
    return folder


def seed_store(home: Path) -> Path:
    """Create a folder as the earlier server writes it: quoting as in js-yaml, its index, ignored log and names."""
    knowledge = home / "projects" / "my-app" / "knowledge"
    knowledge.mkdir(parents=True)
    index = {"projects": {"My App": "my-app", "git@host:team/other.git": "git-host-team-other-git"}}
    (home / "index.json").write_text(json.dumps(index, indent=2), encoding="utf-8")
    (home / "projects" / "my-app" / "main.md").write_bytes(
        b"# My App\r\n\r\n## Build\r\n\r\nmake\r\n\r\n## Test\r\n\r\nmake test"
    )
    text = (
        "---\ntitle: API Documentation Guide\nkeywords:\n  - api\n  - rest\ncreated: 2024-01-01T12:00:00.000Z\n"
        "updated: '2024-01-01T12:00:00.000Z'\n---\n\nBrief introduction.\n\n## Getting Started\n\nTo begin.\n\n"
        "## Errors\n\nNone.\n"
    )
    (knowledge / "api-guide.md").write_text(text, encoding="utf-8")
    (knowledge / "API_Notes.md").write_text("no front matter\n\n## Notes\n\nx", encoding="utf-8")
    (home / "projects" / "my-app" / "TODO" / "1").mkdir(parents=True)
    (home / "projects" / "my-app" / "TODO" / "1" / "todo.md").write_text("todo\n", encoding="utf-8")
    (home / ".gitignore").write_text("activity.log\n.DS_Store\n", encoding="utf-8")
    (home / "activity.log").write_text('{"method": "create_knowledge_file"}\n', encoding="utf-8")
    git(home, "init", "-q", "-b", "master")
    git(home, "add", "-A")
    git(home, "commit", "-q", "-m", "Update knowledge for My App: Created api-guide.md")
    return home
