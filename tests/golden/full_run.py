"""Run the whole suite and record for docs/reliability.md when it passed: `python -m tests.golden.full_run COMMAND...`.

Some tests measure times, which others disturb. Tests that fail are run once more, alone, and the record names them.
"""

import datetime
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness import promises
from tests.harness.evaluation import git
from tests.harness.projects import ROOT


def run(command: list[str], root: Path) -> tuple[int, list[str]]:
    """Run the suite of a folder with this command of pytest; return its exit code, and the tests that were repeated."""
    code = subprocess.run([*command, "--cache-clear"], cwd=root, check=False).returncode
    if code != pytest.ExitCode.TESTS_FAILED:
        return code, []
    failed = root / ".pytest_cache" / "v" / "cache" / "lastfailed"
    repeated = sorted(json.loads(failed.read_text(encoding="utf-8")))
    return subprocess.run([*command, "-n", "0", "--last-failed"], cwd=root, check=False).returncode, repeated


def record(repeated: list[str]) -> None:
    changed = " with uncommitted changes" if git(ROOT, "status", "--porcelain").strip() else ""
    commit = git(ROOT, "rev-parse", "--short", "HEAD").strip()
    today = datetime.datetime.now(datetime.UTC).date()
    lines = (f'date = "{today}"', f'commit = "{commit}{changed}"', f"repeated = {json.dumps(repeated)}")
    promises.RECORD.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    code, repeated = run(sys.argv[1:], ROOT)
    if code == pytest.ExitCode.OK:
        record(repeated)
        promises.PAGE.write_text(promises.page(), encoding="utf-8")
    sys.exit(code)
