"""`POST /page/markdown`: render the text of a knowledge document. It reads no data, so it is not an operation."""

from __future__ import annotations

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lore_etl.core.errors import InvalidArgument, LoreError
from lore_etl.core.frontmatter import body_of
from lore_etl.core.json_types import JSON
from lore_server.http.arguments import json_of
from lore_server.http.guard import refused
from lore_server.http.markdown_tree import elements_of
from lore_server.knowledge.document import KnowledgeDocument
from lore_server.knowledge.limits import DOCUMENT_BYTES, checked_text
from lore_server.services.chapters import metadata_of

MARKDOWN = "/page/markdown"
MOST_BYTES = 32_000_000
LONGEST = 100_000  # characters: prose takes 0.3 s, the worst case (brackets) 3 s
AT_ONCE = 2


def rendering_routes() -> list[Route]:
    working = anyio.CapacityLimiter(AT_ONCE)

    async def markdown(request: Request) -> Response:
        try:
            text = (await json_of(request, MOST_BYTES)).get("text")
            if not isinstance(text, str):
                raise InvalidArgument("`text` is missing or not a string.")
            checked_text(text, DOCUMENT_BYTES, "document")
            return JSONResponse(await anyio.to_thread.run_sync(rendered, text, limiter=working))
        except LoreError as error:
            return refused(error)

    return [Route(MARKDOWN, markdown, methods=["POST"])]


def rendered(text: str) -> JSON:
    """Return the front matter, the elements of the text, and the rest if it is too long to render."""
    document = KnowledgeDocument(text)
    body = body_of(text)
    end = len(body) if len(body) <= LONGEST else body.rfind("\n", 0, LONGEST) + 1 or LONGEST
    metadata = metadata_of(document.title, document.metadata)
    return {"metadata": metadata, "elements": elements_of(body[:end]), "rest": body[end:]}
