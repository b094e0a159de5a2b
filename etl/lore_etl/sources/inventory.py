"""Count the files that an index has, by type and language, and those that it leaves out, by extension and reason."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import lru_cache
from posixpath import basename, splitext

from lore_etl.chunking.code_languages import code_languages, plain_title_of
from lore_etl.config.project import CONFIG_NAME
from lore_etl.core.json_types import JSON
from lore_etl.files.conversion.convert import NEEDS_EXTRA, format_of
from lore_etl.files.generated import ATTRIBUTES, generated_reason
from lore_etl.sources.source import TITLES, syntax_of

MAX_ROWS = 20  # a reply also has room for the problems of files
MAX_EXAMPLE = 80
OTHERS = "other"
_BINARY = frozenset(
    ".png .jpg .jpeg .gif .webp .ico .bmp .tiff .avif .mp3 .mp4 .wav .ogg .webm .mov .zip .gz .tgz .xz .bz2 .7z .jar"
    " .war .whl .so .dll .dylib .exe .bin .dat .db .sqlite .woff .woff2 .ttf .otf .eot .class .o .a .pyc .wasm .onnx"
    " .npz".split()
)
_DOCUMENTS = frozenset(".pages .numbers .key .djvu .mobi".split())


@lru_cache(maxsize=20_000)  # each sync counts the same files again
def language_of(path: str) -> str:
    if kind := format_of(path):
        return kind.title
    if plain := plain_title_of(path):
        return plain
    syntax = syntax_of(path)
    return TITLES.get(syntax) or code_languages()[syntax].title


@lru_cache(maxsize=20_000)
def left_out_reason(path: str) -> str:
    suffix = splitext(path)[1].lower()
    if basename(path) == CONFIG_NAME:
        return "configuration of Lore"
    if suffix in _BINARY:
        return "binary"
    if format_of(path):
        return NEEDS_EXTRA
    if reason := generated_reason(path):
        return reason
    if suffix in _DOCUMENTS:
        return "document format that Lore does not read"
    is_unknown = syntax_of(path) == "plain"
    return "type of file that Lore does not read" if is_unknown else "neither documentation nor code by its name"


def inventory(owned: Mapping[str, str], left_out: Mapping[str, str]) -> JSON:
    """Return the counts; `owned` maps each indexed path to its type, `left_out` the others to the reason, if known."""
    found = Counter((type_, language_of(path)) for path, type_ in owned.items())
    others: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path, reason in left_out.items():
        name = basename(path)
        if name != ATTRIBUTES:  # it is read, though not indexed
            others[splitext(name)[1].lower() or name, reason or left_out_reason(path)].append(path)
    rows = sorted(others.items(), key=lambda row: (-len(row[1]), row[0]))
    shown = [(suffix, reason, paths, min(paths)) for (suffix, reason), paths in rows[:MAX_ROWS]]
    if rest := rows[MAX_ROWS:]:
        reasons = {reason for (_, reason), _ in rest}
        reason = reasons.pop() if len(reasons) == 1 else "several reasons"
        shown.append((OTHERS, reason, [path for _, paths in rest for path in paths], min(rest[0][1])))
    counts = Counter[tuple[str, str]]()
    for number, ((type_, language), count) in enumerate(found.most_common()):
        counts[type_, language if number < MAX_ROWS else OTHERS] += count
    return {
        "found": [{"type": type_, "language": language, "files": count} for (type_, language), count in counts.items()],
        "left_out": [
            {"extension": suffix[:MAX_EXAMPLE], "reason": reason, "files": len(paths), "example": example[:MAX_EXAMPLE]}
            for suffix, reason, paths, example in shown
        ],
    }
