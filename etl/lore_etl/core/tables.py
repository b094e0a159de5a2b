"""Read the tables of data that Lore's modules have beside them. Standard library only."""

import tomllib
from pathlib import Path

from lore_etl.core.json_types import JSON


def table(module: str, name: str = "") -> JSON:
    """Return the table beside a module, which is given by its `__file__`: of this name, or else of the module's."""
    file = Path(module)
    return tomllib.loads(file.with_name(f"{name or file.stem}.toml").read_text(encoding="utf-8"))
