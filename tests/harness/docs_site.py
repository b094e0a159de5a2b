"""A documentation site on this machine, with validators, robots.txt, and answers that replace the next ones."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.harness.local_server import QuietHandler, listening

Page = tuple[int, dict[str, str], bytes]


@dataclass
class DocsSite:
    """The texts by path, and each request so far with the tag that it named."""

    pages: dict[str, str] = field(default_factory=dict)
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    instead: Callable[[int, str], Page | None] = lambda number, path: None
    address: str = ""

    def answer(self, path: str, tag: str | None) -> Page:
        """Return a page, or that it has not changed."""
        if (text := self.pages.get(path)) is None:
            return 404, {}, b"gone"
        suffix = path.rpartition(".")[2]
        kinds = {"txt": "text/plain", "xml": "application/xml", "md": "text/markdown"}
        kind = kinds.get(suffix, "text/html; charset=utf-8")
        headers = {"Content-Type": kind, "ETag": f'"{hashlib.sha256(text.encode()).hexdigest()[:12]}"'}
        return (304, headers, b"") if tag == headers["ETag"] else (200, headers, text.encode())

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.requests]


def html_page(title: str, text: str = "Text.", links: Mapping[str, str] | None = None) -> str:
    """Return a page with a heading and links."""
    listed = "".join(f'<a href="{target}">{name}</a> ' for target, name in (links or {}).items())
    return f"<html><title>{title}</title><body><main><h1>{title}</h1><p>{text}</p><p>{listed}</p></main></body></html>"


@contextmanager
def serving(site: DocsSite) -> Iterator[str]:
    """Serve the site, and yield its address."""

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            site.requests.append((self.path, self.headers.get("If-None-Match")))
            answer = site.answer(self.path, self.headers.get("If-None-Match"))
            status, headers, content = site.instead(len(site.requests), self.path) or answer
            self.send(status, content, headers)

    with listening(Handler) as port:
        site.address = f"http://127.0.0.1:{port}"
        yield site.address
