"""Scripts that measure the figures in benchmarks/results.md."""
