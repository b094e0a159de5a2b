"""Ask a model for answers within its limits, and pass on each statement as soon as it is verified."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lore_etl.config.settings import AnswerSettings
from lore_etl.config.user_folders import user_state_folder
from lore_server.answer.answer_model import LATE, AnswerModel, ModelFailure, ModelRequest, TokenUsage
from lore_server.answer.attempts import CircuitBreaker, Timing, attempting
from lore_server.answer.pack import Passage
from lore_server.answer.prompt import INSTRUCTION
from lore_server.answer.providers import Provider, chosen
from lore_server.answer.spending import Spending, SpendingLimits
from lore_server.answer.statements import Proof, StatementReader, verified
from lore_server.answer.timeout import OpenConnections
from lore_server.execution.progress import ignore_text
from lore_server.replies.budget import CHARACTERS_PER_TOKEN

UNVERIFIED = "no quote of the answer model is in its passage"
TIMING = Timing(time.monotonic, random.random, time.sleep)


@dataclass
class VerifiedReply:
    """The verified statements of a reply so far, their proofs, the number of dropped ones, and the reported usage."""

    model: str
    statements: list[str] = field(default_factory=list)
    proofs: list[Proof] = field(default_factory=list)
    dropped: int = 0
    usage: TokenUsage | None = None

    @property
    def text(self) -> str:
        """Return the statements as Markdown."""
        return "\n\n".join(self.statements)


class ModelAnswers:
    """The configured answer model. Its client is created once, at the first question."""

    def __init__(self, settings: AnswerSettings, timing: Timing = TIMING, now: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._provider = chosen(settings)
        self._timing = timing
        self._breaker = CircuitBreaker(timing.clock)
        limits = SpendingLimits(settings.requests_per_minute, settings.tokens_per_day)
        self._spending = Spending(user_state_folder(), limits, now)
        self._opening = threading.Lock()
        self._opened: tuple[AnswerModel, OpenConnections] | None = None

    @property
    def provider(self) -> Provider:
        """Return the provider, which names any missing key."""
        return self._provider

    def prepare(self) -> None:
        """Start importing the client library and creating the client while passages are searched."""
        if not self._provider.missing and self._opened is None:
            threading.Thread(target=self._open, name="answer model", daemon=True).start()

    def write(
        self, prompt: str, passages: Sequence[Passage], written: VerifiedReply, on_text: Callable[[str], None]
    ) -> None:
        """Add the statements of the answer to `written`, and pass on the text of each.

        Raises:
            ModelFailure: the model failed or was not called, its reply was cut, or no statement could be verified.
        """
        self._breaker.check()
        self._open()
        request = ModelRequest(INSTRUCTION, prompt, on_text is not ignore_text)
        seconds = self._settings.timeout_seconds * self._settings.attempts
        deadline = self._timing.clock() + seconds
        policy = attempting(self._settings.attempts, deadline, self._timing)
        try:
            policy(self._attempt, request, passages, written, on_text, deadline)
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
        request: ModelRequest,
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
        try:
            for piece in connections.within(lambda: deadline - self._timing.clock(), model.pieces(request)):
                if isinstance(piece, TokenUsage):
                    written.usage = piece
                    continue
                for statement in reader.feed(piece):
                    _add(verified(statement, numbered, written.proofs), written, on_text)
            reader.end()
        except TimeoutError as error:
            raise ModelFailure(LATE) from error
        except ModelFailure as failure:
            failure.is_temporary = failure.is_temporary and not written.statements  # a listener has heard them
            raise
        finally:
            self._spending.count(_tokens(request, reader, written.usage))

    def _open(self) -> tuple[AnswerModel, OpenConnections]:
        with self._opening:
            if self._opened is None:
                connections = OpenConnections()
                self._opened = self._provider.open(self._settings.timeout_seconds, connections.client), connections
            return self._opened


def _add(statement: str | None, written: VerifiedReply, on_text: Callable[[str], None]) -> None:
    if statement is None:
        written.dropped += 1
        return
    before = written.text
    written.statements.append(statement)
    on_text(written.text[len(before) :])


def _tokens(request: ModelRequest, reader: StatementReader, usage: TokenUsage | None) -> int:
    """Return the reported number of tokens, or else an estimate, because the request may have cost as much."""
    if usage is not None:
        return sum(usage)
    return (len(request.instruction) + len(request.prompt) + reader.size) // CHARACTERS_PER_TOKEN
