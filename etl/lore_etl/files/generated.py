"""Recognise files that programs write, by name, text and git attributes. They are left out and reported."""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from lore_etl.core.tables import table
from lore_etl.files.ignore import configured, lenient

MINIFIED = "minified or bundled"
SOURCE_MAP = "source map, or compiled with one"
GENERATED = "generated"
ATTRIBUTES = ".gitattributes"
PATTERNS = {reason: tuple(patterns.split()) for reason, patterns in table(__file__).items()}
_NAMES = {reason: configured(reason, patterns) for reason, patterns in PATTERNS.items()}
MAX_PATTERNS = 1_000  # of a `.gitattributes` file, because each is compared with each file of the project
MARKERS_VERSION = "1"  # increase it with every change of the rules below, or of those for text in `sources/kinds.py`

_HEAD_CHARACTERS = 20_000
_HEAD = re.compile(
    r'(?:\s+|"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|/\*[\s\S]*?\*/|<!--[\s\S]*?-->|(?://|\#|--|;|%|\'|<\?|"use )[^\n]*)*'
)
"""The comments before the first code, in any language."""
_DECORATION = re.compile(r'^[ \t]*(?:<!--|"""|[/*#;%\'!-]+)?[ \t]*|[ \t]*(?:\*/|-->|"""|[*#-]+)?$', re.MULTILINE)
_BEGIN = r"(?:\A\s*|\n[ \t]*\n|[.!:;>-]\s+|\n(?=[A-Z@<]))"
"""Where a sentence begins: a line within a sentence begins with a small letter, and may be about another file."""
_BAN = r"(?:do|should|must|may) ?n[o']t (?:be )?(?:hand[- ]?)?(?:edit|modif|chang|alter|touch|make)"
_MARKERS = re.compile(
    _BEGIN + r"(?i:Code generated [^\n]* DO NOT EDIT\b"
    r"|(?:this (?:file|code) (?:is|was) )?@generated(?=\s*(?:$|[.;:(<{]|\n|signed|by |from |with |using ))"
    r"|<auto-?generated\b"
    r"|(?:automatically )?generated (?:by|from [^\n]* by) (?:rust-bindgen|ANTLR|Cython|CoffeeScript|PEG\.js)\b)"
)
"""Markers that suffice alone."""
_CLAIM = re.compile(
    _BEGIN + r"(?i:(?:warning, )?(?:this |the )(?:\w+ ){1,3}(?:is |was |has been )(?:\w+ )?(?:auto(?:matically)?[ -]?)?"
    r"generated\b"
    r"|(?:an? |this is an? )?(?:automatically |machine |auto[ -]?)?generated"
    r"(?: (?:by|from|with|using|via|on|automatically)\b| ?(?:--|[.,!;])| (?:code|file|text)(?: ?(?:--|[.,!;])|$))"
    rf"|{_BAN}(?: this file)?\W{{1,4}}(?:it is )?(?:\w+ )?generated\b)",
    re.MULTILINE,
)
"""A sentence that says that this file is generated, which counts if the head also forbids to edit it."""
_FORBIDS = re.compile(_BAN, re.IGNORECASE)
_ANNOTATED = frozenset({".java", ".kt", ".kts", ".groovy", ".scala"})
_ANNOTATION = re.compile(r"^@(?:file:)?(?:[\w.]+\.)?(?:Generated[ \t]*\(|GrpcGenerated\b)", re.MULTILINE)
_TYPE = re.compile(r"^(?:[a-z-]+[ \t]+)*(?:class|interface|enum|record|object|fun|@interface)\b", re.MULTILINE)

_BUNDLED = frozenset({".js", ".mjs", ".cjs", ".css"})
_COMPILED = ("//# sourceMappingURL=", "//@ sourceMappingURL=", "/*# sourceMappingURL=")
_LONG_LINE = 500  # characters; a minifier writes one line, or breaks lines at its limit
_MAP_KEYS = tuple(map(re.compile, (r'\A\s*\{\s*"version"\s*:\s*3\s*,', r'"sources"\s*:\s*\[', r'"mappings"\s*:')))
_ATTRIBUTE = re.compile(r'(?:"((?:[^"\\]|\\.)+)"|([^\s"!\[#]\S*))\s(.*)')
_FALSE = ("-linguist-generated", "!linguist-generated", "linguist-generated=false")


def generated_reason(path: str) -> str | None:
    return next((why for why, patterns in _NAMES.items() if patterns.includes(path)), None)


def marked_reason(path: str, text: str) -> str | None:
    """Return why code is generated, or None; only comments before it count: a generator's test also has markers."""
    suffix = PurePosixPath(path).suffix.lower()
    if _is_marked(text[:_HEAD_CHARACTERS], suffix):
        return GENERATED
    if suffix in _BUNDLED:
        if text.rstrip().rpartition("\n")[2].startswith(_COMPILED):
            return SOURCE_MAP
        return MINIFIED if _is_minified(text) else None
    return SOURCE_MAP if suffix == ".json" and all(key.search(text) for key in _MAP_KEYS) else None


def _is_marked(text: str, suffix: str) -> bool:
    if "generated" not in text.lower():
        return False
    begin = _HEAD.match(text)
    head = _DECORATION.sub("", begin[0] if begin else "")
    if _MARKERS.search(head) or (_FORBIDS.search(head) and _CLAIM.search(head)):
        return True
    type_ = _TYPE.search(text) if suffix in _ANNOTATED else None
    return type_ is not None and _ANNOTATION.search(text, 0, type_.start()) is not None


def _is_minified(text: str) -> bool:
    """Return whether most lines of code are longer than people write them; the licences of libraries do not count."""
    first, *others = text.split("/*")
    code = first + "".join(part.partition("*/")[2] for part in others)
    lengths = sorted(len(line) for line in code.split("\n") if line.strip())
    return bool(lengths) and lengths[len(lengths) // 2] >= _LONG_LINE


class Attributes:
    """The `linguist-generated` attributes by path; as in git, the nearest, last pattern decides, and only for files."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        found = {path.removesuffix(ATTRIBUTES): _patterns(text) for path, text in texts.items()}
        folders = sorted((folder for folder in found if found[folder]), key=len, reverse=True)
        self._specs = [(folder, lenient(found[folder])) for folder in folders]

    def generated(self, path: str) -> bool | None:
        """Return whether the attributes call a file generated; None if they do not mention it."""
        said = (spec.verdict(path[len(folder) :]) for folder, spec in self._specs if path.startswith(folder))
        return next((verdict for verdict in said if verdict is not None), None)


def _patterns(text: str) -> list[str]:
    """Return gitignore patterns that ignore the generated files, and include those that are said not to be."""
    found = list[str]()
    for line in text.splitlines():
        parts = _ATTRIBUTE.fullmatch(line.strip())
        words = parts[3].split() if parts else []
        said = [word for word in words if word.lstrip("-!").partition("=")[0] == "linguist-generated"]
        if parts and said:
            pattern = re.sub(r"\\(.)", r"\1", parts[1]) if parts[1] else parts[2]
            found.append(f"!{pattern}" if said[-1] in _FALSE else pattern)
    return found[:MAX_PATTERNS]
