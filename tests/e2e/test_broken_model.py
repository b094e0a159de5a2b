"""Break and repair the model configuration while an owner runs: no command needs `lore stop`."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness.commands import run_lore
from tests.harness.owners import owner_of
from tests.harness.projects import write_project
from tests.harness.trying import often

BROKEN = '[embedding]\nmodel = "nobody/no-such-model"\n'
PAGE = {"docs/ferry.md": "# Ferry\n\nThe ferry crosses the river at dawn.\n"}


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """Return the folder of an empty user configuration."""
    (tmp_path / "user/lore").mkdir(parents=True)
    return tmp_path / "user"


@pytest.fixture
def project(tmp_path: Path, user: Path) -> Path:
    """Return a project that was indexed with a working model."""
    project = write_project(tmp_path / "project", PAGE)
    assert run_lore("sync", cwd=project, XDG_CONFIG_HOME=str(user)).returncode == 0
    return project


def run(project: Path, user: Path, *command: str) -> tuple[int, dict[str, Any]]:
    done = run_lore(*command, "--json", cwd=project, XDG_CONFIG_HOME=str(user))
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("fixed_by", often(["search", "sync", "status", "doctor"], {"search", "sync"}))
def test_the_next_command_works_after_a_broken_model_is_fixed(project: Path, user: Path, fixed_by: str) -> None:
    config = user / "lore/config.toml"
    config.write_text(BROKEN, encoding="utf-8")
    code, found = run(project, user, "search", "ferry")
    assert (code, found["results"][0]["source"]) == (0, "docs/ferry.md")
    assert "nobody/no-such-model" in found["degraded"]
    code, failed = run(project, user, "sync")
    assert code != 0
    assert "nobody/no-such-model" in json.dumps(failed)
    broken = owner_of(project)

    config.write_text("", encoding="utf-8")
    code, _ = run(project, user, fixed_by, *(["ferry"] if fixed_by == "search" else []))

    assert code == 0
    assert not broken.is_alive
    code, found = run(project, user, "search", "ferry")
    assert (code, found.get("degraded")) == (0, None)
