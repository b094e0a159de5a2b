"""Run the official MCP conformance suite, an npm package, against `lore serve`. `make conformance` installs it."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.harness.interfaces import serving
from tests.harness.projects import ROOT

MODULES = ROOT / ".venv" / "conformance" / "node_modules"
SUITE = [str(MODULES / ".bin" / "node"), str(MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js")]
ALWAYS = {
    "completion-complete": 2, "tools-list": 3, "resources-list": 2, "prompts-list": 2, "dns-rebinding-protection": 2,
}  # fmt: skip
CHECKS = {
    "2026-07-28": {
        **ALWAYS, "tools-list": 4, "server-stateless": 21, "caching": 8, "http-header-validation": 14,
        "sep-2164-resource-not-found": 4, "input-required-result-unsupported-methods": 2,
        "input-required-result-validate-input": 3, "server-sse-multiple-streams": 1,
    },
    "2025-11-25": {**ALWAYS, "server-initialize": 2, "ping": 2},
}  # fmt: skip
"""The scenarios of a revision that apply to this server, with the number of checks that it passes; it fails none."""

OF_AN_EXAMPLE = re.compile(
    "Unknown (?:tool|prompt): |There is no resource `test://|Tool 'json_schema_2020_12_tool' not found"
    "|Not testable: server does not list the diagnostic tool|Not testable: server exposes no tool with x-mcp-header"
    "|Prerequisite failed: could not get initial InputRequiredResult|Expected InputRequiredResult"
)
"""Not applicable: checks that use tools, resources and prompts which only the suite's own example server has."""

NOT_OFFERED = {
    "logging-set-level": "logs go to standard error, never to clients",
    "tools-call-with-logging": "logs go to standard error, never to clients",
    "resources-subscribe": "resources say how long they may be kept; nothing is pushed",
    "resources-unsubscribe": "resources say how long they may be kept; nothing is pushed",
}
"""Not applicable: optional parts of the protocol that the server does not declare, with the reason."""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not Path(SUITE[1]).exists() and "CI" not in os.environ,
        reason="the conformance suite is not installed: run `make conformance`",
    ),
]


@pytest.mark.parametrize("revision", CHECKS)
def test_every_check_of_a_revision_that_applies_passes(sample: Path, tmp_path: Path, revision: str) -> None:
    with serving(sample) as url:
        command = [*SUITE, "server", "--url", f"{url}/mcp", "--requirements", revision, "--output-dir", str(tmp_path)]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False, stdin=subprocess.DEVNULL
        )
    scenarios = {
        re.sub(r"^server-|-\d{4}-\d\d-\d\dT[\d-]+Z$", "", file.parent.name): json.loads(file.read_text("utf-8"))
        for file in tmp_path.glob("*/checks.json")
    }

    assert scenarios, done.stdout + done.stderr
    passed = {name: sum(check["status"] == "SUCCESS" for check in checks) for name, checks in scenarios.items()}
    assert {name: passed.get(name) for name in CHECKS[revision]} == CHECKS[revision]
    failed = [(name, check) for name, checks in scenarios.items() for check in checks if is_failed(name, check)]
    assert not failed, failed


def is_failed(scenario: str, check: dict[str, Any]) -> bool:
    """Return whether a check failed that applies; the tasks of the suite are an extension, which is not offered."""
    applies = not scenario.startswith("tasks-") and check["id"] not in NOT_OFFERED
    return check["status"] == "FAILURE" and applies and not OF_AN_EXAMPLE.search(check["errorMessage"])
