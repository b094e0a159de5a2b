"""Read real files of every format and compare their text with other readers: `python -m benchmarks.documents FOLDER`.

FOLDER has a folder for each format with its files, such as `pdf/manual.pdf`. The other readers are `pdftotext`,
`pandoc` and `antiword`, which must be installed, and those of `documents.txt`, which the script installs in a separate
environment; `--environment DIR` keeps it for the next run.

Recovered is the share of the other reader's words, without numbers, that Lore's text has too. Places are lines that the
other reader finds on only one page, slide or sheet: the share of those in Lore's text that are below the heading of
that place. A separate process reads each file and converts it as a sync does; time and memory are those of
the conversion. The first half of each file is also read.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from lore_etl.files.conversion.convert import Converter, NotConverted, format_of

REQUIREMENTS = Path(__file__).with_name("documents.txt")
REFERENCE = Path(__file__).with_name("documents_reference.py")
PLACES = 10  # sampled from each file
SHORTEST = 25  # characters of a sampled line
SECONDS = 300
_WORD = re.compile(r"[^\W\d_]{2,}")
_PLACE = re.compile(r"^## ((?:Page|Slide) \d+|Sheet .*)", re.MULTILINE)
Parts = list[tuple[str, str]]


class Read(NamedTuple):
    """How Lore read a file: its text, or why it has none; seconds and megabytes of the conversion."""

    text: str
    problem: str
    seconds: float
    megabytes: float


class Row(NamedTuple):
    """The figures of a file. `recovered` is None if the other reader finds no words."""

    file: Path
    read: Read
    half: Read
    recovered: float | None
    right: int
    wrong: int


def read_one(file: Path) -> None:
    """Read a file as a sync does, and print the result."""
    started = time.perf_counter()
    text, problem = "", ""
    try:
        text = text_of(file)
    except NotConverted as error:
        problem = str(error)
    print(json.dumps([text, problem, time.perf_counter() - started, _megabytes()]))


def text_of(file: Path) -> str:
    """Return the text of all sections of a file. Raises NotConverted."""
    if format_of(file.name):
        return Converter().convert(file.name, file.read_bytes())
    from lore_etl.chunking import parse  # not before conversions, whose memory would include it
    from lore_etl.core.model import Document, KnowledgeType
    from lore_etl.sources.source import syntax_of

    text = file.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
    parsed = parse(Document(file.name, KnowledgeType.GUIDE, text, file.stem, syntax_of(file.name)))
    lines = (parsed.text or text).split("\n")
    kept = {number for section in parsed.sections for number in range(section.first - 1, section.last)}
    return "\n".join(line for number, line in enumerate(lines) if number in kept)


def _megabytes() -> float:
    import resource

    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / unit


def read(file: Path) -> Read:
    command = [sys.executable, "-m", "benchmarks.documents", "--one", str(file)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=SECONDS)
    if done.returncode:
        raise RuntimeError(f"{file}: {done.stderr.decode(errors='replace')[-2000:]}")
    return Read(*json.loads(done.stdout))


def recovered(parts: Parts, text: str) -> float | None:
    wanted = Counter(_words("\n".join(part for _, part in parts)))
    found = Counter(_words(text))
    return (wanted & found).total() / wanted.total() if wanted else None


def _words(text: str) -> Iterator[str]:
    return (match[0].casefold() for match in _WORD.finditer(text.replace("\N{SOFT HYPHEN}", "")))


def places(parts: Parts, text: str, seed: str) -> tuple[int, int]:
    """Return how many sampled lines have the right place, and how many a wrong one."""
    by_line: dict[str, set[str]] = defaultdict(set)
    for place, part in parts:
        for line in part.split("\n"):
            if place and len(_letters(line)) >= SHORTEST:
                by_line[_letters(line)].add(place)
    lines = sorted(line for line, found in by_line.items() if len(found) == 1)
    steps = _PLACE.split(text)
    shown = [(place, _letters(body)) for place, body in zip(steps[1::2], steps[2::2], strict=True)]
    right = wrong = 0
    for line in random.Random(seed).sample(lines, min(PLACES, len(lines))):
        (place,) = by_line[line]
        found = {heading for heading, body in shown if line in body}
        right += any(heading == place or heading.startswith(f"{place}: ") for heading in found)
        wrong += bool(found) and not any(heading == place or heading.startswith(f"{place}: ") for heading in found)
    return right, wrong


def _letters(text: str) -> str:
    return re.sub(r"\W+", "", text).casefold()


def measured(file: Path, parts: Parts, folder: Path) -> Row:
    full = read(file)
    half = folder / file.name
    half.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    return Row(file, full, read(half), recovered(parts, full.text), *places(parts, full.text, file.name))


def reference(files: Sequence[Path], interpreter: Path) -> list[Parts | None]:
    done = subprocess.run([interpreter, REFERENCE, *files], stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def report(name: str, rows: Sequence[Row], unread: int) -> None:
    """Print the figures of a format, and each file that is not read, or of which words are missing."""
    readable = [row for row in rows if not row.read.problem]
    shares = [row.recovered for row in readable if row.recovered is not None]
    right, wrong = sum(row.right for row in rows), sum(row.wrong for row in rows)
    reported = sum(bool(row.half.problem) for row in readable)
    seconds, memory = ([getattr(row.read, key) for row in rows] for key in ("seconds", "megabytes"))
    cells = [
        name,
        f"{len(readable)} of {len(rows)}",
        f"{statistics.median(shares):.3f}, {min(shares):.3f}" if shares else "",
        f"{right} of {right + wrong}" if right + wrong else "",
        f"{statistics.median(seconds):.2f}, {max(seconds):.2f} s",
        f"{statistics.median(memory):.0f}, {max(memory):.0f} MB" if max(memory) else "",
        f"{reported} reported, {len(readable) - reported} read in part",
        f"{max(row.file.stat().st_size for row in rows) / 1e6:.1f} MB",
    ]
    print(f"| {' | '.join(cells)} |", flush=True)
    if unread:
        print(f"  {name}: the other reader cannot read {unread}", file=sys.stderr)
    for row in sorted(rows, key=lambda row: row.recovered or 0):
        if row.read.problem or row.wrong or (row.recovered is not None and row.recovered < 0.98):
            share = "" if row.recovered is None else f"{row.recovered:.3f}"
            print(f"  {row.file}: {share} {row.read.problem} {row.wrong or ''}", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--environment", type=Path)
    parser.add_argument("--one", type=Path)
    arguments = parser.parse_args()
    if arguments.one:
        read_one(arguments.one)
        return
    from benchmarks.alternatives import environment

    with tempfile.TemporaryDirectory() as folder:
        interpreter = environment(arguments.environment or Path(folder, "readers"), REQUIREMENTS)
        print("| format | read | words recovered: median, least | place right | wall time | memory | half | largest |")
        print("|---|---|---|---|---|---|---|---|", flush=True)
        for kind in sorted(path for path in arguments.folder.iterdir() if path.is_dir()):
            files = sorted(path for path in kind.iterdir() if path.is_file())
            others = reference(files, interpreter)
            rows = [measured(file, parts or [], Path(folder)) for file, parts in zip(files, others, strict=True)]
            report(kind.name, rows, sum(parts is None for parts in others))


if __name__ == "__main__":
    main()
