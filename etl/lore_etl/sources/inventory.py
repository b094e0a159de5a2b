"""Count a project's files by type and language, and those that are left out by extension and reason."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from lore_etl.chunking.code_languages import code_languages
from lore_etl.core.model import FileGroup, Inventory, LeftOutFiles
from lore_etl.files.generated import generated_reason
from lore_etl.sources.source import syntax_of

MAX_ROWS = 20  # a reply also has room for the problems of files
MAX_EXAMPLE = 80
OTHERS = "other"
BINARY = "binary"
DOCUMENT = "document format that Lore does not read"
UNKNOWN = "type of file that Lore does not read"
_BINARY = frozenset(
    ".png .jpg .jpeg .gif .webp .ico .bmp .tiff .avif .mp3 .mp4 .wav .ogg .webm .mov .zip .gz .tgz .xz .bz2 .7z .jar"
    " .war .whl .so .dll .dylib .exe .bin .dat .db .sqlite .woff .woff2 .ttf .otf .eot .class .o .a .pyc .wasm .onnx"
    " .npz".split()
)
_DOCUMENTS = frozenset(".pdf .doc .docx .ppt .pptx .xls .xlsx .odt .ods .odp .epub .rtf .csv .tsv".split())
_TITLES = {
    "markdown": "Markdown", "rst": "reStructuredText", "python": "Python", "javascript": "JavaScript",
    "typescript": "TypeScript", "tsx": "TypeScript", "component": "Vue and Svelte", "plain": "text",
    "asciidoc": "AsciiDoc", "org": "Org", "latex": "LaTeX", "html": "HTML", "ini": "INI",
    "notebook": "Jupyter notebook",
}  # fmt: skip


def language_of(path: str) -> str:
    """Return the name of a file's language as people write it."""
    syntax = syntax_of(path)
    return _TITLES.get(syntax) or code_languages()[syntax].title


def left_out_reason(path: str) -> str:
    """Return why no source claims a file."""
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in _BINARY:
        return BINARY
    return generated_reason(path) or (DOCUMENT if suffix in _DOCUMENTS else UNKNOWN)


def inventory(owned: Mapping[str, str], left_out: Iterable[str]) -> Inventory:
    """Return the counts; `owned` maps each indexed path to its type, `left_out` are the other paths."""
    found = Counter((type_, language_of(path)) for path, type_ in owned.items())
    others: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in left_out:
        name = PurePosixPath(path)
        others[name.suffix.lower() or name.name, left_out_reason(path)].append(path)
    rows = sorted(others.items(), key=lambda row: (-len(row[1]), row[0]))
    shown = [
        LeftOutFiles(suffix[:MAX_EXAMPLE], reason, len(paths), min(paths)[:MAX_EXAMPLE])
        for (suffix, reason), paths in rows[:MAX_ROWS]
    ]
    if rest := rows[MAX_ROWS:]:
        shown.append(LeftOutFiles(OTHERS, UNKNOWN, sum(len(paths) for _, paths in rest), min(rest[0][1])[:MAX_EXAMPLE]))
    return Inventory(
        [FileGroup(type_, language, count) for (type_, language), count in found.most_common(MAX_ROWS)], shown
    )
