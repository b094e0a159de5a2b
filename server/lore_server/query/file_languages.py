"""The languages that `lang:` accepts, with the suffixes of their files."""

from __future__ import annotations

LANGUAGES = {
    "bash": ("sh", "bash", "zsh", "ksh", "bats", "bashrc", "zshrc", "profile"),
    "c": ("c", "h"),
    "cpp": ("h", "cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "h++", "ipp", "inl", "tpp", "cu", "cuh", "ino"),
    "csharp": ("cs",),
    "css": ("css", "scss", "less"),
    "dart": ("dart",),
    "elixir": ("ex", "exs"),
    "go": ("go",),
    "html": ("html", "htm"),
    "java": ("java",),
    "javascript": ("js", "mjs", "cjs", "jsx"),
    "json": ("json",),
    "kotlin": ("kt", "kts"),
    "lua": ("lua",),
    "markdown": ("md", "mdx", "markdown"),
    "php": ("php", "phtml", "inc"),
    "proto": ("proto",),
    "python": ("py", "pyi"),
    "rst": ("rst",),
    "ruby": ("rb", "rake", "gemspec"),
    "rust": ("rs",),
    "scala": ("scala", "sc"),
    "shell": ("sh", "bash", "zsh", "ksh", "bats", "bashrc", "zshrc", "profile"),
    "sql": ("sql", "ddl", "psql"),
    "svelte": ("svelte",),
    "swift": ("swift",),
    "text": ("txt",),
    "toml": ("toml",),
    "typescript": ("ts", "mts", "cts", "tsx"),
    "vue": ("vue",),
    "yaml": ("yaml", "yml"),
}
_SUFFIXES = {suffix for suffixes in LANGUAGES.values() for suffix in suffixes}


def suffixes_of(name: str) -> tuple[str, ...]:
    """Return the suffixes of a language, or of a suffix itself; empty if neither is known."""
    lowered = name.lower().removeprefix(".")
    return LANGUAGES.get(lowered) or ((lowered,) if lowered in _SUFFIXES else ())
