"""Changes of files just after Lore looked at them: the watcher's event comes late, or there was no watcher."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import anyio.from_thread
import pytest

from lore_etl.files.scan import Scan
from lore_server.app import App
from lore_server.owner.process import watch
from lore_server.query import freshness
from lore_server.query.freshness import Freshness
from tests.harness.calls import Opener
from tests.harness.owners import wait_until
from tests.harness.projects import settle, write_project

pytestmark = pytest.mark.later

KNOWLEDGE = "@lore/knowledge/lanterns.md"


@pytest.fixture
def app(tmp_path: Path, open_app: Opener) -> App:
    """Return a project with a page and a document of an agent, both indexed."""
    root = write_project(tmp_path / "project", {"docs/zebras.md": "# Zebras\n\nThey have stripes.\n"}).resolve()
    app = open_app(root, home=tmp_path / "home")
    chapters = [{"title": "Notes", "content": "Lanterns burn whale oil."}]
    app.call("create_knowledge_file", {"filename": "lanterns", "title": "Lanterns", "chapters": chapters})
    app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})
    assert set(app.index.catalogue.stamps()) == {"docs/zebras.md", KNOWLEDGE}
    return app


def test_a_change_noticed_during_a_check_is_found_by_the_next_check(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    app.freshness.watched = True
    scan = app.index.files.scan

    def scan_before_a_change() -> Scan:
        found = scan()
        write_project(app.index.root, {"docs/zebras.md": "# Zebras\n\nThey have black stripes.\n"})
        app.freshness.notice()
        return found

    monkeypatch.setattr(app.index.files, "scan", scan_before_a_change)

    assert app.freshness.changed_files() == set()
    assert app.freshness.changed_files() == {"docs/zebras.md"}


class Looked(Freshness):
    """A Freshness that does something once, just after a look at the files."""

    def __init__(self, app: App, then: Callable[[], None]) -> None:
        super().__init__(app.index)
        self.then: Callable[[], None] | None = then

    def changed_files(self) -> frozenset[str]:
        found = super().changed_files()
        then, self.then = self.then, None
        if then is not None:
            then()
        return found


@contextmanager
def watching(app: App) -> Iterator[None]:
    """Watch the project's files in another thread, as an owner does."""
    with anyio.from_thread.start_blocking_portal() as portal:
        stop = portal.call(anyio.Event)
        watched = portal.start_task_soon(watch, app, stop)
        try:
            yield
        finally:
            portal.call(stop.set)
            watched.result()


def test_an_edit_before_its_folder_is_watched_counts(app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, away = tmp_path / "home", tmp_path / "away"
    is_watched, folders = threading.Event(), app.index.files.folders
    document = folders()[-1] / KNOWLEDGE.removeprefix("@lore/")

    def folders_watched() -> list[Path]:
        found = folders()
        is_watched.set()
        return found

    def edit() -> None:
        document.write_text(document.read_text(encoding="utf-8").replace("whale oil", "paraffin"), encoding="utf-8")

    home.rename(away)
    settle(tmp_path)
    app.freshness = Looked(app, edit)
    monkeypatch.setattr(app.index.files, "folders", folders_watched)
    with watching(app):
        assert is_watched.wait(120)
        away.rename(home)

        wait_until(lambda: bool(app.index.keywords.search("paraffin", 1)))


def found(app: App, word: str) -> bool:
    return bool(app.index.keywords.search(word, 1))


def found_after_an_edit(app: App, page: Path, word: str) -> bool:
    """Edit a page, and return whether it is found within a second: an edit before the watcher runs is not reported."""
    page.write_text(f"# Zebras\n\nThe {word} runs.\n", encoding="utf-8")
    deadline = time.monotonic() + 1
    while not (is_found := found(app, word)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return is_found


def test_a_change_that_the_watcher_misses_is_noticed_at_once_in_a_small_project(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a write through a mapping of the file, or through another hard link."""
    monkeypatch.setattr(freshness, "LONGEST_SECONDS", 3_600.0)
    monkeypatch.setattr(freshness, "QUICK_SECONDS", 3_600.0)  # a check on a busy machine
    app.freshness.watched = True
    settle(app.index.root)
    assert app.freshness.changed_files() == frozenset()

    write_project(app.index.root, {"docs/unreported.md": "# Unreported\n"})

    wait_until(lambda: app.freshness.changed_files() == {"docs/unreported.md"})


def test_a_file_that_was_just_written_is_looked_at_again(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a clock tick of its change it does not count as changed, and no other event follows."""
    check_rarely(monkeypatch)
    app.freshness.watched = True
    settle(app.index.root)
    assert app.freshness.changed_files() == frozenset()

    page = app.index.root / "docs/zebras.md"
    page.write_text("# Zebras\n\nThey have no stripes.\n", encoding="utf-8")
    app.index.files.notice([str(page)])
    app.freshness.changed_files()

    wait_until(lambda: app.freshness.changed_files() == {"docs/zebras.md"})


def check_rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rely on the watcher, as in a large project."""
    monkeypatch.setattr(freshness, "QUICK_SECONDS", 0.0)
    monkeypatch.setattr(freshness, "LONGEST_SECONDS", 3_600.0)  # a busy machine reaches the next check of all files


class Listed:
    """Counts the folders of a project that are listed."""

    def __init__(self, root: Path) -> None:
        self._root, self.count = root, -1
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "os.scandir" and self.count >= 0 and isinstance(arguments[0], int):
            self.count += Path(f"/proc/self/fd/{arguments[0]}").readlink().is_relative_to(self._root)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the path of a descriptor in /proc")
def test_a_watched_edit_is_synced_without_listing_the_project(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    check_rarely(monkeypatch)
    page = app.index.root / "docs/zebras.md"
    write_project(app.index.root, {f"folder{n}/page.md": f"# Page {n}\n" for n in range(20)})
    app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})
    listed = Listed(app.index.root)
    app.freshness.changed_files()
    with watching(app):
        wait_until(lambda: found_after_an_edit(app, page, "watcher"))
        wait_until(lambda: app.jobs.running_id() is None)

        rounds = []
        for word in ("graze", "gallop", "slumber"):  # a slow machine may list once more for what happened before
            listed.count = 0
            page.write_text(f"# Zebras\n\nThey {word}.\n", encoding="utf-8")
            wait_until(lambda word=word: found(app, word))  # type: ignore[misc]
            wait_until(lambda: app.jobs.running_id() is None)
            rounds.append((app.freshness.changed_files(), listed.count))

        assert (frozenset(), 0) in rounds
        listed.count = -1
