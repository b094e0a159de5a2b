"""Limit the cost of answer models: requests per minute and tokens per day, across this user's projects."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
        if not (self._per_minute or self._per_day):
            return
        with self._changed() as spent:
            if 0 < self._per_day <= spent.tokens:
                raise ModelFailure("the limit of tokens for answers is reached for today (answer.tokens_per_day)")
            if 0 < self._per_minute <= len(spent.requests):
                raise ModelFailure("too many questions within a minute (answer.requests_per_minute)")
            spent.requests.append(self._now())

    def count(self, tokens: int) -> None:
        """Add the tokens of a request. Raises ModelFailure: the file cannot be written."""
        if self._per_minute or self._per_day:
            with self._changed() as spent:
                spent.tokens += tokens

    @contextmanager
    def _changed(self) -> Iterator[Spent]:
        try:
            private_folder(self._file.parent)
            with FileLock(f"{self._file}.lock", timeout=LOCK_SECONDS):
                spent = self._read()
                yield spent
                replace_content(self._file, [spent.model_dump_json()], 0o600)
        except (OSError, TimeoutError) as error:
            raise ModelFailure("the use of the answer model cannot be recorded in the state folder") from error

    def _read(self) -> Spent:
        now = self._now()
        today = datetime.datetime.fromtimestamp(now, datetime.UTC).date()
        try:
            spent = Spent.model_validate_json(self._file.read_bytes())
        except (FileNotFoundError, ValidationError):
            return Spent(day=today)
        tokens = spent.tokens if spent.day == today else 0
        return Spent(day=today, tokens=tokens, requests=[one for one in spent.requests if 0 <= now - one < MINUTE])
