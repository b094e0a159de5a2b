"""The languages that `lang:` accepts, with the suffixes of their files."""

from __future__ import annotations

LANGUAGES = {
    "c": ("c", "h"),
    "cpp": ("cc", "cpp", "cxx", "h", "hh", "hpp"),
    "csharp": ("cs",),
    "css": ("css", "scss", "less"),
    "go": ("go",),
    "html": ("html", "htm"),
    "java": ("java",),
    "javascript": ("js", "mjs", "cjs", "jsx"),
    "json": ("json",),
    "kotlin": ("kt", "kts"),
    "lua": ("lua",),
    "markdown": ("md", "mdx", "markdown"),
    "php": ("php",),
    "proto": ("proto",),
    "python": ("py", "pyi"),
    "rst": ("rst",),
    "ruby": ("rb",),
    "rust": ("rs",),
    "scala": ("scala",),
    "shell": ("sh", "bash", "zsh"),
    "sql": ("sql",),
    "swift": ("swift",),
    "text": ("txt",),
    "toml": ("toml",),
    "typescript": ("ts", "mts", "cts", "tsx"),
    "yaml": ("yaml", "yml"),
}
_SUFFIXES = {suffix for suffixes in LANGUAGES.values() for suffix in suffixes}


def suffixes_of(name: str) -> tuple[str, ...]:
    """Return the suffixes of a language, or of a suffix itself; empty if neither is known."""
    lowered = name.lower().removeprefix(".")
    return LANGUAGES.get(lowered) or ((lowered,) if lowered in _SUFFIXES else ())
