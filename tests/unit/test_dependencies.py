"""The package metadata, the code and the documentation name the same dependencies."""

import ast
import importlib.metadata as metadata
import re
import sys
import tomllib
from collections.abc import Iterator

import pytest

from lore_etl.core.extras import EXTRAS
from tests.harness.projects import ROOT

PACKAGES = {"lore_etl": ROOT / "etl" / "lore_etl", "lore_server": ROOT / "server" / "lore_server"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MODULES_OF_EXTRAS = {
    "documents": ("office", "pdf"),
    "models": ("export", "model_cache"),
    "eval": ("measures",),
    "openai": ("openai_writer",),
    "ray": ("embed",),
    "team": ("target", "publish", "metrics"),
}


def names(rows: list[str]) -> set[str]:
    return {re.split(r"[<>=!~ \[]", row)[0] for row in rows}


CORE = names(PROJECT["dependencies"])
OPTIONAL = {extra: names(PROJECT["optional-dependencies"][extra]) for extra in EXTRAS}
DECLARED = CORE.union(*OPTIONAL.values())


def imported(*extras: str) -> Iterator[str]:
    """Return the top-level names that the core or the modules of extras import, including imports inside functions."""
    optional = {module for extra in (extras or MODULES_OF_EXTRAS) for module in MODULES_OF_EXTRAS[extra]}
    for folder in PACKAGES.values():
        for file in folder.rglob("*.py"):
            if (file.stem in optional) != bool(extras):
                continue
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    yield from (alias.name.split(".")[0] for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module:
                    yield node.module.split(".")[0]


def undeclared(declared: set[str], *extras: str) -> set[str]:
    distributions = metadata.packages_distributions()
    others = set(imported(*extras)) - sys.stdlib_module_names - PACKAGES.keys()
    return {
        name
        for name in others
        if not declared & {one.lower().replace("_", "-") for one in distributions.get(name, [name])}
    }


def test_the_core_imports_only_what_the_core_declares() -> None:
    assert undeclared(CORE) == set()


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_modules_of_an_extra_import_only_the_core_and_the_extra(extra: str) -> None:
    assert undeclared(CORE | OPTIONAL[extra], extra) == set()


def test_the_command_that_installs_an_extra_names_all_its_packages() -> None:
    assert {extra: {*found} for extra, found in EXTRAS.items()} == {
        "documents": OPTIONAL["documents"], "models": OPTIONAL["models"], "eval": OPTIONAL["eval"],
        "openai": OPTIONAL["openai"], "team": OPTIONAL["team"], "ray": OPTIONAL["ray"],
    }  # fmt: skip


def test_the_tested_version_of_every_package_is_pinned() -> None:
    pins = [
        row.partition("#")[0].strip() for row in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    ]
    tools = names(PROJECT["optional-dependencies"]["dev"])

    assert {pin.partition("==")[0] for pin in pins if "==" in pin} >= (DECLARED | tools) - {PROJECT["name"]}


def test_nothing_that_compiles_models_is_in_the_core_and_the_metadata_pins_no_exact_version() -> None:
    unwanted = {"torch", "transformers", "sentence-transformers", "onnx", "onnxscript", "scipy"}
    rows = [*PROJECT["dependencies"], *(row for rows in PROJECT["optional-dependencies"].values() for row in rows)]

    assert CORE & unwanted == set()
    assert [row for row in rows if "==" in row] == []


def test_the_release_of_the_weights_is_pinned_by_hash() -> None:
    rows = (ROOT / "model.txt").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    (row,) = [row.split() for row in rows if not row.startswith("#")]

    assert re.fullmatch(r"[a-z0-9-]+==[\d.]+", row[0])
    assert re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", row[1])


def test_every_dependency_has_a_reason_and_a_size() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| ")]
    rows = [row for row in table if len(row) == 4 and row[0] != "package"]
    named = {
        name: size
        for names, sizes, _, _ in rows
        for name, size in zip(names.split(", "), sizes.split(", "), strict=True)
    }

    assert named.keys() == DECLARED
    assert all(float(size) > 0 for size in named.values())
    assert all(why for _, _, _, why in rows)
