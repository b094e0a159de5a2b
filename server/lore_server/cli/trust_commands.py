"""`lore trust`: show the settings in a project's `lore.toml` that need the user's approval, and approve them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from lore_etl.config import approvals
from lore_etl.config.layers import CONFIG_NAME, read_layers
from lore_etl.config.policy import RULES
from lore_etl.core.errors import UsageError
from lore_etl.core.json_types import JSON
from lore_server.cli.command import command
from lore_server.console import output
from lore_server.console.output import print_json
from lore_server.owner.session import Session


@command
def trust(
    session: Session,
    show_only: Annotated[bool, typer.Option("--show", help="Show the settings without approving them.")] = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Withdraw the approval.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Approve without asking.")] = False,
) -> None:
    """Approve the current settings of a project's lore.toml that only you can allow."""
    if show_only + revoke + yes > 1:
        raise UsageError("Give only one of --show, --revoke and --yes.")
    root = session.root
    layers = read_layers(root)
    requested, is_approved, is_changed = layers.requested, layers.is_approved, False
    if not session.as_json and not revoke:
        output.line("\n".join(_lines(requested, is_approved)))
    if revoke:
        is_changed, is_approved = approvals.revoke(root, os.environ), False
    elif requested and not is_approved and not show_only:
        if not yes:
            _confirm()
        approvals.approve(root, requested, os.environ)
        is_changed = is_approved = True
    if session.as_json:
        settings = [
            {"key": key, "value": _plain(value), "reason": RULES[key].reason} for key, value in requested.items()
        ]
        print_json({"project": str(root), "approved": is_approved, "changed": is_changed, "settings": settings})
    elif is_changed:
        output.line("Approved." if is_approved else "The approval is withdrawn.")
    elif revoke:
        output.line("Nothing was approved for this project.")


def _lines(requested: JSON, is_approved: bool) -> Iterator[str]:
    if not requested:
        yield f"{CONFIG_NAME} contains no settings that need your approval."
        return
    yield f"{CONFIG_NAME} contains settings that only you can allow{' (approved)' if is_approved else ''}:"
    for key, value in requested.items():
        yield f"  {key} = {json.dumps(_plain(value))}"  # ASCII, because the value is untrusted
        yield f"      {RULES[key].reason}"


def _plain(value: object) -> object:
    return json.loads(json.dumps(value, default=str))


def _confirm() -> None:
    """Raise UsageError if there is no terminal for the prompt, Abort if the answer is no."""
    if not sys.stdin.isatty():
        raise UsageError(
            "These settings are not approved: there is no terminal for the prompt.",
            "Read them with `lore trust --show`, then run `lore trust --yes`.",
        )
    typer.confirm("Approve these settings for this project?", abort=True, err=True)
