"""A question over several projects, some of which fail at any step of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lore_etl.core.errors import Busy
from lore_etl.core.progress import NOBODY
from lore_etl.pipeline.sync import sync
from lore_server.app import App
from lore_server.contract import Contract
from lore_server.owner.across import Across
from tests.harness.evaluation import commit
from tests.harness.projects import write_project

PROJECTS = {
    "port": {
        "docs/tide.md": "# Tides\n\nThe harbour is closed at low tide.\n",
        "tide.py": "class Harbour:\n    pass\n",
    },
    "town": {"README.md": "# Harbour\n\nThe harbour is closed for the ferry at night.\n"},
}
QUESTION = {"query": "when is the harbour closed"}


@pytest.fixture
def apps(tmp_path: Path, open_app: Callable[..., App]) -> dict[str, App]:
    apps = {name: open_app(write_project(tmp_path / name, files)) for name, files in PROJECTS.items()}
    for app in apps.values():
        sync(app.index)
    return apps


class Holding:
    """Hands out the applications of projects; one of them is in use elsewhere from a certain time on."""

    def __init__(self, apps: dict[str, App], used: str, at: int) -> None:
        self._apps, self._used, self._left = apps, used, at

    @contextmanager
    def __call__(self, name: str) -> Iterator[App]:
        if name == self._used:
            self._left -= 1
            if self._left < 0:
                raise Busy("Another process uses this index.")
        yield self._apps[name]


@pytest.mark.parametrize("used", [*PROJECTS])
@pytest.mark.parametrize("step", range(6))
def test_a_project_that_fails_at_any_step_of_a_search_costs_only_itself(
    apps: dict[str, App], contract: Contract, used: str, step: int
) -> None:
    across = Across(contract, Holding(apps, used, step))

    reply = across.call([*apps], "query_documents", QUESTION, NOBODY)

    across.close()
    found = {one["project"] for one in reply["results"]}
    assert found == {*apps} or (found == {*apps} - {used} and reply["degraded"] == f"Not searched: {used} (BUSY)")
    assert "truncated" not in reply
    assert (step == 0) <= ("degraded" in reply)


@pytest.mark.parametrize("used", [*PROJECTS])
@pytest.mark.parametrize("step", range(4))
def test_a_project_that_fails_at_any_step_of_a_question_costs_only_itself(
    apps: dict[str, App], contract: Contract, used: str, step: int
) -> None:
    across = Across(contract, Holding(apps, used, step))

    reply = across.call([*apps], "ask_knowledge_base", QUESTION, NOBODY)

    across.close()
    assert reply["found"]
    assert (used in {one["project"] for one in reply["citations"]}) <= (step > 1)


def test_a_search_of_which_all_projects_fail_fails(apps: dict[str, App], contract: Contract) -> None:
    across = Across(contract, Holding(apps, "port", 1))

    with pytest.raises(Busy):
        across.call(["port"], "query_documents", QUESTION, NOBODY)

    across.close()


def test_a_search_that_finds_nothing_tells_the_state_of_the_index(apps: dict[str, App], contract: Contract) -> None:
    across = Across(contract, Holding(apps, "", 0))
    for app in apps.values():
        write_project(app.index.root, {"docs/new.md": "# New\n\nNot yet indexed.\n"})

    reply = across.call([*apps], "query_documents", {"query": "zzyzx"}, NOBODY)

    across.close()
    assert (reply["results"], reply["freshness"]["state"]) == ([], "stale")


def test_the_freshness_of_a_search_describes_all_projects_that_were_searched(
    apps: dict[str, App], contract: Contract
) -> None:
    across = Across(contract, Holding(apps, "", 0))
    for number, app in enumerate(apps.values(), start=1):
        commit(app.index.root, "first")
        write_project(app.index.root, {f"docs/new{each}.md": "# New\n\nNot yet indexed.\n" for each in range(number)})

    reply = across.call([*apps], "query_documents", QUESTION, NOBODY)

    across.close()
    assert {one["project"] for one in reply["results"]} == {*apps}
    # no branch, commit or time, which would be those of one project
    assert reply["freshness"] == {"state": "stale", "changed_files": 3}
