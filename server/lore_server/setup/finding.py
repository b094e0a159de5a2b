"""The result of a check, and the data that the checks share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lore_etl.config.project import index_folder
from lore_etl.config.settings import Settings
from lore_etl.core.json_types import JSON

Report = JSON


@dataclass(frozen=True)
class Finding:
    """The outcome of a check: its finding, and the remedy if something is wrong."""

    status: Literal["ok", "warn", "failed"]
    detail: str
    remedy: str = ""

    def row(self, name: str) -> dict[str, str]:
        """Return the finding as a row of the report."""
        return {"name": name, "status": self.status, "detail": self.detail, "remedy": self.remedy}


@dataclass(frozen=True)
class Examined:
    """The project under examination."""

    root: Path
    settings: Settings

    @property
    def index(self) -> Path:
        """Return the index folder, which may not exist."""
        return index_folder(self.root, self.settings.index.path)
