"""After any changes and interrupted or killed syncs, the index equals a fresh index of the same tree."""

import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from lore_etl.pipeline.sync import sync
from tests.harness.faults import Faults, faults, has_compiler
from tests.harness.indexes import assert_equals_fresh
from tests.harness.models import HashModel
from tests.harness.projects import open_index, settle
from tests.integration.test_interruption import StopAt, Stopped

PATHS = st.sampled_from(
    ["README.md", "docs/a.md", "docs/b.md", "issues/1.md", "CHANGELOG.md", "pkg/__init__.py", "pkg/base.py",
     "pkg/child.py", "other/child.py", "web/view.mjs", "web/base.mjs", "notes.txt", "picture.png"]
)  # fmt: skip
NAMES = st.sampled_from(["Base", "Child", "Ferry"])
PROSE = st.lists(
    st.sampled_from(
        ["# Head\n", "## Part\n", "ferry at dawn\n", "\n", "- item\n", "```\ncode\n```\n", "word " * 80 + "\n"]
    ),
    max_size=8,
).map("".join)
PYTHON = st.builds(
    lambda name, base, body, where: f"from {where} import {base}\n\n\nclass {name}({base}):\n    x = {body}\n",
    NAMES, NAMES, st.integers(0, 3), st.sampled_from(["base", ".base", "pkg.base", "pkg"]),
)  # fmt: skip
SCRIPT = st.builds(
    lambda name, base: f"import {{{base}}} from './base.mjs';\nexport class {name} extends {base} {{ run() {{ }} }}\n",
    NAMES, NAMES,
)  # fmt: skip
ODD = st.sampled_from(
    ["", "\n", "---\ntitle: x\n---\n# T\n\ntext\n", "---\n[broken\n---\ntext\n", "class Base:\n  def\n"]
)
TEXTS = PROSE | PYTHON | SCRIPT | ODD
WRITES = 400  # more than most syncs of such a tree have


class Project(RuleBasedStateMachine):
    """A changing tree and an index that is synced with it."""

    faulty: ClassVar[Faults | None] = None  # without a compiler

    @initialize()
    def start(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="tree-")).resolve()
        self.model = HashModel()
        self.index = open_index(self.root, model=self.model)
        self.history: list[dict[str, str]] = [{}]

    @property
    def files(self) -> dict[str, str]:
        return self.history[-1]

    def become(self, files: dict[str, str]) -> None:
        for path in self.files.keys() - files.keys():
            (self.root / path).unlink()
        for path, text in files.items():
            if self.files.get(path) != text:
                (self.root / path).parent.mkdir(exist_ok=True)
                (self.root / path).write_text(text, encoding="utf-8")
        self.history.append(files)

    @rule(path=PATHS, text=TEXTS)
    def write(self, path: str, text: str) -> None:
        self.become({**self.files, path: text})

    @precondition(lambda self: self.files)
    @rule(data=st.data(), line=st.sampled_from(["\n", "new words\n", "# comment\n"]))
    def insert_at_the_top(self, data: st.DataObject, line: str) -> None:
        path = data.draw(st.sampled_from(sorted(self.files)))
        self.become({**self.files, path: line + self.files[path]})

    @precondition(lambda self: self.files)
    @rule(data=st.data(), to=PATHS)
    def rename(self, data: st.DataObject, to: str) -> None:
        path = data.draw(st.sampled_from(sorted(self.files)))
        text = self.files[path]
        self.become({**{file: kept for file, kept in self.files.items() if file != path}, to: text})

    @precondition(lambda self: self.files)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        gone = data.draw(st.sampled_from(sorted(self.files)))
        self.become({path: text for path, text in self.files.items() if path != gone})

    @rule(data=st.data())
    def revert(self, data: st.DataObject) -> None:
        self.become(data.draw(st.sampled_from(self.history)))

    @rule()
    def reopen(self) -> None:
        self.index.close()
        self.index = open_index(self.root, model=self.model)

    @rule(step=st.integers(1, 20), reopened=st.booleans())
    def sync_that_is_cut_short(self, step: int, reopened: bool) -> None:
        settle(self.root)
        try:
            sync(self.index, StopAt(step), allow_mass_delete=True)
        except Stopped:
            if reopened:
                self.reopen()

    @precondition(lambda self: self.faulty)
    @rule(at=st.integers(1, WRITES), mode=st.sampled_from(["killed before", "killed after"]))
    def sync_that_is_killed(self, at: int, mode: str) -> None:
        """Another process syncs, and is killed at one of its writes if it has so many."""
        assert self.faulty is not None
        settle(self.root)
        self.index.close()
        outcome = self.faulty.run("sync", self.root, below=self.root, at=at, mode=mode)
        assert outcome.code in (0, -signal.SIGKILL) or "GuardTripped" in outcome.error, outcome
        self.index = open_index(self.root, model=self.model)

    @rule()
    def sync(self) -> None:
        settle(self.root)
        sync(self.index, allow_mass_delete=True)
        assert_equals_fresh(self.index)

    def teardown(self) -> None:
        if hasattr(self, "root"):
            self.sync()
            self.index.close()
            shutil.rmtree(self.root)


@pytest.fixture(scope="module", autouse=True)
def killable_syncs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    if not has_compiler():
        yield
        return
    with faults(tmp_path_factory.mktemp("faults"), "tests.harness.faulty_index") as Project.faulty:
        yield


@pytest.mark.usefixtures("prepared_python")
@pytest.mark.promise(11)
@pytest.mark.parametrize(
    ("part", "histories", "steps"),
    [(0, 8, 12), *(pytest.param(part, 50, 60, marks=pytest.mark.long) for part in range(1, 21))],
)
def test_an_index_equals_a_fresh_one_after_any_history(part: int, histories: int, steps: int) -> None:
    quick = settings(
        max_examples=histories, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck),
        derandomize=part == 0, database=None,
    )  # fmt: skip
    run_state_machine_as_test(seed(part)(Project) if part else Project, settings=quick)
