"""A small crowd at a real server with the real model: the quick part of `benchmarks/load.py`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.http_load import serving
from benchmarks.load import measure
from tests.harness.projects import copy_project

CLIENTS, SESSIONS, SECONDS = 200, 2, 6  # more clients than the server has connections for


@pytest.mark.later
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have one address of this machine")
@pytest.mark.promise(24)
def test_each_of_a_crowd_is_served_or_told_to_come_back(sample: Path, tmp_path: Path) -> None:
    project = copy_project(sample, tmp_path / "ferry")
    with serving(project) as server:
        found = measure(project, server, CLIENTS, SESSIONS, SECONDS, start=20)

    assert set(found.clients) == {"200", "refused"}
    assert set(found.sessions) <= {"200"}
    assert [set(light.outcomes) for light in found.within.values()] == [{"200"}] * 2
