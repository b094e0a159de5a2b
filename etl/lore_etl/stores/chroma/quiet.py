"""Import `chromadb` without letting it read the environment and `.env`, from which its import builds settings.

The current folder, which contains the `.env`, is an untrusted project: an invalid setting, such as a port that is not a
number, would end Lore with Chroma's error. Import this module before `chromadb`.
"""

from __future__ import annotations

from typing import Any

from pydantic_settings import BaseSettings, PydanticBaseSettingsSource


def only_arguments(
    settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource, *_: Any, **__: Any
) -> tuple[PydanticBaseSettingsSource, ...]:
    """Return the constructor's arguments as the only source of settings."""
    return (init_settings,)


_usual = BaseSettings.__dict__["settings_customise_sources"]
BaseSettings.settings_customise_sources = staticmethod(only_arguments)  # type: ignore[method-assign]
try:
    import chromadb  # noqa: F401 - only the first import reads settings
finally:
    BaseSettings.settings_customise_sources = _usual  # type: ignore[method-assign]
