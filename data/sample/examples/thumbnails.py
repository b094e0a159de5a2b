"""CPU-bound jobs in child processes, each image at most once in the queue.

    python -m ferry.cli work --pool process --concurrency 4 --queues images examples.thumbnails:queue

The job carries the path and not the bytes: payloads are limited to 64 KiB of JSON.
"""

import asyncio
import hashlib
from pathlib import Path

from ferry import ExponentialBackoff, Queue

queue = Queue("sqlite:///var/ferry.db")


@queue.task("images.thumbnail", queue="images", timeout=20, retry=ExponentialBackoff(max_attempts=3, base=5))
def thumbnail(path: str) -> None:
    """Stand-in for real scaling; a ProcessWorker interrupts it after 20 seconds."""
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    print(f"{path}: thumbnail {digest[:12]}")


async def uploaded(path: str) -> None:
    """What a web handler would call: unique_key keeps double clicks from queueing two jobs."""
    await asyncio.to_thread(queue.enqueue, thumbnail, (path,), unique_key=f"thumb:{path}")


if __name__ == "__main__":
    raise SystemExit("start a worker with the command in the docstring")
