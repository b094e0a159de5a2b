"""Each kind of source knows where a project keeps its type of text or code. The first that claims a file owns it."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, ClassVar

from lore_etl.chunking.code_languages import code_patterns, plain_patterns
from lore_etl.config.project import CONFIG_NAME
from lore_etl.core.errors import ConfigError
from lore_etl.core.json_types import JSON
from lore_etl.core.model import Document, KnowledgeType
from lore_etl.core.text import clip, one_line, storable
from lore_etl.files.conversion.convert import FORMATS, readable
from lore_etl.files.ignore import Spec, configured
from lore_etl.files.indexed import ADDED, KNOWLEDGE, MEMORIES, PULLED
from lore_etl.sources.source import BARE_GUIDES, Source, SourceContext, each, is_code, source_of, syntax_of

USUAL = "..."  # the pattern of a configured source that stands for the usual ones
LONGEST_STATE = 40  # characters
LONGEST_LIBRARY = 100
CHANGE_LOGS = each("CHANGELOG*", "CHANGES*", "{HISTORY,NEWS}.{md,rst}", "RELEASES.md", "{HISTORY,NEWS}{,.txt}")
# guides in plain text, which no other source recognises by their extension
PLAIN_GUIDES = each("README.{txt,rdoc,pod,textile}", "{INSTALL,CONTRIBUTING,HACKING,TODO,FAQ}.txt")
# text that is documentation; elsewhere it is indexed if it reads like prose
TEXTS = each("**/{doc,docs,documentation,Documentation}/**/*.txt")
# pages that are documentation; elsewhere they are the source of a site
PAGES = each("**/{doc,docs,documentation,manual,guide,help}/**/*.{html,htm}")
_VENDORED = (
    "vendor,vendors,vendored,third_party,third-party,thirdparty,node_modules,external,bower_components,site-packages,"
    "resources,assets,static,public"
)
# folders whose text is data, output or lists of packages
_NOT_TEXTS = (
    "tests,test,__tests__,testdata,fixtures,snapshots,data,datasets,corpus,logs,log,output,build,dist,requirements"
)
# change logs of libraries copied into the project: they do not describe the project's releases
NOT_VENDORED = each("!**/{" + _VENDORED + "}/**/{" + ",".join(CHANGE_LOGS) + "}")
_SCRIPTS = "{js,mjs,cjs,jsx,ts,mts,cts,tsx}"
_OWN = (f"!{CONFIG_NAME}",)
DATA = "text that reads like data or a log"
_SAMPLE = 400  # lines
_PROSE_SHARE = 0.25
# the beginning of a line that a program logged
_LOGGED = re.compile(
    r"\W*(?:\d{4}[-/.]\d\d?[-/.]\d\d?[ T]\d\d?:|\d\d?:\d\d:|\d{9,}|[A-Z][a-z]{2} +\d+ \d\d:"
    r"|\d+(?:\.\d+){3} |(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b)"
)


Rules = source_of(  # instructions to agents and contributors
    "rules", KnowledgeType.RULE, "CLAUDE.md", "AGENTS.md", "GEMINI.md", ".cursorrules", "**/.cursor/rules/**",
    "**/.claude/rules/**/*.md", "**/.ce/RULES.md", "**/.ce/rules/**/*.md", "**/.github/copilot-instructions.md",
    "**/{ISSUE_TEMPLATE,issue_template,PULL_REQUEST_TEMPLATE,pull_request_template}{/**/*.md,.md}",
)  # fmt: skip
Memories = source_of("memories", KnowledgeType.MEMORY, "**/{.serena/memories,MEMORY,memories}/**/*.md")
Prps = source_of("prps", KnowledgeType.PRP, "**/{PRPs,prps}/**/*.md")  # product requirement prompts
Adrs = source_of("adrs", KnowledgeType.ADR, "**/{adr,adrs,ADR,decisions,architecture-decisions}/*.md")
Knowledge = source_of("knowledge", KnowledgeType.KNOWLEDGE, "**/knowledge/**/*.md")
Blogs = source_of(  # articles and slides, which describe the state at their date
    "blogs", KnowledgeType.BLOG, "**/{blog,blogs,_posts,deck,decks,slides,slide-decks,presentations,talks}/**/*.md"
)
PythonCode = source_of("python", KnowledgeType.SRC, "*.py", "*.pyi")
JavaScriptCode = source_of("javascript", KnowledgeType.SRC, f"*.{_SCRIPTS}", "*.vue", "*.svelte")
OtherCode = source_of(  # pages of sites and configuration too
    "other",
    KnowledgeType.SRC,
    *(*code_patterns(), *plain_patterns(), "*.{html,htm,ini,cfg,conf,properties,csv,tsv}", *_OWN),
)


class AgentFiles(Source):
    """A project's main document, its knowledge documents, and memories, all of which agents wrote through Lore."""

    name, type = "written", KnowledgeType.KNOWLEDGE
    patterns = (f"/{KNOWLEDGE}/**/*.md",)

    def document(self, path: str, text: str) -> Document:
        found = super().document(path, text)
        return replace(found, type=KnowledgeType.MEMORY) if path.startswith(f"{MEMORIES}/") else found


class Tickets(Source):
    """Issues, pull requests and discussions kept as Markdown, archives included."""

    name, type = "tickets", KnowledgeType.TICKET
    patterns = ("**/issues/**/*.md", "**/issue-archive/**/*.md", "**/tickets/**/*.md", ".github/ISSUE*/**/*.md",
                "**/.github/ISSUE*/**/*.md", "**/content/pulls/**/*.md", "**/content/discussions/**/*.md")  # fmt: skip

    def document(self, path: str, text: str) -> Document:
        found = super().document(path, text)
        return replace(found, state=_state(found.front.values))

    def title(self, path: str, text: str, syntax: str) -> str:
        heading = super().title(path, text, syntax)
        stem = PurePosixPath(path).stem
        return heading if heading == stem else f"{stem}: {heading}"


class Releases(Source):
    """Change logs and release notes."""

    name, type = "releases", KnowledgeType.RELEASE
    patterns = (*CHANGE_LOGS, *NOT_VENDORED, "**/RELEASE_NOTES/**/*.md", "**/release-notes/**/*.md",
                "**/release_notes/**/*.md", "**/releases/**/*.md", "!*.py", "!*.js", "!*.mjs", "!*.ts")  # fmt: skip

    def title(self, path: str, text: str, syntax: str) -> str:
        return _version(path) or super().title(path, text, syntax)

    def document(self, path: str, text: str) -> Document:
        """Return the release with its version in the title, even if the front matter has another title."""
        found, version = super().document(path, text), _version(path)
        return found if version in found.title else replace(found, title=f"{version}: {found.title}")


class Libraries(Source):
    """Documentation of libraries, with the name and the version of the library in the front matter."""

    name, type = "libraries", KnowledgeType.LIBRARY
    patterns = ()

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

    name, type = "guides", KnowledgeType.GUIDE
    patterns = (*each("*.{md,mdx,markdown,Rmd,rmd,qmd,rst,txt}", "!**/{" + f"{_VENDORED},{_NOT_TEXTS}" + "}/**/*.txt"),
                *TEXTS, "*.adoc", "*.asciidoc", "*.org", "*.tex", "*.ipynb", *PAGES, *PLAIN_GUIDES, *BARE_GUIDES,
                # texts for programs, and legal texts that many projects share
                *each("!*requirements*.txt", "!constraints*.txt", "!{CMakeLists,meson_options,robots}.txt",
                      "!*{LICENSES,licenses}.txt", "!{LICENSE,LICENCE,NOTICE,COPYING}*"), *NOT_VENDORED)  # fmt: skip
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
        is_certain = self._is_configured or self._documented.includes(path) or self.project.includes(path)
        return DATA if syntax_of(path) == "text" and not is_certain and not _is_prose(text) else None

    def fingerprint(self, path: str) -> str:
        """Return the navigation entry, so that the file is read again if the entry changes."""
        return f"{self.name}:{self.navigation.get(path)}"

    def document(self, path: str, text: str) -> Document:
        found = super().document(path, text)
        title, type_ = self.navigation.get(path, (found.title, found.type))
        return replace(found, title=title, type=type_)


class OfficeDocuments(Source):
    """PDF and Office files and books whose readers are installed."""

    name, type = "documents", KnowledgeType.GUIDE
    patterns = tuple(f"*{suffix}" for suffix in FORMATS)

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


def _state(front: Mapping[str, Any]) -> str | None:
    value = next((front[key] for key in ("state", "status") if isinstance(front.get(key), str)), "")
    state = storable(value).strip().casefold()[:LONGEST_STATE]
    if front.get("mergedAt") or front.get("merged") is True:
        return "merged"
    return state or ("closed" if front.get("closedAt") else None)


def _entries(text: str | None) -> list[JSON]:
    try:
        rows = json.loads(text or "")["data"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return []
    rows = rows if isinstance(rows, list) else []
    return [row for row in rows if isinstance(row, dict) and {"id", "name"} <= row.keys()]


class CodeIn(Source):
    """Code in certain folders, and other files in them whose names end like `prose`."""

    prose: ClassVar[tuple[str, ...]] = ()

    def claims(self, path: str) -> bool:
        """Return whether the file belongs to this source; configured patterns may name any file."""
        is_kind = self._is_configured or is_code(path) or path.endswith(self.prose)
        return is_kind and super().claims(path)


class Examples(CodeIn):
    """Code that demonstrates how the project is used."""

    name, type = "examples", KnowledgeType.EXAMPLE
    patterns = (*each("**/{examples,example,samples,demos}/**"), *NOT_VENDORED, *_OWN)
    prose = (".md", ".ipynb", ".html", ".htm")

    def claims(self, path: str) -> bool:
        is_elsewhere = path.endswith(".md") and not self._is_configured and "examples/" not in f"/{path}"
        return not is_elsewhere and super().claims(path)


class Patterns(CodeIn):
    """Examples to follow: the framework's in `.ce/` and the project's own."""

    name, type = "patterns", KnowledgeType.EXAMPLE
    patterns = (*each("**/{.ce/examples,examples/patterns}/**"), *_OWN)
    prose = (".md",)


class Tests(CodeIn):
    """Code that demonstrates expected behaviour."""

    name, type = "tests", KnowledgeType.TEST
    patterns = (*each("**/{tests,test,__tests__,spec,e2e}/**", "test_*.py", "*_test.py", "conftest.py",
                      "*.{spec,test}." + _SCRIPTS, "*_test.{go,rb}", "*_spec.rb", "*_test.{dart,exs}",
                      "*Test.{java,kt,php}", "*Tests.{cs,swift}", "*Spec.scala"), *_OWN)  # fmt: skip
    prose = (".ipynb", ".html", ".htm")


class Jsdoc(Source):
    """JSON output of JSDoc: one file for all symbols, or one per class."""

    name, type = "jsdoc", KnowledgeType.SRC
    patterns = ("**/docs/output/**/*.json", "**/jsdoc/**/*.json", "!package.json")

    def document(self, path: str, text: str) -> Document:
        return replace(super().document(path, text), syntax="jsdoc")


# specific sources precede general ones, because the first that claims a file owns it
REGISTRY: tuple[type[Source], ...] = (
    Rules, Patterns, Memories, Prps, Adrs, Tickets, Releases, Blogs, Knowledge, Libraries,
    OfficeDocuments, Tests, Examples, Jsdoc, Guides, PythonCode, JavaScriptCode, OtherCode,
)  # fmt: skip


class SourceSet:
    """The sources of one project, as configured under `[sources]` in `lore.toml`. Raises ConfigError."""

    def __init__(self, project: SourceContext, configured: Mapping[str, Sequence[str]]) -> None:
        known = [kind.name for kind in REGISTRY]
        for name in configured:
            if name not in known:
                raise ConfigError(f"Unknown source `sources.{name}`.", f"Known sources: {', '.join(known)}.")
        self._project = project
        own = {name: [pattern for pattern in patterns if pattern != USUAL] for name, patterns in configured.items()}
        # the configuration takes precedence over the layout, and neither applies to files that Lore wrote
        self._sources = [
            AgentFiles(project),
            Tickets(project, (f"/{PULLED}/**/*.md", f"!/{PULLED}/**/releases/*.md")),
            Releases(project, (f"/{PULLED}/**/releases/*.md",)),
            Libraries(project, (f"/{ADDED}/**/*.md",)),
            *(kind(project, own[kind.name]) for kind in REGISTRY if kind.name in own),
            *(
                kind(project, more=own.get(kind.name, ()))
                for kind in REGISTRY
                if USUAL in configured.get(kind.name, (USUAL,))
            ),
        ]

    def owner(self, path: str, name: str = "") -> Source | None:
        """Return the source of a file that is not generated by its name; `name` is a script's path with extension."""
        return None if self._project.generated(path) else self._claiming(name or path)

    def left_out(self, path: str) -> str:
        """Return why a file counts as generated that a source would own; empty for other files."""
        return (self._claiming(path) and self._project.generated(path)) or ""

    def _claiming(self, path: str) -> Source | None:
        return next((source for source in self._sources if source.claims(path)), None)
