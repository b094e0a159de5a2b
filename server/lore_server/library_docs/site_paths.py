"""Addresses of a documentation site: which ones belong to it, their files, and the pages that its lists name. Pure."""

import html
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

from lore_etl.core.errors import UsageError
from lore_etl.core.model import sha256
from lore_etl.files.ignore import SKIPPED_FOLDERS

MAX_ADDRESS = 2_000
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_LOCATION = re.compile(r"<loc>\s*([^<\s]{1,2000})\s*</loc>", re.IGNORECASE)
_MARKDOWN_LINK = re.compile(r"\]\(\s*<?([^)\s>]{1,2000})")
_VERSION = re.compile(r"/v?(\d+(?:\.[\dx]+){0,3})(?=/|$)")
_NO_PAGE = frozenset(
    ".png .jpg .jpeg .gif .webp .svg .ico .css .js .mjs .map .json .xml .zip .gz .tgz .pdf .epub .woff .woff2 .ttf "
    ".mp4 .webm .whl .exe .dmg .rss .atom .py .inv".split()
)
_NO_DOCS = frozenset({"print.html", "search.html", "genindex.html", "py-modindex.html", "404.html"})
_GENERIC_LABELS = frozenset({"www", "docs", "doc", "documentation", "api", "developer", "dev"})
_SHARED_HOSTS = (".github.io", ".gitlab.io")


def start_of(given: str) -> str:
    """Return the address of a site that the user named. Raises UsageError."""
    address = normalised(given)
    parts = urlsplit(address or "")
    if not address or parts.username or parts.password:
        hint = "Give it as https://docs.example.org/guide/."
        raise UsageError(f"`{given[:200]}` is not the address of a site.", hint)
    return address


def normalised(given: str, base: str = "") -> str | None:
    """Return an http address, also one relative to `base`, without fragment and query; None for any other text."""
    try:
        address = urljoin(base, given.strip())
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            return None
    except ValueError:
        return None
    if len(address) > MAX_ADDRESS or _CONTROL.search(address):  # the HTTP client rejects control characters
        return None
    path = re.sub(r"/index\.html?$", "/", parts.path or "/")
    return urlunsplit((parts.scheme, parts.netloc.lower(), path, "", ""))


def origin_of(address: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(address)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def folder_of(address: str) -> str:
    """Return the path below which the pages of a site are: `/docs/` for `/docs`, `/docs/` and `/docs/index.html`."""
    path = urlsplit(address).path
    is_file = "." in path.rpartition("/")[2]
    return path.rpartition("/")[0] + "/" if is_file else path.rstrip("/") + "/"


def pages_below(start: str, addresses: Iterable[str], base: str) -> Iterator[str]:
    """Yield the addresses that are pages of the site; `base` resolves relative ones."""
    folder = folder_of(start)
    for found in addresses:
        address = normalised(found, base)
        if address is None or origin_of(address) != origin_of(start):
            continue
        path = urlsplit(address).path
        is_below = path.startswith(folder) or path + "/" == folder
        name = PurePosixPath(path)
        if is_below and name.suffix.lower() not in _NO_PAGE and name.name not in _NO_DOCS:
            yield address


def listed_in(sitemap: str) -> list[str]:
    """Return the addresses in a sitemap, which is never parsed as XML."""
    return [html.unescape(found) for found in _LOCATION.findall(sitemap)]


def linked_in(markdown: str) -> list[str]:
    return list(dict.fromkeys(_MARKDOWN_LINK.findall(markdown)))


def file_of(start: str, address: str) -> str:
    """Return the file for a page, without its suffix. Different pages can have the same one."""
    path = unquote(urlsplit(address).path.removeprefix(folder_of(start)), errors="replace")
    path = re.sub(r"\.(?:html?|md|mdx|txt|php|aspx)$", "", path)
    parts = [_part(part) for part in path.split("/") if part.strip(". ")]
    file = "/".join(parts) or "index"
    return file if len(file) <= 150 else f"{file[:150].rstrip('/')}-{sha256(address)[:8]}"


def _part(part: str) -> str:
    plain = re.sub(r"[^\w.-]+", "-", part, flags=re.ASCII).strip(".-")[:60].rstrip(".-") or f"p-{sha256(part)[:8]}"
    return f"{plain}-" if plain in SKIPPED_FOLDERS else plain


def name_of_site(address: str) -> str:
    """Return the name of the library that a site documents, guessed from its address."""
    host = urlsplit(address).hostname or ""
    if host.endswith(_SHARED_HOSTS) and (first := urlsplit(address).path.strip("/").partition("/")[0]):
        return first
    labels = host.split(".")
    if ":" in host or all(label.isdecimal() for label in labels):
        return f"site-{host}"
    while len(labels) > 1 and labels[0] in _GENERIC_LABELS:
        labels.pop(0)
    return labels[0]


def version_in(address: str) -> str:
    """Return the version that the path of a site names, such as 1.2 in `/en/1.2/`; empty if there is none."""
    found = _VERSION.findall(urlsplit(address).path)
    return found[-1] if found else ""
