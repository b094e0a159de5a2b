"""Build a project with the folder layout of the framework: `.ce/`, PRPs, patterns, memories, rules."""

TOPICS = ("error handling", "job isolation", "validation gates", "cache expiry", "tool naming")
INDEX = ".ce/syntropy-index.json"
_SIDES = {
    "CLAUDE.md": "# Project guide\n\nRead `.ce/RULES.md` before you change anything.\n",
    "ce/validate.py": '"""The gates of validation."""\n\n\ndef validate() -> bool:\n    return True\n',
    ".ce/examples/system/patterns/error-recovery.py": (
        '"""Retry with exponential backoff, and break the circuit when nothing answers.\n\n'
        'Tags: resilience, retry, circuit-breaker\n"""\n\n\ndef recover() -> None:\n    return\n'
    ),
    "examples/patterns/api-errors.md": (
        "---\ntags: [api, error, fastapi]\n---\n# API errors\n\nAnswer every failure with a problem record.\n"
    ),
    ".ce/PRPs/system/executed/PRP-1-validation.md": (
        "---\nname: Core Validation Framework\nprp_id: PRP-1\nstatus: executed\ntags: [validation, L1-L4]\n"
        "context_sync:\n  ce_updated: true\n---\n# Core Validation Framework\n\n"
        "Four levels of gates say whether a change may go in.\n\n**File:** `ce/validate.py`\n\n"
        "Follows `.ce/examples/system/patterns/error-recovery.py`.\n"
    ),
    ".ce/RULES.md": (
        "# Framework rules\n\n- ✅ **Fast Failure**: Let exceptions bubble up\n"
        "- ❌ Fishy fallbacks that mask errors\n\n**MANDATORY**: every change has a test\n"
    ),
    ".serena/memories/tool-usage-guide.md": (
        "# Tool usage\n\nThe naming convention of tools, and when to use which.\n\n## MCP\n\n### Naming\n\nText.\n"
    ),
}


def framework(prps: int = 3) -> dict[str, str]:
    """Return path -> text of a small project with this many PRPs of its own, from `PRPs/executed/PRP-10.md` on."""
    own = {f"PRPs/executed/PRP-{10 + number}-task.md": _prp(number) for number in range(prps)}
    return {**_SIDES, **own}


def _closed(**properties: object) -> dict[str, object]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": properties,
    }


def _entries(**fields: object) -> dict[str, object]:
    return {"type": "object", "additionalProperties": _closed(**fields)}


_TEXT = {"type": "string", "minLength": 1}
_TEXTS = {"type": "array", "items": _TEXT}
_EXCERPT = {"type": "string", "maxLength": 200}
_PATTERNS = _entries(source=_TEXT, tags=_TEXTS, referenced_by=_TEXTS, excerpt=_EXCERPT)
_PRPS = _entries(
    source=_TEXT, title=_TEXT, implementations=_TEXTS, verified={"type": "boolean"}, tags=_TEXTS, excerpt=_EXCERPT
)
SCHEMA = _closed(
    version={"const": "1.0"},
    project_root=_TEXT,
    synced_at={"type": ["string", "null"]},
    framework_version={"const": "1.0"},
    paths=_closed(
        system_prps=_TEXT, system_examples=_TEXT, user_prps=_TEXT, user_examples=_TEXT, memories=_TEXT,
        claude_md=_TEXT, system_rules=_TEXT,
    ),
    knowledge=_closed(
        system_patterns=_PATTERNS, user_patterns=_PATTERNS, system_prps=_PRPS, user_prps=_PRPS,
        memories=_entries(source=_TEXT, tags=_TEXTS, excerpt=_EXCERPT),
        system_rules=_entries(source=_TEXT, line={"type": "integer", "minimum": 1}, excerpt=_EXCERPT),
    ),
    drift=_closed(
        score={"type": "number", "minimum": 0, "maximum": 1},
        violations={"type": "array", "items": _closed(type=_TEXT, source=_TEXT, target=_TEXT, message=_TEXT)},
    ),
)  # fmt: skip
"""The schema of `.ce/syntropy-index.json` as PRP-29.3 describes it, without further fields."""


def _prp(number: int) -> str:
    topic = TOPICS[number % len(TOPICS)]
    return (
        f"---\nname: {topic.title()} {number}\nstatus: executed\ntags: [{topic.split()[0]}]\n---\n# Task {number}\n\n"
        f"How {topic} works in part {number}, and why it was done so.\n\nThe pattern api-errors is followed.\n"
    )
