"""Locate a project, its configuration, its index, and the user's folders. Standard library only: the bridge imports it.

Later layers override earlier ones, table by table: the project's `lore.toml`, the user's file, `-c FILE`. A value that
a project may not set (`lore_etl.config.policy`) needs the user's approval with `lore trust`: of exactly that value, for
the project's path, kept as a digest in the user's state folder.
"""

import errno
import hashlib
import json
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from lore_etl.config.policy import is_inside, split
from lore_etl.core.errors import ConfigError, StorageError, os_errors_as
from lore_etl.core.json_types import JSON
from lore_etl.system.nofollow import is_private, user_id
from lore_etl.system.open_folder import read_below

CONFIG_NAME = "lore.toml"
INDEX_NAME = ".lore"
VIEW_NAME = ".ce/syntropy-index.json"  # written for other programs; neither it nor copies are indexed
STATE = "LORE_STATE"
MAX_BYTES = 1_000_000
_MODELS = ("embedding.model", "query.reranker")
_PATHS = (*_MODELS, "database.ca_file")
_REGULAR = "Make it a regular, readable file."


class Place(NamedTuple):
    """A project with its `-c` file, its index folder, a digest of its configuration, and the ignored settings."""

    root: Path
    config: Path | None
    folder: Path
    digest: str
    warning: str = ""


def find_project(start: Path) -> Path:
    """Return the nearest folder with a `lore.toml` or `.git`, from this folder upwards; else the folder itself."""
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / CONFIG_NAME).exists() or (folder / ".git").exists():
            return folder
    return start


def knowledge_home(environment: Mapping[str, str]) -> Path:
    named = environment.get("LORE_HOME") or environment.get("KNOWLEDGE_MCP_HOME")
    return Path(named or "~/.lore").expanduser().absolute()


def place_of(root: Path, config: Path | None = None) -> Place:
    """Return the place of a project according to the current configuration. Raises ConfigError."""
    layers = read_layers(root, config)
    table = layers.merged.get("index")
    path = str(table.get("path", INDEX_NAME)) if isinstance(table, dict) else INDEX_NAME
    return Place(root, config, index_folder(root, path), _digest(_filled(layers.merged))[:16], layers.warning)


def index_folder(root: Path, path: str) -> Path:
    """Return the index folder. Follows no symlink inside the project, which may have come with it."""
    folder = Path(os.path.normpath(root / path))
    return folder if folder.is_relative_to(root) else folder.parent.resolve() / folder.name


def build_of(*packages: Path) -> str:
    """Return a digest of Lore's own files. An owner that runs other files is replaced."""
    digest = hashlib.sha256()
    for package in packages:
        for folder, folders, files in os.walk(package):
            folders[:] = sorted(folder for folder in folders if folder != "__pycache__")
            for name in sorted(files):
                info = os.stat(os.path.join(folder, name))  # noqa: PTH116, PTH118 - a Path each costs more than the rest
                digest.update(f"{name}:{info.st_size}:{info.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]


class Layers(NamedTuple):
    """The merged configuration, and the project's settings that need approval: `section.key` -> value."""

    merged: JSON
    requested: JSON
    is_approved: bool

    @property
    def warning(self) -> str:
        """Name the ignored settings and how to approve them; empty if there are none."""
        if self.is_approved or not self.requested:
            return ""
        return (
            f"{CONFIG_NAME} contains settings that only you can allow; they are ignored: "
            f"{', '.join(sorted(self.requested))}. "
            "`lore trust --show` shows the values, `lore trust` approves them for this project."
        )


def user_config(environment: Mapping[str, str]) -> Path:
    """Return the user's configuration file: `$XDG_CONFIG_HOME/lore/config.toml`, else `~/.config/lore/config.toml`."""
    named = Path(environment.get("XDG_CONFIG_HOME", ""))  # XDG: ignore relative paths
    usual = Path(os.path.expanduser("~/.config"))  # noqa: PTH111 - Path.expanduser raises where there is no home
    return (named if named.is_absolute() else usual) / "lore" / "config.toml"


def read_layers(root: Path, config: Path | None = None) -> Layers:
    """Read every layer. `root` is resolved. Raises ConfigError, which names the file."""
    allowed, requested = split(_project_table(root), root)
    is_approved = bool(requested) and _approvals().get(str(root)) == _digest(requested)
    for name, value in requested.items() if is_approved else ():
        section, _, key = name.partition(".")
        allowed = merge(allowed, _with_paths({section: {key: value}}, root))
    merged = merge(allowed, _users_table(user_config(os.environ), root))
    if config is not None:
        merged = merge(merged, _file_table(config, config.resolve().parent))
    return Layers(merged, requested, is_approved)


def approve_settings(root: Path, requested: JSON) -> None:
    """Record these settings as approved and replace earlier approvals of the project. Raises StorageError."""
    _write_approvals({**_approvals(), str(root): _digest(requested)})


def revoke_approval(root: Path) -> bool:
    """Delete a project's approvals; return False if there are none. Raises StorageError."""
    approvals = _approvals()
    if approvals.pop(str(root), None) is None:
        return False
    _write_approvals(approvals)
    return True


def approvals_file() -> Path:
    """Return the approvals file, which is outside every project and private to this user."""
    return user_state_folder() / "trust.json"


def _digest(values: JSON) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()


def _approvals() -> dict[str, str]:
    """Return the digest of each project's approved settings; a damaged file approves nothing."""
    try:
        stored = json.loads(approvals_file().read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    projects = stored.get("projects") if isinstance(stored, dict) else None
    return projects if isinstance(projects, dict) else {}


def _write_approvals(projects: dict[str, str]) -> None:
    from lore_etl.core.atomic import write_atomically

    target, hint = approvals_file(), "Check the permissions of that folder."
    with os_errors_as(StorageError, f"Cannot write {target}", hint):
        private_folder(target.parent)
    write_atomically(target, [json.dumps({"projects": projects}, indent=2, sort_keys=True)], hint, mode=0o600)


def merge(base: JSON, over: JSON) -> JSON:
    out = dict(base)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(out.get(key), dict)
        out[key] = merge(out[key], value) if both else value
    return out


def _project_table(root: Path) -> JSON:
    """Read `lore.toml`. A stranger may have written it, so symlinks, devices and huge files are not read."""
    file = root / CONFIG_NAME
    try:
        data = read_below(root, CONFIG_NAME, MAX_BYTES + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"Cannot read {CONFIG_NAME}: {error.strerror}.", _REGULAR) from error
    if len(data) > MAX_BYTES:
        raise ConfigError(f"Cannot read {CONFIG_NAME}: it is larger than {MAX_BYTES:,} bytes.", _REGULAR)
    return _parsed(file, data)


def _users_table(file: Path, root: Path) -> JSON:
    if not os.path.exists(file):  # noqa: PTH110 - Path.exists raises where the folder may not be entered
        return {}
    values = _file_table(file, file.parent)
    index = values.get("index")
    if isinstance(index, dict) and "path" in index and not is_inside(index["path"], root):
        hint = f"Set it for one project, with -c FILE or in the project's {CONFIG_NAME} with `lore trust`."
        raise ConfigError(f"Configuration key `index.path` in {file}: all projects would share that folder.", hint)
    return values


def _file_table(file: Path, folder: Path) -> JSON:
    with os_errors_as(ConfigError, f"Cannot read {file.name}", _REGULAR):
        data = file.read_bytes()
    return _with_paths(_parsed(file, data), folder)


def _parsed(file: Path, data: bytes) -> JSON:
    import tomllib

    try:
        text = data.decode("utf-8")
        value = json.loads(text) if file.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file.name} is not valid: {error}.") from error
    if not isinstance(value, dict):
        raise ConfigError(f"{file.name} must contain a table at the top level.")
    return value


def _with_paths(values: JSON, folder: Path) -> JSON:
    """Make paths absolute, relative to the file that names them. A model that begins with a dot is a path."""
    for name in _PATHS:
        section, _, key = name.partition(".")
        table = values.get(section)
        value = table.get(key) if isinstance(table, dict) else None
        if isinstance(value, str) and value and (name not in _MODELS or value.startswith(".")):
            values = merge(values, {section: {key: str(folder / os.path.expanduser(value))}})  # noqa: PTH111
    return values


def _filled(table: JSON) -> JSON:
    """Return the configuration without empty tables, so that comments do not change its digest."""
    below = {key: _filled(value) if isinstance(value, dict) else value for key, value in table.items()}
    return {key: value for key, value in below.items() if value != {}}


def user_state_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return `LORE_STATE`, else the platform's folder for state. Creates nothing.

    It decides what is trusted, so by default it is in no project and not in `TMPDIR`, which differs between shells.
    """
    if named := environment.get(STATE):
        return Path(named).expanduser().absolute()
    home = Path(environment.get("HOME") or Path.home())
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "lore"
    if sys.platform == "win32":
        return Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local") / "lore"
    named = environment.get("XDG_STATE_HOME", "")
    base = Path(named) if Path(named).is_absolute() else home / ".local" / "state"  # XDG: ignore relative paths
    return base / "lore"


def cache_folder() -> Path:
    """Return the folder of compiled models: `LORE_CACHE`, else the user's cache folder."""
    from platformdirs import user_cache_path

    return Path(os.environ.get("LORE_CACHE") or user_cache_path("lore", appauthor=False))


def private_folder(folder: Path) -> Path:
    """Create a folder that only this user can enter, and return it. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    info = folder.lstat()
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != user_id():
        raise PermissionError(errno.EPERM, "it belongs to another user", str(folder))
    if not is_private(info):
        folder.chmod(0o700)
    return folder
