"""Test `lore mcp` over its pipes: it starts fast, prints only messages, and answers every request."""

import json
import signal
import subprocess
import sys
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.harness.commands import PREPARED, SECONDS, as_lore

HELLO = [
    {
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]  # fmt: skip
MALFORMED = [
    "{", "[]", "null", "42", '"text"', "{}", '{"jsonrpc": "2.0"}', '{"jsonrpc": "1.0", "id": 5, "method": "x"}',
    '{"jsonrpc": "2.0", "id": {}, "method": "tools/list"}', '{"jsonrpc": "2.0", "id": 6, "method": 7}',
    '{"jsonrpc": "2.0", "id": 7, "method": "tools/call"}', '{"jsonrpc": "2.0", "id": 8, "method": "no/such"}',
    '{"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": 1}}',
    '{"jsonrpc": "2.0", "id": 10, "method": "tools/call", "params": {"name": "no_such_tool"}}',
    '{"jsonrpc": "2.0", "id": 11, "method": "tools/call", "params": {"name": "query_documents", "arguments": []}}',
    '{"jsonrpc": "2.0", "id": 12, "method": "tools/call", "params": {"name": "query_documents",'
    ' "arguments": {"query": "\\ud800"}}}',
    "[" * 20_000, "\x00\x01", "é" * 1000, '\ufeff{"jsonrpc": "2.0", "id": 13, "method": "ping"}',
    '{"jsonrpc": "2.0", "id": 14, "method": "tools/list", "params": []}',
    '[{"jsonrpc": "2.0", "id": 15, "method": "x"}]',
    '{"jsonrpc": "2.0", "id": 16, "method": "ping", "params": {"n": NaN}}',
]  # fmt: skip
METHODS = [
    "initialize", "ping", "tools/list", "tools/call", "resources/list", "resources/read", "resources/templates/list",
    "prompts/list", "prompts/get", "completion/complete", "logging/setLevel",
]  # fmt: skip
PARAMS = ["5", '"x"', "[]", "true", '{"name": 5}', '{"uri": []}', '{"cursor": {}, "ref": 1, "protocolVersion": []}']
MALFORMED += [
    f'{{"jsonrpc": "2.0", "id": {number}, "method": "{method}", "params": {params}}}'
    for number, (method, params) in enumerate(product(METHODS, PARAMS), 100)
]
ANSWERED = [*range(5, 15), 16, *range(100, 177)]
UNIDENTIFIED = 12  # lines that do not identify their request


def converse(
    project: Path, lines: list[str], *options: str
) -> tuple[list[dict[str, Any]], subprocess.CompletedProcess[str]]:
    program = [PREPARED.lore()] if "--no-daemon" in options else as_lore()  # which forks the owner
    done = subprocess.run(
        [*program, *options, "mcp"], cwd=project, input="".join(f"{line}\n" for line in lines), capture_output=True,
        text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()], done


def call(number: int, name: str, **arguments: Any) -> str:
    params = {"name": name, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})


def test_every_request_gets_its_reply_even_if_the_input_ends_immediately(sample: Path) -> None:
    hello = [json.dumps(message) for message in HELLO]

    replies, done = converse(sample, [*hello, *(call(n, "query_documents", query=f"worker {n}") for n in range(1, 21))])

    assert sorted(reply["id"] for reply in replies) == list(range(21))
    assert not any(reply["result"].get("isError") for reply in replies)
    assert done.returncode == 0


@pytest.mark.parametrize("options", [[], ["--no-daemon"]], ids=["owner", "no owner"])
@pytest.mark.promise(29)
def test_malformed_messages_get_replies_without_a_crash_or_a_leak(tmp_path: Path, options: list[str]) -> None:
    hello = [json.dumps(message) for message in HELLO]

    replies, done = converse(tmp_path, [*hello, *MALFORMED, call(99, "healthcheck")], *options)
    last = next(reply for reply in replies if reply.get("id") == 99)

    assert len(MALFORMED) == 100
    answered = Counter({**dict.fromkeys([0, 99, *ANSWERED], 1), None: UNIDENTIFIED})
    assert Counter(reply["id"] for reply in replies) == answered
    assert last["result"]["structuredContent"]["status"]
    assert "Traceback" not in done.stdout
    assert "/" + "home" not in done.stdout


def test_a_tool_that_fails_is_an_error_result_and_not_a_protocol_error(tmp_path: Path) -> None:
    hello = [json.dumps(message) for message in HELLO]

    replies, _ = converse(tmp_path, [*hello, call(1, "query_documents", query="worker")])
    result = next(reply for reply in replies if reply["id"] == 1)["result"]

    assert result["isError"] is True
    assert result["structuredContent"]["code"] == "INDEX_MISSING"
    assert "manage_knowledge_base" in result["structuredContent"]["hint"]
    assert result["structuredContent"]["hint"] in result["content"][0]["text"]


def test_tools_are_listed_before_anything_heavy_is_imported(tmp_path: Path) -> None:
    listing = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    watch = (
        "import sys, lore_server.cli.serve, lore_server.mcp.mcp_server;"
        "heavy = {'chromadb', 'google.genai', 'openapi_core', 'onnxruntime', 'torch', 'tantivy', 'pathspec'}"
        " & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )

    replies, _ = converse(tmp_path, [*(json.dumps(message) for message in HELLO), listing])
    done = subprocess.run([sys.executable, "-c", watch], check=False, capture_output=True, text=True)

    assert len(next(reply for reply in replies if reply["id"] == 1)["result"]["tools"]) == 11
    assert done.returncode == 0, done.stderr


def test_the_process_ends_with_its_input_or_on_a_signal(tmp_path: Path) -> None:
    for ending in ("eof", "terminate"):
        process = subprocess.Popen(
            [*as_lore(), "mcp"], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(HELLO[0]).encode() + b"\n")
        process.stdin.flush()
        process.stdout.readline()
        if ending == "eof":
            process.stdin.close()
        else:
            process.send_signal(signal.SIGTERM)
        code = process.wait(timeout=120)
        process.stdout.close()
        if not process.stdin.closed:
            process.stdin.close()
        assert code in (0, -signal.SIGTERM)
