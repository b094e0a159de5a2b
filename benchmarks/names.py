"""Count the short names that find what they name: `python -m benchmarks.names neo=CHECKOUT waypoint=CHECKOUT`.

`names.toml` has thirty lower-case names of each project, with the files expected for them. Each checkout has to be
synced before, with the real model, and is searched as a user does. Prints how often an expected file is first, among
the first three, and the mean reciprocal rank.
"""

from __future__ import annotations

import argparse
import tomllib
from contextlib import closing
from fnmatch import fnmatchcase
from pathlib import Path

from lore_etl.config.settings import load_settings
from lore_etl.index import Index
from lore_server.query.history import History
from lore_server.query.query_service import QueryService


def rank_of(found: list[str], expected: list[str]) -> int | None:
    """Return the rank of the first file found that is expected."""
    ranks = (rank for rank, source in enumerate(found, 1) if any(fnmatchcase(source, one) for one in expected))
    return next(ranks, None)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("checkouts", nargs="+", metavar="NAME=PATH")
    names = tomllib.loads((Path(__file__).parent / "names.toml").read_text(encoding="utf-8"))
    print("| project | names | first | first three | MRR |\n|---|---|---|---|---|")
    for checkout in parser.parse_args().checkouts:
        name, _, path = checkout.partition("=")
        root = Path(path).resolve()
        with closing(Index(root, load_settings(root))) as index:
            queries = QueryService(index, history=History(root))
            found = {
                text: [file.source for file in queries.find(text, group_copies=True).ranked] for text in names[name]
            }
        ranks = [rank_of(found[text], expected) for text, expected in names[name].items()]
        known = [rank for rank in ranks if rank is not None]
        three = sum(rank <= 3 for rank in known)
        reciprocal = sum(1 / rank for rank in known) / len(ranks)
        print(f"| {name} | {len(ranks)} | {known.count(1)} | {three} | {reciprocal:.3f} |")


if __name__ == "__main__":
    main()
