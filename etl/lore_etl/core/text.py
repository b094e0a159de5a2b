"""Clean and shorten texts for files, stores and lists. Pure."""

import difflib
import re
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import islice
from posixpath import splitext

SURROGATES = "\ud800-\udfff"  # a range for character classes: JSON and file names can contain surrogates, UTF-8 cannot
_SURROGATE = re.compile(f"[{SURROGATES}]")
_LETTER = re.compile(r"\S")
_BORDERS = tuple(map(re.compile, (r"\n(?:[ \t]*\r?\n)+", r"\n", r"\s")))  # of paragraphs, lines and words
_UNSTORABLE = re.compile(f"[\x00-\x1f\x7f{SURROGATES}]")
dotted = partial(re.compile(r"(?<=\w)(?:::|\\|#)(?=[^\W\d])").sub, ".")
"""Returns a text with dots in its names: `Rack.Attack` for `Rack::Attack`, `Slim.App` for `Slim\\App`."""

unmarked = partial(re.compile(r"(?<=\w)[?!]$").sub, "")
"""Returns the name of a method of Ruby or Elixir without its mark, which looks like the end of a question."""


def is_encodable(text: str) -> bool:
    return not _SURROGATE.search(text)


def encodable(text: str) -> str:
    """Return the text with a replacement character for each lone surrogate."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def storable(text: str) -> str:
    """Return the text with a replacement character for each control character and lone surrogate."""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def counted(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def one_line(text: str) -> str:
    return " ".join(text.split())


def clip(text: str, limit: int) -> str:
    """Return the text on one line of at most `limit` characters; a longer text is cut between words and ends in `…`."""
    return shortened(one_line(text), limit, " ,;:")


def shortened(text: str, limit: int, trimmed: str | None = None) -> str:
    """Cut a line between words to `limit` characters with `…`, without `trimmed` (default: white space) before it."""
    if len(text) <= limit:
        return text
    cut = text[: limit - 1]
    words = cut if text[limit - 1] == " " else cut.rpartition(" ")[0] or cut
    return words.rstrip(trimmed) + "…"


def first_distinct(values: Iterable[str], limit: int) -> tuple[str, ...]:
    return tuple(islice(dict.fromkeys(values), limit))


def is_named(full: str, name: str) -> bool:
    """Return whether a full name is this name, or ends with it below a package, a module, its file or a class."""
    if full == name or full.endswith((f".{name}", f":{name}")):
        return True
    package, _, own = name.rpartition(".")
    if not package or not full.endswith(f":{own}"):
        return False
    module = f".{splitext(full.removesuffix(f':{own}'))[0].replace('/', '.')}"
    return module.endswith(f".{package}") or module.rpartition(".")[0].endswith(f".{package}")


def last_part(name: str) -> str:
    return name.replace(":", ".").rpartition(".")[2]


def nearest_paths(path: str, known: Sequence[str]) -> list[str]:
    """Return up to five similar known paths, starting with those that have the same file name."""
    same_name = [name for name in known if name.rpartition("/")[2] == path.rpartition("/")[2]]
    return list(dict.fromkeys((*same_name, *difflib.get_close_matches(path, known, n=5))))[:5]


def parts_of(text: str, limit: int) -> list[str]:
    """Split a text into parts of at most `limit` characters, after a paragraph, else a line, else a word."""
    parts, start = [], 0
    while len(text) - start > limit:
        end = _border(text, start, start + limit)
        parts.append(text[start:end])
        start = end
    return [*parts, text[start:]]


def _border(text: str, start: int, end: int) -> int:
    begin = _LETTER.search(text, start, end)  # no part is blank
    if begin is None:
        return end
    for border in _BORDERS:
        if found := list(border.finditer(text, begin.start(), end)):
            return found[-1].end()
    return end
