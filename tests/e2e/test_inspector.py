"""List and call every tool with the official MCP Inspector's CLI, an npm package.

`make inspector` installs it; without npm the tests are skipped.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lore_server.contract import Contract
from lore_server.mcp.mcp_server import DEFAULT_TOOLSETS
from tests.harness.commands import LORE, run_lore
from tests.harness.projects import ROOT, copy_project

INSPECTOR = ROOT / ".venv" / "inspector" / "node_modules" / ".bin" / "mcp-inspector"
CALLS: dict[str, dict[str, str]] = {
    "query_documents": {"query": "how do retries back off", "limit": "2"},
    "ask_knowledge_base": {"query": "Why is SQLite the default store?"},
    "get_class_hierarchy": {"root": "Store"},
    "list_documents": {"type": "ticket", "limit": "3"},
    "get_document_by_id": {},
    "list_sources": {"type": "adr"},
    "get_source": {"path": "docs/workers.md"},
    "manage_knowledge_base": {"action": "sync"},
    "get_job": {"id": "latest"},
    "cancel_job": {"id": "latest"},
    "healthcheck": {},
}

ALIKE = CALLS.keys() - {"query_documents", "manage_knowledge_base", "healthcheck"}
"""Called only in the long run, because each call starts Node.js; the other three take text, numbers or no arguments."""

pytestmark = [
    pytest.mark.later,
    pytest.mark.skipif(
        not INSPECTOR.exists() and "CI" not in os.environ, reason="the Inspector is not installed: run `make inspector`"
    ),
]


@pytest.fixture(scope="module")
def project(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inspector") / "ferry"
    copy_project(sample, folder)
    assert run_lore("sync", cwd=folder).returncode == 0
    return folder


def inspect(project: Path, *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [str(INSPECTOR), "--cli", LORE, "mcp", *arguments], cwd=project, capture_output=True, text=True, timeout=120,
        check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    value: dict[str, Any] = json.loads(done.stdout)
    return value


def test_the_inspector_lists_every_tool_resource_and_prompt(project: Path, contract: Contract) -> None:
    tools = inspect(project, "--method", "tools/list")["tools"]
    resources = inspect(project, "--method", "resources/list")["resources"]
    templates = inspect(project, "--method", "resources/templates/list")["resourceTemplates"]
    prompts = inspect(project, "--method", "prompts/list")["prompts"]

    default = {operation.id for operation in contract if operation.toolset in DEFAULT_TOOLSETS}
    assert {tool["name"] for tool in tools} == default == set(CALLS)
    assert "lore://handbook" in {resource["uri"] for resource in resources}
    assert {"lore://document/{id}", "lore://source/{path}"} <= {template["uriTemplate"] for template in templates}
    assert len(prompts) == 3


@pytest.mark.parametrize(
    "tool", [pytest.param(call, marks=pytest.mark.long if call in ALIKE else ()) for call in CALLS]
)
def test_the_inspector_calls_every_tool(project: Path, contract: Contract, tool: str) -> None:
    arguments = dict(CALLS[tool])
    if tool == "get_document_by_id":
        listed = json.loads(run_lore("docs", "--json", "-n", "1", cwd=project).stdout)
        arguments["id"] = listed["documents"][0]["id"]
    pairs = [part for name, value in arguments.items() for part in ("--tool-arg", f"{name}={value}")]

    result = inspect(project, "--method", "tools/call", "--tool-name", tool, *pairs)

    assert not result.get("isError"), result
    assert result["content"][0]["text"]
    contract[tool].check_result(result["structuredContent"])
