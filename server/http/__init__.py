"""The HTTP face: the page, routes from the contract under /api, MCP at /mcp, all behind one guard."""

from server.http.build import build_http
from server.http.pulse import Pulse
from server.http.site import Site, site_of

__all__ = ["Pulse", "Site", "build_http", "site_of"]
