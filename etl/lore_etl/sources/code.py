"""Sources of code. A file's location decides whether it is source code, an example or a test."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from lore_etl.chunking.code_languages import code_patterns, plain_patterns
from lore_etl.config.layers import CONFIG_NAME
from lore_etl.core.model import Document, KnowledgeType
from lore_etl.sources.prose import NOT_VENDORED
from lore_etl.sources.source import Source, is_code, source_of

_SCRIPTS = ("js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx")
_OWN = (f"!{CONFIG_NAME}",)


def _below(*folders: str) -> tuple[str, ...]:
    return tuple(f"**/{folder}/**" for folder in folders)


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
    patterns = (*_below("examples", "example", "samples", "demos"), *NOT_VENDORED, *_OWN)
    prose = (".md", ".ipynb", ".html", ".htm")

    def claims(self, path: str) -> bool:
        """Return whether the file is code, a notebook or a page, or Markdown below `examples`."""
        is_elsewhere = path.endswith(".md") and not self._is_configured and "examples/" not in f"/{path}"
        return not is_elsewhere and super().claims(path)


class Patterns(CodeIn):
    """Examples to follow: the framework's in `.ce/` and the project's own."""

    name, type = "patterns", KnowledgeType.EXAMPLE
    patterns = (*_below(".ce/examples", "examples/patterns"), *_OWN)
    prose = (".md",)


class Tests(CodeIn):
    """Code that demonstrates expected behaviour."""

    name, type = "tests", KnowledgeType.TEST
    patterns = (*_below("tests", "test", "__tests__", "spec", "e2e"), "test_*.py", "*_test.py", "conftest.py",
                *(f"*.{kind}.{suffix}" for kind in ("spec", "test") for suffix in _SCRIPTS), "*_test.go", "*_test.rb",
                "*_spec.rb", "*_test.dart", "*_test.exs", "*Test.java", "*Test.kt", "*Test.php", "*Tests.cs",
                "*Tests.swift", "*Spec.scala", *_OWN)  # fmt: skip
    prose = (".ipynb", ".html", ".htm")


PythonCode = source_of("python", KnowledgeType.SRC, "*.py", "*.pyi")
JavaScriptCode = source_of(  # components with scripts in them too
    "javascript", KnowledgeType.SRC, *(f"*.{suffix}" for suffix in _SCRIPTS), "*.vue", "*.svelte"
)
OtherCode = source_of(  # pages of sites and configuration too
    "other", KnowledgeType.SRC, *code_patterns(), *plain_patterns(), "*.html", "*.htm", "*.ini", "*.cfg", "*.conf",
    "*.properties", "*.csv", "*.tsv", *_OWN,
)  # fmt: skip


class Jsdoc(Source):
    """JSON output of JSDoc: one file for all symbols, or one per class."""

    name, type = "jsdoc", KnowledgeType.SRC
    patterns = ("**/docs/output/**/*.json", "**/jsdoc/**/*.json", "!package.json")

    def document(self, path: str, text: str) -> Document:
        return replace(super().document(path, text), syntax="jsdoc")
