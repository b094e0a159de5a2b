"""Count the tokens of replies that the models of agents read: `python -m benchmarks.reply_tokens`.

Each client passes on the text of a reply, its data, or one of both, as its entry in `READ_BY` says.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import mcp_types as types
from mcp.client._memory import InMemoryTransport as wired
from mcp.client.client import Client

from benchmarks.main_job import package_copy
from lore_etl.chunking.tokens import TokenCounter
from lore_etl.config.settings import Settings
from lore_etl.models.embedder import ConfiguredModel
from lore_server.app import App
from lore_server.contract import load_contract
from lore_server.execution.threads import Calls
from lore_server.mcp.mcp_server import build_server
from lore_server.replies.budget import CHARACTERS_PER_TOKEN

Reader = Callable[[types.CallToolResult], str]
Counter = Callable[[str], int]
Calling = list[tuple[str, dict[str, Any]]]
PACKAGE = "starlette"
GUIDE = {"filename": "errors", "title": "Errors", "introduction": "How errors become responses."}
CHAPTER = {"title": "Handlers", "content": "ExceptionMiddleware looks up a handler by class.\n" * 9}
QUESTION = {"query": "how is a request matched to a route"}
FILE = "routing.py"


def calls(app: App) -> Calling:
    """Return one call of each tool that is listed by default, except `cancel_job`, which needs a running job."""
    longest = max(
        app.call("list_documents", {"source": FILE})["documents"], key=lambda row: row["lines"][1] - row["lines"][0]
    )
    return [
        ("query_documents", QUESTION),
        ("ask_knowledge_base", QUESTION),
        ("get_class_hierarchy", {"root": "Response"}),
        ("list_documents", {"source": FILE}),
        ("get_document_by_id", {"id": longest["id"]}),
        ("list_sources", {}),
        ("get_source", {"path": FILE}),
        ("manage_knowledge_base", {"action": "sync", "wait_seconds": 600}),
        ("get_job", {"id": "latest"}),
        ("healthcheck", {}),
    ]


def text_of(result: types.CallToolResult) -> str:
    """Return the text of a reply."""
    return "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))


def _data_or_text(result: types.CallToolResult) -> str:
    return text_of(result) if result.structured_content is None else as_json(result.structured_content)


def _both(result: types.CallToolResult) -> str:
    return text_of(result) + ("" if result.structured_content is None else as_json(result.structured_content))


def as_json(value: object) -> str:
    """Return a value as `JSON.stringify` does."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


READ_BY: dict[str, Reader] = {
    "claude-code": _data_or_text,
    "codex-mcp-client": _data_or_text,
    "github-copilot-developer": _both,
    "kimi-code": text_of,
    "opencode": _data_or_text,
}


class Reply(NamedTuple):
    """A reply as the model of a client reads it, with its forms for an unknown client."""

    operation: str
    room: int | None
    """The budget of the call in characters."""
    read: str
    text: str
    unknown_text: str
    unknown_data: str


def indexed(folder: Path, model: ConfiguredModel | None = None) -> App:
    """Return an app with the index of a package, a document and a memory."""
    app = App(package_copy(PACKAGE, folder), Settings(), load_contract(), model, home=folder / "home")
    app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})
    app.call("create_knowledge_file", {**GUIDE, "chapters": [CHAPTER]})
    app.call("add_memory", {"name": "Error handlers", "body": "A handler for 500 runs in ServerErrorMiddleware."})
    while app.jobs.running_id():
        app.call("get_job", {"id": "latest", "wait_seconds": 60})
    return app


def replies(app: App, client: str, calling: Calling) -> Iterator[Reply]:
    """Yield the replies to a client and what its model reads of them."""
    known, unknown = (anyio.run(_results, app, name, calling) for name in (client, "unknown"))
    for (operation, _), result, other in zip(calling, known, unknown, strict=True):
        budget = app.contract[operation].input_schema["properties"].get("max_tokens", {}).get("default")
        forms = (READ_BY[client](result), text_of(result), text_of(other), as_json(other.structured_content))
        yield Reply(operation, budget and budget * CHARACTERS_PER_TOKEN, *forms)


async def _results(app: App, name: str, calling: Calling) -> list[types.CallToolResult]:
    server = build_server(app.contract, Calls(app.contract, app.call), list(app.contract.toolsets()))
    info = types.Implementation(name=name, version="1")
    async with Client(wired(server), client_info=info) as client:
        return [await client.call_tool(operation, arguments) for operation, arguments in calling]


def estimate(text: str) -> int:
    """Count tokens as budgets do."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def print_table(app: App, count: Counter) -> None:
    """Print the tokens of each call for an unknown client, and for each client as a share of its text."""
    print(f"| call | text | data | {' | '.join(READ_BY)} |\n|---|{'---|' * (len(READ_BY) + 2)}")
    for found in zip(*(replies(app, client, calls(app)) for client in READ_BY), strict=True):
        texts = " | ".join(f"{count(reply.read):,} ({count(reply.read) / count(reply.text):.2f})" for reply in found)
        first = found[0]
        print(f"| {first.operation} | {count(first.unknown_text):,} | {count(first.unknown_data):,} | {texts} |")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        app = indexed(Path(name))
        try:
            tokens: TokenCounter = app.index.embedder.tokens()
            for title, count in (("three characters", estimate), ("the model's tokenizer", tokens.count)):
                print(f"\nTokens by {title}:\n")
                print_table(app, count)
        finally:
            app.close()


if __name__ == "__main__":
    main()
