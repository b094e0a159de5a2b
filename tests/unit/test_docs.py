"""The documentation is consistent: its links resolve and its commands exist."""

import re
from pathlib import Path

import pytest

from lore_etl.config.settings import load_settings
from lore_etl.files.ignore import rules_for
from lore_etl.files.scan import walk
from lore_server.contract import Contract
from tests.golden import pages
from tests.harness.documents import steps
from tests.harness.projects import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#{1,6} (.+)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_resolves_to_a_file_and_a_heading(page: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
        if not target.startswith("http"):
            path, _, anchor = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            assert file.exists(), target
            assert not anchor or anchor in anchors(file), target


def test_every_documented_make_target_exists() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = {name for page in PAGES for name in re.findall(r"\bmake ([a-z-]+)\b(?!\w)", page.read_text())}

    assert named & {"install", "demo", "test", "test-all", "golden", "bench"} <= targets
    assert {"install", "demo", "test"} <= named


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_and_benchmark_named_in_the_documentation_exists(page: Path) -> None:
    text = page.read_text()
    modules = [f"{name.replace('.', '/')}.py" for name in re.findall(r"python -m (benchmarks\.\w+)", text)]
    files = re.findall(r"`((?:benchmarks|tests|etl|server|data)/[\w/.-]+\.\w+)`", text)

    assert [file for file in (*modules, *files) if not (ROOT / file).exists()] == []


def test_the_demo_indexes_the_documents_and_the_sample_project_but_not_lores_code() -> None:
    exclude = load_settings(ROOT, ROOT / "data" / "demo.toml").index.exclude
    found = walk(ROOT, rules_for(ROOT, exclude)).files

    assert {"README.md", "docs/searching.md", "data/sample/ferry/stores/base.py"} <= found.keys()
    others = [path for path in found if not path.startswith("data/sample/")]
    assert not any(path.endswith((".py", ".js", ".yaml")) for path in others)


def test_every_operation_and_route_is_documented(contract: Contract) -> None:
    http, mcp = (ROOT / "docs" / "http.md").read_text(), (ROOT / "docs" / "mcp.md").read_text()

    for operation in contract:
        assert f"`{operation.id}`" in http
        assert f"`{operation.id}`" in mcp
        assert f"{operation.method} /api{operation.path}" in http


def test_the_generated_parts_of_the_documentation_are_current() -> None:
    """After a change, write them with `make golden` and review the diff."""
    texts = {page.name: page.read_text(encoding="utf-8") for page in pages.PAGES}

    assert {name: pages.filled(text) for name, text in texts.items()} == texts
    assert {part for text in texts.values() for _, part, _ in pages.PART.findall(text)} == set(pages.PARTS)


@pytest.mark.parametrize(("page", "at_least"), [("docs/compatibility.md", 41), ("SECURITY.md", 40)])
def test_every_test_that_a_page_names_exists_and_every_line_of_the_threat_model_names_one(
    page: str, at_least: int
) -> None:
    named = set(re.findall(r"`(test_\w+)`", (ROOT / page).read_text()))
    files = [file.read_text() for file in (ROOT / "tests").rglob("test_*.py")]
    written = {name for text in files for name in re.findall(r"^def (test_\w+)", text, flags=re.MULTILINE)}
    threats = [line for line in (ROOT / "SECURITY.md").read_text().splitlines() if line.startswith("| ")]

    assert len(named) >= at_least
    assert named - written == set()
    assert len(threats) > 20
    assert [line for line in threats[1:] if not re.search(r"`test_\w+` \|$|`test_\w+`, ", line)] == []


def test_the_reason_for_every_dependency_is_documented() -> None:
    declared = re.findall(r'^    "([a-z0-9-]+)[><=]', (ROOT / "pyproject.toml").read_text(), flags=re.MULTILINE)
    reasons = (ROOT / "docs" / "dependencies.md").read_text()

    for name in declared:
        family = "tree-sitter" if name.startswith("tree-sitter") else name
        assert family in reasons, name


def test_every_page_and_the_makefile_install_lore_with_one_command_that_differs_only_in_the_extras() -> None:
    guide = ROOT / "docs" / "install.md"
    found: dict[str, set[str]] = {}
    extras: dict[str, set[str]] = {}
    for page in (ROOT / "README.md", guide):
        for step in steps(page):
            if "install" in step.words and step.words[0] in ("uv", "pipx", "pip"):
                command = re.sub(r"'?\.(/lore-source)?(\[[a-z,]+\])?'?(?= )", ".", step.command)
                found.setdefault(step.words[0], set()).add(command.replace("lore-source/", ""))
                extras.setdefault(step.words[0], set()).update(re.findall(r"\[([a-z,]+)\]", step.command))

    assert found == {
        "uv": {"uv tool install . --constraints constraints.txt"},
        "pipx": {'pipx install . --force --pip-args "--constraint constraints.txt"'},
        "pip": {"pip install . --constraint constraints.txt"},
    }
    assert all({"documents", "documents,openai"} <= named for named in extras.values())
    assert "--constraint constraints.txt --editable ." in (ROOT / "Makefile").read_text(encoding="utf-8")
