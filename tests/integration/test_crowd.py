"""A crowd at a real server with the real model: `benchmarks/load.py` as a test."""

import sys
from pathlib import Path

import pytest

from benchmarks.http_load import serving
from benchmarks.load import measure
from tests.harness.projects import copy_project

CROWDS = [(200, 2, 6), pytest.param(1_000, 100, 60, marks=pytest.mark.long)]
"""Clients, more than the server has connections for; sessions of MCP; seconds."""
TIMES = 3  # as long as alone, at most


@pytest.mark.later
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have one address of this machine")
@pytest.mark.parametrize(("clients", "sessions", "seconds"), CROWDS)
@pytest.mark.promise(24)
def test_each_of_a_crowd_is_served_or_told_to_come_back(
    sample: Path, tmp_path: Path, clients: int, sessions: int, seconds: int
) -> None:
    project = copy_project(sample, tmp_path / "ferry")
    with serving(project) as server:
        found = measure(project, server, clients, sessions, seconds, start=20 + sessions)

    assert set(found.clients) == {"200", "refused"}
    assert set(found.sessions) <= {"200"}
    assert [set(light.outcomes) for light in found.within.values()] == [{"200"}] * 2
    if sessions > 2:
        ratios = {name: found.within[name].p95 / alone.p95 for name, alone in found.alone.items()}
        assert max(ratios.values()) < TIMES, ratios
