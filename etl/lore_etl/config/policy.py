"""Define who may set each configuration key. No other module decides this. Standard library only.

A stranger may have written a project's `lore.toml`: it may set only how this project is indexed and searched. The user
decides about data that leaves the machine, secrets, other files, trusted hosts, programs and the cost of calls.
"""

from collections.abc import Callable
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


def _project(reason: str) -> KeyPolicy:
    return KeyPolicy("any value", lambda value, root: True, reason)


def _user(reason: str) -> KeyPolicy:
    return KeyPolicy("no value", lambda value, root: False, reason)


def _only(reason: str, *values: str) -> KeyPolicy:
    return KeyPolicy(" or ".join(f'`"{value}"`' for value in values), lambda value, root: value in values, reason)


def _at_most(reason: str, bound: float) -> KeyPolicy:
    return KeyPolicy(f"up to {bound:,}", lambda value, root: isinstance(value, int | float) and value <= bound, reason)


def _all(section: str, keys: str, policy: KeyPolicy) -> dict[str, KeyPolicy]:
    return {f"{section}.{key}": policy for key in keys.split()}


_RANKING = "It only changes how this project is ranked."
_VECTORS = "It determines where vectors and paths are sent, and with which secrets."
_ANSWERS = "It determines what is sent to the answer model, and the cost."
_COST = "It limits what answers may cost you, in all projects."
_ACCESS = "It determines who may read and change your projects."
_HNSW = "It only changes this project's index, within fixed limits."
_MODEL = "A model is downloaded from a hub or read from a folder, and its files determine what is loaded."

RULES: dict[str, KeyPolicy] = {
    "index.path": KeyPolicy(
        "a path inside the project", is_inside, "Lore creates, overwrites and deletes files there."
    ),
    "index.exclude": _project("It only excludes files of this project. Patterns are matched in linear time."),
    "index.include": _project(
        "The project's own `.gitignore` could include the same files. Patterns are matched in linear time."
    ),
    "index.max_file_bytes": _at_most("Each file is read into memory as a whole.", 20_000_000),
    "index.guard_share": _project("The index is derived from this project's files and can be rebuilt."),
    "sources": _project("Patterns only choose among this project's files. They are matched in linear time."),
    "embedding.provider": _only("`gemini` sends every chunk to Google, with your key.", "local"),
    "embedding.model": _only(_MODEL, "", "all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"),
    "embedding.threads": _project("It only divides the work, within fixed limits."),
    "embedding.base_url": _user("Every chunk and your Gemini key would be sent there."),
    "embedding.cache_mb": _user("The cache is shared by all your projects."),
    "embedding.shared": _user("Vectors are read from there, and sent there with `shared_writes`."),
    "embedding.shared_writes": _user("Vectors, which reveal much of a text, would be sent to `shared`."),
    "database.mode": _only(_VECTORS, "embedded", "server"),
    **_all("database", "host port ssl tenant database", _user(_VECTORS)),
    "database.ca_file": _user("It reads a file outside the project and determines which server is trusted."),
    "database.headers": _user("Headers carry secrets from your environment to the server."),
    "database.timeout_seconds": _at_most("Calls wait that long for the server.", 30),
    "database.collection": _user("It names the collection that is created and deleted on the server."),
    **_all("database", "ef_search ef_construction max_neighbors", _project(_HNSW)),
    **_all("query", "ranking nResults weights rerank_depth", _project(_RANKING)),
    "query.reranker": _only(_MODEL, ""),
    "docs.framework": KeyPolicy(
        "a path inside the project", lambda value, root: value == "" or is_inside(value, root), "Files there are read."
    ),
    **_all("docs", "tag_weight title_weight recent_weight recent_days", _project(_RANKING)),
    "answer.provider": _only(_ANSWERS, "auto", "none"),
    "answer.model": _user(_ANSWERS),
    "answer.base_url": _user("Passages and your key would be sent there."),
    "answer.timeout_seconds": _at_most("Calls wait that long for the answer model.", 20),
    "answer.attempts": _at_most(_ANSWERS, 3),
    "answer.context_tokens": _at_most(_ANSWERS, 6000),
    **_all("answer", "requests_per_minute tokens_per_day", _user(_COST)),
    "server.host": _only("It determines which machines can reach the server.", "127.0.0.1", "localhost", "::1"),
    "server.port": _project("The server listens on this machine only, unless you set `server.host`."),
    "server.allowed_hosts": _user("It determines the host names that the server accepts."),
    "server.webhooks": _user("It determines which trackers are contacted, and with your tokens."),
    **_all("auth", "issuer audience groups_claim groups", _user(_ACCESS)),
    "published.target": _user("The whole index is taken from there, and sent there by `lore publish`."),
    "published.keys": _user("Whoever has such a key determines what the index contains."),
    "owner.idle_minutes": _at_most("A background process stays alive that long.", 30),
    "owner.transport": _only("`loopback` opens a TCP port that other users of this machine can connect to.", "unix"),
    "owner.watch": _project("It only determines whether this project's files are watched."),
    "owner.auto_sync_files": _project("It only determines when this project is synced, and only with a local model."),
    "hook.memory_dirs": KeyPolicy(
        "paths inside the project",
        lambda value, root: isinstance(value, list) and all(is_inside(path, root) for path in value),
        "The files in these folders are sent to a server.",
    ),
    "insights.log": KeyPolicy(
        "`false`",
        lambda value, root: value is False,
        "Your questions are private: a project can only turn the log off.",
    ),
    "insights.days": _at_most("Your questions are private.", 90),
    "insights.max_questions": _at_most("Your questions are private.", 10_000),
}


def split(values: JSON, root: Path) -> tuple[JSON, JSON]:
    """Split settings: allowed (with unknown keys, which validation rejects), and `section.key` -> value to approve."""
    allowed: JSON = {}
    requested: JSON = {}
    for section, table in values.items():
        if not isinstance(table, dict) or section in RULES:
            allowed[section] = table
            continue
        allowed[section] = {}
        for key, value in table.items():
            rule = RULES.get(f"{section}.{key}")
            if rule is None or rule.allows(value, root):
                allowed[section][key] = value
            else:
                requested[f"{section}.{key}"] = value
    return allowed, requested
