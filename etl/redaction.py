"""Secrets are taken out of the text before anything is written, so that no store ever holds one.

A secret is replaced in its line, so line numbers stay true. The shapes are those that their issuers document;
a value that merely looks random is left alone, since hashes and ids are what people search for.
"""

from __future__ import annotations

import re

_SHAPES = {
    "aws-key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "github-token": r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})\b",
    "gitlab-token": r"\bglpat-[A-Za-z0-9_-]{20,64}\b",
    "google-key": r"\bAIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])",
    "slack-token": r"\bxox[abprs]-[A-Za-z0-9-]{10,250}\b",
    "stripe-key": r"\b[rs]k_live_[0-9A-Za-z]{16,250}\b",
    "openai-key": r"\bsk-(?:proj-|ant-)?[A-Za-z0-9_-]{32,250}\b",
    "npm-token": r"\bnpm_[A-Za-z0-9]{36}\b",
    "jwt": r"\beyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,2000}\b",
    "url-password": r"(?<=://)[A-Za-z0-9._%+-]{1,100}:[^\s:/@'\"{}$<>]{6,200}(?=@[A-Za-z0-9])",
}
_SECRET = re.compile("|".join(f"(?P<{name.replace('-', '_')}>{shape})" for name, shape in _SHAPES.items()))
_KEY_BEGIN = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----")
_KEY_END = re.compile(r"-----END [A-Z ]{0,40}PRIVATE KEY-----")
_BASE64_LINE = re.compile(r"^[\s#*/\"']*[A-Za-z0-9+/=]{16,}[\s\\n\"',]*$")


def redact(text: str) -> tuple[str, int]:
    """The text without its secrets, and how many there were."""
    text, found = _SECRET.subn(lambda match: f"[redacted {match.lastgroup}]", text)
    if not _KEY_BEGIN.search(text):
        return text, found
    lines, inside = text.split("\n"), False
    for index, line in enumerate(lines):
        if _KEY_BEGIN.search(line):
            inside, found = True, found + 1
        elif inside and _BASE64_LINE.match(line):
            lines[index] = "[redacted private_key]"
        inside = inside and not _KEY_END.search(line)
    return "\n".join(lines), found
