"""Approve the settings in a test project's `lore.toml`, and write the user's own configuration."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lore_etl.config.project import approve_settings, read_layers, user_config


def approve(project: Path) -> Path:
    """Approve the current settings of the project's `lore.toml`, as `lore trust` does."""
    root = project.resolve()
    approve_settings(root, read_layers(root).requested)
    return project


@contextmanager
def configured_user(text: str) -> Iterator[Path]:
    """Give the user this configuration for the duration of the body."""
    file = user_config(os.environ)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    try:
        yield file
    finally:
        file.unlink()
