"""Tell who may set each configuration key, by the table `policy.toml`; nothing else decides it. Standard library only.

A stranger may have written a project's `lore.toml`: it may set only how this project is indexed and searched. The user
decides about data that leaves the machine, secrets, other files, trusted hosts, programs and the cost of calls.
"""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import NamedTuple

from lore_etl.core.json_types import JSON
from lore_etl.system.nofollow import leads_elsewhere, names_git_folder


class KeyPolicy(NamedTuple):
    """The values that a project may set without approval, in words and as a predicate on value and root; the reason."""

    project: str
    allows: Callable[[object, Path], bool]
    reason: str


def is_inside(value: object, root: Path) -> bool:
    """Return whether a path is strictly inside the project, outside `.git` and not reached through a symlink."""
    if not isinstance(value, str) or "\0" in value or "\\" in value or PureWindowsPath(value).drive:
        return False
    path = PurePosixPath(value)
    parts = path.parts
    if path.is_absolute() or not parts or ".." in parts or parts[0].startswith("~"):
        return False
    if any(map(names_git_folder, parts)):
        return False
    return not any(_is_link(root.joinpath(*parts[: end + 1])) for end in range(len(parts)))


def _is_link(path: Path) -> bool:
    try:
        return leads_elsewhere(path.lstat())
    except OSError:
        return False


_KINDS: dict[str, tuple[str, Callable[[object, Path], bool]]] = {
    "any": ("any value", lambda value, root: True),
    "none": ("no value", lambda value, root: False),
    "inside": ("a path inside the project", is_inside),
    "inside or empty": ("a path inside the project", lambda value, root: value == "" or is_inside(value, root)),
    "all inside": (
        "paths inside the project",
        lambda value, root: isinstance(value, list) and all(is_inside(path, root) for path in value),
    ),
}


def _policy(allowed: str | int | list[object], reason: str) -> KeyPolicy:
    """Return the policy in a row of the table: the values that a project may set, and the reason."""
    if isinstance(allowed, str):
        return KeyPolicy(*_KINDS[allowed], reason)
    if isinstance(allowed, list):
        words = " or ".join(f"`{json.dumps(value)}`" for value in allowed)
        return KeyPolicy(
            words, lambda value, root: any(value == one and type(value) is type(one) for one in allowed), reason
        )
    return KeyPolicy(
        f"up to {allowed:,}", lambda value, root: isinstance(value, int | float) and value <= allowed, reason
    )


@cache
def rules() -> dict[str, KeyPolicy]:
    """Return the policy by `section.key`, or by section where the user names the keys."""
    from lore_etl.core.tables import table  # imports what a start without a configuration does not need

    found = dict[str, KeyPolicy]()
    for section, rows in table(__file__).items():
        if isinstance(rows, list):
            found[section] = _policy(*rows)
        else:
            found |= {f"{section}.{key}": _policy(*row) for keys, row in rows.items() for key in keys.split()}
    return found


def split(values: JSON, root: Path) -> tuple[JSON, JSON]:
    """Split settings: allowed (with unknown keys, which validation rejects), and `section.key` -> value to approve."""
    allowed: JSON = {}
    requested: JSON = {}
    for section, table in values.items():
        if not isinstance(table, dict) or section in rules():
            allowed[section] = table
            continue
        allowed[section] = {}
        for key, value in table.items():
            rule = rules().get(f"{section}.{key}")
            if rule is None or rule.allows(value, root):
                allowed[section][key] = value
            else:
                requested[f"{section}.{key}"] = value
    return allowed, requested
