"""Measure the disk space of an installation, in total and for each declared dependency.

    python -m benchmarks.installed_size

A dependency's size is that of its own files, including compiled bytecode, without the packages that it requires.
"""

from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

MEGABYTE = 1_000_000


def requirements(name: str, extra: str = "") -> list[str]:
    """Return the names that a distribution requires here, including those of one extra."""
    rows = [Requirement(row) for row in metadata.requires(name) or ()]
    return [row.name for row in rows if row.marker is None or row.marker.evaluate({"extra": extra})]


def size(name: str) -> int:
    """Return the bytes of a distribution's own files."""
    files = metadata.distribution(name).files or ()
    paths = [Path(file.locate()) for file in files]
    return sum(path.stat().st_size for path in paths if path.is_file())


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


def main() -> None:
    """Print a table, largest first, and the totals."""
    declared = sorted(requirements("lore-kb"))
    everything = closure(declared)
    sizes = {name: size(name) for name in everything}
    own = {name: sizes[name.lower().replace("_", "-")] for name in declared}
    for name in sorted(own, key=own.__getitem__, reverse=True):
        print(f"{name:30} {own[name] / MEGABYTE:8.1f} MB")
    print(f"{'all ' + str(len(everything)) + ' packages':30} {sum(sizes.values()) / MEGABYTE:8.1f} MB")
    development = closure(requirements("lore-kb", "dev")) - everything
    print(f"{'development tools':30} {sum(size(package) for package in development) / MEGABYTE:8.1f} MB")


if __name__ == "__main__":
    main()
