"""Limit the cost of answer models: requests per minute and tokens per day, across this user's projects."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock
from pydantic import BaseModel, ValidationError

from lore_etl.config.settings import AnswerSettings
from lore_etl.config.user_folders import private_folder
from lore_etl.core.atomic import replace_content
from lore_server.answer.answer_model import ModelFailure

NAME = "answers.json"
MINUTE = 60.0
LOCK_SECONDS = 5.0


class Spent(BaseModel):
    """Usage of the model: the tokens of a day, and the times of the last minute's requests (seconds since 1970)."""

    day: datetime.date
    tokens: int = 0
    requests: list[float] = []


class Spending:
    """Counts requests and tokens in a file in the user's state folder. `now` returns seconds since the epoch."""

    def __init__(self, folder: Path, settings: AnswerSettings, now: Callable[[], float]) -> None:
        self._file = folder / NAME
        self._per_minute = settings.requests_per_minute
        self._per_day = settings.tokens_per_day
        self._now = now

    def admit(self) -> None:
        """Count a request. Raises ModelFailure: a limit is reached, or the file cannot be written."""
        with self._changed() as spent:
            if 0 < self._per_day <= spent.tokens:
                raise ModelFailure("the limit of tokens for answers is reached for today (answer.tokens_per_day)")
            if 0 < self._per_minute <= len(spent.requests):
                raise ModelFailure("too many questions within a minute (answer.requests_per_minute)")
            spent.requests.append(self._now())

    def count(self, tokens: int) -> None:
        """Add the tokens of a request. Raises ModelFailure: the file cannot be written."""
        with self._changed() as spent:
            spent.tokens += tokens

    @contextmanager
    def _changed(self) -> Iterator[Spent]:
        """Yield the usage of today and the last minute, and record its changes, unless there are no limits."""
        now = self._now()
        spent = Spent(day=datetime.datetime.fromtimestamp(now, datetime.UTC).date())
        if not (self._per_minute or self._per_day):
            yield spent
            return
        try:
            private_folder(self._file.parent)
            with FileLock(f"{self._file}.lock", timeout=LOCK_SECONDS):
                with suppress(FileNotFoundError, ValidationError):
                    before = Spent.model_validate_json(self._file.read_bytes())
                    spent.tokens = before.tokens if before.day == spent.day else 0
                    spent.requests = [one for one in before.requests if 0 <= now - one < MINUTE]
                yield spent
                replace_content(self._file, [spent.model_dump_json()], 0o600)
        except (OSError, TimeoutError) as error:
            raise ModelFailure("the use of the answer model cannot be recorded in the state folder") from error
