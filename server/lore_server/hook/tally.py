"""What a run of the hook did, in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass
class Tally:
    """How many files were found, and what became of them; how many memories were removed from the server."""

    found: int = 0
    succeeded: int = 0
    failed: int = 0
    skipped: int = 0
    removed: int = 0

    @property
    def processed(self) -> int:
        """Files that were dealt with."""
        return self.succeeded + self.failed + self.skipped

    @property
    def waiting(self) -> int:
        """Files that were not reached."""
        return self.found - self.processed

    def told(self) -> dict[str, int]:
        """As data."""
        return {**asdict(self), "processed": self.processed, "waiting": self.waiting}

    def __str__(self) -> str:
        counts = [f"{self.processed} processed", f"{self.succeeded} succeeded", f"{self.failed} failed"]
        more = [f"{count} {name}" for name, count in (("removed", self.removed), ("waiting", self.waiting)) if count]
        return ", ".join([*counts, f"{self.skipped} skipped", *more])


def read_tally(told: Mapping[str, Any]) -> Tally:
    """What `Tally.told` gave."""
    return Tally(**{one.name: int(told[one.name]) for one in fields(Tally)})
