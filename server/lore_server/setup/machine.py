"""Check the machine: Python, the platform, package versions, the model's files.

Packages may be missing or broken, so all checks import them only where they use them.
"""

from __future__ import annotations

import os
import platform as host
import sys
from importlib import metadata
from pathlib import Path

from lore_server import __version__
from lore_server.setup import program as programs
from lore_server.setup.finding import Examined, Finding

PACKAGE = "lore-kb"
MIN_PYTHON = (3, 11)
REINSTALL = "Run `make install` in the clone, or reinstall Lore: its packages have changed."


def python() -> Finding:
    """Check the interpreter's version."""
    detail = f"{host.python_implementation()} {host.python_version()}"
    if sys.version_info[:2] < MIN_PYTHON:
        return Finding("failed", detail, "Install Lore with Python 3.11 or later.")
    return Finding("ok", detail)


def platform() -> Finding:
    """Check the operating system."""
    detail = f"{host.system()} {host.release()}, {host.machine()}, {os.cpu_count()} cores"
    if sys.platform != "linux":
        return Finding("warn", detail, "Lore is only tested on Linux; a container or WSL is the safest choice.")
    return Finding("ok", detail)


def program() -> Finding:
    """Report which program was started, and whether its name alone would start it."""
    command = programs.running()
    where = "on PATH" if programs.is_on_path() else "not on PATH: clients get its full path"
    return Finding("ok", f"Lore {__version__}, {' '.join(command)} ({where})")


def dependencies() -> Finding:
    """Compare the installed version of each package with the required range, without importing it."""
    try:
        wanted = [requirement for requirement in metadata.requires(PACKAGE) or [] if "extra ==" not in requirement]
    except metadata.PackageNotFoundError:
        return Finding("failed", "Lore itself is not installed.", REINSTALL)
    wrong = [detail for requirement in wanted if (detail := _problem(requirement))]
    if wrong:
        return Finding("failed", "; ".join(wrong), REINSTALL)
    return Finding("ok", f"{len(wanted)} packages, all within the required ranges")


def _problem(requirement: str) -> str | None:
    """Return the problem with one package; None if there is none."""
    from packaging.requirements import Requirement

    asked = Requirement(requirement)
    try:
        installed = metadata.version(asked.name)
    except metadata.PackageNotFoundError:
        return f"{asked.name} is not installed"
    is_met = is_within(installed, str(asked.specifier))
    return None if is_met else f"{asked.name} is {installed}, but Lore requires {asked.specifier}"


def is_within(version: str, asked: str) -> bool:
    """Return whether a version is in a range such as `>=1.5.9,<1.6`, by its release numbers."""
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    return Version(version).base_version in SpecifierSet(asked)


def model(here: Examined) -> Finding:
    """Check that the embedding model's files are on this machine; the index check loads it and embeds a probe."""
    from lore_etl.models import bundled
    from lore_etl.models.embedder import model_name
    from lore_etl.models.model_cache import KIND, compiled_folder, model_source

    settings = here.settings.embedding
    name = model_name(settings)
    if settings.provider == "gemini":
        return Finding("ok", f"{name}, used over the network; nothing is stored here.")
    if name in bundled.NAMES:
        return Finding("ok", f"{name} in {bundled.checked_folder()}")
    origin = model_source(name)
    compiled = compiled_folder(name, origin, KIND)
    if (compiled / "info.json").exists():
        return Finding("ok", f"{name}, compiled in {compiled.parent}")
    if Path(origin).is_dir():
        return Finding("ok", f"{name}, installed but not compiled yet, which takes 10 to 20 seconds once.")
    return Finding(
        "warn", f"{name} is not compiled and is not a local folder.", "`lore sync` downloads it from its hub."
    )
