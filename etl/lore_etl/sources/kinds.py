"""The kinds of sources, by the table `kinds.toml`; how the files of some are claimed or read in a way of their own."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product
from pathlib import PurePosixPath
from typing import ClassVar

from lore_etl.chunking.code_languages import code_patterns, plain_patterns
from lore_etl.config.project import CONFIG_NAME
from lore_etl.core.errors import ConfigError
from lore_etl.core.json_types import JSON
from lore_etl.core.model import Document, KnowledgeType
from lore_etl.core.tables import table
from lore_etl.core.text import clip, one_line, storable
from lore_etl.files.conversion.convert import FORMATS, readable
from lore_etl.files.ignore import Spec, configured
from lore_etl.files.indexed import ADDED, KNOWLEDGE, MEMORIES, PULLED
from lore_etl.sources.source import BARE_GUIDES, Kind, Source, SourceContext, syntax_of
from lore_etl.sources.states import decision_state, ticket_state

USUAL = "..."  # the pattern of a configured source that stands for the usual ones
LONGEST_LIBRARY = 100  # characters
DATA = "text that reads like data or a log"
_SAMPLE = 400  # lines
_PROSE_SHARE = 0.25
# the beginning of a line that a program logged
_LOGGED = re.compile(
    r"\W*(?:\d{4}[-/.]\d\d?[-/.]\d\d?[ T]\d\d?:|\d\d?:\d\d:|\d{9,}|[A-Z][a-z]{2} +\d+ \d\d:"
    r"|\d+(?:\.\d+){3} |(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b)"
)


def _expanded(patterns: str) -> tuple[str, ...]:
    """Return the patterns in a row of the table, with its shared parts and with each of the words in braces."""
    for name, text in reversed(_SHARED.items()):
        patterns = patterns.replace(f"<{name}>", text)
    parts = ([part.split(",") for part in re.split("[{}]", pattern)] for pattern in patterns.split())
    return tuple("".join(words) for choices in parts for words in product(*choices))


_TABLE = table(__file__)
_SHARED: dict[str, str] = {
    "code": " ".join((*code_patterns(), *plain_patterns())),
    "documents": " ".join(f"*{suffix}" for suffix in FORMATS),
    "bare_guides": " ".join(BARE_GUIDES),
    "config": CONFIG_NAME,
    **_TABLE.pop("shared"),
}
TEXTS, PLAIN_GUIDES = _expanded("<texts>"), _expanded("<plain_guides>")
KINDS = {
    name: Kind(name, KnowledgeType(row["type"]), _expanded(row["patterns"]), row.get("prose", ()), row.get("syntax"))
    for name, row in _TABLE.items()
}
"""The kinds of sources by name; specific ones precede general ones, because the first that claims a file owns it."""
WRITTEN = Kind("written", KnowledgeType.KNOWLEDGE, (f"/{KNOWLEDGE}/**/*.md",))


class AgentFiles(Source):
    """A project's main document, its knowledge documents, and memories, all of which agents wrote through Lore."""

    def document(self, path: str, text: str) -> Document:
        found = super().document(path, text)
        return replace(found, type=KnowledgeType.MEMORY) if path.startswith(f"{MEMORIES}/") else found


class Tickets(Source):
    """Issues, pull requests and discussions kept as Markdown, archives included."""

    def document(self, path: str, text: str) -> Document:
        found = super().document(path, text)
        return replace(found, state=ticket_state(found.front.values))

    def title(self, path: str, text: str, syntax: str) -> str:
        heading = super().title(path, text, syntax)
        stem = PurePosixPath(path).stem
        return heading if heading == stem else f"{stem}: {heading}"


class Decisions(Source):
    """Decision records and specifications."""

    def document(self, path: str, text: str) -> Document:
        found = super().document(path, text)
        return replace(found, state=decision_state(text, found.front.values)) if found.syntax == "markdown" else found


class Releases(Source):
    """Change logs and release notes."""

    def title(self, path: str, text: str, syntax: str) -> str:
        return _version(path) or super().title(path, text, syntax)

    def document(self, path: str, text: str) -> Document:
        """Return the release with its version in the title, even if the front matter has another title."""
        found, version = super().document(path, text), _version(path)
        return found if version in found.title else replace(found, title=f"{version}: {found.title}")


class Libraries(Source):
    """Documentation of libraries, with the name and the version of the library in the front matter."""

    def document(self, path: str, text: str) -> Document:
        """Return the page, with the library in its title, because few pages name it in every passage."""
        found = super().document(path, text)
        name, version = (_plain(found.front.values.get(key)) for key in ("library", "version"))
        if not name:
            return found
        title = found.title if name.casefold() in found.title.casefold() else clip(f"{name}: {found.title}", 300)
        return replace(found, library=clip(f"{name} {version}", LONGEST_LIBRARY), title=title)


class Guides(Source):
    """Documentation, with titles and blog entries from a `tree.json` beside it."""

    _documented: ClassVar[Spec] = configured("texts", (*TEXTS, *PLAIN_GUIDES))

    @cached_property
    def navigation(self) -> dict[str, tuple[str, KnowledgeType]]:
        """Map paths to (title, type) for the entries of each `tree.json` that has Markdown files beside it."""
        found: dict[str, tuple[str, KnowledgeType]] = {}
        for path in self.project.paths:
            if path.endswith("tree.json") and PurePosixPath(path).name == "tree.json":
                folder = str(PurePosixPath(path).parent)
                for entry in _entries(self.project.read(path)):
                    type_ = KnowledgeType.BLOG if entry.get("parentId") == "Blog" else KnowledgeType.GUIDE
                    found[f"{folder}/{entry['id']}.md".removeprefix("./")] = (storable(str(entry["name"])[:300]), type_)
        return found

    def left_out(self, path: str, text: str) -> str | None:
        """Return the reason for a text that is data or a log, unless its place, name or configuration is certain."""
        is_certain = self._is_configured or self._documented.includes(path) or self.project.include.holds(path)
        return DATA if syntax_of(path) == "text" and not is_certain and not _is_prose(text) else None

    def fingerprint(self, path: str) -> str:
        """Return the navigation entry, so that the file is read again if the entry changes."""
        return f"{self.kind.name}:{self.navigation.get(path)}"

    def document(self, path: str, text: str) -> Document:
        found = super().document(path, text)
        title, type_ = self.navigation.get(path, (found.title, found.type))
        return replace(found, title=title, type=type_)


class OfficeDocuments(Source):
    """PDF and Office files and books whose readers are installed."""

    @cached_property
    def _readable(self) -> tuple[str, ...]:
        return tuple(readable())

    def claims(self, path: str) -> bool:
        return path.lower().endswith(self._readable) and super().claims(path)


def _is_prose(text: str) -> bool:
    """Return whether people wrote enough of the first lines as sentences, in any script, and a program logged few."""
    lines = [line.strip() for line in text[:100_000].split("\n") if line.strip()][:_SAMPLE]
    prose = sum(len(line) for line in lines if _reads_like_prose(line))
    return prose >= _PROSE_SHARE * sum(map(len, lines)) and 2 * sum(map(bool, map(_LOGGED.match, lines))) <= len(lines)


def _version(path: str) -> str:
    stem = PurePosixPath(path).stem
    return stem if re.match(r"v?\d+\.\d+", stem) else ""


def _reads_like_prose(line: str) -> bool:
    letters = sum(map(str.isalpha, line))
    return len(line) >= 12 and letters >= 0.6 * len(line) and (" " in line or not line.isascii())


def _plain(value: object) -> str:
    """Return a value of the front matter as a line; empty if it is not text or a small number."""
    is_number = isinstance(value, int | float) and abs(value) < 1e9
    return storable(one_line(str(value))) if isinstance(value, str) or is_number else ""


def _entries(text: str | None) -> list[JSON]:
    try:
        rows = json.loads(text or "")["data"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return []
    rows = rows if isinstance(rows, list) else []
    return [row for row in rows if isinstance(row, dict) and {"id", "name"} <= row.keys()]


class Examples(Source):
    """Code that demonstrates how the project is used."""

    def claims(self, path: str) -> bool:
        is_elsewhere = path.endswith(".md") and not self._is_configured and "examples/" not in f"/{path}"
        return not is_elsewhere and super().claims(path)


_SOURCES: dict[str, type[Source]] = {
    "adrs": Decisions, "documents": OfficeDocuments, "examples": Examples, "guides": Guides, "libraries": Libraries,
    "prps": Decisions, "releases": Releases, "tickets": Tickets, "written": AgentFiles,
}  # fmt: skip
"""The kinds whose files are claimed or read in a way of their own."""


class SourceSet:
    """The sources of one project, as configured under `[sources]` in `lore.toml`. Raises ConfigError."""

    def __init__(self, project: SourceContext, configured: Mapping[str, Sequence[str]]) -> None:
        for name in configured:
            if name not in KINDS:
                raise ConfigError(f"Unknown source `sources.{name}`.", f"Known sources: {', '.join(KINDS)}.")
        self._project = project
        own = {name: [pattern for pattern in patterns if pattern != USUAL] for name, patterns in configured.items()}
        copied = {
            "tickets": (f"/{PULLED}/**/*.md", f"!/{PULLED}/**/releases/*.md"),
            "releases": (f"/{PULLED}/**/releases/*.md",),
            "libraries": (f"/{ADDED}/**/*.md",),
        }
        usual = [kind for name, kind in KINDS.items() if USUAL in configured.get(name, (USUAL,))]
        # the configuration takes precedence over the layout, and neither applies to files that Lore wrote
        rows: list[tuple[Kind, Sequence[str], bool]] = [
            (WRITTEN, WRITTEN.patterns, False),
            *((KINDS[name], patterns, True) for name, patterns in copied.items()),
            *((kind, own[name], True) for name, kind in KINDS.items() if name in own),
            *((kind, (*kind.patterns, *own.get(kind.name, ())), False) for kind in usual),
        ]
        self._sources = [_SOURCES.get(row[0].name, Source)(project, *row) for row in rows]

    def owner(self, path: str, name: str = "") -> Source | None:
        """Return the source of a file that is not generated by its name; `name` is a script's path with extension."""
        return None if self._project.generated(path) else self._claiming(name or path)

    def left_out(self, path: str) -> str:
        """Return why a file counts as generated that a source would own; empty for other files."""
        return (self._claiming(path) and self._project.generated(path)) or ""

    def _claiming(self, path: str) -> Source | None:
        return next((source for source in self._sources if source.claims(path)), None)
