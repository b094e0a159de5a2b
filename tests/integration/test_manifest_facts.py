"""A question for the purpose, license or language version of a project gets the words of its manifest, or no fact."""

from pathlib import Path

import pytest

from lore_server.app import App
from lore_server.contract import Contract
from tests.harness.calls import app_fixture, synced_app

FILES = {
    "pyproject.toml": '[project]\nname = "ferry"\nrequires-python = ">=3.10"\nlicense = "MIT"\n'
    'description = "It sails."\nlicense-files = ["*"]\n',
    "examples/pyproject.toml": '[project]\nname = "raft"\nrequires-python = ">=3.8"\n',
    "go.mod": "module example.com/ferry\n\ngo 1.20\n",
    "bow/Cargo.toml": '[package]\nname = "bow"\nrust-version = "1.70"\n',
    "aft/Cargo.toml": '[package]\nname = "aft"\nrust-version = "1.71"\n',
    "package.json": '{\n  "name": "ferry",\n  "exports": {\n    "node": "./v2.js"\n  },\n'
    '  "engines": {\n    "node": ">=20",\n    "npm": ">=9"\n  }\n}\n',
    "composer.json": '{\n  "name": "ferry/ferry",\n  "require": {\n    "php": "^8.1"\n  }\n}\n',
    "README.md": "# The ferry\n\nIt crosses the river.\n",
    "docs/guide.md": "# Guide\n\nThe ferry runs on every version of Ruby and of the Go language.\n",
}
app = app_fixture(FILES)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which Python version is required?", 'pyproject.toml has `requires-python = ">=3.10"` [1].'),
        ("what is the minimum supported version of python", 'pyproject.toml has `requires-python = ">=3.10"` [1].'),
        ("Which versions of Python are supported?", 'pyproject.toml has `requires-python = ">=3.10"` [1].'),
        ("what go version do i need to build it", "go.mod has `go 1.20` [1]."),
        ("Which Golang does this project need?", "go.mod has `go 1.20` [1]."),
        ("What's the minimum Node.js version?", 'package.json has `"node": ">=20"` [1].'),
        ("which version of node is required?", 'package.json has `"node": ">=20"` [1].'),
        ("Which PHP versions does it support?", 'composer.json has `"php": "^8.1"` [1].'),
        *(
            (question, 'pyproject.toml has `license = "MIT"` [1].')
            for question in (
                "which license is it under?",
                "What's the license of this project",
                "what licence does it have",
                "Under which license is it released?",
                "what is it licensed under?",
                "which license does ferry use",
                "Under which licence is ferry released?",
                "What is the licence of the ferry?",
                "Which license is used?",
            )
        ),
        *(
            (question, 'pyproject.toml has `description = "It sails."` [1].')
            for question in ("what is this project", "What's this library for?", "what does this repo do")
        ),
        (
            "what is the oldest rust version it works with?",
            'aft/Cargo.toml has `rust-version = "1.71"` [1] and bow/Cargo.toml has `rust-version = "1.70"` [2].',
        ),
    ],
)
def test_purpose_license_and_versions_are_quoted_from_the_manifest(app: App, question: str, answer: str) -> None:
    found = app.call("ask_knowledge_base", {"query": question})

    assert (found["answer"], found["mode"]) == (answer, "structural")
    assert all(one["quote"].strip().rstrip(",") in answer for one in found["citations"])


@pytest.mark.parametrize(
    "question",
    [
        "Which Ruby version is required?",
        "which license plates do ferries have",
        "which license does raft use",
        "what is the license of raft",
        "What is Go?",
        "what is this project licensed by the harbour for",
        "Which Python version runs in CI?",
        "Which node is required?",
    ],
)
def test_other_questions_and_missing_versions_get_no_such_fact(app: App, question: str) -> None:
    assert app.call("ask_knowledge_base", {"query": question})["mode"] != "structural"


def test_a_version_in_a_folder_is_named_only_without_one_above(tmp_path: Path, contract: Contract) -> None:
    files = {path: text for path, text in FILES.items() if path != "pyproject.toml"}
    with synced_app(tmp_path, files, contract) as app:
        found = app.call("ask_knowledge_base", {"query": "Which Python version is required?"})

    assert found["answer"] == 'examples/pyproject.toml has `requires-python = ">=3.8"` [1].'
