"""Chunk documents in order: the first ones in this process, those of a large project also in child processes."""

import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from typing import IO, NamedTuple, TypeAlias, cast

from lore_etl.chunking import chunk
from lore_etl.chunking.tokens import TokenCounter
from lore_etl.core.model import Document, FileFacts
from lore_etl.stores.catalogue_rows import ChunkRecord
from lore_etl.system.processes import cpu_count, quiet

ALONE = 100  # documents that are chunked before a child process is ready
MAX_CHILDREN = 3  # this process cannot index the chunks of more
BATCH_CHARACTERS = 200_000  # a smaller batch would often wait for this process
WAITING = 40  # batches
_CHILD = "from lore_etl.pipeline.chunked import serve; serve()"
_FAILURES = (OSError, EOFError, pickle.PickleError, AttributeError, RecursionError, TypeError, ValueError)
Batch = Sequence[Document]
Reply: TypeAlias = "Future[list[Chunked] | None]"


class Chunked(NamedTuple):
    """The chunks of a document without relations to other files, its facts, and a warning."""

    records: list[ChunkRecord]
    facts: FileFacts
    warning: str | None


def chunked(document: Document, tokens: TokenCounter) -> Chunked:
    chunks, facts, warning = chunk(document, tokens)
    records = [ChunkRecord.of(replace(chunk, class_name=None), chunk.class_name) for chunk in chunks]
    return Chunked(records, facts, warning)


def all_chunked(
    documents: Iterable[Document],
    load_tokens: Callable[[], TokenCounter],
    expected: int,
    alone: int = ALONE,
    children: int | None = None,
) -> Generator[tuple[Document, Chunked]]:
    """Yield each document with its chunks, in order; there are at most `expected`. `load_tokens` caches its result.

    This process chunks the first `alone` documents. If more are expected, child processes start before the first is
    read, and chunk the others; instead of waiting, or if a child fails, this process chunks, too.
    """
    number = min(cpu_count() - 1, MAX_CHILDREN) if children is None else children
    with _asking(number if expected > alone else 0) as ask:
        left = iter(documents)
        yield from ((document, chunked(document, load_tokens())) for document in islice(left, alone if ask else None))
        if ask is None:
            return
        waiting = deque[tuple[Batch, Reply]]()
        for batch in _batches(left):
            waiting.append((batch, ask(batch, load_tokens())))
            while waiting and (waiting[0][1].done() or len(waiting) > WAITING):
                yield from _received(waiting, load_tokens())
        while waiting:
            yield from _received(waiting, load_tokens())


def _batches(documents: Iterable[Document]) -> Iterator[Batch]:
    batch, size = list[Document](), 0
    for document in documents:
        batch.append(document)
        size += len(document.text)
        if size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _help(waiting: deque[tuple[Batch, Reply]], tokens: TokenCounter) -> None:
    """Chunk the last batch that no child has begun, unless the first batch is ready."""
    if waiting[0][1].done():
        return
    for number in reversed(range(len(waiting))):
        batch, reply = waiting[number]
        if reply.cancel():
            own = Future[list[Chunked] | None]()
            own.set_result([chunked(document, tokens) for document in batch])
            waiting[number] = batch, own
            return


def _received(waiting: deque[tuple[Batch, Reply]], tokens: TokenCounter) -> Iterator[tuple[Document, Chunked]]:
    _help(waiting, tokens)
    batch, reply = waiting.popleft()
    found = reply.result()
    for number, document in enumerate(batch):
        yield document, found[number] if found else chunked(document, tokens)


@contextmanager
def _asking(number: int) -> Iterator[Callable[[Batch, TokenCounter], Reply] | None]:
    """Start this number of children; yield a function that passes a batch to the next idle child, None without any."""
    children = list[_Child]()
    with suppress(OSError):  # this process does the work of those that cannot be started
        children.extend(_Child() for _ in range(number))
    if not children:
        yield None
        return
    idle = [*children]  # never empty when a thread takes one, because the pool has as many threads

    def ask(batch: Batch, tokens: TokenCounter) -> list[Chunked] | None:
        child = idle.pop()
        try:
            return child.chunked(batch, tokens)
        finally:
            idle.append(child)

    pool = ThreadPoolExecutor(len(children), thread_name_prefix="chunking")
    try:
        yield lambda batch, tokens: pool.submit(ask, batch, tokens)
    finally:
        for child in children:
            child.process.kill()  # so that no thread waits for it
        pool.shutdown(cancel_futures=True)
        for child in children:
            with suppress(OSError), child.process:
                pass


class _Child:
    """A process that chunks documents until its standard input ends, as happens when this process is killed."""

    def __init__(self) -> None:
        # isolated from the folder and the environment of this process: a project may have modules of any name
        command, pipe = [sys.executable, "-I", "-c", _CHILD], subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env={}, **quiet())
        self._is_new = True

    def chunked(self, batch: Batch, tokens: TokenCounter) -> list[Chunked] | None:
        """Return the chunks of each document; None if the child has failed. The first call sets the token counter."""
        source, target = cast("IO[bytes]", self.process.stdin), cast("IO[bytes]", self.process.stdout)
        try:
            source.write((pickle.dumps(tokens) if self._is_new else b"") + pickle.dumps(batch))
            source.flush()
            found: list[Chunked] = pickle.load(target)
        except _FAILURES:  # this process repeats the work, and reports its errors
            self.process.kill()
            return None
        self._is_new = False
        return found


def serve() -> None:
    """Chunk the batches from standard input: the work of a child."""
    source, target = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # so that nothing else gets into the replies
    with suppress(EOFError):
        tokens = pickle.load(source)
        while True:
            target.write(pickle.dumps([chunked(document, tokens) for document in pickle.load(source)]))
            target.flush()
