"""Notice that an agent searches files for the same word again and again, and mention Lore once in its session."""

import hashlib
import json
import re
import sys
from contextlib import suppress
from pathlib import Path

from lore_etl.config.project import find_project, place_of, private_folder, user_state_folder
from lore_etl.core.atomic import replace_content
from lore_etl.core.json_types import JSON
from lore_etl.stores.claim import has_index
from lore_etl.system.nofollow import read_regular
from lore_server.console import terminal

FOLDER = "searches"
ENOUGH = 3
LONGEST_EVENT = 1_000_000  # bytes
MOST_SESSIONS, LONGEST_NOTE = 50, 100_000
SAID = " "  # in the note of a session, instead of a word
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,}")
_GREP = re.compile(r"""(?:^|[|;&(]\s*|git\s+)(?:[ef]?grep|rg|ag|ack)\s+(?:-\S*\s+)*(?P<pattern>"[^"]*"|'[^']*'|\S+)""")
_SYNTAX = frozenset(
    "async await class const default export extends from func function impl import include interface package private "
    "public return self static struct this type void".split()
)


def reply() -> None:
    """Read the event of a search from standard input, and write the reply. No error reaches the agent's search."""
    with suppress(Exception):
        if found := remark(sys.stdin.buffer.read(LONGEST_EVENT), find_project(Path.cwd())):
            terminal.out_json(found)


def remark(event: bytes, root: Path) -> JSON | None:
    """Count the words of a search; return the reply to the third one for a word, if the project has an index."""
    given = json.loads(event)
    words = searched_words(given.get("tool_input") or {})
    if not words:
        return None
    folder = private_folder(user_state_folder() / FOLDER)
    note = folder / hashlib.sha256(str(given.get("session_id")).encode()).hexdigest()[:32]
    counts = _read(note, folder)
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    again = max((word for word in words if counts[word] >= ENOUGH), key=len, default=None)
    is_said = again is not None and SAID not in counts and has_index(place_of(root).folder)
    replace_content(note, [json.dumps({**counts, SAID: 1} if is_said else counts)], 0o600)
    if not is_said:
        return None
    text = (
        f"This session has searched for `{again}` {ENOUGH} times. This project has an index: one call of the tool "
        "query_documents of the MCP server `lore` (or `lore search` in a shell) finds code, guides and decisions by "
        "meaning or name, with lines."
    )
    return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": text}}


def searched_words(given: JSON) -> set[str]:
    """Return the words that a call of a search tool, or a grep in a shell command, looks for."""
    found = (match["pattern"] for match in _GREP.finditer(str(given.get("command", ""))))
    return {
        word.lower() for pattern in (str(given.get("pattern", "")), *found) for word in _WORD.findall(pattern)
    } - _SYNTAX


def _read(note: Path, folder: Path) -> dict[str, int]:
    """Return the counts of a session. A new one replaces the oldest of too many."""
    with suppress(OSError, ValueError):
        return dict(json.loads(read_regular(note, LONGEST_NOTE)))
    for old in sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime)[:-MOST_SESSIONS]:
        old.unlink(missing_ok=True)
    return {}
