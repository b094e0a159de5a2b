"""The files of a release agree: package, registry entry, README and container."""

import json
import re
import shlex
import tomllib

import jsonschema
import typer

from lore_etl.config.settings import Settings
from lore_server import __version__
from lore_server.cli import query_commands  # noqa: F401 - adds the commands that the files name
from lore_server.cli.command import cli
from tests.golden import plugin
from tests.harness.projects import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENTRY = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
IMAGE = [
    (line.partition(" ")[0], line.partition(" ")[2])
    for line in (ROOT / "Containerfile").read_text(encoding="utf-8").replace("\\\n", "").splitlines()
    if line and line[0] != "#"
]


def instructions(name: str) -> list[str]:
    return [value for one, value in IMAGE[[one for one, _ in IMAGE].index("FROM", 1) :] if one == name]


def commands() -> list[str]:
    return [*typer.main.get_command(cli).commands]  # type: ignore[attr-defined]


def test_the_registry_entry_starts_this_version_of_the_published_package() -> None:
    (package,) = ENTRY["packages"]

    assert ENTRY["version"] == package["version"] == PROJECT["version"] == __version__
    assert package["identifier"] == PROJECT["name"]
    assert package["identifier"] in PROJECT["scripts"]  # `uvx NAME` runs the script of that name
    assert package["packageArguments"][0] == {"type": "positional", "value": "mcp"}
    assert "mcp" in commands()


def test_an_option_of_the_registry_entry_can_have_its_value_beside_it_or_after_an_equals_sign() -> None:
    """The published schema writes `--flag={value}`, but VS Code passes two words."""
    (package,) = ENTRY["packages"]
    options = [one["name"] for one in package["packageArguments"] if one["type"] == "named"]

    assert options
    assert all(name.startswith("--") for name in options)
    known = {name for one in typer.main.get_command(cli).params for name in one.opts}
    assert known.issuperset(options)


def test_the_plugin_and_the_extension_have_what_lore_install_writes() -> None:
    """After a change, write it with `make golden` and review the diff."""
    files = plugin.files()

    assert {path: path.read_text(encoding="utf-8") for path in files} == files
    folders = (plugin.PLUGIN, plugin.EXTENSION)
    assert {path for one in folders for path in one.rglob("*") if path.is_file()} == {*files} - {plugin.MARKETPLACE}
    (listed,) = json.loads(plugin.MARKETPLACE.read_text(encoding="utf-8"))["plugins"]
    manifest = ROOT / listed["source"] / ".claude-plugin" / "plugin.json"
    assert json.loads(manifest.read_text(encoding="utf-8"))["name"] == listed["name"]
    agent = (plugin.PLUGIN / "agents" / "lore-search.md").read_text(encoding="utf-8")
    assert "tools: mcp__plugin_lore_lore, Read, Grep, Glob\n" in agent


def test_the_extension_for_gemini_cli_serves_the_open_project_and_has_texts_for_its_server() -> None:
    manifest = json.loads((plugin.EXTENSION / "gemini-extension.json").read_text(encoding="utf-8"))

    assert manifest["version"] == __version__
    assert manifest["mcpServers"] == {"lore": {"command": "lore", "args": ["mcp", "-C", "${workspacePath}"]}}
    for text in plugin.EXTENSION.rglob("*.md"):
        assert "the MCP server `lore`" in text.read_text(encoding="utf-8")
    agent = (plugin.EXTENSION / "agents" / "lore-search.md").read_text(encoding="utf-8")
    assert "tools:" not in agent  # Gemini CLI refuses names that it does not know


def test_the_registry_accepts_the_entry_and_finds_its_name_in_the_readme() -> None:
    limits = {"name": {"pattern": r"^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$"}, "description": {"maxLength": 100}}
    jsonschema.validate(ENTRY, {"properties": limits, "required": ["$schema", "name", "description", "version"]})

    assert re.findall(r"mcp-name: (\S+)", (ROOT / PROJECT["readme"]).read_text(encoding="utf-8")) == [ENTRY["name"]]


def test_the_image_serves_all_machines_with_the_tested_versions_without_privileges_and_other_files_of_a_clone() -> None:
    (user,), (start,), (command,) = instructions("USER"), instructions("ENTRYPOINT"), instructions("CMD")

    assert all(int(number) > 0 for number in user.split(":"))
    assert json.loads(start) == ["lore"]
    assert json.loads(command)[0] in commands()
    assert instructions("EXPOSE") == [str(Settings().server.port)]
    assert any("--constraint /source/constraints.txt" in value for name, value in IMAGE if name == "RUN")
    assert {".git", ".venv"} <= {*shlex.split((ROOT / ".dockerignore").read_text(encoding="utf-8"))}
