"""After any sequence of writes, the folder, the history and a plain dictionary agree."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from lore_etl.core.errors import Conflict, DocumentNotFound, FileExists, ProjectNotFound
from lore_server.knowledge.chapter_edit import ChapterName, NewChapter, new_document, update_part
from lore_server.knowledge.reader import DocumentReader
from lore_server.knowledge.store import KnowledgeStore
from tests.harness.knowledge import AGENT, assert_sound, git, is_linear

PROJECTS = st.sampled_from(["app", "App", "git@host:a/b.git"])
NAMES = st.sampled_from(["guide", "notes", "api"])
WORDS = st.text(alphabet="abcé \n#`-", max_size=12).map(lambda text: text.replace("#", "\\#").replace("`", "'"))
Key = tuple[str, str]
Model = dict[Key, str]


def text_of(documents: DocumentReader, project: str, name: str) -> str | None:
    if name == "main":
        main = documents.main(project)
        return main["content"] if main["exists"] else None
    try:
        return documents.document(project, name).document.text
    except (DocumentNotFound, ProjectNotFound):
        return None


class Writers(RuleBasedStateMachine):
    """Compare with a model that has the expected text of every document, now and after every commit."""

    commits = Bundle("commits")

    @initialize()
    def begin(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="lore-"))
        self.store = KnowledgeStore(self.home / "home")
        self.model: Model = {}
        self.count = 0
        self.past: list[tuple[str, Model]] = []

    def teardown(self) -> None:
        if self.past:
            assert is_linear(self.store.home)
            assert_sound(self.store.home)
            for commit, model in self.past[::4]:
                for project, name in {*model, *self.model}:
                    assert text_of(self.store.at(commit), project, name) == model.get((project, name))
        shutil.rmtree(self.home)

    def did(self, commit: str | None) -> object:
        if commit is None:
            return multiple()
        self.count += 1
        self.past.append((commit, dict(self.model)))
        return commit

    def text(self, key: Key) -> str:
        return self.store.reader.document(*key).document.text

    @rule(target=commits, project=PROJECTS, text=WORDS)
    def write_main(self, project: str, text: str) -> object:
        self.model[project, "main"] = text
        return self.did(self.store.write_main(project, text, AGENT)["commit"])

    @rule(target=commits, project=PROJECTS, name=NAMES, text=WORDS)
    def create(self, project: str, name: str, text: str) -> object:
        chapters = (NewChapter("One", text), NewChapter("Two", "two"))
        document = new_document(name, text, (), chapters, self.store.now())
        try:
            written = self.store.create_document(project, name, document, AGENT)
        except FileExists:
            assert (project, name) in self.model
            return multiple()
        assert (project, name) not in self.model
        self.model[project, name] = self.text((project, name))
        return self.did(written["commit"])

    @rule(target=commits, project=PROJECTS, name=NAMES, title=st.sampled_from(["One", "Two"]), text=WORDS)
    def change_chapter(self, project: str, name: str, title: str, text: str) -> object:
        try:
            written = self.store.edit(project, name, update_part(ChapterName(title), text), AGENT)
        except (DocumentNotFound, ProjectNotFound):
            assert (project, name) not in self.model
            return multiple()
        before, now = self.model[project, name], self.text((project, name))
        other = {"One": "## Two", "Two": "## One"}[title]
        assert now.partition(other)[2].partition("## ")[0] == before.partition(other)[2].partition("## ")[0]
        self.model[project, name] = now
        return self.did(written["commit"])

    @rule(target=commits, project=PROJECTS, name=NAMES)
    def delete(self, project: str, name: str) -> object:
        try:
            written = self.store.delete_document(project, name, AGENT)
        except (DocumentNotFound, ProjectNotFound):
            assert (project, name) not in self.model
            return multiple()
        del self.model[project, name]
        return self.did(written["commit"])

    @rule(target=commits, project=PROJECTS)
    def delete_project(self, project: str) -> object:
        try:
            written = self.store.delete_project(project, AGENT)
        except ProjectNotFound:
            assert not any(key[0] == project for key in self.model)
            return multiple()
        self.model = {key: text for key, text in self.model.items() if key[0] != project}
        return self.did(written["commit"])

    @rule(target=commits, commit=consumes(commits))
    def revert(self, commit: str) -> object:
        before = dict(self.model)
        number = next(n for n, (name, _) in enumerate(self.past) if name == commit)
        after, was = self.past[number][1], self.past[number - 1][1] if number else {}
        changed = {key for key in {*after, *was} if after.get(key) != was.get(key)}
        try:
            reverted = self.store.revert(commit, AGENT)
        except Conflict:
            mixed = any(before.get(key) not in (after.get(key), was.get(key)) for key in changed)
            assert mixed or changed != set(before)
            return multiple()
        for project, name in changed:
            key = (project, name)
            if before.get(key) in (after.get(key), was.get(key)):  # no other step changed it
                assert self.content(key) == was.get(key)
            found = self.content(key)
            self.model.pop(key, None)
            if found is not None:
                self.model[key] = found
        return self.did(reverted["commit"])

    @rule()
    def begin_anew(self) -> None:
        self.store = KnowledgeStore(self.home / "home")
        assert not self.store.open()

    def content(self, key: Key) -> str | None:
        return text_of(self.store.reader, *key)

    @invariant()
    def the_folder_is_what_the_model_says(self) -> None:
        found: Model = {}
        for project in self.store.reader.projects():
            if (text := self.content((project.id, "main"))) is not None:
                found[project.id, "main"] = text
            names = [info.filename for info in self.store.listing.documents(project.id)]
            assert names == sorted(names)
            found |= {(project.id, name.removesuffix(".md")): self.text((project.id, name)) for name in names}
        assert found == self.model

    @invariant()
    def the_history_has_every_write_in_order(self) -> None:
        listed = [commit.id for commit in self.store.history.log(limit=1000)]
        assert listed == [commit for commit, _ in reversed(self.past)]
        if self.past:
            assert git(self.store.home, "status", "--porcelain") == ""


TestWriters = Writers.TestCase
TestWriters.settings = settings(max_examples=8, stateful_step_count=15, deadline=None)


@pytest.mark.long
def test_long_sequences_of_writes_agree_with_the_model() -> None:
    run_state_machine_as_test(Writers, settings=settings(max_examples=150, stateful_step_count=40, deadline=None))
