"""Run an agent with the tools of projects: the official MCP client over standard input and output."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import TextResourceContents

from tests.harness.commands import as_lore

JSON = dict[str, Any]


class Agent:
    """An MCP client that sends one request at a time."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal, self._client = portal, client

    def call(self, name: str, **arguments: Any) -> JSON:
        """Return the result of a tool, which must succeed."""
        reply = self._reply(name, arguments)
        assert not reply.is_error, reply
        assert reply.structured_content.get("success", True) is True
        result: JSON = reply.structured_content
        return result

    def fail(self, name: str, **arguments: Any) -> JSON:
        """Return the error of a tool, which must fail, in the earlier server's format and in Lore's."""
        reply = self._reply(name, arguments)
        assert reply.is_error, reply
        record: JSON = reply.structured_content
        assert record["success"] is False
        assert record["error"] == record["message"]
        assert record["context"]["traceId"] == record["trace_id"]
        assert record["context"]["timestamp"].endswith("Z")
        assert record["hint"]
        return record

    def read(self, uri: str) -> tuple[str, str]:
        """Return the type and text of a resource."""
        content = self._portal.call(self._client.read_resource, uri).contents[0]
        assert isinstance(content, TextResourceContents)
        return str(content.mime_type), content.text

    def read_data(self, uri: str) -> JSON:
        """Return the content of a JSON resource."""
        kind, text = self.read(uri)
        assert kind == "application/json"
        data: JSON = json.loads(text)
        return data

    def tools(self) -> dict[str, Any]:
        """Return the offered tools by name."""
        return {tool.name: tool for tool in self._portal.call(self._client.list_tools).tools}

    def templates(self) -> list[str]:
        """Return the URI templates of the resources."""
        found = self._portal.call(self._client.list_resource_templates).resource_templates
        return [template.uri_template for template in found]

    def _reply(self, name: str, arguments: JSON) -> Any:
        return self._portal.call(self._client.call_tool, name, arguments)


@contextmanager
def agent(project: Path, home: Path, toolsets: str = "projects", **environment: str) -> Iterator[Agent]:
    """Connect an agent to a project whose knowledge is kept in `home`."""
    env = {**os.environ, "LORE_HOME": str(home), **environment}
    command, *arguments = as_lore()
    parameters = StdioServerParameters(
        command=command, args=[*arguments, "mcp", "--toolsets", toolsets], cwd=project, env=env
    )
    with start_blocking_portal() as portal:
        client = Client(stdio_client(parameters))
        with portal.wrap_async_context_manager(client):
            yield Agent(portal, client)
