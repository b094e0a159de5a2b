"""Run the official MCP conformance suite, an npm package, against `lore serve`. `make conformance` installs it."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.harness.interfaces import serving
from tests.harness.projects import ROOT

MODULES = ROOT / ".venv" / "conformance" / "node_modules"
SUITE = [str(MODULES / ".bin" / "node"), str(MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js")]
CHECKS = {
    "server-initialize": 1, "ping": 1, "completion-complete": 1, "tools-list": 1, "resources-list": 1,
    "prompts-list": 1, "dns-rebinding-protection": 2,
    "server-sse-polling": 0, "server-sse-multiple-streams": 0,  # they check sessions, which this server does not use
}  # fmt: skip
"""The applicable scenarios, with the number of checks that each makes on this server."""

OF_AN_EXAMPLE = (
    "tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource",
    "tools-call-mixed-content", "tools-call-error", "tools-call-with-progress", "json-schema-2020-12",
    "resources-read-text", "resources-read-binary", "resources-templates-read", "prompts-get-simple",
    "prompts-get-with-args", "prompts-get-embedded-resource", "prompts-get-with-image",
)  # fmt: skip
"""Not applicable: they call tools, resources and prompts that only the suite's own example server has."""

NOT_OFFERED = {
    "logging-set-level": "logs go to standard error, never to clients",
    "tools-call-with-logging": "logs go to standard error, never to clients",
    "tools-call-sampling": "no tool asks the client's model",
    "tools-call-elicitation": "it calls a tool of the example server; test_confirmations.py has ours",
    "elicitation-sep1034-defaults": "the user only confirms: no question has fields",
    "elicitation-sep1330-enums": "the user only confirms: no question has fields",
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


def test_every_scenario_that_applies_passes(sample: Path, tmp_path: Path) -> None:
    with serving(sample) as url:
        done = subprocess.run(
            [*SUITE, "server", "--url", f"{url}/mcp", "--suite", "all"], cwd=tmp_path, capture_output=True, text=True,
            timeout=300, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    rows = re.findall(r"^\S ([\w-]+): (\d+) passed, (\d+) failed$", done.stdout, flags=re.MULTILINE)
    outcomes = {name: (int(passed), int(failed)) for name, passed, failed in rows}

    assert outcomes.keys() == CHECKS.keys() | set(OF_AN_EXAMPLE) | NOT_OFFERED.keys(), done.stdout + done.stderr
    assert {name: outcomes[name] for name in CHECKS} == {name: (checks, 0) for name, checks in CHECKS.items()}
