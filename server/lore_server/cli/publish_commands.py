"""`lore publish` and `lore fetch` share whole indexes as signed snapshots, `lore embed` vectors from a cluster."""

import dataclasses
import os
from contextlib import closing
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from lore_etl.core.errors import InvalidArgument, UsageError, os_errors_as
from lore_server.cli.command import MassDeleteOption, command
from lore_server.console.output import progress_bar
from lore_server.owner.session import Session

KEY = "LORE_PUBLISH_KEY"
ANCESTORS = 5_000
SECONDS = 60.0
TargetArgument = Annotated[
    str | None, Argument(metavar="TARGET", help="A folder or object store; default: published.target.")
]


@command
def publish(
    session: Session,
    target: TargetArgument = None,
    key: Annotated[Path | None, Option(help=f"The private key; default: the text in {KEY}.")] = None,
    branch: Annotated[str | None, Option(help="The branch, if git does not know it.")] = None,
    days: Annotated[float, Option(min=0.0, max=3650, help="Days until the snapshot expires.")] = 30,
    allow_mass_delete: MassDeleteOption = False,
) -> None:
    """Sync, then publish the index of this commit as a signed snapshot."""
    from lore_etl.files.git_folder import head
    from lore_etl.files.indexed import ADDED, PULLED
    from lore_etl.pipeline.publish import publish as send
    from lore_etl.pipeline.sync import sync
    from lore_etl.stores.target import Target
    from lore_server.changes.project_git import has_blob, read_git

    place = Target(target_of(session, target), "`lore publish`")
    with os_errors_as(UsageError, f"Cannot read {key}"):
        secret = key.read_text(encoding="utf-8", errors="replace") if key else os.environ.get(KEY)
    if not secret:
        raise UsageError("No key is given.", f"Give --key, or put the private key into {KEY}.")
    name = branch or head(session.root).branch
    if not name:
        raise InvalidArgument("HEAD is not on a branch.", "Give --branch.")
    rows = read_git(session.root, "ls-tree", "-r", "-z", "HEAD", seconds=SECONDS).text.split("\0")[:-1]
    blobs = {path: facts.split()[2] for facts, _, path in (row.partition("\t") for row in rows)}

    def is_as_committed(path: str) -> bool:
        return path.startswith((PULLED, ADDED)) or has_blob(session.root, path, blobs.get(path, ""))

    session.hold_index()
    with closing(session.open_app()) as app, progress_bar(session.as_json) as progress:
        sync(app.index, progress, allow_mass_delete)
        done, sent = send(app.index, place, secret, name, days, is_as_committed)
    shown = f"Published {done.branch} at {done.commit[:12]}: {len(done.files)} files, {sent / 1e6:.1f} MB sent."
    session.show({"branch": done.branch, "commit": done.commit, "files": len(done.files), "bytes": sent}, shown)


@command
def fetch(
    session: Session,
    target: TargetArgument = None,
    accept: Annotated[list[str] | None, Option(help="A public key to accept beside published.keys.")] = None,
    allow_mass_delete: MassDeleteOption = False,
) -> None:
    """Replace the index by the snapshot of the nearest published commit, then sync the difference."""
    from lore_etl.pipeline.publish import install, nearest
    from lore_etl.pipeline.sync import sync
    from lore_etl.stores.target import Target
    from lore_server.changes.project_git import read_git

    place = Target(target_of(session, target), "`lore fetch`")
    listed = read_git(session.root, "rev-list", f"--max-count={ANCESTORS}", "HEAD", seconds=SECONDS).text.split()
    found = nearest(place, [*session.settings.published.keys, *(accept or ())], listed)
    session.hold_index()
    with closing(session.open_app()) as app, progress_bar(session.as_json) as progress:
        install(app.index, place, found)
        report = sync(app.index, progress, allow_mass_delete)
    counts = f"{report.unchanged:,} chunks as at {found.commit[:12]}, {report.embedded:,} embedded."
    session.show({"commit": found.commit, **dataclasses.asdict(report)}, counts)


@command
def embed(
    session: Session,
    on: Annotated[Literal["ray"], Option(help="What computes the vectors.")],
    address: Annotated[str, Option(envvar="RAY_ADDRESS", metavar="HOST:PORT", help="A node of the cluster.")],
    allow_mass_delete: MassDeleteOption = False,
) -> None:
    """Sync; a Ray cluster computes the vectors that are missing in `embedding.shared`, and they are added to it."""
    from lore_etl.pipeline.embed import embed_on_ray
    from lore_etl.pipeline.sync import create_only, embed_only

    session.hold_index()
    with closing(session.open_app()) as app, progress_bar(session.as_json) as progress:
        report = create_only(app.index, progress, allow_mass_delete)
        embed_on_ray(app.index, address, report, progress)
        report = report.then(embed_only(app.index, progress))
    session.show(dataclasses.asdict(report), *report.warnings, f"{report.embedded:,} texts embedded.")


def target_of(session: Session, given: str | None) -> str:
    """Return the target of the command line, or of the user's configuration. Raises UsageError."""
    if found := given or session.settings.published.target:
        return found
    raise UsageError("No target is given.", "Name it, or set `published.target` in your own configuration.")
