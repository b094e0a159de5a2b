"""After any changes and interrupted syncs, the index equals a fresh index of the same tree."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from lore_etl.pipeline.sync import sync
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


class Project(RuleBasedStateMachine):
    """A changing tree and an index that is synced with it."""

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


def explore(examples: int, steps: int) -> None:
    quick = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck),
        derandomize=True,
    )  # fmt: skip
    run_state_machine_as_test(Project, settings=quick)


@pytest.mark.promise(11)
def test_an_incrementally_updated_index_equals_a_fresh_index() -> None:
    explore(examples=8, steps=12)


@pytest.mark.long
@pytest.mark.promise(11)
def test_an_index_updated_over_a_long_time_equals_a_fresh_index() -> None:
    explore(examples=200, steps=40)
