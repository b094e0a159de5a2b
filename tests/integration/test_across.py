"""A question over several projects, some of which fail at any step of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from lore_etl.core.errors import Busy
from lore_etl.core.json_types import JSON
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
QUESTION = "when is the harbour closed"
Ask = Callable[..., JSON]


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


@pytest.fixture
def ask(apps: dict[str, App], contract: Contract) -> Ask:
    """Return a function that asks projects, of which one is in use elsewhere after some steps."""

    def asked(
        operation: str, query: str = QUESTION, *, used: str = "", steps: int = 0, projects: Iterable[str] = PROJECTS
    ) -> JSON:
        with closing(Across(contract, Holding(apps, used, steps))) as across:
            return across.call([*projects], operation, {"query": query}, NOBODY)

    return asked


@pytest.mark.parametrize("used", [*PROJECTS])
@pytest.mark.parametrize("step", range(6))
def test_a_project_that_fails_at_any_step_of_a_search_costs_only_itself(ask: Ask, used: str, step: int) -> None:
    reply = ask("query_documents", used=used, steps=step)

    found = {one["project"] for one in reply["results"]}
    left_out = found == {*PROJECTS} - {used} and reply["degraded"] == f"Not searched: {used} (BUSY)"
    assert left_out or found == {*PROJECTS}
    assert "truncated" not in reply
    assert (step == 0) <= ("degraded" in reply)


@pytest.mark.parametrize("used", [*PROJECTS])
@pytest.mark.parametrize("step", range(4))
def test_a_project_that_fails_at_any_step_of_a_question_costs_only_itself(ask: Ask, used: str, step: int) -> None:
    reply = ask("ask_knowledge_base", used=used, steps=step)

    assert reply["found"]
    assert (used in {one["project"] for one in reply["citations"]}) <= (step > 1)


def test_a_search_of_which_all_projects_fail_fails(ask: Ask) -> None:
    with pytest.raises(Busy):
        ask("query_documents", used="port", steps=1, projects=["port"])


def test_the_freshness_of_a_search_describes_all_projects_even_if_it_finds_nothing(
    apps: dict[str, App], ask: Ask
) -> None:
    for number, app in enumerate(apps.values(), start=1):
        commit(app.index.root, "first")
        write_project(app.index.root, {f"docs/new{each}.md": "# New\n\nNot yet indexed.\n" for each in range(number)})

    reply, nothing = ask("query_documents"), ask("query_documents", "zzyzx")

    assert {one["project"] for one in reply["results"]} == {*apps}
    # no branch, commit or time, which would be those of one project
    assert reply["freshness"] == {"state": "stale", "changed_files": 3}
    assert (nothing["results"], nothing["freshness"]["state"]) == ([], "stale")
