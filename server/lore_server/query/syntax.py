"""Parse the filters, phrases and excluded words in a query. All other text is left unchanged."""

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches

from lore_etl.core.errors import InvalidArgument
from lore_etl.core.model import KnowledgeType
from lore_server.query.filters import Filters, file_languages, suffixes_of

ALL = "all"
TYPES = tuple(type_.value for type_ in KnowledgeType)
_EXAMPLES = {
    "type": "`type:guide`",
    "path": "`path:docs/**`",
    "lang": "`lang:python`",
    "after": "`after:2025-01-01`",
    "before": "`before:2025-01-01`",
}
_QUOTED = r'"(?=[^\s"]|"")(?:[^"]|"")+"'
_TOKEN = re.compile(
    rf"(?<!\S)(?P<minus>-?)(?:(?P<name>{'|'.join(_EXAMPLES)}):(?P<value>{_QUOTED}(?!\S)|\S+|(?=$))"
    rf"|(?P<phrase>{_QUOTED})(?=[,;.?!]*(?:\s|$))"
    r"|(?<=-)(?P<word>[^\W\d_][\w.'/-]*\w)(?=[,;.?!]*(?:\s|$))(?!\s+(?:flag|option|switch|argument|parameter)s?\b))"
)
_UNCLOSED = re.compile(rf'(?<!\S)-?(?:(?:{"|".join(_EXAMPLES)}):)?"[^\s"][^"]*$')
_PASTED = re.compile(
    r'(?i)\s*(?:[{<]|\[\s*["{\[\d]|\[?(?:trace|debug|info|notice|warn|warning|error|fatal|critical)\b\]?[\s:]'
    r"|\d{4}-\d\d-\d\d[T ]|\d+\.\d+\.\d+\.\d+\s)"
)
_MEMBER = re.compile(r'"[^"]*"\s*:')
_DAY = re.compile(r"(\d{4})(?:-(\d\d?)(?:-(\d\d?))?)?")
_STOPS = ",;.?!"


@dataclass(frozen=True)
class Request:
    """A search as requested: the text to rank by, and the filters."""

    text: str
    filters: Filters


def read_request(
    text: str,
    types: str | Sequence[str] = ALL,
    paths: str | Sequence[str] = (),
    langs: str | Sequence[str] = (),
    after: str | None = None,
    before: str | None = None,
) -> Request:
    """Return the request for a query, with the filters in its text and the arguments. Raises InvalidArgument."""
    arguments = {"type": types, "path": paths, "lang": langs, "after": after, "before": before}
    given = {name: [value] if isinstance(value, str) else list(value or ()) for name, value in arguments.items()}
    without: dict[str, list[str]] = {name: [] for name in arguments}
    phrases, excluded, rest = _divided(text, given, without)
    filters = Filters(
        types=_types(given["type"]),
        without_types=_types(without["type"]),
        paths=_paths(given["path"]),
        without_paths=_paths(without["path"]),
        langs=_langs(given["lang"]),
        without_langs=_langs(without["lang"]),
        after=max((_day("after", value) for value in given["after"]), default=None),
        before=min((_day("before", value) for value in given["before"]), default=None),
        phrases=phrases,
    )
    if rest:
        return Request(rest, replace(filters, without=excluded))
    if excluded:
        first = f"-{excluded[0][:40]}"
        hint = f'Add a word to look for; to search for text such as `{first}`, quote it: `"{first}"`.'
        raise InvalidArgument("The query only excludes words, and needs at least one to look for.", hint)
    hint = "Add words to search for; list_sources lists files without a search."
    raise InvalidArgument("The query has only filters.", hint)


def _divided(
    text: str, given: Mapping[str, list[str]], without: Mapping[str, list[str]]
) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Return the phrases, the excluded words, and the text without syntax; add the values of filters to the lists."""
    if _PASTED.match(text) or "\n" in text.strip():
        return (), (), text
    quotes_are_text = _MEMBER.search(text) is not None  # a part of JSON
    phrases, excluded = dict[str, None](), dict[str, None]()
    parts, last = [], 0
    for token in _TOKEN.finditer(text):
        name, quoted, word = token["name"], token["phrase"], token["word"]
        if quoted and (quotes_are_text or not quoted.strip('" ')):
            continue
        kept = ""
        if name:
            value = _value(name, token["minus"], token["value"])
            (without if token["minus"] else given)[name].append(value)
        elif token["minus"]:
            excluded[_unquoted(quoted) if quoted else word] = None
        else:
            kept = _unquoted(quoted)
            phrases[kept] = None
        parts += [text[last : token.start()], kept]
        last = token.end()
    parts.append(text[last:])
    if not quotes_are_text and (unclosed := _UNCLOSED.search(parts[-1])):
        part = unclosed.group()[:40]
        hint = f'Add a quote at its end, as in `{part}"`, or leave this one out.'
        raise InvalidArgument(f"The quote in `{part}` is not closed.", hint)
    if not last:
        return (), (), text
    return tuple(phrases), tuple(excluded), " ".join("".join(parts).split())


def _value(name: str, minus: str, value: str) -> str:
    if minus and name in ("after", "before"):
        other = "before" if name == "after" else "after"
        raise InvalidArgument(f"`-{name}:` is not a filter.", f"Use `{other}:` with a date.")
    if value.startswith('"') and not re.fullmatch(_QUOTED, value) and value.strip('"'):
        hint = f'Write the value as `{name}:"…"` or without quotes.'
        raise InvalidArgument(f"The quote in `{name}:{value[:40]}` is not closed.", hint)
    plain = _unquoted(value) if value.startswith('"') else value.rstrip(_STOPS if name != "path" else ",;")
    if not plain.strip():
        hint = f'Write {_EXAMPLES[name]}; to search for the text, quote it: `"{name}:"`.'
        raise InvalidArgument(f"`{name}:` has no value.", hint)
    return plain


def _unquoted(quoted: str) -> str:
    return " ".join(quoted[1:-1].replace('""', '"').split())


def _types(given: Iterable[str]) -> tuple[str, ...]:
    names = _names(given)
    for name in names:
        if name not in (ALL, *TYPES):
            near = get_close_matches(name, TYPES, n=1) or [type_ for type_ in TYPES if type_.startswith(name[:3])]
            raise _unknown("type", name, near, ", ".join((ALL, *TYPES)))
    return tuple(type_ for type_ in TYPES if type_ in names)


def _paths(given: Iterable[str]) -> tuple[str, ...]:
    found = []
    for value in given:
        pattern = re.sub(r"^(?:\./)+|^/+|^\.$", "/", value.strip().replace("\\", "/"))
        if pattern.strip("/ "):
            found.append(pattern.rstrip("/"))
        elif not value.strip():
            raise InvalidArgument("`path` is empty.", f"Write a path or a pattern, such as {_EXAMPLES['path']}.")
    return tuple(dict.fromkeys(found))


def _langs(given: Iterable[str]) -> tuple[str, ...]:
    names = _names(given)
    for name in names:
        if not suffixes_of(name):
            near = get_close_matches(name, file_languages(), n=1)
            raise _unknown("lang", name, near, f"{', '.join(file_languages())}, or a suffix of these")
    return tuple(dict.fromkeys(names))


def _names(given: Iterable[str]) -> list[str]:
    return [name.strip().lower() for value in given for name in value.split(",")]


def _unknown(name: str, value: str, near: Sequence[str], valid: str) -> InvalidArgument:
    hint = f"Did you mean `{near[0]}`? " if near else ""
    return InvalidArgument(f"`{name}` cannot be {value[:60]!r}.", f"{hint}Valid values: {valid}.")


def _day(name: str, given: str) -> datetime.date:
    """Return a day, or the first day of a month or year."""
    value = given.strip()
    with suppress(ValueError):
        if found := _DAY.fullmatch(value):
            return datetime.date(*map(int, found.groups(default="1")))
    hint = f"Write year, month and day, such as {_EXAMPLES[name]}."
    raise InvalidArgument(f"`{name}` cannot be {value[:60]!r}: this is not a date.", hint)
