"""Break the source in ways that a reviewer would fear, and check that a test notices each of them.

    python -m benchmarks.mutations [PART OF A NAME...]

`mutations.toml` lists the mutations: a text that occurs once in a file, its replacement, and the tests that should
fail. Each mutation is applied to a copy of the checkout in a temporary folder, where only these tests run. First they
run without a mutation, because a test that fails anyway shows nothing. Exits with 1 if too few mutations are caught.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib
import venv
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
TABLE = Path(__file__).with_suffix(".toml")
LEAST_CAUGHT = 0.95  # 38 of 40
SECONDS = 600  # for the tests of one mutation; without a mutation, they take a few seconds
WEIGHTS = "etl/lore_etl/models/weights"  # git ignores them, and no test changes them
CAUGHT, SURVIVED, STALE, ENDLESS, BROKEN = "caught", "survived", "not applicable", "timed out", "cannot be run"
_PASSED, _FAILED = 0, 1  # exit codes of pytest
_TEST = re.compile(r"^(?:FAILED|ERROR) ([^\s\[]+)", re.MULTILINE)


class Mutation(NamedTuple):
    """A change of one place in the source, and the tests that notice it. `named` mutations must all be caught."""

    name: str
    file: str
    text: str
    put: str
    tests: tuple[str, ...]
    named: bool = False

    def applied_to(self, source: str) -> str | None:
        """Return the mutated source; None if the text does not occur exactly once."""
        return source.replace(self.text, self.put) if source.count(self.text) == 1 else None


class Outcome(NamedTuple):
    """The verdict about a mutation, and the first test that noticed it."""

    verdict: str
    by: str = ""


def table() -> list[Mutation]:
    """Return the mutations in the order of the file."""
    rows = tomllib.loads(TABLE.read_text(encoding="utf-8"))["mutation"]
    return [Mutation(**{**row, "tests": tuple(row["tests"])}) for row in rows]


def copy_checkout(target: Path) -> None:
    """Copy the files that git knows or would add, with their times; the weights of the model are shared."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name, follow_symlinks=False)
    (target / WEIGHTS).symlink_to(ROOT / WEIGHTS)


def make_environment(copy: Path) -> None:
    """Create an environment with the copy and this environment's packages.

    `PYTHONPATH` would not do: the tests start commands without it.
    """
    folder = copy / ".venv"
    venv.create(folder)
    python = folder / "bin" / "python"
    paths = [copy / "etl", copy / "server", sysconfig.get_path("purelib")]
    Path(sysconfig.get_path("purelib", "venv", {"base": folder, "platbase": folder}), "copy.pth").write_text(
        "".join(f"{path}\n" for path in paths), encoding="utf-8"
    )
    command = python.with_name("lore")
    command.write_text(f"#!{python}\nfrom lore_server.cli.main import main\nmain()\n", encoding="utf-8")
    command.chmod(0o755)


def run_tests(copy: Path, tests: Iterable[str]) -> tuple[int | None, str]:
    """Run tests in the copy; return pytest's exit code, None if they did not end in time, and its output."""
    python = copy / ".venv" / "bin" / "python"
    command = [str(python), "-m", "pytest", "-q", "-x", "--tb=no", "-p", "no:cacheprovider", *tests]
    with subprocess.Popen(
        command, cwd=copy, text=True, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        try:
            output, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None, ""
        return process.returncode, output


def outcome(copy: Path, mutation: Mutation) -> Outcome:
    """Apply a mutation to the copy, run its tests, and restore the file."""
    file = copy / mutation.file
    mutated = mutation.applied_to(file.read_text(encoding="utf-8"))
    if mutated is None:
        return Outcome(STALE)
    try:
        file.write_text(mutated, encoding="utf-8")
        code, output = run_tests(copy, mutation.tests)
    finally:
        shutil.copy2(ROOT / mutation.file, file)  # with its time, so that Python compiles it again
    if code is None:
        return Outcome(ENDLESS)
    if code not in (_PASSED, _FAILED):
        return Outcome(BROKEN, output.strip().rpartition("\n")[2])
    by = _TEST.search(output)
    return Outcome(CAUGHT, by[1] if by else "") if code == _FAILED else Outcome(SURVIVED)


def is_enough(outcomes: Sequence[tuple[Mutation, str]]) -> bool:
    """Return whether all mutations could be applied, all named ones and most of the others were caught."""
    others = [verdict for mutation, verdict in outcomes if not mutation.named]
    named = {verdict for mutation, verdict in outcomes if mutation.named}
    is_current = not {STALE, BROKEN} & {verdict for _, verdict in outcomes}
    return is_current and named <= {CAUGHT} and others.count(CAUGHT) >= LEAST_CAUGHT * len(others)


def main(wanted: Sequence[str]) -> int:
    """Run the mutations whose names contain one of these texts, or all; return the exit code."""
    chosen = [mutation for mutation in table() if not wanted or any(part in mutation.name for part in wanted)]
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        copy = Path(folder).resolve() / "checkout"
        copy_checkout(copy)
        make_environment(copy)
        code, output = run_tests(copy, sorted({test for mutation in chosen for test in mutation.tests}))
        if code != _PASSED:
            print(f"The tests fail without a mutation, or do not end:\n{output}")
            return 1
        found = list[tuple[Mutation, str]]()
        for mutation in chosen:
            began = time.monotonic()
            verdict, by = outcome(copy, mutation)
            found.append((mutation, verdict))
            print(f"{verdict:14} {time.monotonic() - began:5.0f} s  {mutation.name}  {by}", flush=True)
    counts = Counter(verdict for _, verdict in found)
    print(f"\n{len(found)} mutations: {', '.join(f'{number} {verdict}' for verdict, number in counts.most_common())}")
    return 0 if is_enough(found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
