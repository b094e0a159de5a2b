"""Find the title of a document in its text, in time linear in the part that is read."""

from __future__ import annotations

import re
from collections.abc import Callable

from lore_etl.chunking import headed, markdown, notebook
from lore_etl.core.html_markdown import without_hidden
from lore_etl.core.text import one_line, storable

MAX_TITLE = 300
READ = 50_000  # characters in which a title begins
# several lines may declare it
_ORG = re.compile(r"^#\+title:[ \t]*(\S.*)", re.IGNORECASE | re.MULTILINE)
_LATEX = re.compile(r"^[^%\n]*?\\title\s*(?:\[[^\]]{0,300}\]\s*)?\{(" + headed.IN_BRACES + r")\}", re.MULTILINE)
_PAGE = re.compile(r"<title\b[^>]{0,300}>([^<]{0,600})</title", re.IGNORECASE)
_PAGE_HEADING = re.compile(r"<h1\b[^>]{0,500}>(.{0,1000}?)</h1", re.IGNORECASE | re.DOTALL)
_TEMPLATES = ("{{", "{%", "${")


def title_of(text: str, syntax: str) -> str | None:
    """Return the title that a document declares, else its first heading; None if it has neither."""
    title = _FINDERS[syntax](text) if syntax in _FINDERS else _first_heading(text, syntax)
    return storable(one_line(title))[:MAX_TITLE].strip() or None if title else None


def _first_heading(text: str, syntax: str) -> str | None:
    return next((heading.title for heading in headed.headings(syntax, text[:READ].split("\n"))), None)


def _in_org(text: str) -> str | None:
    return " ".join(_ORG.findall(text[:READ])) or _first_heading(text, "org")


def _in_latex(text: str) -> str | None:
    declared = _LATEX.search(text[:READ])
    return (headed.latex_text(declared[1]) if declared else "") or _first_heading(text, "latex")


def _in_html(text: str) -> str | None:
    """Return the title of a page, else its main heading, unless a template fills it in."""
    page = without_hidden(text[:READ])
    found = (match[1] for pattern in (_PAGE, _PAGE_HEADING) for match in [pattern.search(page)] if match)
    titles = (headed.html_text(title) for title in found if not any(sign in title for sign in _TEMPLATES))
    return next(filter(None, titles), None)


def _in_converted(text: str) -> str | None:
    """Return the title above the pages and sheets, whose headings are deeper."""
    return next((line.strip("# ") for line in text.split("\n", 80)[:80] if line.startswith("# ")), None)


_FINDERS: dict[str, Callable[[str], str | None]] = {
    "document": _in_converted,
    "html": _in_html,
    "latex": _in_latex,
    "markdown": markdown.first_heading,
    "notebook": notebook.first_heading,
    "org": _in_org,
}
