"""Group the arguments that operations which write to the knowledge folder have in common."""

from __future__ import annotations

from typing import NamedTuple

from lore_server.knowledge.git.commits import Author


class WriteRequest(NamedTuple):
    """The project, the version that the document must have, and the author; not every operation takes all of them."""

    project_id: str | None = None
    expected_version: str | None = None
    author: str | None = None
    session: str | None = None

    @property
    def by(self) -> Author:
        """The author of the commit."""
        return Author(self.author or "", self.session or "")
