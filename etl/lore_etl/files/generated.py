"""Recognise files that programs write: lock files, minified and generated code. They are skipped and reported."""

from __future__ import annotations

from lore_etl.files.ignore import configured

LOCK = "lock file"
MINIFIED = "minified or bundled"
GENERATED = "generated"
_LOCKS = (
    "*.lock", "*.lockb", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "go.sum", "go.work.sum",
    "Package.resolved", "packages.lock.json", "gradle.lockfile", ".terraform.lock.hcl", "mix.lock",
)  # fmt: skip
_MINIFIED = ("*.min.js", "*.min.mjs", "*.min.css", "*.min.json", "*.bundle.js", "*.map", "*-min.js")
_OUTPUT = ("build", "cjs", "dist", "esm", "lib", "out")
"""Folders where compilers put declarations; those in other folders are written by people."""
_GENERATED = (
    *(f"**/{folder}/**/*.d.ts" for folder in _OUTPUT), "*_pb2.py", "*_pb2.pyi", "*.pb.go", "*_generated.go",
    "zz_generated*.go", "*.g.dart", "*.freezed.dart", "*.designer.cs", "*.Designer.cs", "*.g.cs", "*.pb.cc", "*.pb.h",
    "*.tsbuildinfo", "tree.json", "structure.json",
)  # fmt: skip
PATTERNS = {LOCK: _LOCKS, MINIFIED: _MINIFIED, GENERATED: _GENERATED}
"""Patterns by reason."""


def generated_reason(path: str) -> str | None:
    """Return why a file counts as generated, or None."""
    return next((why for why, patterns in PATTERNS.items() if configured(why, patterns).match_file(path)), None)
