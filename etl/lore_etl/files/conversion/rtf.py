"""Read an RTF file as paragraphs. The format has no slides or sheets, and marks headings only by style."""

from __future__ import annotations

import codecs
import re

from striprtf.striprtf import rtf_to_text

from lore_etl.files.conversion.marked_text import NoText, body

_PAGES = (437, 850, 874, 932, 936, 949, 950, *range(1250, 1259))
for _codec in ("latin-1", "mac_roman", "utf-16-le", *(f"cp{page}" for page in _PAGES)):
    codecs.lookup(_codec)  # files name these code pages; Python opens their files at the first use
_CELL = re.compile(r"\s*\|[ \t]*")
_BEGIN = b"{\\rtf"
_TOKEN = re.compile(r"\\[{}\\]|[{}]|\\footnote(?![a-zA-Z]) ?")


def read(data: bytes, suffix: str) -> str:
    """Return the paragraphs. Raises NoText."""
    if not data.lstrip().startswith(_BEGIN):
        raise NoText("damaged, or not an RTF file")
    text = rtf_to_text(_with_notes(data.decode("latin-1")), errors="replace")
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")  # pairs of surrogates
    plain = _CELL.sub(" | ", joined.replace("\N{SOFT HYPHEN}", ""))
    paragraphs = (line.strip(" |\t") for line in plain.split("\n"))
    return body("\n\n".join(paragraph for paragraph in paragraphs if paragraph))


def _with_notes(text: str) -> str:
    """Turn footnotes into text in parentheses, because the converter leaves them out."""
    parts, position = list[str](), 0
    depth, notes = 0, list[int]()
    for token in _TOKEN.finditer(text):
        if token[0] == "{":
            depth += 1
        elif token[0] == "}":
            if notes and notes[-1] == depth:
                notes.pop()
                parts += [text[position : token.start()], ")"]
                position = token.start()
            depth -= 1
        elif token[0].startswith("\\footnote"):
            parts += [text[position : token.start()], " ("]
            position = token.end()
            notes.append(depth)
    return "".join((*parts, text[position:]))
