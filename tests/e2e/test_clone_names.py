"""The suite starts in a clone with any name and place: `lore`, spaces, other letters, below a symlink."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.harness.evaluation import commit
from tests.harness.projects import ROOT, write_project

pytestmark = pytest.mark.later

STARTS = [
    "tests/e2e/test_stdio.py::test_tools_are_listed_before_anything_heavy_is_imported",  # the command and its Python
    "tests/e2e/test_owner.py::test_an_owner_that_cannot_start_reports_the_reason",  # an owner, forked and executed
]
MAKEFILE = """
test:
	@pwd -P && cat ../shared/benchmarks/set && git log --format=%s
	@printf '==== slowest 40 durations ====\\n$(OPTIONS)\\n1 passed in 0.01s\\n' && exit 3
test-slow:
	@echo 'the page too'
"""
SCRIPT = """#!/bin/sh
'''exec' "{python}" "$0" "$@"
' '''
import sys
from lore_server.cli.main import main
sys.exit(main())
"""
"""As pip writes it for a path with spaces."""
PARTS = ["Makefile", "benchmarks", "data", "docs", "etl", "openapi.yaml", "pyproject.toml", "server", "tests"]


def test_the_tests_that_start_programs_pass_in_a_clone_with_any_name(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "my ünï link").symlink_to(tmp_path / "real")
    clone = tmp_path / "my ünï link" / "lore"
    environment = virtual_environment(clone)

    done = subprocess.run(
        [str(environment / "bin" / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", *STARTS], cwd=clone,
        env={name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHONPATH"))},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def virtual_environment(clone: Path) -> Path:
    """Make a clone with links to the files of this one, and a virtual environment with the packages of this one."""
    clone.mkdir()
    for name in PARTS:
        (clone / name).symlink_to(ROOT / name)
    folder = clone / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    paths = [str(clone / "server"), str(clone / "etl"), sysconfig.get_path("purelib")]
    (packages / "clone.pth").write_text("".join(f"{path}\n" for path in paths), encoding="utf-8")
    script = folder / "bin" / "lore"
    script.write_text(SCRIPT.format(python=folder / "bin" / "python"), encoding="utf-8")
    script.chmod(0o755)
    return folder


def test_ci_runs_in_a_clone_named_lore_and_leaves_its_logs_and_its_status(tmp_path: Path) -> None:
    checkout = write_project(tmp_path / "any name", {"Makefile": MAKEFILE, ".gitignore": ".ci/clone/\n"})
    write_project(tmp_path, {"shared/benchmarks/set": "the set\n"})
    installed = write_project(tmp_path / "bin", dict.fromkeys(("chromium-headless-shell", "npm", "python3.11"), ""))
    for tool in installed.iterdir():
        tool.write_text("#!/bin/sh\n", encoding="utf-8")
        tool.chmod(0o755)
    shutil.copytree(ROOT / ".ci", checkout / ".ci", ignore=shutil.ignore_patterns("clone", "*.log", "*.txt"))
    commit(checkout, "begin")
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    environment = {**ours, "PATH": f"{installed}:{os.environ['PATH']}"}

    done = subprocess.run(
        ["bash", ".ci/run"], cwd=checkout, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=False,
    )  # fmt: skip

    lines = done.stdout.splitlines()
    assert done.returncode == 2, done.stderr  # that of make
    assert lines[:3] == [str(checkout / ".ci" / "clone" / "lore"), "the set", "begin"]
    assert "1 passed in 0.01s" in lines
    assert "the page too" in lines
    assert (checkout / ".ci" / "test.log").read_text(encoding="utf-8") == done.stdout
    assert (checkout / ".ci" / "slowest.txt").read_text(encoding="utf-8").splitlines()[1] == "--durations=40"
    assert not (checkout / ".ci" / "clone").exists()
