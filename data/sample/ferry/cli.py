"""The command line: `python -m ferry.cli <command> package.module:attribute`."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from ferry.dashboard import Dashboard
from ferry.errors import FerryError
from ferry.pool import ProcessWorker, ThreadWorker
from ferry.queue import Queue, load_object
from ferry.worker import GRACE_SECONDS, Worker

EXIT_ERROR = 1
EXIT_RELEASED = 3
DAY = 86_400

log = logging.getLogger("ferry.cli")


def build_parser() -> argparse.ArgumentParser:
    """The parser, with one subcommand per thing that an operator does."""
    parser = argparse.ArgumentParser(prog="ferry")
    commands = parser.add_subparsers(dest="command", required=True)
    work = commands.add_parser("work", help="run a worker until SIGTERM")
    work.add_argument("--pool", choices=("thread", "process", "none"), default="thread")
    work.add_argument("--concurrency", type=int)
    work.add_argument("--queues", default="default", help="comma-separated lanes")
    work.add_argument("--grace", type=float, default=GRACE_SECONDS)
    dashboard = commands.add_parser("dashboard", help="serve the dashboard")
    dashboard.add_argument("--host", default="127.0.0.1")
    dashboard.add_argument("--port", type=int, default=Dashboard.PORT)
    dashboard.add_argument("--static", type=Path)
    purge = commands.add_parser("purge", help="delete done and cancelled jobs")
    purge.add_argument("--days", type=float, default=7)
    revive = commands.add_parser("revive", help="queue dead jobs again")
    revive.add_argument("--job", action="append", required=True, dest="jobs")
    commands.add_parser("schedule", help="run a Scheduler")
    commands.add_parser("stats", help="print the counts as JSON")
    for command in commands.choices.values():
        command.add_argument("app", help="package.module:attribute")
    return parser


def make_worker(queue: Queue, options: argparse.Namespace) -> Worker:
    """The worker that `--pool` asks for."""
    shared = {"queues": options.queues.split(","), "grace_seconds": options.grace}
    if options.pool == "none":
        return Worker(queue, **shared)
    if options.concurrency:
        shared["concurrency"] = options.concurrency
    if options.pool == "process":
        return ProcessWorker(queue, app=options.app, **shared)
    return ThreadWorker(queue, **shared)


def stop_on_signals(worker: Worker) -> None:
    """Make SIGTERM and SIGINT stop the worker; the second of them makes it hurry."""

    def handle(signum: int, frame: FrameType | None) -> None:
        log.info("got %s", signal.Signals(signum).name)
        worker.stop()

    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, handle)


def work(queue: Queue, options: argparse.Namespace) -> int:
    """Run a worker; exit with 3 when jobs had to be given back."""
    worker = make_worker(queue, options)
    stop_on_signals(worker)
    released = worker.run()
    if released:
        logging.shutdown()
        os._exit(EXIT_RELEASED)  # a normal exit would wait for the abandoned threads
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    options = build_parser().parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    sys.path.insert(0, os.getcwd())
    try:
        app = load_object(options.app)
        match options.command:
            case "work":
                return work(app, options)
            case "schedule":
                asyncio.run(app.run())
            case "dashboard":
                token = os.environ.get("FERRY_TOKEN")
                dashboard = Dashboard(
                    app, host=options.host, port=options.port, token=token, static_dir=options.static
                )
                asyncio.run(dashboard.serve())
            case "stats":
                print(json.dumps(app.stats().counts))
            case "purge":
                print(app.store.purge(time.time() - options.days * DAY))
            case "revive":
                print(sum(app.store.revive(job_id) for job_id in options.jobs))
    except FerryError as error:
        print(f"ferry: {error}", file=sys.stderr)
        return EXIT_ERROR
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
