"""Add Lore to a client's configuration or remove it: change one entry. JSON with comments is only read."""

import json
import os
import re
import tomllib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable

from lore_etl.config.project import merge
from lore_etl.core.atomic import write_atomically
from lore_etl.core.errors import ConfigError, InvalidPath, StorageError, explaining, os_errors_as
from lore_etl.core.json_types import JSON, loads_with_comments
from lore_etl.core.text import is_encodable
from lore_server.knowledge.safe_files import Files
from lore_server.setup.clients import Form, starts_lore

BOM = "\ufeff"
HINT = "Correct the file, or add the entry by hand; --print shows it."


@dataclass(frozen=True)
class Merge:
    """The outcome for a text; an entry that differs, or that cannot be edited safely, is left to the user."""

    status: Literal["added", "present", "removed", "absent", "different", "unsafe"]
    text: str = ""
    existing: object = None


def document(form: Form, key: str, name: str, value: JSON) -> str:
    if form == "toml":
        return tomlkit.dumps({key: {name: value}}).removeprefix(f"[{key}]\n")
    return json.dumps({key: {name: value}}, ensure_ascii=False, indent=2) + "\n"


def parse(text: str, form: Form, file: str) -> JSON:
    """Parse the configuration, which may be empty. Raises ConfigError, which names the file."""
    text = text.removeprefix(BOM)
    try:
        if form == "toml":
            return tomllib.loads(text)
        value = loads_with_comments(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file} is not valid: {str(error)[:200]}.", HINT) from error
    if not isinstance(value, dict):
        raise ConfigError(f"{file} must contain an object at the top level.", HINT)
    return value


def added(text: str, form: Form, key: str, name: str, value: JSON, file: str, is_users: bool = False) -> Merge:
    """Add the entry; in the user's own file, it may contain more. Raises ConfigError for an invalid text."""
    before = parse(text, form, file)
    servers = before.get(key, {})
    if not isinstance(servers, dict):
        raise ConfigError(f"{file}: `{key}` must be a table of servers.", HINT)
    if name in servers:
        there = servers[name]
        has_ours = isinstance(there, dict) and value.items() <= there.items()
        return Merge("present" if there == value or (is_users and has_ours) else "different", existing=there)
    wanted = merge(before, {key: {name: value}})
    new = _edited(text, form, (wanted,), lambda now: _with_table(now, key, name, value))
    return Merge("unsafe") if new is None else Merge("added", new)


def removed(text: str, form: Form, key: str, name: str, file: str) -> Merge:
    """Remove an entry from the text of a configuration, if it starts Lore. Raises ConfigError, which names the file."""
    before = parse(text, form, file)
    servers = before.get(key)
    if not isinstance(servers, dict) or name not in servers:
        return Merge("absent")
    existing = servers[name]
    if not starts_lore(existing):
        return Merge("different", existing=existing)
    left = {other: value for other, value in servers.items() if other != name}
    without = {other: value for other, value in before.items() if other != key}
    new = _edited(text, form, ({**before, key: left}, without), lambda now: _without_table(now, key, name))
    return Merge("unsafe", existing=existing) if new is None else Merge("removed", new, existing)


def _edited(text: str, form: Form, wanted: Sequence[JSON], edit: Callable[[str], str]) -> str | None:
    """Return the edited text; None if it has comments of JSON, or would not mean one of the wanted configurations."""
    bom = BOM if text.startswith(BOM) else ""
    now = text.removeprefix(BOM)
    try:
        new = bom + (in_style_of(now, wanted[0]) if form == "json" else edit(now))
        return new if is_encodable(new) and parse(new, form, "") in wanted else None
    except (ValueError, RecursionError, TOMLKitError, ConfigError):
        return None


def _with_table(text: str, key: str, name: str, value: JSON) -> str:
    parsed = tomlkit.parse(text)
    if isinstance(parsed.get(key), InlineTable):
        parsed[key][name] = value
        return tomlkit.dumps(parsed)
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text or text.endswith(newline * 2) else newline
    whole = document("toml", key, name, value).replace("\n", newline)
    return text + ("" if not text or text.endswith("\n") else newline) + gap + whole


def _without_table(text: str, key: str, name: str) -> str:
    parsed = tomlkit.parse(text)
    del parsed[key][name]
    return tomlkit.dumps(parsed)


def in_style_of(text: str, value: JSON) -> str:
    """Return the value as JSON with the indentation and line ends of a text. Raises ValueError if it has comments."""
    json.loads(text.strip() or "{}")  # comments would be lost
    indent = re.search(r'\n([ \t]+)"', text)
    is_ascii = text.isascii() and text.strip() != ""
    plain = json.dumps(value, ensure_ascii=is_ascii, allow_nan=False, indent=indent[1] if indent else 2)
    ending = text[len(text.rstrip()) :] if text else "\n"
    return plain.replace("\n", "\r\n" if "\r\n" in text else "\n") + ending


def read(path: Path, label: str, project: Path | None = None) -> str | None:
    """Return the text of a client's file, None if it does not exist. Raises ConfigError.

    A file in a `project` is untrusted: it must be a regular file without another name, below no symlink.
    """
    try:
        with _refuse_links(label), os_errors_as(ConfigError, f"Cannot read {label}", HINT):
            if project is None:
                data = path.read_bytes() if path.exists() else None
            elif path.is_symlink() or (path.exists() and path.stat().st_nlink > 1):
                raise InvalidPath(label)
            else:
                data = Files(project).read(path.relative_to(project).as_posix())
        return None if data is None else data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{label} is not UTF-8.", HINT) from error


def _refuse_links(label: str) -> AbstractContextManager[None]:
    message = f"{label} is a link, is below one, or is not a regular file inside the project, so it is left unchanged."
    hint = "Replace it by a file of its own, or add the entry by hand; --print shows it."
    return explaining(lambda error: ConfigError(message, hint) if isinstance(error, InvalidPath) else None)


def write(path: Path, text: str, label: str, project: Path | None = None) -> None:
    """Write the file, keeping its permissions, and symlinks outside a `project`. Raises ConfigError, StorageError."""
    target = path if project is not None else path.resolve()
    with os_errors_as(StorageError, f"Cannot write {label}", "Check the folder's permissions."):
        mode = target.stat().st_mode & 0o777 if target.exists() else None
        if mode is not None and not os.access(target, os.W_OK):
            raise StorageError(f"Cannot write {label}: it is read-only.", "Check the file's permissions.")
        if project is not None:
            with _refuse_links(label):
                Files(project).write(path.relative_to(project).as_posix(), text.encode())
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        # created with its permissions: a client's file may contain keys and must never be more open
        write_atomically(target, (text,), mode=0o666 if mode is None else mode)
        if mode is not None:
            target.chmod(mode)
