"""Ask a model for answers within its limits, and pass on each statement as soon as it is verified."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from typing import NamedTuple

import httpx2

from lore_etl.config.settings import AnswerSettings
from lore_etl.config.user_folders import user_state_folder
from lore_server.answer.answer_model import INSTRUCTION, LATE, AnswerModel, ModelFailure, Piece, TokenUsage
from lore_server.answer.pack import Passage
from lore_server.answer.providers import chosen
from lore_server.answer.spending import Spending
from lore_server.answer.statements import Proof, StatementReader, verified
from lore_server.execution.progress import ignore_text
from lore_server.replies.budget import CHARACTERS_PER_TOKEN

UNVERIFIED = "no quote of the answer model is in its passage"
LONGEST_WAIT = 4.0
FAILURES = 3
PAUSE = 30.0
LONGEST_PAUSE = 600.0


class Timing(NamedTuple):
    """The clock in seconds, a random number below 1, and a pause."""

    clock: Callable[[], float] = time.monotonic
    random: Callable[[], float] = random.random
    sleep: Callable[[float], None] = time.sleep


@dataclass
class VerifiedReply:
    """The verified statements of a reply so far, their proofs, the number of dropped ones, and the reported usage."""

    model: str
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
        self._opened: tuple[AnswerModel, OpenConnections] | None = None

    def prepare(self) -> None:
        """Start importing the client library and creating the client while passages are searched."""
        if not self.provider.missing and self._opened is None:
            threading.Thread(target=self._open, name="answer model", daemon=True).start()

    def write(
        self, prompt: str, passages: Sequence[Passage], written: VerifiedReply, on_text: Callable[[str], None]
    ) -> None:
        """Add the statements of the answer to `written`, and pass on the text of each.

        Raises ModelFailure if the model failed or was not called, its reply was cut, or no statement could be verified.
        """
        self._breaker.check()
        self._open()
        deadline = self._timing.clock() + self._settings.timeout_seconds * self._settings.attempts
        attempt = partial(self._attempt, prompt, passages, written, on_text, deadline)
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
                self._opened[0].close()
                self._opened[1].client.close()
            self._opened = None

    def _attempt(
        self,
        prompt: str,
        passages: Sequence[Passage],
        written: VerifiedReply,
        on_text: Callable[[str], None],
        deadline: float,
    ) -> None:
        model, connections = self._open()
        self._spending.admit()
        reader = StatementReader()
        numbered = {passage.number: passage for passage in passages}
        written.dropped, written.usage = 0, None
        pieces = model.pieces(prompt, is_streamed=on_text is not ignore_text)
        try:
            for piece in connections.within(lambda: deadline - self._timing.clock(), pieces):
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
                    on_text(gap + text)
            reader.end()
        except ModelFailure as failure:
            failure.is_temporary = failure.is_temporary and not written.statements  # a listener has heard them
            raise
        finally:
            # without a report an estimate, because the request may have cost as much
            estimate = (len(INSTRUCTION) + len(prompt) + len(reader.text)) // CHARACTERS_PER_TOKEN
            self._spending.count(sum(written.usage) if written.usage is not None else estimate)

    def _open(self) -> tuple[AnswerModel, OpenConnections]:
        with self._opening:
            if self._opened is None:
                connections = OpenConnections()
                self._opened = self.provider.open(self._settings.timeout_seconds, connections.client), connections
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
        """Raise ModelFailure if the model is not to be called now."""
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


class OpenConnections:
    """An HTTP client that keeps its connections. Another thread may end the response that a thread reads."""

    def __init__(self) -> None:
        self._reading: dict[threading.Thread, httpx2.Response] = {}
        self.client = httpx2.Client(event_hooks={"response": [self._note]})  # follows no redirect to another host

    def within(self, left: Callable[[], float], source: Iterator[Piece]) -> Iterator[Piece]:
        """Yield from a source that reads from this client, until `left` returns no more seconds; then raise LATE.

        The timeouts of HTTP clients restart with each byte. If the consumer stops, the response is closed.
        """
        read: SimpleQueue[Piece | BaseException | None] = SimpleQueue()

        def pump() -> None:
            try:
                for piece in source:
                    read.put(piece)
                read.put(None)
            except BaseException as error:  # noqa: BLE001 - handed over, and raised where it is waited for
                read.put(error)
            finally:
                self._reading.pop(threading.current_thread(), None)

        thread = threading.Thread(target=pump, name="answer", daemon=True)
        thread.start()
        try:
            while (piece := read.get(timeout=max(0.0, left()))) is not None:
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
        except Empty:
            raise ModelFailure(LATE) from None
        finally:
            if response := self._reading.pop(thread, None):
                response.close()

    def _note(self, response: httpx2.Response) -> None:
        self._reading[threading.current_thread()] = response
