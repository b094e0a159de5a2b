"""Remember the id of a user's last answer in a project, in the user's own state folder."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from lore_etl.config.user_folders import private_folder, user_state_folder
from lore_etl.core.atomic import replace_content
from lore_etl.core.errors import AnswerNotFound
from lore_etl.system.nofollow import read_regular

FOLDER = "answers"
LONGEST = 40  # characters of an id


def remember_answer(root: Path, id_: str) -> None:
    """Store the id. After an error there is only no answer to continue."""
    with suppress(OSError):
        private_folder(user_state_folder() / FOLDER)
        replace_content(_file(root), [id_], 0o600)


def last_answer(root: Path) -> str:
    """Return the id of the last answer. Raises AnswerNotFound."""
    with suppress(OSError, UnicodeDecodeError):
        if id_ := read_regular(_file(root), LONGEST).decode().strip():
            return id_
    raise AnswerNotFound("You have no earlier answer in this project.", "Ask a question first, without --continue.")


def _file(root: Path) -> Path:
    return user_state_folder() / FOLDER / hashlib.sha256(str(root).encode()).hexdigest()[:32]
