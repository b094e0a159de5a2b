"""Parse a query into words, exact names and versions."""

import re
from dataclasses import dataclass

from lore_etl.core.model import KnowledgeType
from lore_etl.core.text import one_line
from lore_etl.stores.tokenizer import significant

MAX_WORDS = 25  # a longer text is not a question
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
         "what (?:do|can|should|could|would|must) (?:i|we|you|one|people|users?)", "what happens",
         "how (?:do|does) .{1,60} work", "my", "step by step", "set ?up", "install", "guide", "tutorial"),
    ),
    ((_T.TEST,), ("tests?", "tested", "testing")),
    (
        (_T.SRC,),
        ("where (?:is|are|does|do)", "implement(?:s|ed|ation)?", "defined?", "definition", "source code",
         "(?:which|what) (?:class|function|method|module|file|code)"),
    ),
    (
        (_T.RULE,),
        ("must", "may (?:i|we)", "rules?", "allowed", "permitted", "forbidden", "conventions?", "never", "always"),
    ),
    (
        (_T.MEMORY,),
        ("learn(?:ed|t)", "teach", "taught", "lessons?", "remember", "pitfalls?", "gotchas?", "traps?",
         "notes? (?:on|about|of)"),
    ),
    ((_T.EXAMPLE,), ("examples?", "sample code", "snippets?", "demo")),
    (
        (_T.RELEASE,),
        (r"what(?:'s| is| was| were| ha(?:s|ve)(?: been)?)? (?:new|changed|added|removed|fixed)",
         "changes? (?:in|of|between)", "released?", "releases", "change ?log"),
    ),
    ((_T.KNOWLEDGE,), ("glossary", "vocabulary", "meant by", "runbook", "on-?call", "paged", "outages?", "incidents?")),
    ((_T.BLOG,), ("blog", "article", r"announc\w*")),
    ((_T.PRP,), ("spec(?:s|ification)?", "prp", "planned", "requirements?", "acceptance")),
)  # fmt: skip
_TICKETS = r"(?:tickets?|pull[ -]requests?|bug reports?|prs?)"
_SOUGHT: tuple[tuple[KnowledgeType, str], ...] = (  # named in the question
    (_T.TICKET, rf"(?:which|what) (?:[\w-]+ ){{0,2}}{_TICKETS}|which (?:[\w-]+ )?issues?"),
    (_T.TICKET, rf"(?:^|the|an?|any|all|find|list|show|open|closed) ?{_TICKETS} (?:about|for|on|that|which|where|who)"),
    (_T.TICKET, r"(?:the|an?|any|all|open|closed|github) issues? (?:that|which) "
     r"(?:introduc|add|fix|clos|report|describ|mention|caus|remov|track)\w*"),
    (_T.RELEASE, r"(?:which|what) release|which version (?:introduc|add|fix|remov|chang|brought|first|contain)\w*"),
    (_T.ADR, r"which (?:adrs?|decision records?)"),
    (_T.PRP, r"which (?:prps?|specs?|specifications?)"),
    (_T.BLOG, r"which (?:blog ?posts?|articles?)"),
)  # fmt: skip
_QUESTION = re.compile(
    r"^\W*(?:how|why|what|which|where|when|who|whom|whose|can|could|may|must|should|will|would|do|does|did|is|are|am|was"
    r"|were|has|have|show|find|list|give|tell|explain|describe)\b|\?\W*$"
    r"|[,.;:\u2013-] (?:and )?(?:how|what|why|where|which|when|who) "
    r"(?:do|does|did|can|could|should|would|must|will|is|are|was|were|has|have)\b",
    re.IGNORECASE,
)
_OPENING = re.compile(r"\W*(?:(?:an?|the)\s+)?\S+", re.IGNORECASE)
_SOUGHT_FORMS = tuple((type_, re.compile(rf"\b(?:{form})\b", re.IGNORECASE)) for type_, form in _SOUGHT)
_INTENTS = tuple((types, re.compile(rf"\b(?:{'|'.join(forms)})\b", re.IGNORECASE)) for types, forms in _FORMS)
_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:[./:#\\-][A-Za-z_$][\w$]*)*(?:\(\))?")
_VERSION = re.compile(r"\bv?\d+(?:\.\d+){1,3}(?:[-.]?(?:rc|alpha|beta|a|b)\.?\d*)?\b", re.IGNORECASE)
_RELEASE = re.compile(r"(?:\b(?:releases?|versions?)\s+v?|\bv)(\d+(?:\.\d+){1,3}[\w.-]*)", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"[a-z][A-Z]|[A-Z]{2,}[a-z]{2}")
_SPLIT = re.compile(r"[./:#\\]+")


def wanted_types(text: str) -> frozenset[KnowledgeType]:
    """Return the types that the wording of a question asks for; empty if it gives no indication."""
    if len(text.split()) > MAX_WORDS:
        return frozenset()
    # only a question may have it later: `tests of the parser` asks for tests, `Fix tests of the parser` does not
    opening = _OPENING.match(text)
    end = opening.end() if opening and not _QUESTION.search(text) else len(text)
    return frozenset(type_ for types, pattern in _INTENTS if pattern.search(text, 0, end) for type_ in types)


def sought_types(text: str) -> frozenset[KnowledgeType]:
    """Return the types that a query names as its answer: `which ticket introduced …`."""
    if len(text.split()) > MAX_WORDS:
        return frozenset()
    return frozenset(type_ for type_, pattern in _SOUGHT_FORMS if pattern.search(text))


@dataclass(frozen=True)
class Query:
    """A parsed question."""

    text: str
    words: tuple[str, ...]
    names: tuple[str, ...]  # tokens that look like identifiers or paths, in lower case, without call brackets
    versions: tuple[str, ...]
    releases: tuple[str, ...]  # the versions that are the subject of the question, not mentioned in passing
    is_bare_name: bool
    wanted_types: frozenset[KnowledgeType]  # that the wording of the question suggests
    sought_types: frozenset[KnowledgeType]  # that the question names as its answer


def parse(text: str) -> Query:
    text = one_line(text)
    tokens = [token.removesuffix("()") for token in _NAME.findall(text)]
    all_words = [word.casefold() for word in _WORD.findall(text)]
    words = tuple(dict.fromkeys(significant(word for word in all_words if len(word) > 1)))
    is_bare = " " not in text and len(tokens) == 1 and tokens[0] == text.removesuffix("()")
    names = [token for token in tokens if is_bare or looks_like_name(token)]
    versions = tuple(dict.fromkeys(_normal_version(version) for version in _VERSION.findall(text)))
    releases = {_normal_version(version) for version in (text, *_RELEASE.findall(text))}
    return Query(
        text=text,
        words=words,
        names=tuple(dict.fromkeys(part for name in names for part in _spellings(name))),
        versions=versions,
        releases=tuple(version for version in versions if version in releases),
        is_bare_name=is_bare,
        wanted_types=wanted_types(text),
        sought_types=sought_types(text),
    )


def looks_like_name(token: str) -> bool:
    """Return whether a token is camelCase, snake_case, dotted or path-like rather than a word of prose."""
    return bool(_HUMP.search(token)) or any(mark in token for mark in "_./:#$") or (token.isupper() and len(token) > 5)


def _spellings(name: str) -> tuple[str, ...]:
    """Return the name as given, and its last part: the last name, or of a path the name of the file."""
    folded = name.casefold()
    return folded, folded.rpartition("/")[2] if "/" in folded else _SPLIT.split(folded)[-1]


def _normal_version(text: str) -> str:
    return text.casefold().removeprefix("v")
