"""Scripts that measure the figures in docs/benchmarks.md."""
