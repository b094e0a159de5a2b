"""The languages that `lang:` accepts, with the suffixes and names of their files."""

from __future__ import annotations

from functools import cache

from lore_etl.chunking.code_languages import code_languages
from lore_etl.chunking.plain_languages import PLAIN_LANGUAGES

_OTHERS = {
    "c": ("h",),
    "html": ("html", "htm"),
    "javascript": ("js", "mjs", "cjs", "jsx"),
    "markdown": ("md", "mdx", "markdown"),
    "python": ("py", "pyi"),
    "rst": ("rst",),
    "shell": ("sh", "bash", "zsh"),
    "svelte": ("svelte",),
    "text": ("txt",),
    "toml": ("toml",),
    "typescript": ("ts", "mts", "cts", "tsx"),
    "vue": ("vue",),
    "yaml": ("yaml", "yml"),
}


@cache
def file_languages() -> dict[str, tuple[str, ...]]:
    """Return the suffixes, without their dot, and the whole names of the files of each language."""
    found = dict(_OTHERS)
    listed = {name: language.files for name, language in code_languages().items()}
    listed |= {name: files for name, (_, files) in PLAIN_LANGUAGES.items()}
    for name, names in listed.items():
        files = (file.removeprefix(".").lower() for file in names)
        found[name] = tuple(dict.fromkeys((*files, *_OTHERS.get(name, ()))))
    return dict(sorted(found.items()))


def suffixes_of(name: str) -> tuple[str, ...]:
    """Return the suffixes and names of a language, or a suffix itself; empty if neither is known."""
    languages, lowered = file_languages(), name.lower().removeprefix(".")
    is_suffix = any(lowered in suffixes for suffixes in languages.values())
    return languages.get(lowered) or ((lowered,) if is_suffix else ())
