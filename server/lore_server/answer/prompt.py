"""The prompt: an instruction, and the passages in a fence that no passage can close."""

from __future__ import annotations

import json
import re
import secrets
import unicodedata
from collections.abc import Sequence

from lore_server.answer.kept_answers import EarlierAnswer
from lore_server.answer.pack import Passage

_HIDDEN = ("Cc", "Cf", "Co", "Cn", "Cs")
_CONTROLS = {
    code: None for code in range(128) if unicodedata.category(chr(code)) in _HIDDEN and chr(code) not in "\n\t"
}
_CITED = re.compile(r"\s*\[\d+(?:\s*,\s*\d+)*\]")
MAX_EARLIER = 4_000  # characters


def readable(text: str) -> str:
    """Return the text without control and format characters, which can hide instructions from a reader."""
    if text.isascii():
        return text.translate(_CONTROLS)
    return "".join(one for one in text if one in "\n\t" or unicodedata.category(one) not in _HIDDEN)


def prompt(question: str, passages: Sequence[Passage], earlier: EarlierAnswer | None = None) -> str:
    """Return the question, the earlier exchange and the passages, fenced by a mark that they cannot predict."""
    mark = secrets.token_hex(8)
    parts = []
    for passage in passages:
        facts = (f"{name}={json.dumps(readable(value), ensure_ascii=False)}" for name, value in passage.facts.items())
        head = " ".join((f"<passage {mark} number={passage.number}", *facts))
        parts.append(f"{head}>\n{readable(passage.chunk.text)}\n</passage {mark}>")
    if earlier is not None and earlier.text:
        # without citations, because their numbers have changed
        exchange = f"Question: {earlier.question}\nAnswer: {_CITED.sub('', earlier.text)}"
        parts.append(f"<earlier {mark}>\n{readable(exchange[:MAX_EARLIER])}\n</earlier {mark}>")
    return "\n\n".join([*parts, f"Question: {readable(question)}"])
