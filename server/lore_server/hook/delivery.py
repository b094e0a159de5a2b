"""Delivering to a server that may be down, busy, slow or broken: a session lasts until it fails, then comes another."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple

from lore_server.hook.failures import Unreachable, Unwilling
from lore_server.hook.knowledge_server import KnowledgeServer
from lore_server.hook.patience import Patience

log = logging.getLogger(__name__)
Connect = Callable[[], AbstractAsyncContextManager[KnowledgeServer]]
Sleep = Callable[[float], Awaitable[None]]


class Task(NamedTuple):
    """One step that can be repeated, and what is done when it is given up."""

    run: Callable[[KnowledgeServer], Awaitable[None]]
    give_up: Callable[[str], None]


async def deliver(
    tasks: deque[Task], connect: Connect, patience: Patience, sleep: Sleep, done: Callable[[], None]
) -> bool:
    """Run the tasks in their order and call `done` after each. Returns whether the server answered to the end; the
    tasks that remain were not reached.

    A task that fails again and again is given up, so that it does not stop the others; if the next one fails as
    often, it is the server.
    """
    was_given_up = False
    while tasks:
        is_connected = False
        try:
            async with connect() as server:
                is_connected = True
                while tasks:
                    await tasks[0].run(server)
                    tasks.popleft()
                    patience.renew()
                    was_given_up = False
                    done()
        except Unwilling as error:
            log.warning("%s %s", error.message, error.hint)
            return False
        except Unreachable as error:
            pause = patience.after(error)
            if pause is not None:
                log.info("the server does not do it: %s; next attempt in %.1f s", error.message, pause)
                await sleep(pause)
            elif is_connected and not was_given_up:
                tasks.popleft().give_up(f"not sent: {error.message}")
                patience.renew()
                was_given_up = True
            else:
                log.warning("MCP server offline after retries: %s", error.message)
                return False
    return True
