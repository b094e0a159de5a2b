"""The `lore` command. `lore mcp` and `lore hook` must start quickly, so they do not load the other commands."""

# Imports only `sys` until `ignore_project_modules` has run: any other module could come from the project.
import sys

from lore_server.cli.import_path import ignore_project_modules

COMMANDS = (
    "query_commands", "knowledge_commands", "owner_commands", "setup_commands", "eval_commands", "hook_commands",
    "publish_commands", "library_commands", "token_commands",
)  # fmt: skip
TAKES_VALUE = {"-C": "project", "--project": "project", "-c": "config", "--config": "config", "--toolsets": "toolsets"}


def main() -> None:
    """Run the bridge for a plain `lore mcp`, otherwise the whole command line."""
    ignore_project_modules()
    from importlib import import_module

    from lore_etl.system.processes import use_utf8

    use_utf8()

    if sys.argv[1:] == ["hook", "searched"]:  # runs after each search of an agent, so it loads nothing else
        from lore_server.hook.searched import reply

        reply()
        return
    code = _bridge(bridge_options(sys.argv[1:]))
    if code is not None:
        sys.exit(code)
    for name in ["hook_commands"] if sys.argv[1:2] == ["hook"] else COMMANDS:
        import_module(f"lore_server.cli.{name}")
    from lore_server.cli.command import cli

    sys.exit(cli())


def bridge_options(arguments: list[str]) -> dict[str, str] | None:
    """Return the options of a plain `lore mcp`; None for everything else, including help and errors."""
    found: dict[str, str] = {}
    commands, rest = [], iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if argument.startswith("--") and equals and name in TAKES_VALUE:
            found[TAKES_VALUE[name]] = value
        elif argument in TAKES_VALUE:
            found[TAKES_VALUE[argument]] = next(rest, "")
        else:
            commands.append(argument)
    return found if commands == ["mcp"] and all(found.values()) else None


def _bridge(wanted: dict[str, str] | None) -> int | None:
    """Run the bridge and return its exit code; None if the full command line must run, or report an error."""
    if wanted is None:
        return None
    from pathlib import Path

    from lore_etl.config.project import find_project
    from lore_etl.core.errors import ConfigError
    from lore_server.owner.bridge import run

    project = Path(wanted["project"]) if "project" in wanted else None
    if project is not None and not project.is_dir():
        return None
    root = project.resolve() if project is not None else find_project(Path.cwd())
    config = Path(wanted["config"]).resolve() if "config" in wanted else None
    toolsets = [toolset.strip() for toolset in wanted["toolsets"].split(",")] if "toolsets" in wanted else None
    try:
        return run(root, config, toolsets)
    except ConfigError:
        return None


if __name__ == "__main__":
    main()
