"""Describe what is found in the sample of each language: `tests/golden/languages/NAME.*` and `NAME.outline.json`."""

import json
from pathlib import Path
from typing import Any

from lore_etl.chunking import parse
from lore_etl.chunking.code_languages import code_syntaxes
from lore_etl.core.model import Document, KnowledgeType

FOLDER = Path(__file__).with_name("languages")


def sample_of(language: str) -> Path:
    """Return the sample file of a language."""
    names = {name for name, syntax in code_syntaxes().items() if syntax == language}
    return next(
        file for file in sorted(FOLDER.glob(f"{language}.*")) if file.suffix in names and ".outline" not in file.name
    )


def outline_of(language: str) -> dict[str, Any]:
    """Return the sections, classes and imports of a language's sample. Raises ValueError if its grammar is missing."""
    text = sample_of(language).read_text(encoding="utf-8")
    parsed = parse(Document(f"src/{language}", KnowledgeType.SRC, text, language, language))
    if parsed.warning:
        raise ValueError(f"{sample_of(language).name}: {parsed.warning}; run `make install`")
    return {
        "sections": [f"{one.first}-{one.last} {one.kind} {' '.join(one.names())}".strip() for one in parsed.sections],
        "classes": [
            f"{one.full_name or one.name}({', '.join(one.bases)}) {one.part}".strip() for one in parsed.facts.classes
        ],
        "members": {name: [one.name for one in group] for name, group in parsed.facts.members.items()},
        "imports": {name: target[0] for name, target in parsed.facts.imports.items()},
    }


def target_of(language: str) -> Path:
    """Return the file with the outline of a language's sample."""
    return FOLDER / f"{language}.outline.json"


def rendered(language: str) -> str:
    """Return the outline as it is written."""
    return json.dumps(outline_of(language), indent=2, ensure_ascii=False) + "\n"
