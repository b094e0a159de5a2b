"""Run every command in the documentation, or check it without running it, and compare the output with the page."""

import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer

from lore_etl.config.settings import Settings
from lore_server.cli.command import cli
from lore_server.cli.main import COMMANDS as MODULES
from lore_server.contract import Contract
from tests.harness.commands import LORE, PREPARED, run_lore
from tests.harness.documents import COMMANDS, PAGES, RECORDING, Block, Step, blocks, matches, recorded, spans, steps
from tests.harness.projects import ROOT, copy_project

pytestmark = pytest.mark.later

NOT_RUN = {
    "lore doctor": "starts other programs; test_doctor.py runs it",
    "lore eval": "takes minutes on a real set; test_eval.py runs it",
    "lore hook": "needs another server; test_hook.py runs it",
    "lore install": "writes the path of this machine; test_install.py runs it",
    "lore knowledge adopt": "needs knowledge of another folder; test_knowledge.py runs it",
    "lore add-docs": "needs documentation elsewhere; test_cli.py runs it",
    "lore embed": "needs a cluster; test_ray.py runs it",
    "lore fetch": "needs a published index; test_recipes.py runs it",
    "lore publish": "needs a target; test_recipes.py runs it",
    "lore pull": "needs a tracker; test_cli.py runs it",
    "lore serve": "runs until it is stopped; test_http.py runs it",
    "lore tune": "takes minutes on a real set; test_eval.py runs it",
    "lore why": "needs a git history; test_cli.py runs it",
}
"""Commands of which only the words and options are checked, with the reason."""

READING = {"search", "ask", "hierarchy", "docs", "status", "ps", "version", "mcp", "call", "sync", "trust"}
"""Commands that leave a project unchanged, so that pages may share a project."""

LANGUAGES = {*COMMANDS, "json", "jsonl", "markdown", "python", "text", "toml", "yaml"}
REPOSITORY = {"git", "make", ".venv/bin/python"}
"""Programs that are used in a clone of this repository."""


def lore_steps(page: Path) -> list[Step]:
    return [step for step in steps(page) if is_ours(step)]


def is_ours(step: Step) -> bool:
    """Return whether a command starts Lore; containers cannot be started here."""
    return "lore" in step.words and step.words[0] != "docker"


def is_run(step: Step) -> bool:
    """Return whether the tests run this command."""
    return is_ours(step) and not any(_begins(step, command) for command in NOT_RUN)


def _begins(step: Step, command: str) -> bool:
    words, wanted = [word for word in step.words if not word.startswith("-")], command.split()
    start = words.index("lore")
    return words[start : start + len(wanted)] == wanted


class Reader:
    """A reader who types the commands of a page in a project."""

    def __init__(self, project: Path, home: Path) -> None:
        self._project = project
        self._environment = {
            "LORE_HOME": str(home / ".lore"),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "LORE_MEMORY_DIR": str(project / "MEMORY"),
            "COLUMNS": "160",
        }

    def follow(self, step: Step) -> None:
        """Run a command, which must succeed and print the output shown on the page."""
        if "--no-daemon" in step.words:  # of a fresh machine, where no earlier command left an owner
            self._run("lore stop")
        done = self._run(step.command.replace("COMMIT", self._commit()) if "COMMIT" in step.command else step.command)
        assert done.returncode == 0, f"{step.place}: {step.command}\n{done.stdout}{done.stderr}"
        assert step.output is None or matches(step.output, done.stdout, done.stderr), (
            f"{step.place}: {step.command}\n{done.stdout}{done.stderr}"
        )

    def write(self, name: str) -> None:
        """Write a knowledge document for the commands of the page."""
        document = {
            "filename": name,
            "title": name,
            "introduction": "For readers.",
            "chapters": [],
            "keywords": ["api"],
        }
        self.follow(Step(ROOT, 0, f"lore call create_knowledge_file --json-args '{json.dumps(document)}'", None))

    def _run(self, command: str) -> subprocess.CompletedProcess[str]:
        step = Step(ROOT, 0, command, None)
        if step.words[0] == "lore" and not re.search(r"[|>$]", command):
            return run_lore(*step.words[1:], cwd=self._project, **self._environment)
        path = f"{Path(PREPARED.lore()).parent}:{Path(LORE).parent}:{os.environ['PATH']}"
        return subprocess.run(
            ["bash", "-c", command], cwd=self._project, env={**os.environ, **self._environment, "PATH": path},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    def _commit(self) -> str:
        """Return the id of the newest commit of the knowledge folder."""
        found = json.loads(run_lore("knowledge", "log", "--json", cwd=self._project, **self._environment).stdout)
        return str(found["commits"][0]["id"])


def _typed(step: Step) -> str:
    """Return the name of the command, after any options before it."""
    words = step.words[step.words.index("lore") + 1 :]
    return next(word for word in words if not word.startswith("-"))


@pytest.fixture(scope="module")
def shared(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """Yield a reader whose commands change nothing."""
    yield Reader(sample, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def scratch(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """Yield a reader whose commands may change the project, which has a knowledge document."""
    folder = tmp_path_factory.mktemp("scratch")
    reader = Reader(copy_project(sample, folder / "ferry"), folder)
    reader.write("api-guide")
    return reader


@pytest.fixture
def newcomer(sample: Path, tmp_path: Path) -> Reader:
    """Return a reader of the whole sample before the first sync."""
    return _before_the_first_sync(sample, tmp_path)


@pytest.fixture
def beginner(sample: Path, tmp_path: Path) -> Reader:
    """Return a reader before the first sync, of the sample without the folders of a framework and of agents."""
    return _before_the_first_sync(sample, tmp_path, ".ce", "PRPs", "MEMORY", ".serena")


def _before_the_first_sync(sample: Path, tmp_path: Path, *without: str) -> Reader:
    """Keep only the embedding cache of the index, to save time."""
    project = copy_project(sample, tmp_path / "ferry", *without)
    for left in (project / ".lore").iterdir():
        if not left.name.startswith(("embeddings.sqlite", "index.id", ".gitignore")):
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    return Reader(project, tmp_path)


def reader_of(page: Path) -> str:
    """Choose the fixture for a page by the effect of its commands and by the output that it shows."""
    run = [step for step in lore_steps(page) if is_run(step)]
    if any(_typed(step) == "init" and step.output for step in run):
        return "beginner"
    return "shared" if all(_typed(step) in READING for step in run) else "scratch"


@pytest.mark.later
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
@pytest.mark.promise(30)
def test_the_commands_of_a_page_print_the_output_it_shows(page: Path, request: pytest.FixtureRequest) -> None:
    wanted = [step for step in steps(page) if is_run(step)]
    if wanted:
        reader: Reader = request.getfixturevalue(reader_of(page))
        for step in wanted:
            reader.follow(step)


def test_the_recording_shows_the_output_of_its_commands(newcomer: Reader) -> None:
    shown = list(recorded())

    assert len(shown) > 2
    assert not re.search(r"/(tmp|home|root|Users)/", RECORDING.read_text(encoding="utf-8"))
    for step in shown:
        newcomer.follow(step)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_that_a_page_names_exist_with_their_options(page: Path, contract: Contract) -> None:
    for step in steps(page):
        if is_ours(step):
            assert_lore_has(step.words[step.words.index("lore") + 1 :], step.place, contract)
    for span in spans(page):
        assert_lore_has(span.split()[1:], f"{page.name}: {span}", contract)


def assert_lore_has(words: list[str], place: str, contract: Contract) -> None:
    """Check that the words before the arguments are a command and that it has the options."""
    command = _program()
    known, left = _options(command), iter(words)
    for word in left:
        if word.startswith("-"):
            option = known.get(word.partition("=")[0])
            assert option is not None, f"{place}: there is no option {word}"
            if not option.is_flag and "=" not in word:
                next(left, None)
        elif hasattr(command, "commands"):
            assert word in command.commands, f"{place}: there is no command {word}"
            command = command.commands[word]
            known |= _options(command)
        elif command.name == "call" and word.islower() and "=" not in word:
            assert word in {operation.id for operation in contract}, f"{place}: there is no operation {word}"


@cache
def _program() -> Any:
    """Return the command with all of its subcommands."""
    for name in MODULES:
        import_module(f"lore_server.cli.{name}")  # registers its commands
    return typer.main.get_command(cli)


def _options(command: Any) -> dict[str, Any]:
    options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
    return {name: option for option in options for name in (*option.opts, *option.secondary_opts)}


def test_the_documentation_uses_only_known_programs(contract: Contract) -> None:
    checks: dict[str, Callable[[list[str]], None]] = {
        "lore": lambda words: None,  # the other tests run or check these
        "cd": lambda words: None,
        "export": lambda words: None,
        "git": lambda words: None,
        "tar": lambda words: None,  # test_recipes.py runs it
        "openssl": lambda words: None,  # test_recipes.py runs it
        "echo": _is_piped_to_lore,
        "rm": _removes_only_what_lore_wrote,
        "test": lambda words: None,
        "docker": _uses_the_image,
        "curl": lambda words: _asks_for_a_route(words, contract),
        "make": _is_a_target,
        "pipx": _installs_lore,
        "uv": _installs_lore,
        "pip": _installs_lore,
        ".venv/bin/python": _runs_a_file_or_module,
    }
    for page in PAGES:
        for step in steps(page):
            program = Path(step.words[0]).name if step.words[0] not in checks else step.words[0]
            assert program in checks, f"{step.place}: how is {program} checked?"
            checks[program](step.words)


def _is_piped_to_lore(words: list[str]) -> None:
    assert "|" in words and "lore" in words, words


def _removes_only_what_lore_wrote(words: list[str]) -> None:
    places = [word for word in words[1:] if not word.startswith("-")]
    assert all(re.search(r"lore", place) for place in places), places


def _uses_the_image(words: list[str]) -> None:
    assert "Containerfile" in words or words[words.index("lore") + 1 :] in ([], ["mcp"]), words


def _asks_for_a_route(words: list[str], contract: Contract) -> None:
    address = next(word for word in words if word.startswith("127.0.0.1:7317"))
    path = address.partition("/")[2].partition("?")[0]
    routes = {operation.path.strip("/") for operation in contract}
    assert path in {"mcp", "api/openapi.yaml"} or path.removeprefix("api/") in routes, path
    if "-d" in words:
        json.loads(words[words.index("-d") + 1])


def _is_a_target(words: list[str]) -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert words[1] in targets, words


def _installs_lore(words: list[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {extra for word in words for extra in "".join(re.findall(r"\[(.*)\]$", word)).split(",") if extra}
    assert {project["name"], ".", "./lore-source"} & {re.sub(r"\[.*\]$", "", word) for word in words}, words
    assert extras <= project["optional-dependencies"].keys(), words


def _runs_a_file_or_module(words: list[str]) -> None:
    module = words[words.index("-m") + 1].replace(".", "/")
    files = [word.partition("::")[0] for word in words if word.endswith(".py")]
    assert module == "pytest" or (ROOT / f"{module}.py").exists(), words
    assert all((ROOT / file).exists() for file in files), words


def test_every_exception_for_a_command_is_still_used() -> None:
    documented = [step for page in PAGES for step in lore_steps(page)]

    for command in NOT_RUN:
        assert any(_begins(step, command) for step in documented), command


def documented_blocks() -> list[Block]:
    return [block for page in PAGES for block in blocks(page)]


def test_every_code_block_names_its_language_and_commands_are_in_command_blocks() -> None:
    for block in documented_blocks():
        place = f"{block.page.relative_to(ROOT)}:{block.line}"
        if block.language:
            assert block.language in LANGUAGES, f"{place}: {block.language}"
        if block.language not in COMMANDS:
            assert not re.search(r"^(\$ )?(lore|make|git|curl|pip|pipx|uv) ", block.text, re.MULTILINE), place


@pytest.mark.parametrize("language", ["json", "toml", "yaml"])
def test_configuration_in_the_documentation_is_valid(language: str) -> None:
    for block in documented_blocks():
        if block.language == "json":
            json.loads(block.text)
        elif block.language == "toml" and "mcp_servers" not in block.text:
            _assert_is_configuration(tomllib.loads(block.text.replace("…", "")))


def _assert_is_configuration(values: dict[str, Any]) -> None:
    Settings.model_validate(values)
