"""The base class of sources: the files that a source claims, and how it reads them. The language of a file, by name."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePosixPath
from posixpath import basename, splitext
from typing import NamedTuple

from lore_etl.chunking import title_of
from lore_etl.chunking.code_languages import code_syntax_of, plain_title_of
from lore_etl.core.frontmatter import FrontMatterError, body_of, read_front_matter
from lore_etl.core.model import Document, FrontMatter, KnowledgeType
from lore_etl.core.tables import table
from lore_etl.files.conversion.convert import FORMATS
from lore_etl.files.generated import ATTRIBUTES, GENERATED, Attributes, generated_reason, marked_reason
from lore_etl.files.ignore import Included, configured

CONVERTED = "document"  # the syntax of documents that are converted to text
_DATA = table(__file__, "syntaxes")
TITLES = {syntax: row["title"] for syntax, row in _DATA["syntaxes"].items()}
SYNTAXES = {file: syntax for syntax, row in _DATA["syntaxes"].items() for file in row["files"].split()}
BARE_GUIDES = tuple(file for file in SYNTAXES if "." not in file)
"""Guides without an extension; many of them have Markdown headings."""
SYNTAXES |= dict.fromkeys(FORMATS, CONVERTED)
PROSE = frozenset({CONVERTED, *(syntax for syntax, row in _DATA["syntaxes"].items() if row.get("is_prose"))})
"""The syntaxes of documents, which have titles."""
PROGRAMS = {program: suffix for suffix, programs in _DATA["programs"].items() for program in programs.split()}
"""The extension of the scripts that each interpreter runs."""
_DOCUMENT = re.compile(r"(?<![^/])[A-Z][A-Za-z]+(?=(?:\.(?:md|rst|txt))?$)")
FIRST_LINE = 256  # bytes
_ENV = rb"(?:\S*/)?env[ \t]+(?:(?:-\S*|\w+=\S*)[ \t]+)*"
_SHEBANG = re.compile(rb"#![ \t]*(?:" + _ENV + rb")?(?:\S*/)?(?P<program>[A-Za-z][A-Za-z-]*)[\d.]*(?=\s|$)")
_WRITTEN_BY_TOOLS = frozenset("configure gradlew install-sh libtool mvnw".split())


@dataclass(frozen=True)
class SourceContext:
    """View of the whole project for a source: its paths, a reader for small index files, and `index.include`."""

    paths: Sequence[str]
    read: Callable[[str], str | None]
    include: Included = field(default_factory=lambda: Included(()))

    @cached_property
    def _attributes(self) -> Attributes:
        paths = [path for path in self.paths if basename(path) == ATTRIBUTES]
        return Attributes({path: self.read(path) or "" for path in paths})

    def generated(self, path: str, text: str = "") -> str | None:
        """Return why it is generated (without `text`, by name and attributes); not for documents and included files."""
        if self.include.holds(path) or syntax_of(path) in PROSE:
            return None
        said = self._attributes.generated(path)
        if said is not None:
            return GENERATED if said else None
        return generated_reason(path) or marked_reason(path, text)


class Kind(NamedTuple):
    """A kind of source: `prose`, only of a kind of code, has the ends of the names of its other files."""

    name: str
    type: KnowledgeType
    patterns: tuple[str, ...]
    prose: Sequence[str] = ()
    syntax: str | None = None  # of all its files


class Source:
    """Claims files by gitignore patterns; those that the user configured may name any file. Raises ConfigError."""

    def __init__(self, project: SourceContext, kind: Kind, patterns: Sequence[str], is_configured: bool) -> None:
        self.kind, self.project = kind, project
        self._patterns = configured(f"sources.{kind.name}", patterns)
        self._is_configured = is_configured

    def claims(self, path: str) -> bool:
        """Return whether the file belongs to this source by its path or the usual spelling of its name."""
        if self.kind.prose and not (self._is_configured or is_code(path) or path.endswith(tuple(self.kind.prose))):
            return False
        usual, patterns = _usual(path), self._patterns
        is_other = usual != path and patterns.verdict(path) is None
        return patterns.includes(path) or (is_other and patterns.includes(usual))

    def left_out(self, path: str, text: str) -> str | None:
        return self.project.generated(path, text)

    def fingerprint(self, path: str) -> str:
        """Return everything besides the file that affects how it is read. If it changes, the file is read again."""
        return self.kind.name

    def document(self, path: str, text: str) -> Document:
        """Raises FrontMatterError if the file's front matter is broken."""
        syntax = self.kind.syntax or syntax_of(path)
        front = read_front_matter(text) if syntax == "markdown" else FrontMatter()
        return Document(
            source=path,
            type=self.kind.type,
            text=text,
            title=front.title or self.title(path, text, syntax),
            syntax=syntax,
            front=front,
        )

    def read_leniently(self, path: str, text: str) -> tuple[Document, str | None]:
        """Return the file as a Document and any error in its front matter, which is then ignored."""
        try:
            return self.document(path, text), None
        except FrontMatterError as error:
            body = "\n" + body_of(text)  # the line end: it is not front matter, whatever it begins with
            return replace(self.document(path, body), text=text), str(error)

    def title(self, path: str, text: str, syntax: str) -> str:
        return title_of(text, syntax) or PurePosixPath(path).stem if syntax in PROSE else path


def syntax_of(path: str) -> str:
    name = PurePosixPath(path)
    found = SYNTAXES.get(name.suffix.lower() or _usual(name.name)) or code_syntax_of(path) or "plain"
    return "plain" if found == "text" and plain_title_of(path) else found  # such as `CMakeLists.txt`


def _usual(path: str) -> str:
    """Return a path with `README.md` for `README.MD`, and `CHANGELOG` for `ChangeLog`."""
    stem, suffix = splitext(path)
    return _DOCUMENT.sub(lambda name: name[0].upper(), stem + suffix.lower())


def is_code(path: str) -> bool:
    return syntax_of(path) not in (*PROSE, "plain", "ini") or plain_title_of(path) is not None


def suffix_of(path: str, beginning: Callable[[str, int], bytes]) -> str:
    """Return the extension a script would have, such as `.py`, else empty. Runs nothing; errors of `beginning` pass."""
    name = PurePosixPath(path)
    if name.suffix or name.name in _WRITTEN_BY_TOOLS:
        return ""
    first = beginning(path, FIRST_LINE).partition(b"\n")[0]
    found = _SHEBANG.match(first) if b"\0" not in first else None
    return PROGRAMS.get(found["program"].decode(), "") if found else ""


def suffix_in(recipe: str) -> str:
    """Return the extension of a script in its recipe, `<source>:<hash>:<extension>`; empty for other files."""
    return recipe.partition(":")[2].partition(":")[2]
