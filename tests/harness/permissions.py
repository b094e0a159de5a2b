"""Permissions that hold, whoever runs the tests: root may do everything, so it is somebody else for a moment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from etl.redaction import redact, redaction_version
from tests.harness.models import counter
from tests.harness.projects import settle

NOBODY = 65534


@contextmanager
def without_permission(path: Path, project: Path, mode: int = 0) -> Iterator[None]:
    """The path has this mode, and the project belongs to who runs."""
    counter(), redact("x"), redaction_version()  # what is loaded from files that somebody else may not read
    user = os.geteuid()
    if user == 0:
        opened = [one for one in (project, *project.parents) if one.stat().st_uid == 0 and not one.stat().st_mode & 1]
        for one in opened:
            one.chmod(one.stat().st_mode | 0o011)
        for one in (project, *project.rglob("*")):
            os.chown(one, NOBODY, NOBODY, follow_symlinks=False)
        os.seteuid(NOBODY)
    before = path.stat().st_mode
    path.chmod(mode)
    try:
        yield
    finally:
        path.chmod(before)
        os.seteuid(user)
        settle(project)
