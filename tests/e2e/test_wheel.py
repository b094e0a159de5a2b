"""Install Lore in empty environments and homes, and use it outside the source tree."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.harness.documents import steps
from tests.harness.projects import ROOT, write_project

INSTALL = ROOT / "docs" / "install.md"
INSTALL_SECONDS = 1200
SECONDS = 300


@pytest.fixture(autouse=True)
def no_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling all modules of all packages takes half of the time of an installation."""
    monkeypatch.setenv("PIP_NO_COMPILE", "1")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a built wheel, alone in a folder that installers can use as an index."""
    folder = tmp_path_factory.mktemp("index")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    run(command, folder)
    return next(folder.glob("lore_index-*.whl"))


@pytest.mark.long
def test_a_wheel_is_small_enough_for_the_package_index(wheel: Path) -> None:
    assert wheel.stat().st_size < 100_000_000  # PyPI's limit for a file of a project


@pytest.mark.long
def test_a_built_wheel_works_in_an_empty_environment_without_extras(wheel: Path, tmp_path: Path) -> None:
    run([sys.executable, "-m", "venv", str(tmp_path / "empty")], tmp_path)
    install = [str(tmp_path / "empty/bin/python"), "-m", "pip", "install", "--quiet"]
    run([*install, "--constraint", str(ROOT / "constraints.txt"), str(wheel)], tmp_path)
    project = tmp_path / "project"
    project.mkdir()
    (project / "guide.md").write_text("# Lighthouse\n\nThe lighthouse warns ships of the rocks.\n", encoding="utf-8")
    lore = str(tmp_path / "empty/bin/lore")

    run([lore, "init", "--no-sync"], project)
    assert "scipy" in refused([lore, "eval", "."], project)
    run([lore, "sync"], project)
    packages = run([*install[:3], "list"], project).lower()
    assert {one for one in ("torch", "transformers", "onnx ", "onnxscript", "scipy") if f"\n{one}" in packages} == set()
    assert "guide.md" in run([lore, "search", "lighthouse"], project)
    assert "[1]" in run([lore, "ask", "What does the lighthouse warn of?"], project)
    assert "<title>" in page(lore, project)
    run([lore, "stop"], project)


@pytest.mark.long
@pytest.mark.parametrize("installer", ["uv", "pipx", "pip"])
def test_the_lines_of_the_guide_install_the_model_and_the_named_extras(installer: str, tmp_path: Path) -> None:
    remote = tmp_path / "lore.git"  # has a branch to pull, which a checkout of CI may not have
    run(["git", "clone", "--quiet", "--bare", str(ROOT), str(remote)], tmp_path)
    run(["git", "update-ref", "refs/heads/trunk", "HEAD"], remote)
    run(["git", "symbolic-ref", "HEAD", "refs/heads/trunk"], remote)
    run(["git", "clone", "--quiet", str(remote), str(tmp_path / "lore")], tmp_path)
    project = write_project(tmp_path / "project", {"a.md": "# Lighthouse\n\nIt warns ships of the rocks.\n"})
    run([sys.executable, "-m", "venv", str(tmp_path / "venv")], tmp_path)
    if installer != "pip":
        run([str(tmp_path / "venv/bin/pip"), "install", "--quiet", installer], tmp_path)
    home = {"HOME": str(tmp_path), "PATH": f"{tmp_path}/.local/bin:{tmp_path}/venv/bin:{os.environ['PATH']}"}
    ours = (step for step in steps(INSTALL) if not {"uninstall", "lore-source"} & {*re.split("[ /'[]", step.command)})
    lines = [step for step in ours if step.words[0] in (installer, "git")]  # without those that CI runs
    assert len(lines) == 5

    for step in lines:
        run(step.words, tmp_path / "lore", **home)
        run(["lore", "init"], project, **home)
        found = json.loads(run(["lore", "search", "lighthouse", "--json"], project, **home))
        assert (found["results"][0]["source"], found.get("degraded")) == ("a.md", None), step.place
        extras = "".join(re.findall(r"\[(.*)\]", step.command)).split(",")
        for extra in filter(None, extras):
            run(
                [*python_of("lore", home["PATH"]), f"from lore_etl.core.extras import *; require('{extra}', '')"],
                project,
            )
        run(["lore", "stop"], project, **home)


@pytest.mark.long
@pytest.mark.parametrize(
    ("installer", "command"),
    [
        ("uv", "uvx --find-links {index} lore-index"),
        ("pipx", "pipx run --pip-args='--find-links {index}' lore-index"),
        ("pip", "lore"),
    ],
)
def test_a_published_package_runs_by_its_name(installer: str, command: str, wheel: Path, tmp_path: Path) -> None:
    project = write_project(tmp_path / "project", {"a.md": "# Lighthouse\n\nIt warns ships of the rocks.\n"})
    run([sys.executable, "-m", "venv", str(tmp_path / "venv")], tmp_path)
    pip = [str(tmp_path / "venv/bin/pip"), "install", "--quiet"]
    run([*pip, "--find-links", str(wheel.parent), "lore-index"] if installer == "pip" else [*pip, installer], tmp_path)
    home = {"HOME": str(tmp_path), "PATH": f"{tmp_path}/venv/bin:{os.environ['PATH']}"}
    lore = shlex.split(command.format(index=wheel.parent))

    run([*lore, "init"], project, **home)
    found = json.loads(run([*lore, "search", "lighthouse", "--json"], project, **home))
    assert (found["results"][0]["source"], found.get("degraded")) == ("a.md", None)
    run([*lore, "install", "cursor"], project, **home)
    entry = json.loads((project / ".cursor/mcp.json").read_text(encoding="utf-8"))["mcpServers"]["lore"]
    assert entry["command"] in (installer, "uvx", "lore")
    run([*lore, "stop"], project, **home)


def python_of(command: str, path: str) -> list[str]:
    """Return the start of a command that runs code with the Python of an installed script."""
    script = Path(shutil.which(command, path=path) or "").read_text(encoding="utf-8")
    return [*re.findall(r"/\S+/python[\d.]*", script)[:1], "-c"]


def run(command: list[str], folder: Path, **variables: str) -> str:
    """Run a command and return its output."""
    done = outcome(command, folder, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def refused(command: list[str], folder: Path) -> str:
    """Run a command that fails because of a missing package, and return its message."""
    done = outcome(command, folder)
    assert done.returncode == 2, done.stdout + done.stderr
    return done.stderr


def outcome(command: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command outside the source tree, without the variables of the environment that runs the tests."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment |= variables
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def page(lore: str, project: Path) -> str:
    """Return the page that `lore serve` delivers."""
    with subprocess.Popen(
        [lore, "serve", "--port", "0"], cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        assert server.stdout is not None
        try:
            line = next(line for line in server.stdout if "http://" in line)
            address = next(word.rstrip(",") for word in line.split() if word.startswith("http://"))
            with urllib.request.urlopen(address, timeout=SECONDS) as reply:
                return str(reply.read().decode())
        finally:
            server.terminate()
