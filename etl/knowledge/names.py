"""Names that callers choose, made into names of files: slugs in ASCII, and the refusal of what cannot be one."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Container
from pathlib import PurePosixPath

from etl.errors import InvalidFilename, InvalidGroupId, InvalidProjectId, UsageError
from etl.files import SKIPPED_FOLDERS

ID_CHARACTERS = 200  # the seed's 100 are too few for the address of a git remote
FILENAME_CHARACTERS = 255
SLUG_CHARACTERS = 80
MARK_CHARACTERS = 8
SUFFIX = ".md"
# https://learn.microsoft.com/windows/win32/fileio/naming-a-file
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
_FOLDED = str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ł": "l", "ı": "i"})
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"  # Persian words and many emoji need them
_ADDRESS = re.compile(r"^(?:[A-Za-z][A-Za-z0-9+.-]*://[^/]*|[^/:]+:(?!//))(?P<path>.*)$")


def checked_project_id(project_id: str) -> str:
    """The id in one Unicode form, without blanks around it.

    Raises:
        InvalidProjectId: it is empty, too long, or holds what cannot be seen.
    """
    return _checked_id(project_id, "A project id", InvalidProjectId)


def checked_group_id(group_id: str) -> str:
    """The name of a group of memories in one Unicode form, without blanks around it.

    Raises:
        InvalidGroupId: it is empty, too long, or holds what cannot be seen.
    """
    return _checked_id(group_id, "A group id", InvalidGroupId)


def group_folder(group_id: str) -> str:
    """The folder of a group: its slug, marked where that is not the whole name, so that no two groups share one.

    Raises:
        InvalidGroupId: see `checked_group_id`.
    """
    name = checked_group_id(group_id)
    plain = slug(name)
    is_plain = plain == name and plain not in SKIPPED_FOLDERS  # those would not be indexed
    return plain if is_plain else f"{plain}.{_mark(name)}"  # no slug has a dot


def project_slug(project_id: str, taken: Container[str]) -> str:
    """The folder of a new project: its slug, numbered if another project has it."""
    base = slug(checked_project_id(project_id))
    return next(name for n in range(100_000) if (name := f"{base}-{n}" if n else base) not in taken)


def document_name(filename: str) -> str:
    """The file name of a document: `API Guide` and `api-guide.md` are both `api-guide.md`.

    Raises:
        InvalidFilename: it is empty, too long, a path, or holds what no name can.
    """
    name = checked_filename(filename)
    return slug(name[: -len(SUFFIX)] if name.lower().endswith(SUFFIX) else name) + SUFFIX


def checked_filename(filename: str) -> str:
    """The name as it was given, if it names a file and nothing else.

    Raises:
        InvalidFilename: it is empty, too long, a path, or holds what no name can.
    """
    name = filename.strip()
    if not name or len(name) > FILENAME_CHARACTERS:
        raise InvalidFilename(f"A file name has 1 to {FILENAME_CHARACTERS} characters, this one {len(name)}.")
    looks = unicodedata.normalize("NFKC", name)  # full-width dots and slashes become `../`
    if any(mark in text for text in (name, looks) for mark in "/\\\0"):
        raise InvalidFilename("A file name holds no folder: no slash, no backslash.")
    if has_unseen(name):
        raise InvalidFilename("A file name has no control characters or invisible characters.")
    stem = looks[: -len(SUFFIX)] if looks.lower().endswith(SUFFIX) else looks
    if not stem.strip(". "):
        raise InvalidFilename("A file name has more than dots.")
    return name


def slug(text: str) -> str:
    """Lower-case ASCII letters, digits, underscores and hyphens.

    What has no ASCII form is told by a short hash, so that two names that only look alike are two files.
    """
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).lower().translate(_FOLDED))
    letters = [letter for letter in folded if not unicodedata.combining(letter)]
    lost = any(not letter.isascii() and letter.isalnum() for letter in letters)
    name = re.sub(r"[^a-z0-9_]+", "-", "".join(letter for letter in letters if letter.isascii())).strip("-")
    if lost or not name or len(name) > SLUG_CHARACTERS + MARK_CHARACTERS + 1:  # a slug is its own slug
        name = f"{name[:SLUG_CHARACTERS].strip('-') or 'x'}-{_mark(unicodedata.normalize('NFKC', text))}"
    return f"{name}-x" if name in _DEVICES else name


def name_from_remote(address: str) -> str:
    """The repository's name in the address of a git remote: `git@host:team/app.git` is `app`; empty if it has none."""
    found = _ADDRESS.match(address.strip())
    path = found["path"] if found else address.strip()
    return PurePosixPath(path.replace("\\", "/").rstrip("/")).name.removesuffix(".git")


def _checked_id(given: str, what: str, error: type[UsageError]) -> str:
    name = unicodedata.normalize("NFC", given).strip()
    if not name or len(name) > ID_CHARACTERS:
        raise error(f"{what} has 1 to {ID_CHARACTERS} characters, this one {len(name)}.")
    if has_unseen(name):
        raise error(f"{what} has no control characters, line ends or invisible characters.")
    if not name.strip("./\\"):
        raise error(f"{what} is a name, not a path made of dots.")
    return name


def has_unseen(name: str) -> bool:
    """Whether it holds control characters, line ends or invisible characters."""
    return any(unicodedata.category(letter) in _UNSEEN and letter not in _JOINERS for letter in name)


def _mark(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:MARK_CHARACTERS]
