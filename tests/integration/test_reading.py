"""Documents are read by path as they are now; files that are not documents cannot be read."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lore_etl.config.settings import DocsSettings, Settings
from lore_etl.core.errors import DocumentNotFound, FrameworkNotFound, InvalidArgument, InvalidPath, PathRefused
from lore_server.framework.reading import DocReader
from tests.harness.framework import framework
from tests.harness.owners import wait_until
from tests.harness.projects import open_index, write_project
from tests.harness.refusals import refused

BUDGET = 2_000
KEY = "AKIA" + "Q7XZ4M2N8P1R5T6V"


def reader(root: Path, **docs: Any) -> DocReader:
    index = open_index(root, Settings(docs=DocsSettings(**docs)))
    return DocReader(index.root, index.settings, index.files)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project with readable and unreadable documents; tests do not modify it."""
    folder = tmp_path_factory.mktemp("reading") / "root"
    files: dict[str, str | bytes] = {
        **framework(),
        ".ce/docs/research/01-prp-system.md": "---\ntags: [prp, process]\n---\n# The PRP system\n\nText.\n",
        ".gitignore": "private/\n*.secret.md\n",
        "private/plan.md": "# Plan\n",
        "PRPs/x.secret.md": "# Secret\n",
        ".env": f"KEY={KEY}\n",
        ".git/config": "[core]\n",
        ".lore/token": "abcdefghijklmnop\n",
        "docs/keys.md": f"# Keys\n\nThe key is {KEY} today.\n",
        "docs/broken.md": "---\ntags: [a\n---\n# Broken\n\nText.\n",
        "docs/latin.md": b"# Caf\xe9\n",
        "docs/large.md": "x" * 2_000_001,
        "picture.png": b"\x89PNG\0",
        ".cefoo/x.md": "# Not the framework's\n",
        "docs/Ünïcode – straße.md": "# Straße\n",
    }
    write_project(folder, files)
    (folder.parent / "root-evil").mkdir()
    (folder.parent / "root-evil" / "secret.md").write_text("# Secret\n")
    (folder / "docs" / "out.md").symlink_to("../../root-evil/secret.md")
    (folder / "outside").symlink_to("../root-evil")
    (folder / "AGENTS.md").symlink_to("CLAUDE.md")
    (folder / "docs" / "rules.md").symlink_to("../.ce/RULES.md")
    (folder / "docs" / "token.md").symlink_to("../.lore/token")
    (folder / ".ce" / "guide.md").symlink_to("../CLAUDE.md")
    os.mkfifo(folder / "docs" / "pipe.md")
    return folder


def test_a_framework_document_is_read_by_its_path_within_the_framework_folder(root: Path) -> None:
    text = (root / ".ce/PRPs/system/executed/PRP-1-validation.md").read_text()

    found: dict[str, Any] = {**reader(root).system(path="PRPs/system/executed/PRP-1-validation.md", max_tokens=BUDGET)}

    changed = found["metadata"].pop("last_modified")
    assert found == {
        "success": True,
        "path": "PRPs/system/executed/PRP-1-validation.md",
        "source": ".ce/PRPs/system/executed/PRP-1-validation.md",
        "size": len(text),
        "metadata": {"title": "Core Validation Framework", "tags": ["validation", "L1-L4"]},
        "content": text,
    }
    assert changed.startswith("20")
    assert changed.endswith("Z")
    rules = [{**reader(root).system(path=path, max_tokens=BUDGET)} for path in ("RULES.md", ".ce/RULES.md")]
    assert rules[0]["content"] == rules[1]["content"]  # the second is the path of a search result
    assert rules[1]["source"] == ".ce/RULES.md"


def test_a_project_document_is_read_by_its_path_and_a_page_also_without_its_extension(root: Path) -> None:
    user = partial(reader(root).user, max_tokens=BUDGET)
    found = user(path="examples/patterns/api-errors.md")
    assert found["metadata"]["tags"] == ["api", "error", "fastapi"]
    assert found["content"].startswith("---\ntags: [api")
    assert user(path="docs/Ünïcode – straße.md")["metadata"]["title"] == "Straße"
    assert user(path="AGENTS.md")["source"] == "CLAUDE.md"

    found = reader(root).framework(doc_path="research/01-prp-system", max_tokens=BUDGET)

    assert found["source"] == ".ce/docs/research/01-prp-system.md"
    assert found["metadata"]["title"] == "The PRP system"
    with_suffix = reader(root).framework(doc_path="research/01-prp-system.md", max_tokens=BUDGET)
    assert with_suffix["content"] == found["content"]


def test_the_folder_of_the_pages_can_be_configured(root: Path, tmp_path: Path) -> None:
    assert reader(root, framework="docs/").framework(doc_path="keys", max_tokens=BUDGET)["source"] == "docs/keys.md"
    with refused(FrameworkNotFound, match="nowhere", hint="[docs]"):
        reader(root, framework="nowhere").framework(doc_path="keys", max_tokens=BUDGET)
    with pytest.raises(PathRefused):
        reader(root, framework="../root-evil").framework(doc_path="secret", max_tokens=BUDGET)
    with pytest.raises(PathRefused):
        reader(root, framework="outside").framework(doc_path="secret", max_tokens=BUDGET)
    with pytest.raises(FrameworkNotFound, match=r"\.ce/docs or \.ce"):
        reader(write_project(tmp_path, {"docs/a.md": "# A\n"})).framework(doc_path="a", max_tokens=BUDGET)
    write_project(tmp_path, {".ce/notes/a.md": "# A\n"})  # without a folder of pages
    assert reader(tmp_path).framework(doc_path="notes/a", max_tokens=BUDGET)["source"] == ".ce/notes/a.md"


OUTSIDE_SYSTEM = ["../CLAUDE.md", "../.cefoo/x.md", "guide.md", ".ce/../../root-evil/secret.md", "/etc/passwd"]
OUTSIDE_USER = [
    "../root-evil/secret.md", "docs/out.md", "outside/secret.md", "docs/../../root-evil/secret.md", "/etc/passwd",
    ".ce/RULES.md", ".CE/RULES.md", ".ce /RULES.md", ".ce./RULES.md", "docs/rules.md",
]  # fmt: skip
NOT_FOR_READING = [
    "private/plan.md", "PRPs/x.secret.md", ".env", ".git/config", ".lore/token", "docs/token.md", "docs/latin.md",
    "docs/large.md", "picture.png", ".cefoo/x.md", "@lore/main.md",
]  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "path"),
    [*(("system", path) for path in OUTSIDE_SYSTEM), *(("user", path) for path in [*OUTSIDE_USER, *NOT_FOR_READING])],
)
@pytest.mark.requirement("KM-028")
@pytest.mark.promise(19)
def test_files_outside_and_unindexed_files_are_not_read(root: Path, tool: str, path: str) -> None:
    with pytest.raises(PathRefused) as caught:
        getattr(reader(root), tool)(path=path, max_tokens=BUDGET)

    assert caught.value.http_status == 403
    assert caught.value.hint
    assert "Secret" not in caught.value.message


@pytest.mark.parametrize("path", ["PRPs", "docs/pipe.md", "PRPs/executed/PRP-10-TASK.md", "x" * 300 + ".md"])
def test_only_a_file_of_exactly_that_name_is_found(root: Path, path: str) -> None:
    with pytest.raises(DocumentNotFound):
        reader(root).user(path=path, max_tokens=BUDGET)


def test_similar_paths_are_suggested_in_the_form_that_the_tool_accepts(root: Path) -> None:
    def hint(read: Any, path: str, name: str = "path") -> str:
        with pytest.raises(DocumentNotFound) as caught:
            read(**{name: path}, max_tokens=BUDGET)
        return caught.value.hint

    found = reader(root)
    assert "PRPs/executed/PRP-10-task.md" in hint(found.user, "PRPs/executed/PRP-10.md")
    assert ".ce" not in hint(found.user, "PRPs/system/executed/PRP-1-validation.md")
    system = hint(found.system, "PRPs/executed/PRP-1-validation.md")
    assert system == "Did you mean PRPs/system/executed/PRP-1-validation.md?"
    assert hint(found.framework, "research/01-prps-system", "doc_path") == "Did you mean research/01-prp-system.md?"
    assert "private" not in hint(found.user, "privat/plan.md")
    assert "knowledge_search" in hint(found.user, "zzzzzzzzzzzzzzzzzzz")


def test_the_text_is_read_without_secrets_and_with_broken_front_matter(root: Path) -> None:
    keys, broken = (reader(root).user(path=f"docs/{name}.md", max_tokens=BUDGET) for name in ("keys", "broken"))

    assert KEY not in str(keys)
    assert "[redacted-aws-key]" in keys["content"]
    assert broken["content"] == "---\ntags: [a\n---\n# Broken\n\nText.\n"
    assert broken["metadata"]["title"] == "Broken"


def test_a_long_document_is_returned_in_parts_with_each_character_once(tmp_path: Path) -> None:
    text = "# Long\n\n" + "".join(f"Line {number} of the document.\n" for number in range(400))
    write_project(tmp_path, {"docs/long.md": text})
    read, parts, cursor = reader(tmp_path), [], None
    while True:
        found = read.user(path="docs/long.md", max_tokens=400, cursor=cursor)
        parts.append(found["content"])
        assert len(str(found)) < 400 * 3.3
        cursor = found.get("next_cursor")
        if cursor is None:
            break

    assert "".join(parts) == text
    assert len(parts) > 5
    write_project(tmp_path, {"docs/long.md": text + "more\n"})
    with pytest.raises(InvalidArgument, match="changed"):
        read.user(path="docs/long.md", max_tokens=400, cursor="MC4xOmFiY2RlZg")


SWAPPER = """
import os, sys
os.chdir(sys.argv[1])
print("swapping", flush=True)
while True:
    os.rename("docs", "real"), os.symlink("../evil", "docs"), os.unlink("docs"), os.rename("real", "docs")
"""


@pytest.mark.promise(19)
def test_a_symlink_created_by_another_process_meanwhile_is_not_followed(tmp_path: Path) -> None:
    root = write_project(tmp_path / "root", {"docs/a.md": "# A\n"})
    write_project(tmp_path / "evil", {"a.md": "# Secret\n"})
    read = reader(root)
    swapper = subprocess.Popen([sys.executable, "-c", SWAPPER, str(root)], stdout=subprocess.PIPE, text=True)
    assert swapper.stdout is not None
    assert swapper.stdout.readline() == "swapping\n"
    outcomes: set[str] = set()

    def has_varied() -> bool:
        outcomes.update(outcome(read) for _ in range(500))
        return len(outcomes) > 1

    try:
        wait_until(has_varied)
    finally:
        swapper.kill()
        swapper.communicate()

    assert outcomes <= {"# A\n", "PATH_REFUSED", "INVALID_PATH", "DOCUMENT_NOT_FOUND"}


def outcome(read: DocReader) -> str:
    try:
        return str(read.user(path="docs/a.md", max_tokens=BUDGET)["content"])
    except (PathRefused, InvalidPath, DocumentNotFound) as error:
        return error.code
