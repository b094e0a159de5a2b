"""Adding documentation from folders and installed packages: what is read, updated, removed and never left."""

import json
from pathlib import Path

import pytest

from lore_etl.core.errors import LoreError, NotFound, UsageError
from lore_server.library_docs.doc_set import FOLDER, DocSet, DocSetReport
from lore_server.library_docs.library_manager import LibraryManager
from lore_server.library_docs.local_docs import find_package
from tests.harness.projects import write_project

METADATA = (
    "Metadata-Version: 2.4\nName: Harbour_Kit\nVersion: 2.1\nProject-URL: Documentation, https://harbour.test/docs\n"
    "Description-Content-Type: text/markdown\n\n# Harbour kit\n\nMoors ferries.\n"
)


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LibraryManager:
    monkeypatch.setenv("LORE_STATE", str(tmp_path / "state"))
    (tmp_path / "index").mkdir()
    return LibraryManager(tmp_path / "index")


def updated(manager: LibraryManager, docs: DocSet) -> DocSetReport:
    return manager.update(docs, lambda stage: None)


def counts(report: DocSetReport) -> tuple[int, ...]:
    return report.added, report.changed, report.unchanged, report.removed


def pages(tmp_path: Path) -> dict[str, str]:
    top = tmp_path / "index" / "docs"
    return {file.relative_to(top).as_posix(): file.read_text() for file in sorted(top.rglob("*.md"))}


def test_only_the_changes_of_a_folder_are_copied_again_and_its_name_belongs_to_it(
    tmp_path: Path, manager: LibraryManager
) -> None:
    source = tmp_path / "kit"
    write_project(source, {
        "package.json": '{"version": "1.2.0"}', "docs/a.md": "# A\n", "docs/b.rst": "Part\n====\n\nText.\n", 
        "LICENSE.md": "x", "src/c.py": "x = 1", ".github/d.md": "# D\n", "node_modules/e/README.md": "# E\n",
    })  # fmt: skip
    docs = DocSet("kit", FOLDER, str(source.resolve()))

    first = updated(manager, docs)
    assert counts(first) == (2, 0, 0, 0)
    assert pages(tmp_path) == {
        "kit/docs/a.md": "---\nlibrary: kit\nversion: 1.2.0\n---\n\n# A\n",
        "kit/docs/b.rst.md": "---\nlibrary: kit\nversion: 1.2.0\n---\n\n# Part\n\n\nText.\n",
    }

    assert counts(updated(manager, docs)) == (0, 0, 2, 0)
    (source / "docs" / "a.md").write_text("# A again\n")
    (source / "docs" / "b.rst").unlink()
    assert counts(updated(manager, manager.named("kit")[0])) == (0, 1, 0, 1)

    write_project(tmp_path / "other", {"docs/a.md": "# Other\n"})
    with pytest.raises(UsageError, match="is documentation from"):
        updated(manager, DocSet("kit", FOLDER, str((tmp_path / "other").resolve())))
    assert "# A again" in pages(tmp_path)["kit/docs/a.md"]
    assert [(docs.name, docs.version, docs.pages) for docs in manager.named()] == [("kit", "1.2.0", 1)]
    assert manager.remove("kit") == 1
    assert (pages(tmp_path), manager.named()) == ({}, [])


def test_a_python_package_is_read_within_its_folder_and_offers_its_address(
    tmp_path: Path, manager: LibraryManager
) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("# Secret\n")
    record = "harbour_kit/docs/moor.rst,,\nharbour_kit/code.py,,\n../../../../secret.md,,\nharbour_kit/link.md,,\n"
    record += f"{secret},,\nharbour_kit/data.txt,,\nharbour_kit/docs/notes.txt,,\nother/README.md,,\n"
    packages = tmp_path / "venv" / "lib" / "python3.12" / "site-packages"
    write_project(packages, {
        "harbour_kit-2.1.dist-info/METADATA": METADATA, "harbour_kit-2.1.dist-info/RECORD": record,
        "harbour_kit/docs/moor.rst": "Mooring\n=======\n\nRopes.\n", "harbour_kit/code.py": "raise SystemExit",
        "harbour_kit/data.txt": "data", "harbour_kit/docs/notes.txt": "Notes.", "third/README.md": "# Third\n",
    })  # fmt: skip
    (packages / "harbour_kit" / "link.md").symlink_to(secret)

    kind, found = find_package("harbour-kit", (tmp_path / "venv").resolve())

    assert (kind, found.version, found.url) == ("python", "2.1", "https://harbour.test/docs")
    assert sorted(found.pages) == ["README.md", "harbour_kit/docs/moor.rst.md", "harbour_kit/docs/notes.txt.md"]
    assert list(found.skipped) == ["harbour_kit/link.md"]
    report = updated(manager, DocSet("harbour-kit", kind, str((tmp_path / "venv").resolve()), "harbour-kit"))
    assert report.docs.version == "2.1"
    assert "https://harbour.test/docs" in "".join(report.notes)
    assert "Secret" not in "".join(pages(tmp_path).values())


def test_an_npm_package_is_read_even_if_its_folder_links_to_it(tmp_path: Path) -> None:
    modules = (tmp_path / "node_modules").resolve()
    manifest = json.dumps({"version": "3.5.1", "homepage": "https://vue.test"})
    write_project(modules / ".store" / "core", {
        "package.json": manifest, "README.md": "# Core\n",
        "docs/api.md": "# API\n", "node_modules/x/README.md": "# X\n",
    })  # fmt: skip
    (modules / "@vue").mkdir()
    (modules / "@vue" / "core").symlink_to("../.store/core")

    kind, found = find_package("@vue/core", tmp_path.resolve())

    assert (kind, found.version, found.url) == ("npm", "3.5.1", "https://vue.test")
    assert sorted(found.pages) == ["README.md", "docs/api.md"]


def test_a_package_that_links_out_of_its_folder_is_refused(tmp_path: Path) -> None:
    write_project(tmp_path / "elsewhere", {"package.json": "{}", "README.md": "# Secret\n"})
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "kit").symlink_to("../elsewhere")
    venv = tmp_path / "venv"
    write_project(tmp_path / "lib" / "python3.12" / "site-packages", {"kit-1.dist-info/METADATA": METADATA})
    venv.mkdir()
    (venv / "lib").symlink_to("../lib")

    with pytest.raises(UsageError, match="leads outside"):
        find_package("kit", (tmp_path / "node_modules").resolve())
    with pytest.raises(NotFound, match="no package"):
        find_package("kit", venv.resolve())


def test_a_folder_that_became_a_symlink_is_not_followed(tmp_path: Path, manager: LibraryManager) -> None:
    write_project(tmp_path / "source", {"a.md": "# A\n"})
    write_project(tmp_path / "private", {"b.md": "# B\n"})
    copies = tmp_path / "index" / "docs"
    copies.symlink_to(tmp_path / "private")
    docs = DocSet("kit", FOLDER, str((tmp_path / "source").resolve()))
    with pytest.raises(LoreError):
        updated(manager, docs)
    assert [path.name for path in (tmp_path / "private").iterdir()] == ["b.md"]

    copies.unlink()
    docs = updated(manager, docs).docs
    (tmp_path / "source").rename(tmp_path / "old")
    (tmp_path / "source").symlink_to("private")
    with pytest.raises(NotFound, match="symlink"):
        updated(manager, docs)


def python_package(tmp_path: Path, files: dict[str, str]) -> Path:
    record = "".join(f"{path},,\n" for path in files)
    information = {"harbour_kit-2.1.dist-info/METADATA": METADATA, "harbour_kit-2.1.dist-info/RECORD": record}
    write_project(tmp_path / "venv" / "lib" / "python3.12" / "site-packages", {**information, **files})
    return (tmp_path / "venv").resolve()


def test_each_public_module_has_a_page_with_signatures_and_docstrings(tmp_path: Path) -> None:
    place = python_package(tmp_path, {
        "harbour_kit/__init__.py": '"""Moors ferries."""\nfrom ._pier import Pier\nraise SystemExit("executed")\n',
        "harbour_kit/_pier.py": 'class Pier(Base, order=1):\n    """A pier.\n\n    # Not a heading\n    """\n\n'
        "    width: int = 3\n\n    def __init__(self, *, width=3): ...\n\n    def _hide(self): ...\n\n"
        '    @property\n    def free(self) -> "bool":\n        """Whether a ferry may come."""\n',
        "harbour_kit/_secret.py": "def secret(): ...\n",
        "harbour_kit/rope.py": 'def tie(knot):\n    """Ties a knot."""\n\n\ndef _cut(): ...\n',
        "harbour_kit/rope.pyi": "async def tie(knot: str = ..., /, *more: int) -> None: ...\n",
        "harbour_kit/fast.pyi": "def sail() -> int: ...\n",
        "harbour_kit/broken.py": "def (",
        "harbour_kit/tests/test_rope.py": "def test_tie(): ...\n",
    })  # fmt: skip

    _, found = find_package("harbour-kit", place)

    texts = {path: page.text for path, page in found.pages.items()}
    assert sorted(texts) == [
        "README.md", "harbour_kit/__init__.py.md", "harbour_kit/_pier.py.md", "harbour_kit/fast.py.md",
        "harbour_kit/rope.py.md",
    ]  # fmt: skip
    assert texts["harbour_kit/__init__.py.md"] == "# harbour_kit\n\nMoors ferries."
    assert texts["harbour_kit/_pier.py.md"].split("\n\n") == [
        "# harbour_kit._pier", "## Pier", "```python\nclass Pier(Base, order=1):\n    width: int = 3\n```",
        "A pier.", "\\# Not a heading", "### Pier.__init__", "```python\ndef __init__(self, *, width=3)\n```",
        "### Pier.free", "```python\n@property\ndef free(self) -> 'bool'\n```", "Whether a ferry may come.",
    ]  # fmt: skip
    signature = "async def tie(knot: str=..., /, *more: int) -> None"
    assert f"```python\n{signature}\n```\n\nTies a knot." in texts["harbour_kit/rope.py.md"]


def test_the_declarations_of_an_npm_package_have_pages(tmp_path: Path) -> None:
    write_project(tmp_path / "node_modules" / "kit", {
        "package.json": '{"version": "1.0.0"}', "README.md": "# Kit\n", "dist/kit.js": "process.exit(1)",
        "dist/kit.d.ts": "/** Moors a ferry. */\nexport declare function moor(name: string): Promise<void>;\n",
        "node_modules/other/other.d.ts": "export {};\n", "src/kit.ts": "export const a = 1;\n",
    })  # fmt: skip

    _, found = find_package("kit", tmp_path.resolve())

    assert sorted(found.pages) == ["README.md", "dist/kit.d.ts.md"]
    text = found.pages["dist/kit.d.ts.md"].text
    assert text.startswith("# dist/kit\n\n## moor\n\n```ts\n")
    assert "Moors a ferry." in text
