"""The types of replies: JSON objects at run time; `records.pyi` has their fields for the type checker."""

from lore_etl.core.json_types import JSON


def __getattr__(name: str) -> object:
    if not name.endswith("Record"):
        raise AttributeError(name)
    return JSON
