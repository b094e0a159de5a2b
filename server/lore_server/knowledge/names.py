"""Convert names chosen by callers into safe file names, and reject invalid names."""

import hashlib
import re
import unicodedata
from collections.abc import Container, Iterator

from lore_etl.core.errors import InvalidFilename, InvalidGroupId, InvalidProjectId, UsageError
from lore_etl.files.ignore import SKIPPED_FOLDERS

ID_CHARACTERS = 200  # the seed's limit of 100 is too short for the address of a git remote
FILENAME_CHARACTERS = 255
SLUG_CHARACTERS = 80
MARK_CHARACTERS = 8
LONGEST_SLUG_BYTES = 160  # file systems allow 255, and suffixes are added
SUFFIX = ".md"
# https://learn.microsoft.com/windows/win32/fileio/naming-a-file
DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
_FOLDED = str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ł": "l", "ı": "i"})
# the letters and marks in https://www.unicode.org/reports/tr44/#Default_Ignorable_Code_Point
_UNSEEN_LETTERS = frozenset(
    chr(code)
    for first, last in ((0x34F, 0x34F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x3164, 0x3164),
                        (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xE0100, 0xE01EF))
    for code in range(first, last + 1)
)  # fmt: skip
_MARKED = re.compile(r"-[0-9a-f]{8}$")
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
# absolute, below a home folder, on a drive, or with a part of dots; `team/app` and `https://host/app` are names
_PATH = re.compile(r"^(?:[/\\]|~(?:$|[/\\])|[A-Za-z]:[/\\](?!/)|file:)|(?:^|[/\\])\s*\.+\s*(?:$|[/\\])", re.IGNORECASE)
_JOINERS = "\u200c\u200d"  # Persian words and many emoji need them


def checked_project_id(project_id: str) -> str:
    """Return the id stripped and in Unicode form NFC. Raises InvalidProjectId."""
    return _checked_id(project_id, "A project id", InvalidProjectId)


def checked_group_id(group_id: str) -> str:
    """Return the name of a group of memories, stripped and in Unicode form NFC. Raises InvalidGroupId."""
    return _checked_id(group_id, "A group id", InvalidGroupId)


def group_folder(group_id: str) -> str:
    """Return the folder of a group: its slug, with a digest if the slug differs from the name, so that it is unique."""
    name = checked_group_id(group_id)
    plain = ascii_slug(name)  # ASCII, so that a group keeps its folder from earlier versions
    is_plain = plain == name and plain not in SKIPPED_FOLDERS  # files in skipped folders would not be indexed
    return plain if is_plain else f"{plain}.{mark_of(name)}"  # unique, because slugs contain no dot


def project_slug(project_id: str, taken: Container[str]) -> str:
    """Return the folder of a new project: its slug, with a number if it is taken."""
    base = slug(checked_project_id(project_id))
    return next(name for n in range(100_000) if (name := f"{base}-{n}" if n else base) not in taken)


def document_name(filename: str) -> str:
    """Return the file name of a new document: `API Guide` and `api-guide.md` both give `api-guide.md`."""
    return slug(stem_of(checked_filename(filename))) + SUFFIX


def stem_of(name: str) -> str:
    return name[: -len(SUFFIX)] if name.lower().endswith(SUFFIX) else name


def checked_filename(filename: str) -> str:
    """Return the name stripped, if it is a valid file name. Raises InvalidFilename."""
    name = filename.strip()
    if not name or len(name) > FILENAME_CHARACTERS:
        raise InvalidFilename(f"A file name must have 1 to {FILENAME_CHARACTERS} characters; this one has {len(name)}.")
    looks = unicodedata.normalize("NFKC", name)  # full-width dots and slashes become `../`
    if any(mark in text for text in (name, looks) for mark in "/\\\0"):
        raise InvalidFilename("A file name must not contain slashes or backslashes.")
    if has_unseen(name):
        raise InvalidFilename("A file name must not contain control characters or invisible characters.")
    if not stem_of(looks).strip(". "):
        raise InvalidFilename("A file name must not consist of dots only.")
    return name


def slug(text: str) -> str:
    """Return the text as lower-case letters, digits, `_` and `-` of any script (NFC), without Latin accents."""
    normal = unicodedata.normalize("NFKC", text)
    name = unicodedata.normalize("NFC", re.sub("-+", "-", "".join(_kept(normal))).strip("-"))
    # names that lose letters, or mix ASCII with letters that may look alike, get a digest, so that they differ
    is_mixed = any(_is_mixed(word) for word in name.split("-")) and not _MARKED.search(name)
    is_lossy = any(letter in _UNSEEN_LETTERS and unicodedata.category(letter)[0] == "L" for letter in normal)
    return _safe(name, text, is_mixed or is_lossy)


def ascii_slug(text: str) -> str:
    """Return a slug of ASCII characters only, for groups of memories and for documents of earlier versions."""
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).lower().translate(_FOLDED))
    letters = [letter for letter in folded if not unicodedata.combining(letter)]
    lost = any(not letter.isascii() and letter.isalnum() for letter in letters)
    name = re.sub(r"[^a-z0-9_]+", "-", "".join(letter for letter in letters if letter.isascii())).strip("-")
    return _safe(name, text, lost)


def _kept(text: str) -> Iterator[str]:
    """Yield the letters, digits and marks of a name, decomposed, and a hyphen for every other character."""
    base = ""
    for letter in unicodedata.normalize("NFKD", text.lower().translate(_FOLDED).casefold()):
        kind = unicodedata.category(letter)[0]
        if kind == "M":
            if not base.isascii() and letter not in _UNSEEN_LETTERS:
                yield letter
            continue
        is_kept = letter == "_" or (kind in "LN" and letter not in _UNSEEN_LETTERS)
        base = letter if is_kept else ""
        yield letter if is_kept else "-"


def _is_mixed(word: str) -> bool:
    letters = [letter for letter in word if letter.isalpha()]
    return any(map(str.isascii, letters)) and not all(map(str.isascii, letters))


def _safe(name: str, text: str, needs_mark: bool) -> str:
    """Return a slug that is short enough for any file system and not a device name, with a digest if needed."""
    is_long = len(name) > SLUG_CHARACTERS + MARK_CHARACTERS + 1 or len(name.encode()) > LONGEST_SLUG_BYTES
    if needs_mark or not name or is_long:  # the limits allow for a digest, so that the slug of a slug is the same slug
        short = name[:SLUG_CHARACTERS].encode()[: LONGEST_SLUG_BYTES - MARK_CHARACTERS - 1].decode(errors="ignore")
        name = f"{short.strip('-') or 'x'}-{mark_of(unicodedata.normalize('NFKC', text))}"
    return f"{name}-x" if name in DEVICES else name


def _checked_id(given: str, label: str, error: type[UsageError]) -> str:
    """Return an id, unless it is empty, too long, a path, or contains invisible characters."""
    name = unicodedata.normalize("NFC", given).strip()
    if not name or len(name) > ID_CHARACTERS:
        raise error(f"{label} must have 1 to {ID_CHARACTERS} characters; this one has {len(name)}.")
    if has_unseen(name):
        raise error(f"{label} must not contain control characters, line breaks or invisible characters.")
    if _PATH.search(unicodedata.normalize("NFKC", name)):
        raise error(f"{label} must be a name, not a path.")
    return name


def has_unseen(name: str) -> bool:
    return any(unicodedata.category(letter) in _UNSEEN and letter not in _JOINERS for letter in name)


def mark_of(text: str) -> str:
    """Return a short digest of a text, which makes a name unique."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:MARK_CHARACTERS]
