"""Scripts that measure what docs/benchmarks.md reports."""
