"""The HTTP interface: the page, the contract's routes under /api, MCP at /mcp, all behind one guard."""

from lore_server.http.application import build_http
from lore_server.http.page import Pulse
from lore_server.http.site import Site, site_of

__all__ = ["Pulse", "Site", "build_http", "site_of"]
