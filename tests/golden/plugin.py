"""Write the plugin for Claude Code, which has the texts and the hook that `lore install --skill` writes for one user.

The checkout is its own marketplace: `/plugin marketplace add FOLDER`, then `/plugin install lore@lore`.
"""

from __future__ import annotations

import json
from pathlib import Path

from lore_etl.core.json_types import JSON
from lore_server import __version__
from lore_server.setup import companions
from lore_server.setup.clients import CLIENTS, PROGRAM
from tests.harness.projects import ROOT

MARKETPLACE, PLUGIN = ROOT / ".claude-plugin" / "marketplace.json", ROOT / "plugin"
ABOUT = "Search and cited answers from your project's own docs, code, tickets and decisions; runs locally"
SERVER = "plugin_lore_lore"  # what Claude Code makes of the plugin's name and the name of its server


def files() -> dict[Path, str]:
    """Return the text of each file."""
    client = CLIENTS["claude-code"]
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
    }
    own = client.own_file()
    texts = {
        PLUGIN / path.relative_to(own): text.replace(f"{companions.MARK}\n\n", "")
        for path, text in companions.texts(client, SERVER)
    }
    return {**{path: json.dumps(value, indent=2) + "\n" for path, value in settings.items()}, **texts}
