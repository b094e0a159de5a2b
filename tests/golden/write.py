"""Regenerate the golden files, such as the list of tools and the types of the replies: `make golden`. Read the diff."""

import json
from pathlib import Path
from typing import Any

import anyio
from mcp.client.client import Client

from lore_etl.chunking.code_languages import code_languages
from lore_server.contract import load_contract
from lore_server.execution.threads import Calls
from lore_server.mcp.mcp_server import build_server
from tests.golden import outlines, pages, plugin, records
from tests.harness import promises, requirements

TARGET = Path(__file__).with_name("tools.json")


async def tools(toolsets: list[str] | None = None) -> list[dict[str, Any]]:
    """Return the tools as a client sees them."""
    contract = load_contract()
    async with Client(build_server(contract, Calls(contract, lambda *_: {}), toolsets)) as client:
        listed = await client.list_tools()
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed.tools]


if __name__ == "__main__":
    TARGET.write_text(json.dumps(anyio.run(tools), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    records.TARGET.write_text(records.source(load_contract().document), encoding="utf-8")
    for table in (requirements, promises):
        table.PAGE.write_text(table.page(), encoding="utf-8")
    for page in pages.PAGES:
        page.write_text(pages.filled(page.read_text(encoding="utf-8")), encoding="utf-8")
    for path, text in plugin.files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for language in code_languages():
        outlines.target_of(language).write_text(outlines.rendered(language), encoding="utf-8")
