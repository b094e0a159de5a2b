"""The checks of `lore doctor`."""

import threading

from lore_server.setup.doctor import _run
from lore_server.setup.place import Finding


def test_a_check_that_hangs_is_reported_and_abandoned() -> None:
    release = threading.Event()

    def endless() -> Finding:
        release.wait(60)
        return Finding("ok", "")

    found = _run("index", endless, seconds=0.05)
    release.set()

    assert (found["name"], found["status"]) == ("index", "failed")
    assert "0.05 s" in str(found)


def test_a_check_within_its_time_limit_is_reported_unchanged() -> None:
    assert _run("python", lambda: Finding("ok", "CPython"))["status"] == "ok"
