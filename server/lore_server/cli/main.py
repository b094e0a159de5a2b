"""The `lore` command. `lore mcp` and `lore hook` must start quickly, so they do not load the other commands.

With `PYTHONPATH=.`, a common setting, a project that contains `yaml.py` or `mcp/` would run its code here. So until
`ignore_project_modules` has run, this module imports only modules that are loaded at start-up.
"""

import os
import sys

INSTALLED = ("site-packages", "dist-packages")
COMMANDS = (
    "query_commands", "knowledge_commands", "owner_commands", "setup_commands", "eval_commands", "hook_commands",
    "publish_commands", "library_commands", "token_commands",
)  # fmt: skip
TAKES_VALUE = {"-C": "project", "--project": "project", "-c": "config", "--config": "config", "--toolsets": "toolsets"}


def main() -> None:
    """Run the bridge for a plain `lore mcp`, otherwise the whole command line, until it ends or is interrupted."""
    try:
        _run()
    except KeyboardInterrupt:
        sys.exit(130)


def _run() -> None:
    ignore_project_modules()
    ignore_project_programs()
    from importlib import import_module

    from lore_etl.system.processes import prepare_streams

    prepare_streams()

    if sys.argv[1:] == ["hook", "searched"]:  # runs after each search of an agent, so it loads nothing else
        from lore_server.hook.searched import reply

        reply()
        return
    wanted = bridge_options(sys.argv[1:])
    if wanted is not None and (code := _bridge(wanted)) is not None:
        sys.exit(code)
    for name in ["hook_commands"] if sys.argv[1:2] == ["hook"] else COMMANDS:
        import_module(f"lore_server.cli.{name}")
    from lore_etl.core.errors import StorageError
    from lore_server.cli.command import cli

    try:
        try:
            cli()
        finally:
            sys.stdout.flush()  # when the process ends, a failure would have an exit code of Python's
    except BrokenPipeError:
        os._exit(0)  # the reader has seen enough
    except OSError as error:  # the commands report every other one
        os.write(2, f"Cannot write to standard output: {error.strerror}.\nFree some space there.\n".encode())
        os._exit(StorageError.exit_code)


def ignore_project_modules() -> None:
    """Drop the current folder and every `PYTHONPATH` folder without installed packages, for child processes too.

    A folder of installed packages stays, because some distributions find their packages through `PYTHONPATH`.
    """
    here = os.path.realpath(os.getcwd())
    named = [folder for folder in os.environ.pop("PYTHONPATH", "").split(os.pathsep) if folder]
    kept = [folder for folder in named if _holds_packages(folder, here)]
    dropped = {os.path.realpath(folder) for folder in named if folder not in kept}
    if os.path.realpath(sys.path[0]) == here:  # `python -m`; an editable install may have the same folder further on
        del sys.path[0]
    sys.path[:] = [folder for folder in sys.path if os.path.realpath(folder) not in dropped]
    if kept:
        os.environ["PYTHONPATH"] = os.pathsep.join(kept)


def ignore_project_programs() -> None:
    """Drop relative folders from `PATH`, as in `PATH=.`, for child processes too: a project may contain a `git`."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    os.environ["PATH"] = os.pathsep.join(filter(os.path.isabs, folders)) or os.defpath
    os.environ["NODEFAULTCURRENTDIRECTORYINEXEPATH"] = "1"  # else Windows looks in the current folder first


def _holds_packages(folder: str, here: str) -> bool:
    """Return whether a folder outside the current one is a place where packages are installed."""
    inside = (os.path.realpath(folder) + os.sep).startswith(here + os.sep)
    return os.path.isabs(folder) and os.path.basename(folder.rstrip(os.sep)) in INSTALLED and not inside


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


def _bridge(wanted: dict[str, str]) -> int | None:
    """Run the bridge and return its exit code; None if the full command line must run, or report an error."""
    from pathlib import Path

    from lore_etl.config.project import find_project
    from lore_etl.core.errors import ConfigError
    from lore_server.owner.bridge import run

    root = Path(wanted["project"]).resolve() if "project" in wanted else find_project(Path.cwd())
    if not root.is_dir():
        return None
    config = Path(wanted["config"]).resolve() if "config" in wanted else None
    toolsets = [toolset.strip() for toolset in wanted["toolsets"].split(",")] if "toolsets" in wanted else None
    try:
        return run(root, config, toolsets)
    except ConfigError:
        return None


if __name__ == "__main__":
    main()
