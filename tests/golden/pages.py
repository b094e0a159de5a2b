"""Fill in the generated parts of the documentation, which are between two comments: `<!-- generated: NAME -->`."""

import re
from collections.abc import Callable
from functools import partial

from tests.golden import file_types, interface_lists, settings_tables
from tests.harness.projects import ROOT

PAGES = sorted((ROOT / "docs").glob("*.md"))
TABLES = (
    "index",
    "embedding",
    "database",
    "query",
    "docs",
    "answer",
    "server",
    "auth",
    "published",
    "owner",
    "insights",
    "hook",
)
PARTS: dict[str, Callable[[], str]] = {
    **{f"[{table}]": partial(settings_tables.keys, table) for table in TABLES},
    "routes": interface_lists.routes,
    "tools": interface_lists.tools,
    "commands": interface_lists.commands,
    "files": file_types.read_files,
    "generated files": file_types.generated_files,
}
PART = re.compile(r"(<!-- generated: ([^>]+) -->\n).*?(\n<!-- end -->)", re.DOTALL)


def filled(page: str) -> str:
    """Return the text of a page with its parts generated anew."""
    return PART.sub(lambda part: f"{part[1]}\n{PARTS[part[2]]()}\n{part[3]}", page)
