"""The registry of languages: each is a query file in `queries/` whose first lines name its files and its grammar.

Those without a grammar are the lines of `queries/plain.txt`; their files are split at blank lines.
"""

import re
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path, PurePosixPath

from tree_sitter import Language, Query

_QUERIES = Path(__file__).with_name("queries")
USES = ";; uses\n"
_FIELD = re.compile(r"^;; (\w+): (.+)$", re.MULTILINE)
PLAIN_LANGUAGES: dict[str, tuple[str, tuple[str, ...]]] = {
    name: (title, tuple(files.split()))
    for name, title, files in (
        row.split("; ") for row in (_QUERIES / "plain.txt").read_text(encoding="utf-8").splitlines()[1:]
    )
}
"""The title and the files of each language without a grammar, as suffixes with their dot and as whole names."""
_PLAIN_TITLES = {file: title for title, files in PLAIN_LANGUAGES.values() for file in files}


@dataclass(frozen=True)
class CodeLanguage:
    """A language: its name, its files (suffixes with their dot, whole names), its grammar, and its family of classes.

    `grammar` is `module.function`. `unknown` matches code unknown to the grammar, such as macros, and may have line
    breaks.
    """

    name: str
    title: str
    files: tuple[str, ...]
    grammar: str
    family: str
    text: str = field(repr=False)
    unknown: re.Pattern[bytes] | None = None

    @property
    def is_script(self) -> bool:
        """Whether a file is a module known by its path, and names may contain any character."""
        return not self.family

    def readable(self, data: bytes) -> bytes:
        """Return code of the same length and lines, with spaces in place of code unknown to the grammar."""
        return self.unknown.sub(lambda found: re.sub(rb"[^\n]", b" ", found[0]), data) if self.unknown else data

    @property
    def has_uses(self) -> bool:
        return USES in self.text

    @cached_property
    def queries(self) -> tuple[Query, Query]:
        """The queries for definitions and for names of other definitions, the part of its file after `;; uses`."""
        definitions, _, uses = self.text.partition(USES)
        return Query(grammar_named(self.grammar), definitions), Query(grammar_named(self.grammar), uses)


@cache
def code_languages() -> dict[str, CodeLanguage]:
    found = {}
    for file in sorted(_QUERIES.glob("*.scm")):
        text = file.read_text(encoding="utf-8")
        header = _FIELD.findall(text)
        fields = dict(header)
        unknown = "|".join(value for name, value in header if name == "unknown")
        found[file.stem] = CodeLanguage(
            file.stem,
            fields["language"],
            tuple(fields["files"].split()),
            fields["grammar"],
            fields.get("family", file.stem),
            text,
            re.compile(unknown.encode(), re.MULTILINE) if unknown else None,
        )
    return found


@cache
def code_syntaxes() -> dict[str, str]:
    return {pattern: language.name for language in code_languages().values() for pattern in language.files}


def code_patterns() -> tuple[str, ...]:
    suffixes = tuple(f"*{name}" for name in code_syntaxes() if name.startswith("."))
    return (*suffixes, *(pattern for name in code_syntaxes() if name[0] != "." for pattern in (name, f"{name}.*")))


def code_syntax_of(path: str) -> str | None:
    name = PurePosixPath(path)
    known = code_syntaxes()
    return known.get(name.name) or known.get(name.suffix.lower()) or known.get(name.name.partition(".")[0])


def plain_title_of(path: str) -> str | None:
    name = PurePosixPath(path)
    return _PLAIN_TITLES.get(name.name) or _PLAIN_TITLES.get(name.suffix)


def plain_patterns() -> tuple[str, ...]:
    return tuple(f"*{file}" if file.startswith(".") else file for file in _PLAIN_TITLES)


@cache
def grammar_named(grammar: str) -> Language:
    """Return a grammar by its module and function. Raises ImportError if it is not installed."""
    module, function = grammar.rsplit(".", 1)
    return Language(getattr(import_module(module), function)())
