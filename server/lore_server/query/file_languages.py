"""The languages that `lang:` accepts, with the suffixes and names of their files."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

from lore_etl.chunking.code_languages import PLAIN_LANGUAGES, code_languages
from lore_etl.sources.source import CONVERTED, SYNTAXES

_MORE = {"c": (".h",), "text": (".txt",)}
_NAMES = {"tsx": "typescript", CONVERTED: "document"}


@cache
def file_languages() -> dict[str, tuple[str, ...]]:
    """Return the suffixes, without their dot, and the whole names of the files of each language."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for files_by_name in (
        {name: language.files for name, language in code_languages().items()},
        {"shell": code_languages()["bash"].files},
        {name: files for name, (_, files) in PLAIN_LANGUAGES.items()},
        _MORE,
    ):
        for name, files in files_by_name.items():
            found[name] += files
    for file, syntax in SYNTAXES.items():
        name = _ending(file) if syntax == "component" else _NAMES.get(syntax, syntax)
        found[name].append(file)
    return {name: tuple(dict.fromkeys(map(_ending, files))) for name, files in sorted(found.items())}


def _ending(file: str) -> str:
    return file.removeprefix(".").lower()


def suffixes_of(name: str) -> tuple[str, ...]:
    """Return the suffixes and names of a language, or a suffix itself; empty if neither is known."""
    languages, lowered = file_languages(), name.lower().removeprefix(".")
    is_suffix = any(lowered in suffixes for suffixes in languages.values())
    return languages.get(lowered) or ((lowered,) if is_suffix else ())
