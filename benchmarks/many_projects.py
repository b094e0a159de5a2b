"""Measure a server of many projects: memory, the first query of a closed project, and a question over many against one.

    python -m benchmarks.many_projects [--projects 100] [--open 20] [--rounds 20]

Each project has 1,000 passages with synthetic vectors. The projects are built below `--folder`, and kept there if it is
given.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import httpx2

from benchmarks.synthetic import centres, extract, own_folders, questions, write_tree
from lore_etl.config.settings import Settings
from lore_etl.index import Index
from lore_etl.pipeline.sync import sync
from lore_etl.stores.owner_file import read_note
from tests.harness.interfaces import serving
from tests.harness.owners import resident_kilobytes

FILES = 100  # of a project, ten passages each


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--projects", type=int, default=100)
    parser.add_argument("--open", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        own_folders(folder)
        names = [f"p{number:03d}" for number in range(given.projects)]
        build(folder, names)
        with serving(folder, more=["--projects", folder / "projects"]) as url:
            measure(url, folder, names, given.open, given.rounds)


def build(folder: Path, names: Sequence[str]) -> None:
    """Build the projects that are missing."""
    around = None
    for number, name in enumerate(names):
        root = folder / "projects" / name
        if (root / "lore.toml").exists():
            continue
        write_tree(root, range(number * FILES, (number + 1) * FILES))
        with closing(Index(root, Settings())) as index:
            around = centres(index) if around is None else around
            extract(index, around)
            sync(index)
        (root / "lore.toml").touch()


def measure(url: str, folder: Path, names: Sequence[str], number: int, rounds: int) -> None:
    asked = iter(questions(3 * len(names) + 10 * rounds))
    with httpx2.Client(base_url=url, timeout=120) as client:

        def ask(path: str) -> float:
            began = time.perf_counter()
            reply = client.post(f"{path}/api/documents/query", json={"query": next(asked)})
            assert reply.status_code == 200, reply.text
            return 1000 * (time.perf_counter() - began)

        some = names[:number]
        first = sorted(ask(f"/projects/{name}") for name in names)
        note = read_note(folder / "projects" / names[-1] / ".lore")
        assert note is not None
        _print("first query of a closed project, ms", first)
        _print("one query each: MB", [resident_kilobytes(note.pid) / 1000])
        for name in some:
            ask(f"/projects/{name}")
        pairs = [(ask(f"/projects/{some[0]}"), ask(f"/projects/{','.join(some)}")) for _ in range(rounds)]
        _print("one open project, ms", [one for one, _ in pairs])
        _print(f"{number} open projects, ms", [many for _, many in pairs])
        _print("ratio of a pair", [many / one for one, many in pairs])
        _print(f"all {len(names)} projects, ms", [ask("") for _ in range(3)])
        _print("at the end: MB", [resident_kilobytes(note.pid) / 1000])


def _print(name: str, values: Sequence[float]) -> None:
    print(
        f"{name}: median {statistics.median(values):.1f}, least {min(values):.1f}, most {max(values):.1f}", flush=True
    )


if __name__ == "__main__":
    main()
