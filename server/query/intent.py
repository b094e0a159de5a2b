"""Which kind of document a question asks for, by the way it is put."""

from __future__ import annotations

import re

from etl.model import KnowledgeType

MOST_WORDS = 25  # a longer text is no question any more
_T = KnowledgeType
_FORMS: tuple[tuple[tuple[KnowledgeType, ...], tuple[str, ...]], ...] = (
    (
        (_T.ADR, _T.PRP, _T.TICKET),
        ("why", "reasons?", "rationale", "deci(?:ded?|sions?)", "instead of", "causes?", "caused", "trade-?offs?"),
    ),
    ((_T.TICKET,), ("bugs?", "issues?", "tickets?", "reported", "cause of")),
    (
        (_T.GUIDE,),
        ("how (?:do|can|should|could|would|must) (?:i|we|you|one|people|users?)", "how to", "(?:can|may) (?:i|we|you)",
         "what (?:do|should|can) (?:i|we)", "what happens",
         "how (?:do|does) .{1,60} work", "my", "step by step", "set ?up", "install", "guide", "tutorial"),
    ),
    ((_T.TEST,), ("tests?", "tested", "testing")),
    (
        (_T.SRC,),
        ("where (?:is|are|does|do)", "implement(?:s|ed|ation)?", "defined?", "definition", "source code",
         "(?:which|what) (?:class|function|method|module|file|code)"),
    ),
    ((_T.RULE,), ("must", "rules?", "allowed", "forbidden", "conventions?", "never", "always")),
    ((_T.MEMORY,), ("learn(?:ed|t)", "lessons?", "remember", "pitfalls?", "gotchas?", "notes? (?:on|about|of)")),
    ((_T.EXAMPLE,), ("examples?", "sample code", "snippets?", "demo")),
    (
        (_T.RELEASE,),
        ("what(?:'s| is| was)? (?:new|changed)", "changes? (?:in|of|between)", "released?", "releases", "change ?log"),
    ),
    ((_T.KNOWLEDGE,), ("glossary", "vocabulary", "meant by", "runbook", "on-?call")),
    ((_T.BLOG,), ("blog", "article", r"announc\w*")),
    ((_T.PRP,), ("spec(?:s|ification)?", "prp", "planned", "requirements?", "acceptance")),
)  # fmt: skip
_IMPERATIVE = r"^(?:run|use|start|stop|add|make|configure|change|deploy|write|create|enable|disable|install) "
_INTENTS = tuple(
    (types, re.compile(rf"\b(?:{'|'.join(forms)})\b" + (f"|{_IMPERATIVE}" if _T.GUIDE in types else ""), re.IGNORECASE))
    for types, forms in _FORMS
)


def wanted_types(text: str) -> frozenset[KnowledgeType]:
    """The types that a question asks for; none where its form says nothing."""
    if len(text.split()) > MOST_WORDS:
        return frozenset()
    return frozenset(type_ for types, pattern in _INTENTS if pattern.search(text) for type_ in types)
