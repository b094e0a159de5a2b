"""Damage every file of an index at many places, and count what searches and one sync make of it.

    python -m benchmarks.damage [--places 210] [--seed 1] [--rebuilds 3]

The project is `data/sample` with enough pages for the vector store to have HNSW files, indexed by the default model.
Each place is an inverted byte, a page of zeros or a cut in a file below `.lore/`; the file keeps its times and, but for
a cut, its size, as on a failing disk. A process of its own asks five questions, syncs once, and asks again:

- a *permanent error*: the sync or a question after it fails, or its reply does not claim to be complete and fresh;
- a *lasting wrong answer*: after the sync, a passage differs from its file, or others are returned than before;
- a *crash*: a signal ended the process.

The order of equal results may differ after a rebuild, so replies are compared as sets of files, lines and texts. That
this comparison is right is shown first: stores that are removed and rebuilt must give the replies of the first build.
`index.id` is left out: without it the folder counts as one that Lore did not create.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.main_job import row
from lore_etl.config.settings import EmbeddingSettings, Settings
from lore_etl.core.errors import LoreError
from lore_etl.models.embedder import ConfiguredModel, Embedder
from lore_etl.stores.claim import MARK
from lore_server.app import App
from lore_server.contract import load_contract
from tests.harness.commands import PREPARED
from tests.harness.projects import SAMPLE, settle

JSON = dict[str, Any]
PAGE, PAGES = 4_096, 1_010
KINDS = ("byte", "byte", "zeros", "cut")
WORDS = " ".join(f"word{n}" for n in range(12))  # enough for a separate chunk
SYNC = {"action": "sync", "wait_seconds": 600}
QUESTIONS: tuple[tuple[str, JSON], ...] = (
    ("query_documents", {"query": "how does a graceful shutdown work"}), ("query_documents", {"query": "Store"}),
    ("query_documents", {"query": "subject77 lighthouse"}), ("get_class_hierarchy", {}), ("list_sources", {}),
)  # fmt: skip
UNSTEADY = ("freshness", "cursor", "next_cursor", "age_seconds")
SETTINGS = Settings(embedding=EmbeddingSettings(threads=1))  # a session without threads works in a forked process


class Loaded(ConfiguredModel):
    """The default model, loaded once before the processes are forked."""

    def __init__(self) -> None:
        super().__init__(SETTINGS.embedding)
        self._loaded = super().open()

    def open(self) -> Embedder:
        return self._loaded


def steady(value: Any) -> Any:
    """Return a reply without what differs between two equal states, and without an order."""
    if isinstance(value, dict):
        return {key: steady(inner) for key, inner in value.items() if key not in UNSTEADY}
    return sorted(json.dumps(steady(inner), sort_keys=True) for inner in value) if isinstance(value, list) else value


def said(root: Path, operation: str, reply: JSON) -> Any:
    """Return what a reply says; for passages their places and texts. Raises ValueError if one is not in its file."""
    if operation != "query_documents":
        return steady(reply)
    for one in reply["results"]:
        file = " ".join((root / one["source"]).read_text(encoding="utf-8").split())
        lost = [part for part in one["excerpt"].splitlines() if " ".join(part.strip("… ").split()) not in file]
        if lost:
            raise ValueError(f"{one['source']} does not contain {lost[0]!r}")
    return sorted([one["source"], one["lines"], one["excerpt"]] for one in reply["results"])


def asked(root: Path, app: App) -> tuple[list[Any], list[str], list[str]]:
    """Return what the replies say, the errors, and the passages that are not in their files."""
    replies, errors, wrong = list[Any](), list[str](), list[str]()
    for operation, arguments in QUESTIONS:
        try:
            reply = app.call(operation, arguments)
            if reply["freshness"]["state"] != "fresh" or "degraded" in reply:
                errors.append(f"{operation}: {reply['freshness']['state']} {reply.get('degraded', '')}")
            replies.append(said(root, operation, reply))
        except LoreError as error:
            errors.append(f"{operation}: {error.code} {error.message}")
            replies.append(None)
        except ValueError as error:
            wrong.append(str(error))
            replies.append(None)
    return replies, errors, wrong


def tried(root: Path, model: Loaded) -> JSON:
    """Ask, sync and ask again, as a new process does."""
    with closing(App(root, SETTINGS, load_contract(), model)) as app:
        _, before, wrong_before = asked(root, app)
        try:
            job = app.call("manage_knowledge_base", SYNC)
            failed = [] if job["state"] == "done" else [f"sync: {job['state']}"]
        except LoreError as error:
            failed = [f"sync: {error.code} {error.message}"]
        replies, errors, wrong = asked(root, app)
    return {
        "before": before,
        "wrong_before": wrong_before,
        "replies": replies,
        "errors": failed + errors,
        "wrong": wrong,
    }


def in_child(work: Callable[[], JSON]) -> JSON | None:
    """Return what `work` returns in a forked process; None if a signal ended it."""
    source, target = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.close(source)
            with open(target, "w", encoding="utf-8") as pipe:
                json.dump(work(), pipe)
            status = 0
        finally:
            os._exit(status)
    os.close(target)
    with open(source, encoding="utf-8") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return None
    return (
        json.loads(text)
        if text
        else {"before": [], "wrong_before": [], "replies": [], "errors": ["no reply"], "wrong": []}
    )


def places(folder: Path, number: int, chance: random.Random) -> Iterator[tuple[Path, str, float]]:
    """Yield (file, kind, place in it): all files in turns."""
    files = [file for file in folder.rglob("*") if file.is_file() and file.stat().st_size and file.name != MARK]
    for turn in range(number):
        yield sorted(files)[turn % len(files)], KINDS[turn // len(files) % len(KINDS)], chance.random()


def damage(file: Path, kind: str, place: float) -> None:
    info, data = file.stat(), bytearray(file.read_bytes())
    at = min(int(len(data) * place), len(data) - 1)
    if kind == "byte":
        data[at] ^= 0xFF
    elif kind == "zeros":
        data[at : at + PAGE] = bytes(len(data[at : at + PAGE]))
    else:
        del data[at:]
    file.write_bytes(data)
    os.utime(file, ns=(info.st_atime_ns, info.st_mtime_ns))


def restore(pristine: Path, folder: Path) -> None:
    """Copy the files back into the folder itself, whose inode its record names."""
    for entry in folder.iterdir():
        shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    shutil.copytree(pristine, folder, dirs_exist_ok=True, symlinks=True)


def remove_stores(folder: Path) -> None:
    for entry in folder.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)


def verdicts(found: JSON | None, expected: list[Any]) -> list[str]:
    """Return the kinds of failure of one place."""
    if found is None:
        return ["crash"]
    lasting = found["wrong"] or (not found["errors"] and found["replies"] != expected)
    return [*(["permanent error"] if found["errors"] else []), *(["lasting wrong answer"] if lasting else [])]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--places", type=int, default=210)
    options.add_argument("--rebuilds", type=int, default=3)
    options.add_argument("--seed", type=int, default=1)
    values = options.parse_args()
    counts, kinds = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as temporary:
        for variable in ("LORE_HOME", "LORE_STATE", "LORE_RUNTIME"):
            os.environ[variable] = str(Path(temporary, variable))
        sys.executable = PREPARED.python()  # for probes of the vector store, from a process that has imported Chroma
        root, pristine, model = Path(temporary, "project").resolve(), Path(temporary, "pristine"), Loaded()
        shutil.copytree(SAMPLE, root, symlinks=True, ignore=shutil.ignore_patterns(".lore"))
        pages = (f"## Page {n}\n\nsubject{n} lighthouse {WORDS}\n" for n in range(PAGES))
        (root / "pages.md").write_text("\n".join(pages), encoding="utf-8")
        settle(root)
        first = in_child(lambda: tried(root, model))
        assert first is not None and not first["errors"] and not first["wrong"], first and first["errors"]
        shutil.copytree(root / ".lore", pristine, symlinks=True)
        for _ in range(values.rebuilds):
            restore(pristine, root / ".lore")
            remove_stores(root / ".lore")
            again = in_child(lambda: tried(root, model))
            assert not verdicts(again, first["replies"]), "a rebuild gives other replies"
        for file, kind, place in places(pristine, values.places, random.Random(values.seed)):
            restore(pristine, root / ".lore")
            name = file.relative_to(pristine)
            damage(root / ".lore" / name, kind, place)
            found = in_child(lambda: tried(root, model))
            failures = verdicts(found, first["replies"])
            kinds[kind] += 1
            counts.update(failures)
            counts["errors before the sync"] += bool(found and found["before"])
            counts["wrong answers before the sync"] += bool(found and found["wrong_before"])
            if failures or (found and found["wrong_before"]):
                more = [*found["errors"], *found["wrong"], *found["wrong_before"]][:2] if found else []
                print(f"{name} {kind} at {place:.3f}: {failures} {more}", file=sys.stderr, flush=True)
    row("places", ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items())))
    for what in ("permanent error", "lasting wrong answer", "crash", *(name for name in counts if "before" in name)):
        row(what, f"{counts[what]}")


if __name__ == "__main__":
    main()
