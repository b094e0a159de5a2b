"""Damage every file of an index at many places, and count what a search and a sync make of it.

    python -m benchmarks.damage [--places 200] [--checkout PATH] [--seed 1]

The project is `data/sample`, or a copy of a real checkout. Each place is a byte that is inverted, a page of zeros, or a
cut, in a file below `.lore/`; the file keeps its times, and but for a cut its size, as on a failing disk. For each,
a process asks a few questions, another one syncs and asks again. The replies are compared with those of the undamaged
index:

- an *error* or a *wrong answer* before the sync: a question failed, or its reply differs and claims to be complete;
- the same after the sync is permanent, or lasts; a *crash*: a signal killed the process.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.main_job import row
from lore_etl.config.settings import Settings
from lore_etl.core.errors import LoreError
from lore_server.app import App
from lore_server.contract import load_contract
from tests.harness.projects import ROOT

JSON = dict[str, Any]
PAGE = 4_096
KINDS = ("byte", "page", "cut")
SYNC = {"action": "sync", "wait_seconds": 600}
QUESTIONS: tuple[tuple[str, JSON], ...] = (
    ("query_documents", {"query": "graceful shutdown"}), ("query_documents", {"query": "Store", "type": "src"}),
    ("query_documents", {"query": "how are retries limited", "passages": 3}), ("get_class_hierarchy", {}),
    ("list_sources", {}),
)  # fmt: skip
UNSTEADY = ("freshness", "cursor", "origin", "confidence", "score", "age_seconds", "more", "total", "explain")


def ask(root: Path, sync_first: bool) -> JSON:
    """Return the replies of a new process's application, with the errors."""
    found: JSON = {"replies": [], "errors": [], "complete": []}
    with closing(App(root, Settings(), load_contract())) as app:
        if sync_first:
            try:
                app.call("manage_knowledge_base", SYNC)
            except LoreError as error:
                found["errors"].append(f"sync: {error.code} {error.message}")
        for operation, arguments in QUESTIONS:
            try:
                reply = app.call(operation, {**arguments, "max_tokens": 20_000})
            except LoreError as error:
                found["errors"].append(f"{operation}: {error.code} {error.message}")
                found["replies"].append(None)
                continue
            is_whole = reply["freshness"]["state"] == "fresh" and "degraded" not in reply
            found["complete"].append(is_whole)
            found["replies"].append(steady(reply) if is_whole else None)
    return found


def steady(value: Any) -> Any:
    """Return a reply without the parts that differ between two processes, or that rank equal results."""
    if isinstance(value, dict):
        return {key: steady(inner) for key, inner in value.items() if key not in UNSTEADY}
    return sorted(map(steady, value), key=str) if isinstance(value, list) else value


def in_child(root: Path, sync_first: bool) -> JSON | None:
    """Return what `ask` returns in a forked process; None if a signal killed it."""
    source, target = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.close(source)
            with open(target, "w", encoding="utf-8") as pipe:
                json.dump(ask(root, sync_first), pipe)
            status = 0
        finally:
            os._exit(status)
    os.close(target)
    with open(source, encoding="utf-8") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return None
    return json.loads(text) if text else {"replies": [], "errors": ["the process failed"], "complete": []}


def places(folder: Path, number: int, chance: random.Random) -> Iterator[tuple[Path, str, float]]:
    """Yield (file, kind, place in it): all files in turns, most often a byte."""
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.stat().st_size)
    for turn in range(number):
        yield files[turn % len(files)], chance.choice((*KINDS, "byte", "byte")), chance.random()


def damage(file: Path, kind: str, place: float) -> None:
    info, data = file.stat(), bytearray(file.read_bytes())
    at = min(int(len(data) * place), len(data) - 1)
    if kind == "byte":
        data[at] ^= 0xFF
    elif kind == "page":
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


def judge(found: JSON | None, expected: Sequence[Any]) -> list[str]:
    """Return the kinds of failure of one run."""
    if found is None:
        return ["crash"]
    is_wrong = any(
        reply is not None and reply != right for reply, right in zip(found["replies"], expected, strict=False)
    )
    return [*(["error"] if found["errors"] else []), *(["wrong answer"] if is_wrong else [])]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--places", type=int, default=200)
    options.add_argument("--checkout", type=Path, default=ROOT / "data" / "sample")
    options.add_argument("--seed", type=int, default=1)
    values = options.parse_args()
    counts = Counter[str]()
    with tempfile.TemporaryDirectory() as temporary:
        for variable in ("LORE_HOME", "LORE_STATE", "LORE_RUNTIME"):
            os.environ[variable] = str(Path(temporary, variable))
        root, pristine = Path(temporary, "project").resolve(), Path(temporary, "pristine")
        shutil.copytree(values.checkout, root, symlinks=True, ignore=shutil.ignore_patterns(".lore"))
        first = in_child(root, sync_first=True)
        assert first is not None and not first["errors"], first
        expected = first["replies"]
        assert all(first["complete"]), first["complete"]
        shutil.copytree(root / ".lore", pristine, symlinks=True)
        for file, kind, place in places(pristine, values.places, random.Random(values.seed)):
            restore(pristine, root / ".lore")
            name = file.relative_to(pristine)
            damage(root / ".lore" / name, kind, place)
            before = judge(in_child(root, sync_first=False), expected)
            synced = in_child(root, sync_first=True)
            after = judge(synced, expected)
            if synced is not None and not after and not all(synced["complete"]):
                after = ["incomplete"]
            counts.update([f"before the sync: {kind_}" for kind_ in before] + [f"after it: {kind_}" for kind_ in after])
            if after or "wrong answer" in before or "crash" in before:
                said = (synced or {}).get("errors", [])
                print(f"{name} {kind} at {place:.3f}: {before} -> {after} {said[:1]}", flush=True)
    row("places", f"{values.places}")
    for name_, number in sorted(counts.items()):
        row(name_, f"{number}")


if __name__ == "__main__":
    main()
