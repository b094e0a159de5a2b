"""The sync from files to stores: unchanged files cost nothing, deleted files disappear everywhere."""

import gc
import gzip
import json
import os
import shutil
import subprocess
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from lore_etl.config.settings import Settings
from lore_etl.core.errors import GuardTripped, IndexMissing, ModelMismatch, ProviderUnavailable
from lore_etl.core.model import SyncReport
from lore_etl.core.progress import silent
from lore_etl.index import Index, LoadLimits
from lore_etl.pipeline.extract import extract
from lore_etl.pipeline.sync import create_only, delete_all, embed_only, sync
from lore_etl.stores import export
from lore_etl.stores.catalogue_rows import ChunkRecord
from lore_server.query.freshness import Freshness
from lore_server.query.parse import parse
from lore_server.query.query_service import QueryService
from lore_server.query.retrieve import retrieve
from tests.harness.faults import has_compiler
from tests.harness.indexes import assert_equals_fresh, fresh_state, state_of, unfindable
from tests.harness.models import HashEmbedder, HashModel
from tests.harness.permissions import without_permission
from tests.harness.processes import run
from tests.harness.projects import SMALL, chunks_of, ids_everywhere, open_index, settle, sync_once, write_project
from tests.harness.refusals import refused
from tests.harness.steps import steps
from tests.harness.trying import often

IN_MEMORY = Path("/dev/shm")
Opened = Callable[..., Index]
PAGE = "The harbour master writes the log of the day.\n" * 10
FILES: dict[str, str | bytes] = {
    "docs/ferry.md": "# Ferry\n\nIt crosses at dawn.\n\n## Berths\n\nEach berth holds one ferry for the night.\n",
    "docs/tide.md": "# Tide\n\nTables of the tide are kept by the harbour master.\n",
    "src/base.py": "class Vessel:\n    '''Anything that floats.'''\n\n    def sail(self):\n        return 'sailing'\n",
    "src/ship.py": "from base import Vessel\n\n\nclass Ship(Vessel):\n    '''Larger than a boat.'''\n",
    "src/liner.py": "from ship import Ship\n\n\nclass Liner(Ship):\n    '''Carries passengers.'''\n",
    "tests/test_ship.py": "def test_a_ship_sails():\n    assert True\n",
    "issues/7.md": "---\ntitle: Ferry late\nstate: open\n---\n# Late\n\nThe ferry was late again.\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(tmp_path / "harbour", FILES)


@pytest.fixture
def index(project: Path, model: HashModel) -> Iterator[Index]:
    with closing(open_index(project, model=model)) as opened:
        yield opened


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Return a function that opens an index of a new project with these files until the end of the test."""
    with ExitStack() as stack:

        def opening(files: Mapping[str, str | bytes], **more: Any) -> Index:
            return stack.enter_context(closing(open_index(write_project(tmp_path / "new", files), **more)))

        yield opening


def edit(index: Index, path: str, content: str | bytes) -> SyncReport:
    write_project(index.root, {path: content})
    return sync(index)


def stamps_below(folder: Path) -> dict[str, tuple[int, int]]:
    """Return size and time of every file except the lock and the owner record, which contain the process id."""
    return {
        str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith("owner.")
    }


def found_sources(index: Index, query: str) -> set[str]:
    return {candidate.chunk.source for candidate in retrieve(index, parse(query), None, 10).found if candidate.keyword}


# --- unchanged files ---------------------------------------------------------------------------------------------


@pytest.mark.requirement("NEO-047")
@pytest.mark.promise(8)
def test_the_first_sync_embeds_every_chunk_and_all_stores_agree(index: Index, model: HashModel) -> None:
    report = sync(index)

    chunks, vectors, words = ids_everywhere(index)
    assert chunks == vectors == words
    assert report.created == report.embedded == len(chunks) == len(model.embedder.embedded)
    assert (report.files, report.failed, report.warnings) == (len(FILES), [], [])
    assert_equals_fresh(index)


@pytest.mark.requirement("KM-047", "NEO-042")
@pytest.mark.promise(10, 13)
def test_later_syncs_embed_and_write_nothing_also_after_a_touch(index: Index, project: Path, model: HashModel) -> None:
    first = sync(index)
    before = stamps_below(project / ".lore")
    model.embedder.embedded.clear()

    second = sync(index)
    assert stamps_below(project / ".lore") == before
    index.close()
    before = stamps_below(project / ".lore")  # closing ends the logs of SQLite
    third = sync_once(project, model=model)

    assert stamps_below(project / ".lore") == before
    assert model.embedder.embedded == []
    for report in (second, third):
        assert (report.created, report.updated, report.deleted, report.embedded) == (0, 0, 0, 0)
        assert report.unchanged == first.created

    os.utime(project / "docs/ferry.md", (1, 1))
    settle(project)
    touched = sync_once(project, model=model)
    assert (touched.created, touched.updated, touched.embedded) == (0, 0, 0)
    assert stamps_below(project / ".lore")[export.CHUNKS] == before[export.CHUNKS]


@pytest.mark.promise(13)
@pytest.mark.parametrize("seconds", [None, 1, 4_000_000_000], ids=["the same", "in 1970", "in 2096"])
def test_an_edit_is_noticed_whatever_its_modification_time(index: Index, project: Path, seconds: int | None) -> None:
    sync(index)
    old = (project / "docs/tide.md").stat()
    text = (project / "docs/tide.md").read_text(encoding="utf-8").replace("harbour", "HARBOUR")
    (project / "docs/tide.md").write_text(text, encoding="utf-8")
    os.utime(project / "docs/tide.md", ns=(old.st_atime_ns, (seconds or 0) * 10**9 or old.st_mtime_ns))
    settle(project)

    assert sync(index).updated == 1
    again = sync(index)
    assert (again.updated, again.embedded) == (0, 0)


JUMPING_CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    static int calls;
    if (!real) real = (int (*)(clockid_t, struct timespec *)) dlsym(RTLD_NEXT, "clock_gettime");
    int code = real(id, now);
    if (id == CLOCK_REALTIME && ++calls > 5) now->tv_sec += atol(getenv("JUMP"));
    return code;
}
"""
SYNC_IN_A_CHILD = """
import sys, time
from pathlib import Path
from lore_etl.pipeline.sync import sync
from tests.harness.projects import open_index
before = time.time()
index = open_index(Path(sys.argv[1]))
print(sync(index).updated, round((time.time() - before) / 3600))
index.close()
"""


@pytest.mark.promise(13)
@pytest.mark.skipif(not has_compiler(), reason="the library that moves the clock is written in C, for Linux")
@pytest.mark.parametrize("hours", often([-24, -1, 1, 24_000], {-24}))
def test_a_clock_that_jumps_during_a_sync_hides_no_change(project: Path, tmp_path: Path, hours: int) -> None:
    (tmp_path / "clock.c").write_text(JUMPING_CLOCK, encoding="utf-8")
    library = str(tmp_path / "clock.so")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, str(tmp_path / "clock.c"), "-ldl"], check=True)
    jumping = {"LD_PRELOAD": library, "JUMP": str(hours * 3600)}

    for number, environment in enumerate((jumping, {}, jumping, jumping)):
        write_project(project, {"docs/tide.md": FILES["docs/tide.md"].replace("Tables", f"Table{number}")})  # type: ignore[arg-type]
        done = run(SYNC_IN_A_CHILD, project, environment=environment)
        assert done.stdout.split() == ["0" if number == 0 else "1", str(hours if environment else 0)], done.stderr

    with closing(open_index(project)) as index:
        assert sync(index).updated == 0
        assert_equals_fresh(index)


LIGHTHOUSES = "\n\n".join(f"## Part {n}\n\nlighthouse {' '.join(f'word{n}x{m}' for m in range(40))}" for n in range(9))


def all_found(index: Index, query: str) -> set[str]:
    return {candidate.chunk.source for candidate in retrieve(index, parse(query), None, 100).found}


def test_a_first_sync_finds_the_most_useful_files_by_keywords_before_it_has_read_the_others(opened: Opened) -> None:
    files = {name: f"# {name}\n\n{LIGHTHOUSES}\n" for name in ("CHANGELOG.md", "docs/guide.md", "issues/1.md")}
    seen: list[tuple[int, set[str], str]] = []
    first = opened(files, limits=LoadLimits(first_words=2))

    def look(stage: str, done: int, total: int) -> None:
        if stage == "reading" and first.catalogue.total():
            seen.append((done, all_found(first, "lighthouse"), Freshness(first).record()["state"]))

    report = sync(first, look)

    assert seen[0] == (1, {"docs/guide.md"}, "partial")
    assert seen[-1][0] == len(files)
    assert (report.created, report.updated) == (first.catalogue.total(), 0)
    assert Freshness(first).record()["state"] == "fresh"
    assert_equals_fresh(first)


def test_a_first_sync_finds_every_file_by_keywords_before_it_writes_the_chunks(opened: Opened) -> None:
    files = {"docs/guide.md": LIGHTHOUSES, "issues/1.md": "# One\n\nThe lighthouse is dark.\n"}
    seen: list[tuple[bool, set[str]]] = []
    first = opened(files, limits=LoadLimits(first_words=8))

    def look(stage: str, done: int, total: int) -> None:
        if stage == "reading" and done == total:
            seen.append(((first.folder / export.CHUNKS).exists(), all_found(first, "lighthouse")))

    sync(first, look)

    assert seen == [(False, set(files))]
    assert_equals_fresh(first)


@pytest.mark.parametrize("rebuilt", [False, True])
def test_no_texts_but_those_of_a_batch_are_in_memory_while_vectors_are_computed(
    tmp_path: Path, model: HashModel, rebuilt: bool
) -> None:
    held: list[int] = []
    own = f"{tmp_path.name}/"  # other tests may have chunks in memory
    project = write_project(tmp_path / "harbour", {own + path: text for path, text in FILES.items()})

    def look(stage: str, done: int, total: int) -> None:
        if stage == "embedding":
            lines = (value for value in gc.get_objects() if type(value) is ChunkRecord)
            held.append(sum(line.source.startswith(own) for line in lines))

    if rebuilt:
        sync_once(project, model=HashModel("another") if rebuilt else model)
    gc.collect()
    with closing(open_index(project, model=model)) as index:
        assert sync(index, look).embedded == len(chunks_of(index))

    assert (len(held) > 1, set(held)) == (True, {0})


def test_the_words_of_a_first_sync_do_not_need_the_loaded_model(opened: Opened) -> None:
    class DamagedModel(HashModel):
        def open(self) -> HashEmbedder:
            raise ProviderUnavailable("The compiled files of the model are damaged.")

    index = opened(FILES, model=DamagedModel())
    with pytest.raises(ProviderUnavailable, match="damaged"):
        sync(index)

    assert all_found(index, "harbour")


def test_a_closed_index_does_not_keep_its_model(project: Path) -> None:
    class OwnModel(HashModel):
        def open(self) -> HashEmbedder:
            return HashEmbedder()

    index = open_index(project, model=OwnModel())
    model = weakref.ref(index.embedder)

    index.close()

    gc.collect()
    assert model() is None


def test_a_first_sync_writes_the_words_of_a_class_only_once(opened: Opened) -> None:
    files = {f"ship{n}.py": f"from ship{n - 1} import Ship{n - 1}\n\n\n{ship(n)}" for n in range(1, 9)}
    shown: list[ChunkRecord] = []

    changes = extract(
        opened({"ship0.py": ship(0, ""), **files}, limits=LoadLimits(first_words=4)),
        SyncReport(), silent, show=shown.extend,
    )  # fmt: skip

    assert changes is not None
    found = {record.id: record.row() for record in changes.chunks}
    assert len(shown) >= 4
    assert [record.id for record in shown if record.row() != found[record.id]] == []


def test_a_first_sync_shows_portions_that_double_up_to_a_size_and_then_grow_slowly(opened: Opened) -> None:
    first = opened({f"ship{n}.py": ship(n) for n in range(60)}, limits=LoadLimits(first_words=2, more_words=5))
    portions: list[int] = []

    extract(first, SyncReport(), silent, show=lambda lines: portions.append(len(lines)))

    assert portions == [2, 4, 5, 5, 5, 5, 6, 8, 10, 10]


def ship(number: int, base: str = "(Ship{})") -> str:
    """Return a class that is too long to be merged with another."""
    body = "\n".join(f"    sail{n} = {n}  # {'wind ' * 9}" for n in range(9))
    return f"class Ship{number}{base.format(number - 1)}:\n{body}\n"


def test_few_vectors_that_no_search_reaches_do_not_rebuild_the_index_at_every_sync(opened: Opened) -> None:
    part = "## Part {n} of {page}\n\n" + "harbour word{n}x{page} tide log of the day. " * 12 + "\n\n"
    pages = {f"docs/{page}.md": "".join(part.format(n=n, page=page) for n in range(30)) for page in range(40)}
    sparse = Settings.model_validate({"database": {"max_neighbors": 4, "ef_construction": 10, "ef_search": 10}})
    index = opened(pages, settings=sparse, limits=LoadLimits(unreached=0.5))

    first, second = sync(index), sync(index)

    assert [warning.partition(" ")[2] for warning in first.warnings] == [
        "vectors cannot be found by a search. Keyword search still finds these chunks."
    ]
    assert (first.rebuilt, second.rebuilt, second.embedded, second.warnings) == (None, None, 0, [])
    assert index.catalogue.waiting() == 0


# --- edits -------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("NEO-043")
def test_editing_one_file_embeds_only_its_changed_chunks(index: Index, model: HashModel) -> None:
    sync(index)
    model.embedder.embedded.clear()

    report = edit(index, "docs/ferry.md", str(FILES["docs/ferry.md"]).replace("one ferry", "two ferries"))

    assert len(model.embedder.embedded) == report.embedded == 1
    assert "two ferries" in model.embedder.embedded[0]
    assert_equals_fresh(index)


def test_the_work_of_an_edit_does_not_grow_with_the_chunks_of_other_files(tmp_path: Path) -> None:
    def work(sections: int) -> int:
        page = "\n\n".join(f"## Part {n}\n\n{'passengers wait here for the ferry ' * 12}{n}" for n in range(sections))
        pages = {f"docs/{n}.md": f"# Page {n}\n\n{page}\n" for n in range(6)}
        small = {"docs/small.md": "# Small\n\nbefore\n", "docs/small.py": "class Small:\n    pass\n"}
        root = write_project(tmp_path / str(sections), pages | small)
        with closing(open_index(root)) as index:
            sync(index)
            write_project(root, {"docs/small.md": "# Small\n\nafter\n", "docs/small.py": "class Small:\n    x = 1\n"})
            count = steps(lambda: sync(index))
            assert index.catalogue.total() > 6 * sections
            return count

    assert work(100) < 1.2 * work(5)


def test_a_renamed_module_of_go_renames_the_classes_of_its_files(opened: Opened) -> None:
    index = opened({
        "go.mod": "module harbour.example/old\n",
        "pier/pier.go": "package pier\n\ntype Pier struct {\n\tlength int\n}\n",
        "main.go": 'package main\n\nimport "harbour.example/new/pier"\n\ntype Quay struct {\n\tpier.Pier\n}\n',
    })  # fmt: skip
    sync(index)
    edit(index, "go.mod", "module harbour.example/new\n")

    assert_equals_fresh(index)


@pytest.mark.requirement("NEO-044")
def test_deleting_a_file_removes_its_chunks_from_all_three_stores(index: Index, project: Path) -> None:
    sync(index)
    gone = {chunk.id for chunk in chunks_of(index, "docs/tide.md")}
    (project / "docs/tide.md").unlink()

    report = sync(index)

    assert report.deleted == len(gone) > 0
    assert all(not gone & ids for ids in ids_everywhere(index))
    assert_equals_fresh(index)


def test_a_line_added_at_the_top_changes_only_metadata_such_as_line_numbers(index: Index, project: Path) -> None:
    sync(index)

    report = edit(index, "docs/ferry.md", "\n\n" + str(FILES["docs/ferry.md"]))

    assert (report.embedded, report.created, report.deleted) == (0, 0, 0)
    assert report.updated > 0
    lines = (project / "docs/ferry.md").read_text(encoding="utf-8").split("\n")
    for chunk in index.catalogue.of_source("docs/ferry.md"):
        assert chunk.text == "\n".join(lines[chunk.lines[0] - 1 : chunk.lines[1]])
    assert_equals_fresh(index)


def test_a_renamed_file_is_found_only_by_its_new_name(index: Index, project: Path) -> None:
    sync(index)
    (project / "docs/tide.md").rename(project / "docs/high-water.md")
    settle(project)

    sync(index)

    assert found_sources(index, "tables harbour master") == {"docs/high-water.md"}
    assert_equals_fresh(index)


def test_a_changed_base_class_updates_its_subclasses_without_embedding(index: Index) -> None:
    sync(index)
    renamed = str(FILES["src/ship.py"]).replace("(Vessel)", "(Steamer)").replace("import Vessel", "import Steamer")

    edit(index, "src/ship.py", renamed)
    report = edit(index, "src/base.py", str(FILES["src/base.py"]).replace("class Vessel", "class Steamer"))

    (liner,) = (chunk for chunk in chunks_of(index, "src/liner.py") if chunk.class_name)
    assert [ancestor.class_name for ancestor in liner.chain] == ["ship.Ship", "base.Steamer"]
    assert report.updated > 0
    assert isinstance(index.embedder, HashEmbedder)
    assert all("base" in text for text in index.embedder.embedded[-report.embedded :])
    assert index.catalogue.chunks([liner.id])[liner.id].chain == liner.chain
    assert_equals_fresh(index)


def test_adding_or_removing_an_empty_package_file_renames_its_classes(index: Index, project: Path) -> None:
    sync(index)
    edit(index, "src/__init__.py", "")
    assert_equals_fresh(index)
    assert {chunk.class_name for chunk in chunks_of(index, "src/base.py")} == {"src.base.Vessel"}

    (project / "src/__init__.py").unlink()
    sync(index)

    assert {chunk.class_name for chunk in chunks_of(index, "src/base.py")} == {"base.Vessel"}
    assert_equals_fresh(index)


def test_a_file_that_moves_to_another_type_is_found_only_with_the_new_type(index: Index, project: Path) -> None:
    sync(index)
    index.close()
    with closing(open_index(project, Settings(sources={"tickets": ["docs/tide.md"]}))) as moved:
        assert sync(moved).updated > 0

        (chunk,) = chunks_of(moved, "docs/tide.md")
        tickets, guides = (
            {id_ for id_, _ in QueryService(moved).candidates(parse("tide"), type_).candidates.by_meaning}
            for type_ in ("ticket", "guide")
        )
        assert tickets == {chunk.id} and chunk.id not in guides


def test_the_same_content_in_many_files_is_embedded_once_and_found_everywhere(opened: Opened) -> None:
    text = "# Notice\n\nAll passengers keep clear of the ramp.\n"
    index = opened({f"docs/{n}/a.md": text for n in range(90)})

    report = sync(index)

    assert (report.created, report.embedded) == (90, 1)
    assert unfindable(index) == []
    (index.root / "docs/7/a.md").unlink()
    assert sync(index).deleted == 1
    assert [len(ids) for ids in ids_everywhere(index)] == [89, 89, 89]


def test_replacing_more_than_a_quarter_of_the_chunks_builds_a_new_generation(opened: Opened) -> None:
    index = opened({f"docs/{n}.md": f"# Page {n}\n\n{PAGE}first{n}\n" for n in range(90)}, limits=SMALL)
    sync(index)
    write_project(index.root, {f"docs/{n}.md": f"# Page {n}\n\nsecond{n}\n" for n in range(30)})

    report = sync(index)

    assert report.rebuilt == "more than a quarter of it was replaced or deleted"
    assert [path.name for path in index.folder.glob("vectors-*")] == ["vectors-2"]
    assert report.embedded == 30
    assert_equals_fresh(index)


def test_deleted_chunks_return_their_space(project: Path, index: Index) -> None:
    write_project(project, {f"docs/{n}.md": f"# Page {n}\n\n{PAGE}first{n}\n" for n in range(600)})
    sync(index)
    before = bytes_of(index)
    for part in (range(100), range(100, 300)):
        for number in part:
            (project / f"docs/{number}.md").unlink()
        sync(index, allow_mass_delete=True)

    after = bytes_of(index)

    assert after["catalogue.sqlite"] < 0.6 * before["catalogue.sqlite"]
    assert after["vectors"] < 0.7 * before["vectors"]
    assert_equals_fresh(index)


def bytes_of(index: Index) -> dict[str, int]:
    """Return the size of each part of an open index with its log."""
    found: dict[str, int] = {}
    for file in index.folder.rglob("*"):
        if file.is_file():
            name = file.relative_to(index.folder).parts[0].partition("-")[0]
            found[name] = found.get(name, 0) + file.stat().st_size
    return found


# --- bad input ---------------------------------------------------------------------------------------------------

UNREADABLE = {
    "binary": (b"\0\1\2" * 100, "binary"),
    "invalid UTF-8": (b"# Tide\n\n\xff\xfe\xfa broken", "not valid UTF-8"),
    "too large": (b"# Tide\n" + b"tide " * 500_000, "too large"),
}


@pytest.mark.parametrize(("content", "reason"), UNREADABLE.values(), ids=UNREADABLE.keys())
@pytest.mark.promise(18)
def test_an_unreadable_file_keeps_its_chunks_and_is_reported(index: Index, content: bytes, reason: str) -> None:
    sync(index)
    before = state_of(index)

    reports = [edit(index, "docs/tide.md", content), sync(index), sync(index)]

    for report in reports:
        assert [(failure.source, reason in failure.reason) for failure in report.failed] == [("docs/tide.md", True)]
        assert (report.deleted, report.embedded) == (0, 0)
    assert state_of(index) == before
    assert edit(index, "docs/tide.md", FILES["docs/tide.md"]).failed == []
    assert sync(index).failed == []
    assert_equals_fresh(index)


@pytest.mark.parametrize(("path", "reported"), [("docs", "docs/"), ("docs/tide.md", "docs/tide.md")])
def test_what_may_not_be_read_keeps_its_chunks(index: Index, project: Path, path: str, reported: str) -> None:
    sync(index)
    before = ids_everywhere(index)

    with without_permission(project / path, project):
        settle(project)
        reports = [sync(index), sync(index)]
        assert "docs/tide.md" in found_sources(index, "tables harbour master")

    assert [[failure.source for failure in report.failed] for report in reports] == [[reported]] * 2
    assert [report.deleted for report in reports] == [0, 0]
    assert ids_everywhere(index) == before
    assert [sync(index).failed for _ in range(2)] == [[], []]


def test_broken_front_matter_is_reported_each_time_and_the_text_is_indexed(index: Index) -> None:
    text = "---\ntitle: [unclosed\n---\n# Fog\n\nFog closes the harbour.\n"

    reports = [edit(index, "docs/fog.md", text), sync(index)]

    for report in reports:
        (problem,) = report.failed
        assert problem.source == "docs/fog.md"
        assert "front matter is not valid YAML" in problem.reason
    assert found_sources(index, "fog closes") == {"docs/fog.md"}


def test_a_configured_source_that_matches_nothing_always_causes_a_warning(opened: Opened) -> None:
    index = opened(FILES, settings=Settings(sources={"adrs": ["decisions/*.md"]}))

    for report in (sync(index), sync(index)):
        assert report.warnings == ["The configured source `sources.adrs` does not match any file."]


@pytest.mark.promise(19)
def test_a_symlink_out_of_the_project_is_reported_and_not_followed(index: Index, project: Path) -> None:
    (project.parent / "secret.md").write_text("# Canary\n", encoding="utf-8")
    (project / "docs/link.md").symlink_to(project.parent / "secret.md")

    report = sync(index)

    assert [file.source for file in report.skipped] == ["docs/link.md"]
    assert found_sources(index, "canary") == set()


@pytest.mark.promise(18)
def test_files_with_unusual_names_are_indexed_by_their_names(opened: Opened) -> None:
    names = {
        "docs/with space.md", "docs/new\nline.md", "docs/quote'\".md", "docs/☂ umbrella.md", "docs/e\u0301.md",
        "docs/-rf.md", "docs/%s%n.md", "docs/" + "long" * 50 + ".md",
    }  # fmt: skip
    index = opened(dict.fromkeys(names, "# Odd\n\nlighthouse keeper\n"))
    assert sync(index).failed == []
    assert found_sources(index, "lighthouse") == names

    for name in names:
        (index.root / name).unlink()
    sync(index, allow_mass_delete=True)
    assert ids_everywhere(index) == (set(), set(), set())


@pytest.mark.promise(18)
def test_a_file_name_that_is_not_utf8_does_not_affect_other_files(index: Index, project: Path) -> None:
    (Path(os.fsdecode(os.fsencode(project) + b"/docs/\xff\xfe.md"))).write_text("# Odd\n", encoding="utf-8")
    settle(project)

    sync(index)

    assert {chunk.source for chunk in chunks_of(index)} == set(FILES)


def test_an_empty_project_has_an_empty_index_also_after_the_deletion_of_its_only_file(opened: Opened) -> None:
    index = opened({})

    for report in (sync(index), sync(index)):
        assert (report.created, report.files, report.failed) == (0, 0, [])
    with pytest.raises(IndexMissing):
        retrieve(index, parse("anything"), None, 5)
    edit(index, "a.md", "# A\n\nferry\n")
    (index.root / "a.md").unlink()
    assert sync(index).deleted == 1  # the guard takes it for an edit


# --- the guard ---------------------------------------------------------------------------------------------------


def test_a_sync_that_would_delete_much_is_rejected_and_changes_nothing(index: Index, project: Path) -> None:
    sync(index)
    before = stamps_below(project / ".lore")
    shutil.move(project / "src", project.parent / "elsewhere")

    for _ in range(2):
        with refused(GuardTripped, match="3 files disappeared", hint="allow-mass-delete"):
            sync(index)

    after = stamps_below(project / ".lore")
    differing = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert all(name.startswith("catalogue") for name in differing), differing  # with the reason, for the status
    assert "src/ship.py" in found_sources(index, "larger boat")
    shutil.move(project.parent / "elsewhere", project / "src")
    settle(project)
    restored = sync(index)
    assert (restored.deleted, restored.embedded, restored.created) == (0, 0, 0)
    shutil.move(project / "src", project.parent / "elsewhere")
    assert sync(index, allow_mass_delete=True).deleted > 0
    assert_equals_fresh(index)


# --- models ------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("NEO-062")
def test_a_chunk_that_cannot_be_embedded_is_reported_and_retried_by_the_next_sync(opened: Opened) -> None:
    model = HashModel(refuses=["harbour master", "late again"])
    index = opened(FILES, model=model)

    reports = [sync(index), sync(index)]

    for report in reports:
        assert sorted(failure.source for failure in report.failed) == ["docs/tide.md", "issues/7.md"]
    assert reports[1].embedded == 0
    assert index.catalogue.waiting() == 2
    assert found_sources(index, "tables harbour master") == {"docs/tide.md"}
    model.embedder.refuses.clear()
    model.embedder.embedded.clear()
    mended = sync(index)
    assert (mended.failed, mended.embedded, len(model.embedder.embedded)) == ([], 2, 2)
    assert_equals_fresh(index)


@pytest.mark.promise(14)
def test_searches_fail_after_a_change_of_model_until_a_sync_builds_its_generation(index: Index, project: Path) -> None:
    sync(index)
    index.close()
    with closing(open_index(project, model=HashModel("another"))) as other:
        with refused(ModelMismatch, hint="lore sync"):
            retrieve(other, parse("ferry"), None, 5)
        report = sync(other)

        assert report.rebuilt == "the embedding model or its input has changed"
        assert report.embedded == len(chunks_of(other))
        assert [path.name for path in other.folder.glob("vectors-*")] == ["vectors-2"]
        assert found_sources(other, "ferry")

    returned = sync_once(project)  # to the first model, whose vectors are cached
    assert (returned.embedded, returned.rebuilt) == (0, "the embedding model or its input has changed")


# --- single steps ------------------------------------------------------------------------------------------------


@pytest.mark.requirement("NEO-008", "NEO-009")
def test_create_stores_the_chunks_without_vectors_and_embed_adds_these(index: Index, project: Path) -> None:
    created = create_only(index)

    assert (created.embedded, created.files) == (0, len(FILES))
    assert created.created == len(chunks_of(index)) > 0
    assert not (project / ".lore" / "vectors-1").exists()
    embedded = embed_only(index)
    assert embedded.embedded == created.created
    assert_equals_fresh(index)
    assert sync(index).embedded == 0


NEW_TIDE = {"docs/tide.md": "# Tide\n\nThe toll is 900 euro at the lighthouse.\n"}


def test_after_create_alone_searches_find_the_new_text_in_a_partial_index(index: Index) -> None:
    sync(index)
    write_project(index.root, NEW_TIDE)

    create_only(index)

    texts = [candidate.chunk.text for candidate in retrieve(index, parse("lighthouse toll"), None, 5).found]
    assert "900 euro" in texts[0]
    assert Freshness(index).record()["state"] == "partial"
    embed_only(index)
    assert Freshness(index).record()["state"] == "fresh"
    assert_equals_fresh(index)


@pytest.mark.parametrize("stage", ["reading", "indexing words", "embedding"])
def test_a_sync_that_ends_at_any_stage_never_calls_old_text_fresh(index: Index, stage: str) -> None:
    class Ended(BaseException): ...

    def end(reached: str, done: int, total: int) -> None:
        if reached == stage:
            raise Ended

    sync(index)
    write_project(index.root, NEW_TIDE)

    with pytest.raises(Ended):
        sync(index, end)

    assert Freshness(index).record()["state"] in ("stale", "partial")
    sync(index)
    assert Freshness(index).record()["state"] == "fresh"
    assert_equals_fresh(index)


@pytest.mark.requirement("NEO-010")
def test_delete_empties_everything_and_the_next_sync_restores_it_without_embedding(index: Index) -> None:
    sync(index)
    before = state_of(index)

    assert [delete_all(index).deleted for _ in range(2)] == [len(before.catalogue), 0]

    assert ids_everywhere(index) == (set(), set(), set())
    with pytest.raises(IndexMissing):
        retrieve(index, parse("ferry"), None, 5)
    again = sync(index)
    assert (again.embedded, again.created) == (0, len(before.catalogue))
    assert state_of(index) == before


# --- reproducible bytes ------------------------------------------------------------------------------------------


@pytest.mark.promise(12)
def test_order_locale_time_zone_hash_seed_and_folder_do_not_change_a_byte(project: Path, tmp_path: Path) -> None:
    code = """
import os, sys
from pathlib import Path
sys.path = [path for path in sys.path if path]
from lore_etl.config.settings import Settings
from lore_etl.pipeline.sync import create_only
from tests.harness.projects import open_index
os.chdir("/")
index = open_index(Path(sys.argv[1]), Settings(index={"path": sys.argv[2]}))
create_only(index)
index.close()
"""
    expected = fresh_state(project)
    for number, variables in enumerate(({"LC_ALL": "C", "TZ": "Asia/Tokyo"}, {"PYTHONHASHSEED": "7", "TZ": "UTC"})):
        folder = tmp_path / f"other-{number}"
        done = run(code, project, folder, environment=variables)
        assert (done.returncode, done.stderr) == (0, "")
        assert gzip.decompress((folder / export.CHUNKS).read_bytes()) == expected.chunks
        assert json.loads((folder / export.HIERARCHY).read_bytes()) == expected.hierarchy


@pytest.mark.promise(12)
@pytest.mark.skipif(not IN_MEMORY.is_dir(), reason="only a file system in memory lists files in the order of creation")
def test_the_order_in_which_the_system_lists_files_does_not_change_a_byte() -> None:
    names = [f"{folder}/c{n}.py" for folder in "ba" for n in range(30)]
    states, orders = [], []
    for created in (names, names[::-1]):
        with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
            root = write_project(Path(folder), {name: f"class C{name[3:-3]}(C0): pass\n" for name in created})
            orders.append([entry.name for entry in os.scandir(root / "a")])
            with closing(open_index(root)) as index:
                sync(index)
                states.append(state_of(index))

    assert orders[0] != orders[1]
    assert states[0] == states[1]


@pytest.mark.promise(8, 17)
@pytest.mark.parametrize("copies", [1_500, pytest.param(5_000, marks=pytest.mark.long)])
def test_thousands_of_equal_chunks_hide_no_other_chunk(opened: Opened, copies: int) -> None:
    pages = {f"docs/{n}.md": f"# Page {n}\n\nsubject{n} lighthouse\n" for n in range(600)}
    equal = {f"same/{n}.txt": "The very same sentence stands here.\n" for n in range(copies)}
    index = opened({**pages, **equal})

    report = sync(index)

    assert (report.warnings, report.rebuilt) == ([], None)
    assert unfindable(index) == []
