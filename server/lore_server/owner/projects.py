"""Own several indexes in one process: each is opened on first use, and closed when idle, or if too many are open."""

import hashlib
import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import anyio
from anyio import from_thread, lowlevel, to_thread
from anyio.abc import TaskGroup, TaskStatus
from anyio.lowlevel import EventLoopToken

from lore_etl.config.project import CONFIG_NAME, INDEX_NAME, place_of
from lore_etl.config.settings import EmbeddingSettings
from lore_etl.core.errors import Busy, LoreError, NotFound, StorageError, UsageError, os_errors_as
from lore_etl.core.json_types import JSON
from lore_etl.core.progress import Listener
from lore_etl.models.embedder import SharedModel
from lore_etl.stores.owner_file import SERVE_MANY
from lore_etl.system.processes import release_unused_memory
from lore_server.app import App
from lore_server.contract import Contract
from lore_server.execution.threads import PROJECTS
from lore_server.owner.across import Across
from lore_server.owner.find import make_way
from lore_server.owner.listen import Connections, until_quiet
from lore_server.owner.process import CLOSE_SECONDS, MOST_OPEN, Owner

log = logging.getLogger(__name__)
MARKS = (CONFIG_NAME, ".git", INDEX_NAME)  # a folder with one of them is a project
AT = "/projects/"
PATIENCE_SECONDS = 2.0  # with an owner of a project that others use: a question over all projects waits for each


def read_projects(where: Path) -> dict[str, Path]:
    """Return the projects by name: those in a folder, or in a file with a path a line. Raises UsageError."""
    if where.is_dir():  # unlike Path's, os.path.exists is False in a folder of another user, such as `lost+found`
        found = [one for one in sorted(where.iterdir()) if any(os.path.exists(one / mark) for mark in MARKS)]  # noqa: PTH110
        roots = [one.resolve() for one in found if not one.is_symlink()]
    else:
        with os_errors_as(UsageError, f"Cannot read the list of projects {where}"):
            lines = [line.strip() for line in where.read_text(encoding="utf-8", errors="surrogateescape").splitlines()]
        # unlike Path's, this expanduser leaves the name of an unknown user as it is
        named = (Path(os.path.expanduser(line)) for line in lines if line and not line.startswith("#"))  # noqa: PTH111
        roots = list(dict.fromkeys((where.parent / one).resolve() for one in named))
    if not roots:
        marks = ", ".join(MARKS)
        raise UsageError(f"{where} names no project.", f"Name one folder a line, or a folder of projects ({marks}).")
    return named_apart(roots)


def named_apart(roots: Sequence[Path]) -> dict[str, Path]:
    """Return the projects by the names of their folders, with those of parents where only they differ."""
    depths = dict.fromkeys(roots, 1)
    while True:
        names = {root: _name(root, depth) for root, depth in depths.items()}
        counts = Counter(names.values())
        same = [root for root in roots if counts[names[root]] > 1]
        if not same:
            return {name: root for root, name in names.items()}
        for root in same:
            depths[root] += 1


def _name(root: Path, depth: int) -> str:
    """Return the last parts of a path; a digest is added where even the whole path has another one's name."""
    parts = root.parts[1:]
    digest = f".{hashlib.sha256(os.fsencode(root)).hexdigest()[:8]}" if depth > len(parts) else ""
    name = ".".join(parts[-depth:]).encode("utf-8", "replace").decode()  # replies are UTF-8, paths need not be
    return name.replace(",", "_") + digest  # in an address, a comma separates names


class Project:
    """A project of a server, with its application while it is open, and the reason why it cannot be opened."""

    def __init__(self, name: str, root: Path) -> None:
        self.name, self.root = name, root
        self.app: App | None = None
        self.problem: LoreError | None = None if root.is_dir() else _missing(name)
        self.uses = 0
        self.used_at = 0.0
        self.turn = anyio.Lock()
        self.connections = Connections()
        self.ended = anyio.Event()  # set while the index is closed
        self.ended.set()

    @property
    def is_free(self) -> bool:
        is_used = self.uses or self.connections.clients
        return not is_used and self.app is not None and not self.app.jobs.running_id()

    @property
    def state(self) -> str:
        """Return whether the project is `open` or `closed`, or the code of the error that prevents it."""
        return self.problem.code if self.problem else "open" if self.app else "closed"


class Projects:
    """The projects of one server, by name. Its calls are about those in `PROJECTS`, or about all of them."""

    def __init__(
        self, roots: Mapping[str, Path], config: Path | None, contract: Contract, most_open: int = MOST_OPEN
    ) -> None:
        self.all = {name: Project(name, root) for name, root in roots.items()}
        self.address = ""
        self._config = config
        self._most_open = most_open
        self._is_ending = False
        self._models: dict[str, SharedModel] = {}
        self._guard = threading.Lock()
        self._across = Across(contract, self.hold)
        self._tasks: TaskGroup | None = None
        self._loop: EventLoopToken | None = None

    async def run(self, serve: Callable[[], Awaitable[None]]) -> None:
        self._loop = lowlevel.current_token()
        to_thread.current_default_thread_limiter().total_tokens += self._most_open  # each keeps one to watch
        async with anyio.create_task_group() as self._tasks:
            await serve()
            self._is_ending = True
            for project in self.all.values():
                project.connections.stopping.set()
        self._across.close()

    def states(self) -> dict[str, str]:
        return {name: project.state for name, project in self.all.items()}

    def call(self, operation: str, arguments: JSON, listener: Listener) -> JSON:
        """Run an operation in the chosen project, or in several. Raises LoreError."""
        names = PROJECTS.get() or tuple(self.all)
        if len(names) != 1:
            return self._across.call(names, operation, arguments, listener)
        with self.hold(names[0]) as app:
            return app.call(operation, arguments, listener)

    @contextmanager
    def hold(self, name: str) -> Iterator[App]:
        """Keep a project open, from a worker thread. Raises LoreError if it cannot be opened."""
        project = self.all[name]
        app = self._take(project) or from_thread.run(self._enter, project, token=self._loop)
        try:
            yield app
        finally:
            with self._guard:
                project.uses -= 1
                project.used_at = time.monotonic()

    async def _enter(self, project: Project) -> App:
        with anyio.CancelScope(shield=True):  # in the scope of a caller that has left, anyio would wait forever
            async with project.turn:
                if project.app is None:
                    await self._open(project)
                app = self._take(project)
        assert app is not None
        return app

    def _take(self, project: Project) -> App | None:
        with self._guard:
            project.uses += project.app is not None
            return project.app

    async def _open(self, project: Project) -> None:
        await project.ended.wait()
        self._close_oldest()
        try:
            owner = await to_thread.run_sync(self._owner, project)
            if self._is_ending:
                await to_thread.run_sync(owner.close)
                raise Busy("The server is stopping.")
            project.ended = anyio.Event()
            assert self._tasks is not None
            await self._tasks.start(self._own, project, owner)
        except LoreError as error:
            project.problem = error
            raise
        project.problem = None

    def _close_oldest(self) -> None:
        present = [project for project in self.all.values() if project.app is not None]
        with self._guard:
            free = [project for project in present if project.is_free]
            if len(present) >= self._most_open and free:
                oldest = min(free, key=lambda project: project.used_at)
                oldest.app = None
                oldest.connections.stopping.set()

    def _owner(self, project: Project) -> Owner:
        if not project.root.is_dir():
            raise _missing(project.name)
        make_way(place_of(project.root, self._config), PATIENCE_SECONDS)
        return Owner(project.root, self._config, SERVE_MANY, self._model)

    def _model(self, settings: EmbeddingSettings) -> SharedModel:
        with self._guard:
            return self._models.setdefault(settings.model_dump_json(), SharedModel(settings))

    async def _own(self, project: Project, owner: Owner, *, task_status: TaskStatus[None]) -> None:
        is_open = False

        async def serve(app: App, connections: Connections) -> None:
            nonlocal is_open
            is_open, project.app, project.used_at = True, app, time.monotonic()
            project.connections = connections
            task_status.started()
            if self._is_ending:  # it was being opened when the others were asked to stop
                connections.stopping.set()
            idle_seconds = 60 * owner.settings.owner.idle_minutes

            def is_needed() -> bool:
                return not project.is_free or time.monotonic() < project.used_at + idle_seconds

            await until_quiet(connections, idle_seconds, is_needed)
            with self._guard:
                project.app = None
            with anyio.move_on_after(CLOSE_SECONDS):
                while project.uses:  # calls that run may end before
                    await anyio.sleep(0.05)

        try:
            await owner.run(serve, f"{self.address}{AT}{quote(project.name)}/")
        except Exception as error:
            if not is_open:
                reason = error if isinstance(error, LoreError) else StorageError("The project cannot be opened.")
                raise reason from error
            log.exception("the project %s was closed", project.name)
        finally:
            project.app = None
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(owner.close)
                await to_thread.run_sync(release_unused_memory)
            project.ended.set()


def _missing(name: str) -> LoreError:
    return NotFound(f"There is no folder for the project {name}.", "Correct the list of projects.")
