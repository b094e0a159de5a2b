"""Permissions that hold, whoever runs the tests: root may do everything, so it is somebody else for a moment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lore_etl.config.user_folders import private_folder, user_state_folder
from lore_etl.files.redaction import redact, redaction_version
from tests.harness.models import counter
from tests.harness.projects import settle

NOBODY = 65534


@contextmanager
def without_permission(path: Path, project: Path, mode: int = 0) -> Iterator[None]:
    """Give the path this mode; the project and the user's state belong to whoever runs the body."""
    counter(), redact("x"), redaction_version()  # what is loaded from files that somebody else may not read
    user = os.geteuid()
    if user == 0:
        for one in (project, *project.parents, *user_state_folder().parents):
            if one.stat().st_uid == 0 and not one.stat().st_mode & 1:
                one.chmod(one.stat().st_mode | 0o011)
        _give(project, NOBODY)
        _give(private_folder(user_state_folder()), NOBODY)
        os.seteuid(NOBODY)
    before = path.stat().st_mode
    path.chmod(mode)
    try:
        yield
    finally:
        path.chmod(before)
        os.seteuid(user)
        if user == 0:
            _give(project, user)
            _give(user_state_folder(), user)
        settle(project)


def _give(folder: Path, user: int) -> None:
    """Hand a folder with everything in it to another user."""
    for one in (folder, *folder.rglob("*")):
        os.chown(one, user, user, follow_symlinks=False)
