"""A first job: send mail in the background and try again when the server is busy.

    python examples/send_mail.py

Runs the worker in the same process with a MemoryStore, so there is nothing to clean up.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from ferry import ConstantBackoff, PermanentFailure, Queue  # noqa: E402
from ferry.worker import Worker  # noqa: E402

queue = Queue("memory://")
attempts = 0


# The name is explicit because the function lives in __main__.
@queue.task("mail.send", retry=ConstantBackoff(max_attempts=3, seconds=0))
def send_mail(address: str, subject: str) -> None:
    """Pretend to send a mail: the first attempt meets a busy server."""
    global attempts
    if "@" not in address:
        raise PermanentFailure(f"{address!r} is not an address")
    attempts += 1
    if attempts == 1:
        raise ConnectionError("421 try again later")
    print(f"sent {subject!r} to {address}")


if __name__ == "__main__":
    send_mail.enqueue("ada@example.org", subject="Your report")
    send_mail.enqueue("nobody", subject="Your report")
    worker = Worker(queue)
    while worker.run_once():
        pass
    for job in queue.store.list_jobs():
        print(job.state, job.attempts, job.last_error)
