"""Return the list of every extension that Lore reads, from the registry of languages and sources."""

from collections import defaultdict

from lore_etl.chunking.code_languages import PLAIN_LANGUAGES, code_languages
from lore_etl.files.conversion.convert import EXTRA, FORMATS
from lore_etl.files.generated import PATTERNS
from lore_etl.sources.inventory import language_of
from lore_etl.sources.kinds import PLAIN_GUIDES, TEXTS
from lore_etl.sources.source import BARE_GUIDES, PROGRAMS, SYNTAXES


def read_files() -> str:
    """Return the files of each language, the programs of scripts, and what the extra reads."""
    names: dict[str, list[str]] = defaultdict(list)
    for suffix in SYNTAXES:
        is_whole_name = suffix == ".cursorrules" or suffix in BARE_GUIDES
        names[language_of(suffix if is_whole_name else f"x{suffix}")].append(suffix)
    for language in code_languages().values():
        names[language.title] += language.files
    for title, files in PLAIN_LANGUAGES.values():
        names[title] += files
    names["text"] += [*PLAIN_GUIDES, *TEXTS]
    rows = [f"- {title}: {_listed(files)}" for title, files in sorted(names.items(), key=lambda row: row[0].lower())]
    needing = _listed([suffix for suffix, kind in FORMATS.items() if kind.module])
    return "\n".join(
        [
            *rows,
            f"- scripts without an extension whose first line names {_listed(sorted(PROGRAMS, key=str.lower))}",
            "",
            f"The extra [`{EXTRA}`](install.md#extras) reads {needing}.",
        ]
    )


def generated_files() -> str:
    """Return the names by which files that programs write are recognised."""
    return "\n".join(f"- {reason}: {_listed(patterns)}" for reason, patterns in PATTERNS.items())


def _listed(names: list[str] | tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
