"""Pack the files of the page for a browser: one style sheet and one script, whose names change with their content.

`index.html` names the plain files, and would work without this module, with 78 requests instead of 5.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from lore_server.http.site import ASSETS

SHELL = "index.html"
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_NAMED = re.compile(rf'(?<="){ASSETS}([^"]+)(?=")')
_SHEETS = re.compile(rf'((?: *<link rel="stylesheet" href="{ASSETS}[^"]+">\n)+)')
_IMPORT = re.compile(r'^import (?:(\{[^}]*\}|\* as \w+) from )?"([^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) (\w+))", re.MULTILINE)


@cache
def packed(folder: Path) -> tuple[str, Mapping[str, bytes]]:
    """Return the page, and the packed files that it names. A server keeps those with which it started."""
    page = (folder / SHELL).read_text(encoding="utf-8")
    found: dict[str, bytes] = {}

    def keep(name: str, content: bytes) -> str:
        path = Path(name)
        named = f"{path.stem}-{hashlib.sha256(content).hexdigest()[:16]}{path.suffix}"
        found[named] = content
        return f"{ASSETS}{named}"

    def one_sheet(sheets: str) -> str:
        content = b"".join((folder / name).read_bytes() for name in _NAMED.findall(sheets))
        return f'  <link rel="stylesheet" href="{keep("page.css", content)}">\n'

    def one_file(match: re.Match[str]) -> str:
        file = folder / match[1]
        return keep(match[1], linked(file).encode() if file.suffix == ".js" else file.read_bytes())

    parts = enumerate(_SHEETS.split(page))
    return "".join(one_sheet(part) if at % 2 else _NAMED.sub(one_file, part) for at, part in parts), found


def linked(entry: Path) -> str:
    """Return a module with all that it imports as one script: each a function, after those that it imports."""
    done: dict[Path, tuple[str, str]] = {}

    def add(file: Path) -> str:
        if file in done:
            return done[file][0]

        def imported(match: re.Match[str]) -> str:
            module = add((file.parent / match[2]).resolve())
            names = (match[1] or "").replace("* as ", "").replace(" as ", ": ")
            return f"const {names} = {module};\n" if names else ""

        text = file.read_text(encoding="utf-8")
        body = _EXPORT.sub("", _IMPORT.sub(imported, text))
        name = f"_{len(done)}_{file.stem.replace('-', '_')}"
        done[file] = name, f"const {name} = (() => {{\n{body}return {{ {', '.join(_EXPORT.findall(text))} }};\n}})();\n"
        return name

    add(entry.resolve())
    return "".join(text for _, text in done.values())
