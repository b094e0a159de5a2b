"""Choose the answer model from the user's settings, which a project can only disable, and verify each statement."""

import datetime
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import httpx2
from filelock import FileLock
from pydantic import BaseModel, ValidationError

from lore_etl.config.project import private_folder, user_state_folder
from lore_etl.config.settings import AnswerSettings, is_this_machine
from lore_etl.core.atomic import replace_content
from lore_etl.core.errors import PackageMissing
from lore_etl.core.extras import require
from lore_etl.core.progress import ignore
from lore_etl.system.request_limits import limit_requests
from lore_server.answer.pack import Passage
from lore_server.answer.statements import Proof, StatementReader, verified
from lore_server.answer.writer_interface import INSTRUCTION, MAX_REPLY_BYTES, AnswerModel, ModelFailure, TokenUsage
from lore_server.replies.budget import CHARACTERS_PER_TOKEN

UNVERIFIED = "no quote of the answer model is in its passage"
LONGEST_WAIT = 4.0
FAILURES = 3
PAUSE = 30.0
LONGEST_PAUSE = 600.0
SPENDING = "answers.json"
MINUTE = 60.0
LOCK_SECONDS = 5.0
GEMINI_MODEL = "gemini-2.5-flash"
UNUSED_KEY = "unused"  # the client requires a key, local servers do not
_end = ContextVar[float]("end")  # of the attempts for a question


@dataclass(frozen=True)
class Provider:
    """The chosen provider, or why none is available. `key` never appears in a reply or log."""

    kind: str
    model: str
    base_url: str | None
    key: str = field(repr=False)
    missing: str = ""

    def open(self, seconds: float, http: httpx2.Client) -> AnswerModel:
        """Import the client library and create the model; `seconds` is the timeout between two bytes."""
        if self.kind == "gemini":
            from lore_server.answer.gemini_writer import GeminiWriter

            return GeminiWriter(self.model, self.key, self.base_url, seconds, http)
        from lore_server.answer.openai_writer import OpenAIWriter

        return OpenAIWriter(self.model, self.key, self.base_url, seconds, http)


def chosen(settings: AnswerSettings, environment: Mapping[str, str] = os.environ) -> Provider:
    """Return the provider that the settings choose, with the key from the environment."""
    if settings.provider == "none":
        return Provider("none", "", None, "", "answer.provider is none")
    if settings.provider != "openai":
        key = environment.get("GEMINI_API_KEY", "")
        missing = "" if key else "GEMINI_API_KEY is not set"
        return Provider("gemini", settings.model or GEMINI_MODEL, settings.base_url, key, missing)
    base_url = settings.base_url or environment.get("OPENAI_BASE_URL") or None
    key = environment.get("OPENAI_API_KEY", "")
    if not key and base_url and is_this_machine(base_url):
        key = UNUSED_KEY
    missing = "" if key else "OPENAI_API_KEY is not set"
    if not settings.model:
        missing = "answer.model is not set"
    try:
        require("openai", 'answer.provider = "openai"')
    except PackageMissing as error:
        missing = f"{error.message} {error.hint}".rstrip(".")
    return Provider("openai", settings.model, base_url, key, missing)


class Timing(NamedTuple):
    """The clock in seconds, a random number below 1, and a pause."""

    clock: Callable[[], float] = time.monotonic
    random: Callable[[], float] = random.random
    sleep: Callable[[float], None] = time.sleep


@dataclass
class VerifiedReply:
    """The statements of a reply verified in these passages so far, with their proofs; `on_text` hears their texts."""

    model: str
    passages: Sequence[Passage]
    on_text: Callable[[str], None]
    statements: list[str] = field(default_factory=list)
    proofs: list[Proof] = field(default_factory=list)
    dropped: int = 0
    usage: TokenUsage | None = None


class ModelAnswers:
    """The configured answer model. Its client is created once, at the first question."""

    def __init__(self, settings: AnswerSettings, timing: Timing | None = None) -> None:
        self.provider = chosen(settings)
        self._settings = settings
        self._timing = timing or Timing()
        self._breaker = CircuitBreaker(self._timing.clock)
        self._spending = Spending(user_state_folder(), settings, time.time)
        self._opening = threading.Lock()
        self._opened: tuple[AnswerModel, httpx2.Client] | None = None

    def prepare(self) -> None:
        """Start importing the client library and creating the client while passages are searched."""
        if not self.provider.missing and self._opened is None:
            threading.Thread(target=self._open, name="answer model", daemon=True).start()

    def write(self, prompt: str, written: VerifiedReply) -> None:
        """Add the statements to `written`. Raises ModelFailure, also if none is verified."""
        self._breaker.check()
        self._open()
        deadline = self._timing.clock() + self._settings.timeout_seconds * self._settings.attempts
        attempt = partial(self._attempt, prompt, written, deadline)
        try:
            repeat(attempt, self._settings.attempts, deadline, self._timing)
        except ModelFailure as failure:
            self._breaker.record(failure)
            raise
        self._breaker.record(None)
        if written.dropped and not written.statements:
            raise ModelFailure(UNVERIFIED)

    def close(self) -> None:
        with self._opening:
            if self._opened is not None:
                self._opened[1].close()
            self._opened = None

    def _attempt(self, prompt: str, written: VerifiedReply, deadline: float) -> None:
        model, _ = self._open()
        self._spending.admit()
        reader = StatementReader()
        numbered = {passage.number: passage for passage in written.passages}
        written.dropped, written.usage = 0, None
        _end.set(deadline)
        pieces = model.pieces(prompt, is_streamed=written.on_text is not ignore)
        try:
            for piece in pieces:
                if isinstance(piece, TokenUsage):
                    written.usage = piece
                    continue
                for statement in reader.feed(piece):
                    text = verified(statement, numbered, written.proofs)
                    if text is None:
                        written.dropped += 1
                        continue
                    gap = "\n\n" if written.statements else ""
                    written.statements.append(text)
                    written.on_text(gap + text)
            reader.end()
        except ModelFailure as failure:
            failure.is_temporary = failure.is_temporary and not written.statements  # a listener has heard them
            raise
        finally:
            # without a report an estimate, because the request may have cost as much
            estimate = (len(INSTRUCTION) + len(prompt) + len(reader.text)) // CHARACTERS_PER_TOKEN
            self._spending.count(sum(written.usage) if written.usage is not None else estimate)

    def _open(self) -> tuple[AnswerModel, httpx2.Client]:
        with self._opening:
            if self._opened is None:
                client = httpx2.Client()  # follows no redirect to another host
                limit_requests(client, lambda: _end.get() - self._timing.clock(), MAX_REPLY_BYTES, is_unpacked=True)
                self._opened = self.provider.open(self._settings.timeout_seconds, client), client
            return self._opened


def repeat(attempt: Callable[[], None], attempts: int, deadline: float, timing: Timing) -> None:
    """Repeat an attempt after temporary failures, with jitter, after `Retry-After` and before the deadline."""
    for number in range(attempts):
        try:
            attempt()
        except ModelFailure as failure:
            pause = (failure.retry_after or 0.0) + min(LONGEST_WAIT, 0.5 * 2**number) * timing.random()
            if not failure.is_temporary or number + 1 == attempts or timing.clock() + pause >= deadline:
                raise
            timing.sleep(pause)
        else:
            return


class CircuitBreaker:
    """Rejects questions for a while after several temporary failures in a row; then one question is a trial."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._guard = threading.Lock()
        self._failures = 0
        self._closed_until = 0.0

    def check(self) -> None:
        with self._guard:
            seconds = self._closed_until - self._clock()
            if seconds > 0:
                raise ModelFailure(f"the answer model failed repeatedly; it is asked again in {seconds:.0f} s")
            if self._failures >= FAILURES:
                self._closed_until = self._clock() + PAUSE  # the others wait for this trial

    def record(self, failure: ModelFailure | None) -> None:
        """Count a temporary failure; any other result is a sign that the model works."""
        with self._guard:
            if failure is None or not failure.is_temporary:
                self._failures, self._closed_until = 0, 0.0
                return
            self._failures += 1
            if self._failures >= FAILURES:
                pause = min(LONGEST_PAUSE, max(PAUSE, failure.retry_after or 0.0))
                self._closed_until = self._clock() + pause


class Spent(BaseModel):
    """Usage of the model: the tokens of a day, and the times of the last minute's requests (seconds since 1970)."""

    day: datetime.date
    tokens: int = 0
    requests: list[float] = []


class Spending:
    """Counts requests and tokens in a file in the user's state folder. `now` returns seconds since the epoch."""

    def __init__(self, folder: Path, settings: AnswerSettings, now: Callable[[], float]) -> None:
        self._file = folder / SPENDING
        self._per_minute, self._per_day = settings.requests_per_minute, settings.tokens_per_day
        self._now = now

    def admit(self) -> None:
        """Count a request. Raises ModelFailure: a limit is reached, or the file cannot be written."""
        with self._record_changes() as spent:
            if 0 < self._per_day <= spent.tokens:
                raise ModelFailure("the limit of tokens for answers is reached for today (answer.tokens_per_day)")
            if 0 < self._per_minute <= len(spent.requests):
                raise ModelFailure("too many questions within a minute (answer.requests_per_minute)")
            spent.requests.append(self._now())

    def count(self, tokens: int) -> None:
        with self._record_changes() as spent:
            spent.tokens += tokens

    @contextmanager
    def _record_changes(self) -> Iterator[Spent]:
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
