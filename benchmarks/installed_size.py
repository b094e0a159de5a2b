"""Measure the disk space of an installation: the dependencies, the extras, and the largest packages behind them.

    python -m benchmarks.installed_size

A dependency's size is that of its own files, including compiled bytecode if there is any, without the packages that it
requires. A package that is not installed has no size. The size of an installation is that of its virtual environment.
"""

import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from lore_etl.core.extras import EXTRAS
from lore_etl.models.model_cache import weights_folder

MEGABYTE = 1_000_000
LARGE = 1.0
NAME = "lore-index"


def requirements(name: str, extra: str = "") -> set[str]:
    """Return the names that a distribution requires here; with an extra, those of the extra alone."""
    rows = [Requirement(row) for row in metadata.requires(name) or ()]
    core = {row.name for row in rows if row.marker is None or row.marker.evaluate({"extra": ""})}
    if not extra:
        return core
    return {row.name for row in rows if row.marker and row.marker.evaluate({"extra": extra})} - core - {NAME}


def size(name: str) -> float:
    """Return the megabytes of a distribution's own files."""
    files = metadata.distribution(name).files or ()
    return _sum(Path(file.locate()) for file in files)


def _sum(paths: Iterable[Path]) -> float:
    return sum(path.stat().st_size for path in paths if path.is_file() and not path.is_symlink()) / MEGABYTE


def closure(names: Iterable[str]) -> set[str]:
    """Return the installed distributions that these names require, themselves included, by normalised name."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop().lower().replace("_", "-")
        if name in found:
            continue
        try:
            waiting += requirements(name)
        except metadata.PackageNotFoundError:
            continue
        found.add(name)
    return found


def total(title: str, names: Iterable[str]) -> None:
    """Print the number and the sum of the sizes of packages."""
    found = sorted(names)
    print(f"{title:40} {len(found):4} packages {sum(map(size, found)):8.1f} MB")


def table(title: str, names: Iterable[str], least: float = 0.0) -> None:
    """Print the sizes of packages, largest first."""
    print(f"\n{title}")
    for name in sorted(names, key=size, reverse=True):
        if size(name) >= least:
            print(f"  {name:38} {size(name):8.1f} MB")


def main() -> None:
    """Print the totals and the tables."""
    direct = closure(requirements(NAME)) & {name.lower().replace("_", "-") for name in requirements(NAME)}
    core = closure(direct)
    total("core", core)
    print(f"{'weights of the default model':54} {_sum(weights_folder().rglob('*')):8.1f} MB")
    print(f"{'this environment':54} {_sum(Path(sys.prefix).rglob('*')):8.1f} MB")
    seen = set(core)
    for extra in (*EXTRAS, "dev"):
        more = closure(requirements(NAME, extra)) - seen
        total(f"extra {extra}", more)
        seen |= more
    table("required by Lore", direct)
    for name in ("chromadb", "onnxruntime"):
        table(f"required by {name}, not by Lore itself", closure([name]) - direct, LARGE)


if __name__ == "__main__":
    main()
