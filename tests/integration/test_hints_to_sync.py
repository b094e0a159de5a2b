"""After an error or a remark that says to run `lore sync`, one sync cures it: every such text has a case.

Each case brings Lore into the state, reads the text, syncs once, and asks again: the text must be gone.
"""

import ast
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lore_etl.config.settings import Settings
from lore_etl.core.errors import LoreError
from lore_etl.files.conversion.sandbox import SyncBudget
from lore_etl.index import KEYWORDS, LoadLimits
from lore_etl.pipeline.sync import sync
from lore_etl.stores.claim import CATALOGUE
from lore_etl.stores.integrity import mark
from lore_server.app import App
from lore_server.contract import load_contract
from lore_server.operations.table import render
from lore_server.replies.problem import error_record
from lore_server.replies.reply_text import error_text
from tests.harness.commands import run_lore
from tests.harness.damaging import flip, turn_cached_vectors_around
from tests.harness.models import HashModel
from tests.harness.office_files import epub
from tests.harness.processes import run
from tests.harness.projects import ROOT, open_index, write_project
from tests.integration.test_vector_packs import FILES as PAGES
from tests.integration.test_vector_packs import QUESTION, forged
from tests.integration.test_vector_packs import synced as synced_with

pytestmark = pytest.mark.usefixtures("prepared_python")
FILES = {
    **PAGES,
    "src/lamps.py": "class Lamp:\n    '''Shines.'''\n",
    "PRPs/executed/PRP-1-lamp.md": "# PRP-1: Lamp\n\nA lamp for the ferry.\n",
}
KILLED = """
import os, sys
from pathlib import Path
from lore_etl.config.settings import Settings
from lore_server.app import App
from lore_server.contract import load_contract
from tests.harness.models import HashEmbedder, HashModel

class Deadly(HashEmbedder):
    def embed(self, texts):
        os._exit(9)

model = HashModel()
model.embedder = Deadly()
App(Path(sys.argv[1]), Settings(), load_contract(), model).call(
    "manage_knowledge_base", {"action": "sync", "wait_seconds": 600})
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(tmp_path.resolve() / "project", FILES)


def app(project: Path, model: HashModel | None = None) -> Any:
    return closing(App(project, Settings(), load_contract(), model or HashModel()))


def told(project: Path, operation: str, arguments: dict[str, Any], model: HashModel | None = None) -> str:
    """Return what a new process tells an agent that calls an operation: the reply, or the error with its hint."""
    with app(project, model) as opened:
        try:
            return render(operation, opened.call(operation, arguments)).whole()
        except LoreError as error:
            return error_text(error_record(error))


def synced(project: Path, model: HashModel | None = None) -> str:
    return told(project, "manage_knowledge_base", {"action": "sync", "wait_seconds": 600}, model)


def asking(operation: str, **arguments: Any) -> Callable[[Path], str]:
    """Return a function that returns what an agent is told that calls an operation."""

    def ask(project: Path) -> str:
        return told(project, operation, arguments)

    ask.__name__ = operation
    return ask


search, memories = asking("query_documents", query="ferry"), asking("search_memories", query="ferry")
health, verification = asking("healthcheck"), asking("manage_database", action="verify")
last_job, init = asking("get_job", id="latest"), asking("init_project", sync=False)


def adoption(project: Path) -> str:
    return run_lore("adopt", cwd=project).stderr


def nothing(project: Path) -> None:
    """Leave the project without an index."""


def delete(project: Path) -> None:
    synced(project)
    told(project, "manage_knowledge_base", {"action": "delete", "confirm": True, "wait_seconds": 600})


def use_another_model(project: Path) -> None:
    synced(project, HashModel("another"))


def refuse_a_page(project: Path) -> None:
    """Fail to embed one page, which leaves the sync unfinished."""
    assert "refused" in synced(project, HashModel(refuses=["number 7"]))


def kill_a_build(project: Path) -> None:
    edit(project)
    assert run(KILLED, project).returncode == 9


def damaged(damage: Callable[[Path], object], name: str) -> Callable[[Path], None]:
    """Return a function that syncs a project, and damages its index folder."""

    def reach(project: Path) -> None:
        synced(project)
        damage(project / ".lore")

    reach.__name__ = name
    return reach


def one_of(lore: Path, pattern: str) -> Path:
    return next(lore.glob(pattern))


flip_words = damaged(lambda lore: flip(one_of(lore, f"{KEYWORDS}/*.store")), "flip_words")
mark_words = damaged(lambda lore: mark(lore / KEYWORDS), "mark_words")
remove_words = damaged(lambda lore: shutil.rmtree(lore / KEYWORDS), "remove_words")
flip_vectors = damaged(lambda lore: flip(one_of(lore, "vectors-*/**/chroma.sqlite3")), "flip_vectors")
turn_vectors = damaged(turn_cached_vectors_around, "turn_vectors")
remove_vectors = damaged(lambda lore: shutil.rmtree(one_of(lore, "vectors-*")), "remove_vectors")
plant_a_link = damaged(lambda lore: (lore / "planted").symlink_to("/etc/hostname"), "plant_a_link")


def flip_catalogue(project: Path) -> None:
    synced(project)
    file = project / ".lore" / CATALOGUE
    data = file.read_bytes()
    flip(file, (data.index(b"ferry number 4") + 0.5) / len(data))  # in a record that the search reads


def search_a_flipped_catalogue(project: Path) -> None:
    flip_catalogue(project)
    search(project)


def write_another_version(project: Path) -> None:
    synced(project)
    with closing(sqlite3.connect(project / ".lore" / CATALOGUE)) as connection, connection:
        connection.execute("PRAGMA user_version = 9999")


def delete_the_index(project: Path) -> None:
    shutil.rmtree(project / ".lore")


def take_forged_vectors(project: Path) -> None:
    """Take shared vectors of which chance has compared none."""
    target = project.parent / "shared"
    synced_with(write_project(project.parent / "origin", PAGES), str(target), writes=True)
    forged(target)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lore_etl.pipeline.embed.COMPARED", 0)
        synced_with(project, str(target))
    told(project, "query_documents", {"query": QUESTION})


def edit(project: Path) -> None:
    synced(project)
    write_project(project, {"docs/3.md": "# Page 3\n\nThe ferry is late.\n"})


def edit_a_prp(project: Path) -> None:
    (project / ".ce").mkdir()
    synced(project)
    write_project(project, {"PRPs/executed/PRP-1-lamp.md": "# PRP-1: Lamp\n\nTwo lamps for the ferry.\n"})


@dataclass(frozen=True)
class Case:
    """A file of the product with a text in it, a state in which it is told, how it is told, and what to do first."""

    file: str
    text: str
    reach: Callable[[Path], None]
    ask: Callable[[Path], str]
    first: Callable[[Path], None] = nothing

    def __str__(self) -> str:
        return f"{Path(self.file).stem}-{self.reach.__name__}-{self.ask.__name__}"


ERRORS, HEALTH = "etl/lore_etl/core/errors.py", "server/lore_server/services/health.py"
MISSING = "Run `lore sync`, or call manage_knowledge_base with action=sync."
MISMATCH = "Run `lore sync` to build new vectors next to the old ones and then switch."
DAMAGED = "Run `lore sync` to rebuild the damaged store from the files and cached vectors."
ANY = "Run `lore sync`."
FRESHNESS = " (`lore sync`, or manage_knowledge_base with action=sync)"
CASES = [
    Case(ERRORS, MISSING, nothing, search),
    Case(ERRORS, MISSING, nothing, verification),
    Case(ERRORS, MISSING, nothing, memories),
    Case(ERRORS, MISSING, delete, search),
    Case(ERRORS, MISMATCH, use_another_model, search),
    Case(ERRORS, DAMAGED, flip_words, search),
    Case(ERRORS, DAMAGED, mark_words, search),
    Case(ERRORS, DAMAGED, flip_vectors, search),
    Case(ERRORS, DAMAGED, flip_catalogue, search),
    Case("etl/lore_etl/stores/catalogue_file.py", "Run `lore sync` to rebuild it from the files and cached vectors.",
         write_another_version, search),
    Case("etl/lore_etl/stores/claim.py", "Delete {}/, then run `lore sync`: everything in it can be rebuilt.",
         plant_a_link, search, delete_the_index),
    Case("etl/lore_etl/pipeline/verify.py", "Run `lore sync`, then call again.", kill_a_build, verification),
    Case("server/lore_server/services/job.py", "Run `lore sync` to continue the build.", kill_a_build, last_job),
    Case("server/lore_server/services/verification.py", "Damaged: {}. Run `lore sync`, which repairs it.", turn_vectors,
         verification),
    Case("server/lore_server/services/verification.py", "Damaged: {}. Run `lore sync`, which repairs it.", flip_words,
         verification),
    Case(HEALTH, ANY, nothing, health),
    Case(HEALTH, ANY, refuse_a_page, health),
    Case(HEALTH, DAMAGED, flip_words, health),
    Case(HEALTH, DAMAGED, search_a_flipped_catalogue, health),
    Case(HEALTH, "Run `lore sync` to rebuild it from cached vectors.", remove_vectors, health),
    Case(HEALTH, "Run `lore sync` to build new ones.", use_another_model, health),
    Case(HEALTH, "Run `lore sync` to rebuild it.", remove_words, health),
    Case("server/lore_server/query/retrieve.py",
         "Keyword search only: shared vectors are not those of their texts. Run `lore sync` to compute them again.",
         take_forged_vectors, search),
    Case("server/lore_server/framework/index_file.py",
         "{target} has changed since the index was built: run `lore sync`.", edit_a_prp, init),
    Case("server/lore_server/replies/reply_text.py", FRESHNESS, edit, search),
    Case("server/lore_server/replies/reply_text.py", FRESHNESS, refuse_a_page, search),
    Case("server/lore_server/cli/owner_commands.py", ANY, nothing, adoption),
]  # fmt: skip
ELSEWHERE = {
    "etl/lore_etl/pipeline/extraction.py": "test_a_document_that_waits_is_converted_by_one_more_sync",
    "etl/lore_etl/models/embedder.py": "tests/integration/test_compiled_models.py",
    "server/lore_server/framework/index_file.py": "tests/integration/test_init.py",
    "server/lore_server/cli/library_commands.py": "tests/e2e/test_cli.py",
}
"""Files whose texts have a test of their own, and where it is."""
NO_ERRORS = {
    "etl/lore_etl/stores/claim.py": "# Written by Lore: everything here can be rebuilt by `lore sync`.\n*\n",
    "server/lore_server/replies/render_knowledge.py": "Next: lore sync",
}
"""Texts that say what a sync does, not that something is wrong."""


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.promise(30)
def test_one_sync_cures(project: Path, case: Case) -> None:
    hint = re.compile(".*".join(map(re.escape, re.split(r"\{\w*\}", case.text))))
    case.reach(project)
    assert hint.search(case.ask(project))

    case.first(project)
    report = synced(project)

    assert not hint.search(case.ask(project)), report
    assert "lore sync" not in health(project) + search(project) + verification(project)


def test_a_document_that_waits_is_converted_by_one_more_sync(tmp_path: Path) -> None:
    project = write_project(tmp_path, {f"{name}.epub": epub({"Storage": "Rows."}) for name in "ab"})
    with closing(open_index(project, limits=LoadLimits(conversion=SyncBudget(seconds=0.001)))) as index:
        first, second = sync(index).warnings, sync(index).warnings

    assert [re.search("Run `lore sync` again", " ".join(said)) is None for said in (first, second)] == [False, True]


def texts(tree: ast.AST) -> Iterator[str]:
    """Yield the texts in a module that name the command, with `{}` for values; without its docstrings."""
    prose = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body and isinstance(node.body[0], ast.Expr)
    }  # fmt: skip
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    left_out = prose | parts
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            text = node.value
        else:
            continue
        if "lore sync" in text:
            yield text


def test_every_text_that_says_to_sync_has_a_case() -> None:
    found = {
        (str(path.relative_to(ROOT)), text)
        for package in ("etl/lore_etl", "server/lore_server")
        for path in (ROOT / package).rglob("*.py")
        for text in texts(ast.parse(path.read_text(encoding="utf-8")))
    }
    known = {(case.file, case.text) for case in CASES if (case.file, case.text) in found} | set(NO_ERRORS.items())

    assert {(file, text) for file, text in found - known if file not in ELSEWHERE} == set()
    assert known <= found
    assert ELSEWHERE.keys() <= {file for file, _ in found}
