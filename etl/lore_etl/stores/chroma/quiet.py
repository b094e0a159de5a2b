"""Import this before `chromadb`: its import builds Chroma's settings, and so reads the environment and a `.env`.

The `.env` is that of the current folder, somebody's project: a line in it that is no setting of Chroma's (a port in
words) would end Lore with Chroma's complaint about it.
"""

from __future__ import annotations

from typing import Any

from pydantic_settings import BaseSettings, PydanticBaseSettingsSource


def only_arguments(
    settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource, *_: Any, **__: Any
) -> tuple[PydanticBaseSettingsSource, ...]:
    """The sources of settings that come from nowhere outside."""
    return (init_settings,)


_usual = BaseSettings.__dict__["settings_customise_sources"]
BaseSettings.settings_customise_sources = staticmethod(only_arguments)  # type: ignore[method-assign]
try:
    import chromadb  # noqa: F401 - this once is what matters
finally:
    BaseSettings.settings_customise_sources = _usual  # type: ignore[method-assign]
