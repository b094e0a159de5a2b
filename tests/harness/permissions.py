"""Enforce file permissions in tests that run as root, by running them as another user."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lore_etl.config.project import private_folder, user_state_folder
from lore_etl.files.redaction import redact, redaction_version
from tests.harness.models import counter
from tests.harness.projects import settle

NOBODY = 65534


@contextmanager
def without_permission(path: Path, project: Path, mode: int = 0) -> Iterator[None]:
    """Give the path this mode; if root runs the tests, run the body as another user who owns the project."""
    counter(), redact("x"), redaction_version()  # load the files that the other user may not read
    user, before = os.geteuid(), path.stat().st_mode
    if user == 0:
        for folder in (project, *project.parents, *user_state_folder().parents):
            if folder.stat().st_uid == 0 and not folder.stat().st_mode & 1:
                folder.chmod(folder.stat().st_mode | 0o011)
        _give(project, NOBODY)
        _give(private_folder(user_state_folder()), NOBODY)
        os.seteuid(NOBODY)
    try:
        path.chmod(mode)
        yield
    finally:
        os.seteuid(user)
        path.chmod(before)
        if user == 0:
            _give(project, user)
            _give(user_state_folder(), user)
        settle(project)


def _give(folder: Path, user: int) -> None:
    """Change the owner of a folder and everything in it."""
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user, user, follow_symlinks=False)
