"""`lore token …`: create, list and revoke the named tokens for `lore serve`."""

import datetime
from typing import Annotated

from typer import Argument, Option

from lore_etl.config.project import user_state_folder
from lore_etl.core.json_types import JSON
from lore_server.cli.command import add_group
from lore_server.owner.session import Session

command = add_group("token", "Manage the named tokens for `lore serve`.")
_PROJECT = "A project that it may {}; `*` is every project."
Projects = list[str] | None


@command
def add(
    session: Session,
    name: Annotated[str, Argument(help="Who uses it; the audit log names it.")],
    read: Annotated[Projects, Option(help=_PROJECT.format("read"))] = None,
    write: Annotated[Projects, Option(help=_PROJECT.format("read and change"))] = None,
    admin: Annotated[Projects, Option(help=_PROJECT.format("administer"))] = None,
    days: Annotated[float, Option(min=0.0, max=3650, help="Days until it expires.")] = 90,
    per_minute: Annotated[int, Option(min=0, help="Most requests in a minute; 0: any number.")] = 0,
) -> None:
    """Create a token and print it. It cannot be shown again, because only its hash is stored."""
    from lore_server.http.access import NamedTokens

    levels = {"read": read, "write": write, "admin": admin}
    rights = {project: level for level, projects in levels.items() for project in projects or ()}
    token = NamedTokens(user_state_folder()).add(name, rights, days, per_minute)
    session.show({"name": name, "token": token}, token)


@command
def list_(session: Session) -> None:
    """List the tokens, with their rights and the end of their validity."""
    from lore_server.http.access import NamedTokens

    rows: list[JSON] = []
    lines = []
    for name, record in NamedTokens(user_state_folder()).all().items():
        rows.append({"name": name, **{key: value for key, value in record.items() if key != "sha256"}})
        day = datetime.datetime.fromtimestamp(record["expires"], datetime.UTC).date()
        rights = ", ".join(f"{level} {project}" for project, level in record["rights"].items())
        lines.append(f"{name}  until {day}  {rights}")
    session.show({"tokens": rows}, *lines, empty="There are no tokens. `lore token add` creates one.")


@command
def revoke(session: Session, name: str) -> None:
    """Revoke a token, at once."""
    from lore_server.http.access import NamedTokens

    NamedTokens(user_state_folder()).revoke(name)
    session.show({"revoked": name}, f"{name} is revoked.")
