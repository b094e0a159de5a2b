"""Measure redaction: secrets found by format, redactions per 10,000 lines, speed, and the time to load the rules.

    python -m benchmarks.redaction [FOLDER…]

Without folders it reads this repository, the installed chromadb and starlette, and the sample.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from lore_etl.files.ignore import rules_for
from lore_etl.files.redaction import redact
from lore_etl.files.scan import Unreadable, text_of, walk
from tests.harness.secrets import secrets

ROOT = Path(__file__).resolve().parents[1]
MAX_BYTES = 2_000_000
LOAD = (
    "from time import perf_counter as t; s = t();"
    "from lore_etl.files.redaction import redact; redact('x'); print(t() - s)"
)


def main() -> None:
    folders = [Path(argument) for argument in sys.argv[1:]] or list(default_folders())
    seconds = float(subprocess.run([sys.executable, "-c", LOAD], capture_output=True, check=True, text=True).stdout)
    print(f"rules loaded in {seconds:.2f} s")
    tried = [secret for seed in range(20) for secret in secrets(seed)]
    missed = [secret.name for secret in tried if any(line in redact(secret.text)[0] for line in secret.lines)]
    print(
        f"{len(tried) - len(missed)} of {len(tried)} secrets in {len({secret.name for secret in tried})} formats found"
    )
    for folder in folders:
        report(folder)


def default_folders() -> Iterator[Path]:
    yield ROOT
    for package in ("chromadb", "starlette"):
        spec = find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        yield Path(spec.origin).parent
    yield ROOT / "data" / "sample"


def report(folder: Path) -> None:
    """Print each changed line, then the figures."""
    lines = size = found = 0
    seconds = 0.0
    for path, text in texts(folder):
        start = time.perf_counter()
        after, count = redact(text)
        seconds += time.perf_counter() - start
        lines, size, found = lines + text.count("\n"), size + len(text), found + count
        for number, (old, new) in enumerate(zip(text.split("\n"), after.split("\n"), strict=True), start=1):
            if old != new:
                print(f"  {path}:{number}: {new.strip()[:120]}")
    rate = 10_000 * found / max(1, lines)
    speed = size / max(1e-9, seconds) / 1e6
    print(f"{folder.name}: {found} in {lines:,} lines, {rate:.2f} in 10,000; {speed:.0f} MB/s")


def texts(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the files of a folder that an index would read."""
    for path in walk(folder, rules_for(folder, ())).files:
        try:
            yield path, text_of((folder / path).read_bytes(), MAX_BYTES)
        except Unreadable:
            continue


if __name__ == "__main__":
    main()
