"""Write the plugin for Claude Code and the extension for Gemini CLI, which have what `lore install --skill` writes.

The checkout is its own marketplace: `/plugin marketplace add FOLDER`, then `/plugin install lore@lore`. The extension
is a folder of it: `gemini extensions install FOLDER/extension`.
"""

import json
from pathlib import Path

from lore_etl.core.json_types import JSON
from lore_server import __version__
from lore_server.setup import companions
from lore_server.setup.clients import CLIENTS, PROGRAM, Client
from tests.harness.projects import ROOT

MARKETPLACE, PLUGIN = ROOT / ".claude-plugin" / "marketplace.json", ROOT / "plugin"
EXTENSION = ROOT / "extension"
ABOUT = "Search and cited answers from your project's own docs, code, tickets and decisions; runs locally"
SERVER = "plugin_lore_lore"  # what Claude Code makes of the plugin's name and the name of its server


def files() -> dict[Path, str]:
    """Return the text of each file."""
    client, gemini = CLIENTS["claude-code"], CLIENTS["gemini"]
    hook = {"type": "command", "command": " ".join([PROGRAM, *companions.HOOK]), "timeout": 10, "async": True}
    entry = {**client.extra, "command": PROGRAM, "args": ["mcp", "-C", client.root]}
    author = {"name": "Lore"}
    listed = {"name": "lore", "source": f"./{PLUGIN.name}", "description": ABOUT}
    settings: dict[Path, JSON] = {
        MARKETPLACE: {"name": "lore", "owner": author, "description": "Lore and its plugin", "plugins": [listed]},
        PLUGIN / ".claude-plugin" / "plugin.json": {
            "name": "lore",
            "version": __version__,
            "description": ABOUT,
            "author": author,
        },
        PLUGIN / ".mcp.json": {"mcpServers": {"lore": entry}},
        PLUGIN / "hooks" / "hooks.json": {
            "hooks": {companions.EVENT: [{"matcher": companions.SEARCHES, "hooks": [hook]}]}
        },
        EXTENSION / "gemini-extension.json": {
            "name": "lore",
            "version": __version__,
            "description": ABOUT,
            "mcpServers": {"lore": {"command": PROGRAM, "args": ["mcp", "-C", "${workspacePath}"]}},
        },
    }
    texts = {**_texts(client, SERVER, PLUGIN), **_texts(gemini, "lore", EXTENSION)}
    return {**{path: json.dumps(value, indent=2) + "\n" for path, value in settings.items()}, **texts}


def _texts(client: Client, server: str, folder: Path) -> dict[Path, str]:
    own = client.own_file()
    return {
        folder / path.relative_to(own): text.replace(f"{companions.MARK}\n\n", "")
        for path, text in companions.texts(client, server)
    }
