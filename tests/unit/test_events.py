"""Server-sent events: their order, and the end of the work when the client disconnects."""

import json
import threading
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from lore_etl.core.errors import Busy, Cancelled
from lore_etl.core.progress import Listener
from lore_server.contract import Contract, Operation
from lore_server.execution.threads import Calls
from lore_server.http import events
from lore_server.http.events import Events, answer_events
from lore_server.http.guard import RENEW

JSON = dict[str, Any]
Work = Callable[[str, JSON, Listener], JSON]


def parsed(chunks: list[bytes]) -> list[tuple[str, Any]]:
    """Return the name and data of each event, with heartbeats as events without data."""
    found = []
    for block in b"".join(chunks).decode().split("\n\n")[:-1]:
        if block.startswith(":"):
            found.append(("heartbeat", None))
        else:
            name, data = block.split("\n")
            found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


async def read_all(response: Events) -> list[bytes]:
    return [bytes(chunk) async for chunk in response.body_iterator]  # type: ignore[arg-type]


def events_of(operation: Operation, arguments: JSON, calls: Calls) -> Events:
    return Events(answer_events(operation, operation.accept(arguments), calls))


def streamed(contract: Contract, operation: str, call: Work, **arguments: Any) -> list[tuple[str, Any]]:
    """Return the events of a call of this operation, for which `call` does the work."""

    async def run() -> list[bytes]:
        return await read_all(events_of(contract[operation], arguments, Calls(contract, call)))

    return parsed(anyio.run(run))


def test_the_contract_declares_which_operations_stream(contract: Contract) -> None:
    assert {one.id for one in contract if one.is_streamed} == {"ask_knowledge_base"}


def test_an_answer_is_streamed_in_order_and_ends_with_its_result(contract: Contract) -> None:
    def call(name: str, arguments: JSON, listener: Listener) -> JSON:
        for piece in ("Zwölf", "\n[1]", "\u2028"):
            listener.text(piece)
        return {"answer": "Zwölf\n[1]", "asked": arguments["query"]}

    assert streamed(contract, "ask_knowledge_base", call, query="x") == [
        ("text", "Zwölf"), ("text", "\n[1]"), ("text", "\u2028"), ("result", {"answer": "Zwölf\n[1]", "asked": "x"}),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("error", "code"), [(Busy("It is taken."), "BUSY"), (ValueError("a secret"), "INTERNAL_ERROR")]
)
def test_a_failure_is_sent_as_an_error_event(contract: Contract, error: Exception, code: str) -> None:
    def call(name: str, arguments: JSON, listener: Listener) -> JSON:
        listener.text("Well")
        raise error

    first, last = streamed(contract, "ask_knowledge_base", call, query="x")

    assert first == ("text", "Well")
    assert (last[0], last[1]["code"]) == ("problem", code)
    assert "secret" not in str(last)


def test_heartbeats_are_sent_while_there_is_no_event(contract: Contract, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "HEARTBEAT_SECONDS", 0.01)
    go_on = threading.Event()

    def call(name: str, arguments: JSON, listener: Listener) -> JSON:
        assert go_on.wait(120)
        return {}

    async def run() -> list[bytes]:
        response = events_of(contract["ask_knowledge_base"], {"query": "x"}, Calls(contract, call))
        chunks = []
        async for chunk in response.body_iterator:
            chunks.append(bytes(chunk))  # type: ignore[arg-type]
            if len(chunks) == 3:
                go_on.set()
        return chunks

    found = parsed(anyio.run(run))
    assert found[:3] == [("heartbeat", None)] * 3
    assert found[-1] == ("result", {})


def test_work_stops_at_its_next_event_after_the_client_disconnects(contract: Contract) -> None:
    left, ended, outcome = threading.Event(), threading.Event(), list[BaseException]()

    def call(name: str, arguments: JSON, listener: Listener) -> JSON:
        listener.text("first")
        assert left.wait(120)
        try:
            listener.text("second")
        except Cancelled as error:
            outcome.append(error)
            raise
        finally:
            ended.set()
        return {}

    async def run() -> None:
        response = events_of(contract["ask_knowledge_base"], {"query": "x"}, Calls(contract, call))
        there = anyio.Event()

        async def send(message: Any) -> None:
            if message.get("body"):
                there.set()

        async def receive() -> Any:
            await there.wait()
            return {"type": "http.disconnect"}

        async def renew() -> None:
            """Return because the token is still valid."""

        with anyio.fail_after(120):
            await response({"type": "http", "asgi": {"spec_version": "2.3"}, RENEW: renew}, receive, send)
        left.set()
        assert await anyio.to_thread.run_sync(ended.wait, 120)

    anyio.run(run)
    assert len(outcome) == 1
