"""Sources of code. A file's location decides whether it is source code, an example or a test."""

from __future__ import annotations

from dataclasses import replace

from lore_etl.core.model import Document, KnowledgeType
from lore_etl.sources.prose import OF_OTHERS
from lore_etl.sources.source import Source

_SUFFIXES = ("py", "pyi", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx")
_GENERATED = ("!*.min.js", "!*.min.mjs", "!*.bundle.js", "!*.d.ts", "!*_pb2.py", "!*_pb2.pyi")


def _below(*folders: str) -> tuple[str, ...]:
    return tuple(f"**/{folder}/**/*.{suffix}" for folder in folders for suffix in _SUFFIXES)


class Examples(Source):
    """Code that demonstrates how the project is used."""

    name, type = "examples", KnowledgeType.EXAMPLE
    patterns = (*_below("examples", "example", "samples", "demos"), "**/examples/**/*.md", *OF_OTHERS, *_GENERATED)


class Patterns(Source):
    """Examples to follow: the framework's in `.ce/` and the project's own."""

    name, type = "patterns", KnowledgeType.EXAMPLE
    patterns = tuple(
        f"**/{folder}/**/*.{suffix}"
        for folder in (".ce/examples", "examples/patterns")
        for suffix in ("md", *_SUFFIXES)
    )  # fmt: skip


class Tests(Source):
    """Code that demonstrates expected behaviour."""

    name, type = "tests", KnowledgeType.TEST
    patterns = (*_below("tests", "test", "__tests__", "spec", "e2e"), "test_*.py", "*_test.py", "conftest.py",
                *(f"*.{kind}.{suffix}" for kind in ("spec", "test") for suffix in _SUFFIXES[2:]),
                *_GENERATED)  # fmt: skip


class PythonCode(Source):
    """Python modules."""

    name, type = "python", KnowledgeType.SRC
    patterns = ("*.py", "*.pyi", *_GENERATED)


class JavaScriptCode(Source):
    """JavaScript and TypeScript modules."""

    name, type = "javascript", KnowledgeType.SRC
    patterns = (*(f"*.{suffix}" for suffix in _SUFFIXES[2:]), *_GENERATED)


class OtherCode(Source):
    """Code in languages without a parser here, cut at blank lines, and API contracts."""

    name, type = "other", KnowledgeType.SRC
    patterns = ("*.go", "*.rs", "*.java", "*.kt", "*.c", "*.h", "*.cc", "*.cpp", "*.hpp", "*.cs", "*.rb", "*.php",
                "*.swift", "*.sh", "*.sql", "*.proto", "openapi.yaml", "openapi.yml", "Makefile")  # fmt: skip


class Jsdoc(Source):
    """JSON output of JSDoc: one file for all symbols, or one per class."""

    name, type = "jsdoc", KnowledgeType.SRC
    patterns = ("**/docs/output/**/*.json", "**/jsdoc/**/*.json", "!package.json", "!tree.json", "!structure.json")

    def document(self, path: str, text: str) -> Document:
        """Return the file as a Document that is parsed as JSDoc output."""
        return replace(super().document(path, text), syntax="jsdoc")
