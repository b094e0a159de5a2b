"""Differences between Linux, macOS and Windows, one module each. Standard library only on Linux and macOS."""
