"""Keep a project's own modules out of Lore's processes.

With `PYTHONPATH=.`, a common setting, a project that contains `yaml.py` or `mcp/` would run its code here. So this
module imports only modules that are loaded at start-up.
"""

import os
import sys

INSTALLED = ("site-packages", "dist-packages")


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


def _holds_packages(folder: str, here: str) -> bool:
    """Return whether a folder outside the current one is a place where packages are installed."""
    inside = (os.path.realpath(folder) + os.sep).startswith(here + os.sep)
    return os.path.isabs(folder) and os.path.basename(folder.rstrip(os.sep)) in INSTALLED and not inside
