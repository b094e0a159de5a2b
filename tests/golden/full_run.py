"""Record that the whole suite has passed, with date and commit, for docs/reliability.md: the end of `make test-all`."""

from __future__ import annotations

import datetime

from tests.harness.evaluation import git
from tests.harness.projects import ROOT
from tests.harness.promises import PAGE, RECORD, page

if __name__ == "__main__":
    changed = " with uncommitted changes" if git(ROOT, "status", "--porcelain").strip() else ""
    commit = git(ROOT, "rev-parse", "--short", "HEAD").strip()
    today = datetime.datetime.now(datetime.UTC).date()
    RECORD.write_text(f'date = "{today}"\ncommit = "{commit}{changed}"\n', encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
