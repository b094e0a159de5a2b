"""A host of MCP Apps as version 2026-01-26 of their specification describes it, in a browser without a network."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import anyio
import mcp_types as types
from mcp.client.client import Client
from mcp.client.extension import advertise
from playwright.sync_api import Browser, FrameLocator, Page, Route

from tests.harness.browser import PATIENCE
from tests.harness.interfaces import mcp_over_http

EXTENSION = "io.modelcontextprotocol/ui"
APP_TYPE = "text/html;profile=mcp-app"
JSON = dict[str, Any]
HOST, SANDBOX = "http://host.test", "http://sandbox.test"
POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "media-src 'self' data:; connect-src 'none'"
)
"""The policy of a host for an app that declares no domains."""
HOST_PAGE = """<!doctype html>
<title>Host</title>
<style>iframe { width: 100%; border: 0 }</style>
<iframe src="http://sandbox.test/" sandbox="allow-scripts allow-same-origin"></iframe>
<script>
const { html, context, messages } = GIVEN;
const frame = document.querySelector("iframe");
const tell = (message) => frame.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "http://sandbox.test");
window.heard = [];
addEventListener("message", ({ source, origin, data }) => {
  if (source !== frame.contentWindow || origin !== "http://sandbox.test") return;
  heard.push(data);
  const { id, method, params } = data;
  const ready = { method: "ui/notifications/sandbox-resource-ready", params: { html } };
  if (method === "ui/notifications/sandbox-proxy-ready") tell(ready);
  if (method === "ui/initialize") {
    const { protocolVersion } = params;
    const hostInfo = { name: "host", version: "1" };
    tell({ id, result: { protocolVersion, hostCapabilities: {}, hostInfo, hostContext: context } });
  }
  if (method === "ui/notifications/initialized") messages.forEach(tell);
  if (method === "ui/notifications/size-changed") frame.style.height = `${params.height}px`;
});
</script>
"""
SANDBOX_PAGE = """<!doctype html>
<title>Sandbox</title>
<style>html, body, iframe { width: 100%; height: 100%; margin: 0; border: 0 }</style>
<script>
const isOwn = ({ method = "" }) => method.startsWith("ui/notifications/sandbox-");
const view = document.createElement("iframe");
view.setAttribute("sandbox", "allow-scripts");
addEventListener("message", ({ source, data }) => {
  if (source === view.contentWindow && !isOwn(data)) parent.postMessage(data, "*");
  if (source !== parent) return;
  if (!isOwn(data)) return view.contentWindow.postMessage(data, "*");
  view.srcdoc = data.params.html;
  document.body.append(view);
});
parent.postMessage({ jsonrpc: "2.0", method: "ui/notifications/sandbox-proxy-ready", params: {} }, "*");
</script>
"""


def called(url: str, tool: str, arguments: JSON, name: str = "any-client") -> tuple[str, JSON]:
    """Return the page of the app that a tool names, and the result of a call, as a client that shows apps gets them."""

    async def call() -> tuple[str, JSON]:
        info, extension = types.Implementation(name=name, version="1"), advertise(EXTENSION, {"mimeTypes": [APP_TYPE]})
        async with Client(mcp_over_http(url, {}), client_info=info, extensions=[extension]) as client:
            (meta,) = (one.meta for one in (await client.list_tools()).tools if one.name == tool)
            (page,) = (await client.read_resource((meta or {})["ui"]["resourceUri"])).contents
            result = await client.call_tool(tool, arguments)
            assert isinstance(page, types.TextResourceContents)
            return page.text, result.model_dump(mode="json", by_alias=True, exclude_none=True)

    with ThreadPoolExecutor(1) as other:  # Playwright has its own event loop in this one
        return other.submit(anyio.run, call).result()


def result_message(result: JSON) -> JSON:
    return {"method": "ui/notifications/tool-result", "params": result}


@contextmanager
def hosting(browser: Browser, html: str, *messages: JSON, **context: Any) -> Iterator[tuple[Page, FrameLocator]]:
    """Show an app in a host that sends it these messages; yield the host's page, and the frame of the app."""
    given = json.dumps({"html": html, "context": context, "messages": messages}).replace("<", "\\u003c")
    pages = {f"{HOST}/": HOST_PAGE.replace("GIVEN", given), f"{SANDBOX}/": SANDBOX_PAGE}
    troubles: list[str] = []

    def serve(route: Route) -> None:
        headers = {"Content-Security-Policy": POLICY} if route.request.url == f"{SANDBOX}/" else {}
        if body := pages.get(route.request.url):
            route.fulfill(body=body, content_type="text/html", headers=headers)
        else:
            troubles.append(route.request.url)
            route.abort()

    profile = browser.new_context(viewport={"width": 760, "height": 700})
    profile.set_default_timeout(PATIENCE)
    profile.route("**/*", serve)
    page = profile.new_page()
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    try:
        page.goto(f"{HOST}/")
        yield page, page.frame_locator("iframe").frame_locator("iframe")
        assert troubles == []
    finally:
        profile.close()
