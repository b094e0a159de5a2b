"""Extract a PRP's references to other files: implementations, examples, and other names it mentions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pydantic import BaseModel, ConfigDict

from lore_etl.core.text import first_distinct, one_line, storable
from lore_etl.digest.prose_lines import ProseLines

MAX_PATHS = 200
MAX_NAMES = 1_000
LONGEST = 200  # characters of a path or name
_LABEL = re.compile(
    r"^[ \t>*_+-]*(?:\d{1,9}[.)][ \t*_]*)?"
    r"(?:files?|locations?|implementations?|files (?:modified|to (?:create|modify)))[ \t*_]*:[ \t*_]*(?P<rest>.*)$",
    re.IGNORECASE,
)
_CODE = re.compile(r"`([^`\n]{1,300})`")
_ITEM = re.compile(r"^[ \t]*[-*+][ \t]+(?P<rest>.*)$")
_PATH = re.compile(r"^(?:\./)?(?P<path>(?:[\w@.+-]+/)*[\w@.+-]+)(?P<folder>/)?(?::\d+(?:-\d+)?)?$")
_HAS_ENDING = re.compile(r"\.[A-Za-z]\w{0,9}$")
_NAME = re.compile(r"[\w./-]+")
_NUMBER = re.compile(r"[\d./-]+(?:T\d*)?$")  # dates and versions too
_UP = re.compile(r"^(?:\.{1,2}/)+")
_EXAMPLE = re.compile(r"(?:^|/)examples/(?:[\w.-]+/)*[\w.-]+\.(?:md|py)$")


class Spec(BaseModel):
    """The references of a PRP. `names` are the words that may refer to another file, separated by spaces."""

    model_config = ConfigDict(frozen=True)

    id: str | None = None
    status: str | None = None
    verified: bool = False
    implementations: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    names: str = ""


def spec_of(front: Mapping[str, object], text: ProseLines) -> Spec:
    """Return a PRP's references. Fenced code can name patterns, but its paths are examples, not implementations."""
    synced = front.get("context_sync")
    return Spec(
        id=_text(front.get("prp_id")),
        status=_text(front.get("status")),
        verified=front.get("verified") is True or (isinstance(synced, dict) and synced.get("ce_updated") is True),
        implementations=first_distinct(_implementations(front, text), MAX_PATHS),
        examples=first_distinct(_examples(text), MAX_PATHS),
        names=" ".join(first_distinct(_names(text), MAX_NAMES)),
    )


def _implementations(front: Mapping[str, object], text: ProseLines) -> Iterator[str]:
    """Return paths from the front matter, after a label such as `File:`, or in the list below a label."""
    listed = front.get("implementations")
    for path in listed if isinstance(listed, list) else ():
        yield from _path(str(path))
    in_list = False
    for _, line in text.prose():
        label = _LABEL.match(line)
        item = _ITEM.match(line) if in_list and not label else None
        rest = label["rest"] if label else item["rest"] if item else ""
        in_list = (bool(label) and not rest) or bool(item) or (in_list and not line.strip())
        coded = _CODE.findall(rest)
        for number, path in enumerate(coded or rest.split()[:1]):
            yield from _path(path, needs_folder=number > 0 or not coded)


def _path(text: str, needs_folder: bool = False) -> Iterator[str]:
    """Return the path of a file or folder without line numbers, or None if the text is not a path."""
    found = _PATH.match(text.strip().rstrip(",;")) if len(text) <= LONGEST else None
    if found and (found["folder"] or "/" in found["path"] or (_HAS_ENDING.search(found["path"]) and not needs_folder)):
        yield found["path"]


def _examples(text: ProseLines) -> Iterator[str]:
    for _, line in text.prose():
        yield from (_UP.sub("", word) for word in _words(line) if _EXAMPLE.search(word))


def _names(text: ProseLines) -> Iterator[str]:
    """Yield compound words and paths from all text, and plain words from code."""
    for _, line in text.lines():
        yield from (_UP.sub("", word) for word in _words(line) if not word.isalnum() and not _NUMBER.match(word))
        yield from (code for code in _CODE.findall(line) if code.isalnum())


def _words(line: str) -> Iterator[str]:
    """Yield words, paths and file names, without the full stop of a sentence."""
    for found in _NAME.finditer(line):
        word = found[0].rstrip("./-")
        if word and len(word) <= LONGEST:
            yield word


def _text(value: object) -> str | None:
    return storable(one_line(value))[:LONGEST] or None if isinstance(value, str) else None
