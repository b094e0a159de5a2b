"""The recipes of the documentation for CI and for a backup, run in a repository with a folder as the target."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.harness.commands import LORE, PREPARED, run_lore
from tests.harness.documents import blocks
from tests.harness.evaluation import commit, git
from tests.harness.models import own_cache
from tests.harness.projects import ROOT, write_project

PAGE = ROOT / "docs" / "install.md"
INSTALLS = ("git clone", "uv tool install", "export PATH")  # what a fresh machine of a CI needs


def recipe(name: str) -> list[str]:
    """Return the commands of the recipe that publishes an index."""
    found: list[Any] = [yaml.safe_load(block.text) for block in blocks(PAGE) if block.language == "yaml"]
    if name == "gitlab":
        (script,) = (one["publish"]["script"] for one in found if "publish" in one)
        return list(script)
    (steps,) = (one["jobs"]["publish"]["steps"] for one in found if "publish" in one.get("jobs", {}))
    return [step["run"] for step in steps if "run" in step]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return variables with a target, and keys that the documented commands make."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    texts = [block.text for block in blocks(PAGE) if "openssl genpkey" in block.text]
    made = subprocess.run(["sh", "-ec", texts[0]], cwd=tmp_path, capture_output=True, text=True, check=True)
    programs = f"{Path(PREPARED.lore()).parent}:{Path(LORE).parent}:{os.environ['PATH']}"
    return {
        **os.environ, "PATH": programs, "TARGET": str(tmp_path / "target"), "LORE_KEY": made.stdout.split()[-1],
        "LORE_PUBLISH_KEY": (tmp_path / "lore.pem").read_text(), "CI_COMMIT_BRANCH": "main", "GITHUB_REF_NAME": "main",
        "LORE_HOME": str(tmp_path / "home"), "LORE_CACHE": str(own_cache(tmp_path / "cache")),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["github", "gitlab"])
def test_the_steps_of_a_recipe_publish_an_index_that_the_next_run_and_clones_start_from(
    name: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    commands = recipe(name)
    assert [one for one in commands if one.startswith("lore publish")]
    root = write_project(tmp_path / "app", {"docs/zebra.md": "# Zebra\n\nThe zebra crosses.\n"})
    git(root, "init", "-b", "main")
    outputs: list[str] = []
    for text in ("The ferry waits.", "The ferry leaves."):
        write_project(root, {"docs/ferry.md": f"# Ferry\n\n{text}\n"})
        git(root, "add", ".")
        commit(root, text)
        checkout = tmp_path / f"checkout {len(outputs)}"  # a fresh machine, with a detached HEAD as on GitLab
        git(root, "clone", "--quiet", str(root), str(checkout))
        git(checkout, "checkout", "--quiet", "--detach")
        steps = [one for one in commands if not one.startswith(INSTALLS)]
        done = subprocess.run(
            ["bash", "-ec", "\n".join(steps)],
            cwd=checkout,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        outputs.append(done.stdout)

    first = git(root, "rev-parse", "HEAD~1").strip()[:12]
    assert f"1 chunks as at {first}, 1 embedded" in outputs[1]
    clone = tmp_path / "clone"
    git(root, "clone", "--quiet", str(root), str(clone))
    configuration = f'[published]\ntarget = "{environment["TARGET"]}"\nkeys = ["{environment["LORE_KEY"]}"]\n'
    write_project(tmp_path, {"config/lore/config.toml": configuration})
    own = {**environment, "XDG_CONFIG_HOME": str(tmp_path / "config")}
    done = subprocess.run(["lore", "fetch"], cwd=clone, env=own, capture_output=True, text=True, check=False)
    assert "2 chunks as at" in done.stdout and ", 0 embedded" in done.stdout, done.stdout + done.stderr


def test_a_restored_backup_has_the_knowledge_its_history_and_the_tokens(tmp_path: Path) -> None:
    (saving,) = (block.text for block in blocks(PAGE) if "tar czf" in block.text)
    stop, save, restore = saving.strip().splitlines()
    assert stop == "lore stop --all"
    project = write_project(tmp_path / "app", {"lore.toml": ""})
    home, other = tmp_path / "home", tmp_path / "other"
    home.mkdir()
    other.mkdir()

    def lore(where: Path, *words: str) -> str:
        own = {"XDG_CONFIG_HOME": "", "LORE_HOME": "", "LORE_STATE": "", "XDG_STATE_HOME": "", "HOME": str(where)}
        done = run_lore("--no-daemon", *words, cwd=project, **own)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    (tmp_path / "note.md").write_text("The mooring is at pier nine.\n")
    lore(home, "memory", "add", "Mooring", "-f", str(tmp_path / "note.md"))
    lore(home, "token", "add", "bot", "--read", "*")
    write_project(home, {".config/lore/config.toml": "[query]\nnResults = 50\n"})
    for command, where in ((save, home), (restore, other)):
        text = command.replace("lore-backup.tgz", str(tmp_path / "lore-backup.tgz"))
        subprocess.run(["bash", "-ec", text], env={**os.environ, "HOME": str(where)}, check=True)

    history = lore(home, "knowledge", "log", "--all")
    assert history.count("\n") > 0
    assert lore(other, "knowledge", "log", "--all") == history
    assert lore(other, "token", "list") == lore(home, "token", "list")
    assert "pier nine" in lore(other, "memory", "search", "mooring")
    assert (other / ".config/lore/config.toml").exists()
