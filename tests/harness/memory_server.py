"""Run another knowledge server in another process: stateful MCP over HTTP, with server-sent events as replies.

It stores each memory, does not recognise duplicates, and fails on request: `POST /control` sets its options and the
faults of the next calls, `GET /control` returns the stored memories and the received requests.
"""

import json
import re
import socket
import sys
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.harness.processes import child

JSON = dict[str, Any]
TEXT, MANY = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
OPTIONS: JSON = {
    "style": "graph", "tells_ids": True, "lists": True, "finds": True, "deletes": True, "database": "neo4j",
    "token": "", "protocol": "2024-11-05", "pages": 1, "max_body": 0,
}  # fmt: skip
LUCENE = r'[+\-&|!(){}\[\]^"~*?:/]'


@dataclass
class MemoryEpisodes:
    """The state of the server."""

    options: JSON = field(default_factory=lambda: dict(OPTIONS))
    episodes: dict[str, JSON] = field(default_factory=dict)
    asked: list[JSON] = field(default_factory=list)
    sessions: set[str] = field(default_factory=set)
    faults: list[JSON] = field(default_factory=list)
    guard: threading.Lock = field(default_factory=threading.Lock)
    released: threading.Event = field(default_factory=threading.Event)

    def fault(self, method: str, tool: str) -> JSON:
        """Return the next fault if it applies to this method or tool."""
        with self.guard:
            if self.faults and self.faults[0].get("on", "add_memory") in (method, tool):
                return self.faults.pop(0)
        return {}

    def tools(self) -> list[JSON]:
        """Return the tools that the options select."""
        graph = self.options["style"] == "graph"
        add = {"name": TEXT, "group_id": TEXT, "source": TEXT}
        add |= (
            {"episode_body": TEXT, "source_description": TEXT}
            if graph
            else {"body": TEXT, "metadata": {"type": "object"}}
        )
        if limit := self.options["max_body"]:
            add["episode_body" if graph else "body"] = {**TEXT, "maxLength": limit}
        search = {"query": TEXT, "group_ids": MANY}
        tools = {"add_memory": add, "search_nodes" if graph else "search_memories": search, "get_status": {}}
        if self.options["lists"]:
            tools["get_episodes"] = {"group_ids": MANY, "max_episodes": {"type": "integer"}}
        if self.options["deletes"]:
            tools["delete_episode" if graph else "delete_memory"] = {"uuid": TEXT} if graph else {"id": TEXT}
        schemas = {name: {"type": "object", "properties": properties} for name, properties in tools.items()}
        return [{"name": name, "description": name, "inputSchema": schema} for name, schema in schemas.items()]

    def run(self, tool: str, arguments: JSON) -> JSON:
        """Return the result of a tool, or an `error`."""
        if tool == "add_memory":
            number = str(uuid.uuid4())
            with self.guard:
                self.episodes[number] = {"uuid": number, **arguments}
            reply = {"message": f"Episode '{arguments['name']}' queued"}
            return {**reply, "uuid": number} if self.options["tells_ids"] else reply
        if tool.startswith("delete_"):
            with self.guard:
                gone = self.episodes.pop(str(arguments.get("uuid") or arguments.get("id")), None)
            return {"message": "deleted"} if gone else {"error": "Error deleting episode: node not found"}
        found = [
            episode
            for episode in (self.episodes.values() if self.options["finds"] else ())
            if episode.get("group_id") in arguments.get("group_ids", [episode.get("group_id")])
        ]
        if tool == "get_episodes":
            return {"message": "Episodes", "episodes": found[-arguments.get("max_episodes", 10) :]}
        query = arguments["query"]
        if self.options["database"] == "falkordb":
            if re.search(rf"(?<!\\){LUCENE}", query):
                return {"error": f"Error searching nodes: RediSearch: Syntax error at offset 3 near {query}"}
            query = re.sub(r"\\(.)", r"\1", query)
        return {
            "message": "Nodes",
            "nodes": [episode for episode in found if query.lower() in json.dumps(episode).lower()],
        }


def serve(port: int) -> None:
    """Serve until killed, and write the port to standard output."""
    kept = MemoryEpisodes()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            if self.path == "/control":
                self._json(200, {"episodes": list(kept.episodes.values()), "asked": kept.asked, "faults": kept.faults})
            else:
                self._json(405, {})

        def do_DELETE(self) -> None:
            kept.asked.append({"method": "DELETE", "session": self.headers.get("Mcp-Session-Id")})
            kept.sessions.discard(self.headers.get("Mcp-Session-Id", ""))
            self._json(200, {})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/control":
                self._control(body)
                return
            method, params, session = body["method"], body.get("params", {}), self.headers.get("Mcp-Session-Id")
            tool = params.get("name", "") if method == "tools/call" else ""
            kept.asked.append({
                "method": method, "tool": tool, "arguments": params.get("arguments", {}), "session": session,
                "path": self.path, "jsonrpc": body["jsonrpc"], "accept": self.headers.get("Accept"),
            })  # fmt: skip
            if kept.options["token"] and self.headers.get("Authorization") != f"Bearer {kept.options['token']}":
                self._json(401, {})
            elif method != "initialize" and session is None:
                self._json(
                    400, {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Missing session ID"}}
                )
            elif method != "initialize" and session not in kept.sessions:
                self._json(404, {})
            else:
                self._answer(kept.fault(method, tool), body.get("id"), method, params)

        def _answer(self, fault: JSON, number: Any, method: str, params: JSON) -> None:
            kind = fault.get("do", "")
            if kind.isdigit():
                self._json(int(kind), {}, {"Retry-After": str(fault["wait"])} if "wait" in fault else {})
            elif kind == "hang":
                kept.released.wait()
                self.close_connection = True
            elif kind == "drop":
                self._cut()
            elif number is None:
                self._send(202, b"", {})
            else:
                result = self._result(fault, method, params)
                if kind == "late":
                    kept.released.wait()
                self._events(result, number, kind == "half")

        def _result(self, fault: JSON, method: str, params: JSON) -> JSON:
            if method == "initialize":
                about = {"name": "graph of somebody", "version": "1.0"}
                return {"protocolVersion": kept.options["protocol"], "capabilities": {"tools": {}}, "serverInfo": about}
            if method == "tools/list":
                tools, page = kept.tools(), int(params.get("cursor", 0))
                size = -(-len(tools) // kept.options["pages"])
                more = {"nextCursor": str(page + 1)} if page + 1 < kept.options["pages"] else {}
                return {"tools": tools[page * size :][:size], **more}
            if fault.get("do") == "refuse":
                return {"content": [{"type": "text", "text": "this one I do not like"}], "isError": True}
            reply = kept.run(params["name"], params.get("arguments", {}))
            return {"content": [{"type": "text", "text": json.dumps(reply)}], "isError": False}

        def _events(self, result: JSON, number: Any, is_cut: bool) -> None:
            message = {"jsonrpc": "2.0", "id": number, "result": result}
            data = f"event: message\r\ndata: {json.dumps(message)}\r\n\r\n".encode()
            headers = {"Content-Type": "text/event-stream"}
            if "protocolVersion" in result:
                headers["Mcp-Session-Id"] = uuid.uuid4().hex
                kept.sessions.add(headers["Mcp-Session-Id"])
            if is_cut:
                self._send(200, data[:40], headers, len(data))
                self._cut()
            else:
                self._send(200, data, headers)

        def _control(self, body: JSON) -> None:
            if body.get("reset"):
                for part in (kept.episodes, kept.asked, kept.faults, kept.sessions):
                    part.clear()
                kept.options = dict(OPTIONS)
            kept.released.set()
            kept.released = threading.Event()
            kept.options |= body.get("options", {})
            kept.faults += body.get("faults", [])
            if body.get("forget_sessions"):
                kept.sessions.clear()
            self._json(200, {})

        def _json(self, status: int, body: JSON, headers: Mapping[str, str] | None = None) -> None:
            self._send(status, json.dumps(body).encode(), {"Content-Type": "application/json", **(headers or {})})

        def _send(self, status: int, data: bytes, headers: Mapping[str, str], length: int | None = None) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(data) if length is None else length)}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)
            self.wfile.flush()

        def _cut(self) -> None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing, because tests read their own output."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever(poll_interval=0.05)


@dataclass(frozen=True)
class MemoryServer:
    """A running memory server, which tests configure and inspect."""

    port: int

    @property
    def url(self) -> str:
        """Return the address of the MCP endpoint."""
        return f"http://127.0.0.1:{self.port}/mcp/"

    def set(self, *faults: JSON, **options: Any) -> None:
        """Set the options and the faults of the next calls."""
        self._ask("POST", {"faults": faults, "options": options})

    def reset(self) -> None:
        """Restore the initial state."""
        self._ask("POST", {"reset": True})

    def forget_sessions(self) -> None:
        """Close all sessions, as a restart would."""
        self._ask("POST", {"forget_sessions": True})

    @property
    def episodes(self) -> list[JSON]:
        """Return the stored episodes."""
        episodes: list[JSON] = self._ask("GET")["episodes"]
        return episodes

    @property
    def asked(self) -> list[JSON]:
        """Return every request in order."""
        asked: list[JSON] = self._ask("GET")["asked"]
        return asked

    def calls(self, tool: str = "add_memory") -> list[JSON]:
        """Return the arguments of each call of a tool."""
        return [request["arguments"] for request in self.asked if request.get("tool") == tool]

    def _ask(self, method: str, body: JSON | None = None) -> JSON:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, "/control", content, {"Content-Type": "application/json"})
            reply: JSON = json.loads(connection.getresponse().read())
            return reply
        finally:
            connection.close()


@contextmanager
def running(port: int = 0) -> Iterator[MemoryServer]:
    """Run the server in a process of its own."""
    code = "import sys; from tests.harness.memory_server import serve; serve(int(sys.argv[1]))"
    with child(code, port) as process:
        assert process.stdout is not None
        yield MemoryServer(int(process.stdout.readline()))


if __name__ == "__main__":
    serve(int(sys.argv[1]))
