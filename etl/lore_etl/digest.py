"""Summarise a document from its indexed text: title, excerpt, tags, rules, and a PRP's references to other files."""

import re
from collections.abc import Iterable, Iterator, Mapping

from pydantic import BaseModel, ConfigDict

from lore_etl.core.frontmatter import front_matter_lines
from lore_etl.core.headings import Outline, outline
from lore_etl.core.model import Document, KnowledgeType
from lore_etl.core.text import clip, first_distinct, one_line, storable

DIGESTED = frozenset({KnowledgeType.PRP, KnowledgeType.MEMORY, KnowledgeType.RULE, KnowledgeType.EXAMPLE})
LONGEST = 200  # characters of an excerpt, a rule, a path and a name
LONGEST_TAG, MAX_TAGS = 100, 50
MAX_PATHS, MAX_NAMES = 200, 1_000
MIN_PARAGRAPH = 20  # characters; shorter text is a label, a date or a separator
MIN_RULE = 6  # characters; a bare sign or word heads a list and is not a rule
HEADINGS = 3  # that serve as tags
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:[ \t][^()]*)?\)")
_MARKS = re.compile(r"[*`\[\]]")
_COMMENT = re.compile(r"^[ \t]*(?:#+!?|//+!?|/\*+|\*+/?|--|\"{3}|'{3})?[ \t]?")
_BEFORE = re.compile(r"^(?:[ \t]|>|#{1,6}(?=[ \t])|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t]))*")
_NOISE = re.compile(r"^(?:[-=*_~+|: \t]*$|[ \t]*(?:#!|# -\*-|<!--))")
_HEADING = re.compile(r"^ {0,3}#{1,6}(?:[ \t]|$)")
_INLINE_TAGS = re.compile(r"^[-*>#/\"' \t_]*tags?[ \t*_]*:[ \t*_]*(\S.*)$", re.IGNORECASE)
_SIGNS = re.compile(r"^\W+")
_DEMANDS = re.compile(r"\b(?:MANDATORY|REQUIRED|FORBIDDEN)\b|[✅❌]")
# the sign for wrong is kept; without it, the rule would have the opposite meaning
_RIGHT = re.compile(r"✅\N{VARIATION SELECTOR-16}?")
_LABEL = re.compile(
    r"(?i)^[ \t>*_+-]*(?:\d{1,9}[.)][ \t*_]*)?"
    r"(?:files?|locations?|implementations?|files (?:modified|to (?:create|modify)))[ \t*_]*:[ \t*_]*(?P<rest>.*)$"
)
_CODE = re.compile(r"`([^`\n]{1,300})`")
_ITEM = re.compile(r"^[ \t]*[-*+][ \t]+(?P<rest>.*)$")
_PATH = re.compile(r"^(?:\./)?(?P<path>(?:[\w@.+-]+/)*[\w@.+-]+)(?P<folder>/)?(?::\d+(?:-\d+)?)?$")
_HAS_ENDING = re.compile(r"\.[A-Za-z]\w{0,9}$")
_NAME = re.compile(r"[\w./-]+")
_NUMBER = re.compile(r"[\d./-]+(?:T\d*)?$")  # dates and versions too
_UP = re.compile(r"^(?:\.{1,2}/)+")
_FROZEN = ConfigDict(frozen=True)
_EXAMPLE = re.compile(r"(?:^|/)examples/(?:[\w.-]+/)*[\w.-]+\.(?:md|py)$")


class Rule(BaseModel):
    """A rule and its 1-based line."""

    model_config = _FROZEN

    line: int
    text: str


class Spec(BaseModel):
    """The references of a PRP. `names` are the words that may refer to another file, separated by spaces."""

    model_config = _FROZEN

    id: str | None = None
    status: str | None = None
    verified: bool = False
    implementations: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    names: str = ""


class Digest(BaseModel):
    """A short description of a document. Only PRPs have `spec`, only rule files have `rules`."""

    model_config = _FROZEN

    type: KnowledgeType
    title: str
    excerpt: str
    tags: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    spec: Spec | None = None


class _ProseLines:
    """A document's prose: its lines outside of front matter and fenced code, with their 1-based numbers."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.is_markdown = document.syntax == "markdown"
        skipped = front_matter_lines(document.text) if self.is_markdown else 0
        self.outline = outline(document.text, skipped) if self.is_markdown else Outline([], [])
        numbered = enumerate(document.lines[skipped:], skipped + 1)
        self.lines = [(number, line) for number, line in numbered if number - 1 not in self.outline.fenced]

    def plain(self, line: str) -> str:
        if not self.is_markdown:
            return _COMMENT.sub("", line, count=1).replace('"""', "").replace("'''", "").strip()
        return _MARKS.sub("", _LINK.sub(r"\1", _BEFORE.sub("", line))).strip()


def digest(document: Document) -> Digest | None:
    """Return the digest of a document, or None for types that no view lists."""
    if document.type not in DIGESTED:
        return None
    prose = _ProseLines(document)
    return Digest(
        type=document.type,
        title=document.title,
        excerpt=_excerpt(prose),
        tags=_tags(prose),
        rules=_rules(prose) if document.type is KnowledgeType.RULE else (),
        spec=_spec(prose) if document.type is KnowledgeType.PRP else None,
    )


def tags_of(document: Document) -> tuple[str, ...]:
    return _tags(_ProseLines(document))


def _excerpt(prose: _ProseLines) -> str:
    first = ""
    for paragraph in _paragraphs(prose):
        first = first or paragraph
        if len(paragraph) > MIN_PARAGRAPH:
            return clip(paragraph, LONGEST)
    return clip(first or " ".join(heading.title for heading in prose.outline.headings[:1]), LONGEST)


def _paragraphs(prose: _ProseLines) -> Iterator[str]:
    """Yield the paragraphs between blank lines, headings, fences and separators, as plain text."""
    run: list[str] = []
    last = 0
    for number, line in prose.lines:
        is_break = not line.strip() or bool(_NOISE.match(line)) or (prose.is_markdown and bool(_HEADING.match(line)))
        if run and (is_break or number != last + 1):
            yield " ".join(run)
            run = []
        if not is_break and (plain := prose.plain(line)):
            run.append(plain)
        last = number
    if run:
        yield " ".join(run)


def _rules(prose: _ProseLines) -> tuple[Rule, ...]:
    """Return each line with MANDATORY, REQUIRED, FORBIDDEN, ✅ or ❌, in file order."""
    demands = ((number, prose.plain(line)) for number, line in prose.lines if _DEMANDS.search(line))
    rules = (Rule(line=number, text=clip(_RIGHT.sub("", text), LONGEST)) for number, text in demands)
    return tuple(rule for rule in rules if len(rule.text) >= MIN_RULE)


def _tags(prose: _ProseLines) -> tuple[str, ...]:
    """Return the tags in the front matter (none if empty), else in a line `Tags: a, b`, else the first headings."""
    listed = prose.document.front.values.get("tags")
    if listed is not None:
        return _cleaned(listed if isinstance(listed, list) else str(listed).split(","))
    for _, line in prose.lines:
        found = _INLINE_TAGS.match(line)
        if found and (tags := _cleaned(word.strip("[](){}`*_#\"' \t") for word in found[1].split(","))):
            return tags
    titles = (prose.plain(heading.title) for heading in prose.outline.headings if heading.level in (2, 3))
    return _cleaned((_SIGNS.sub("", title).lower() for title in titles), HEADINGS)


def _cleaned(values: Iterable[object], limit: int = MAX_TAGS) -> tuple[str, ...]:
    plain = (str(value) for value in values if isinstance(value, str | int | float) and not isinstance(value, bool))
    tags = (storable(one_line(value))[:LONGEST_TAG].strip() for value in plain)
    return first_distinct(filter(None, tags), limit)


def _spec(prose: _ProseLines) -> Spec:
    """Return a PRP's references. Fenced code can name patterns, but its paths are examples, not implementations."""
    front = prose.document.front.values
    synced = front.get("context_sync")
    examples = (_UP.sub("", word) for _, line in prose.lines for word in _words(line) if _EXAMPLE.search(word))
    return Spec(
        id=_text(front.get("prp_id")),
        status=_text(front.get("status")),
        verified=front.get("verified") is True or (isinstance(synced, dict) and synced.get("ce_updated") is True),
        implementations=first_distinct(_implementations(front, prose), MAX_PATHS),
        examples=first_distinct(examples, MAX_PATHS),
        names=" ".join(first_distinct(_names(prose.document.lines), MAX_NAMES)),
    )


def _implementations(front: Mapping[str, object], prose: _ProseLines) -> Iterator[str]:
    """Yield paths from the front matter, after a label such as `File:`, or in the list below a label."""
    listed = front.get("implementations")
    for path in listed if isinstance(listed, list) else ():
        yield from _path(str(path))
    in_list = False
    for _, line in prose.lines:
        label = _LABEL.match(line)
        item = _ITEM.match(line) if in_list and not label else None
        rest = label["rest"] if label else item["rest"] if item else ""
        in_list = (bool(label) and not rest) or bool(item) or (in_list and not line.strip())
        coded = _CODE.findall(rest)
        for number, path in enumerate(coded or rest.split()[:1]):
            yield from _path(path, needs_folder=number > 0 or not coded)


def _path(text: str, needs_folder: bool = False) -> Iterator[str]:
    """Yield the path of a file or folder without line numbers, if the text is a path."""
    found = _PATH.match(text.strip().rstrip(",;")) if len(text) <= LONGEST else None
    if found and (found["folder"] or "/" in found["path"] or (_HAS_ENDING.search(found["path"]) and not needs_folder)):
        yield found["path"]


def _names(lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield from (_UP.sub("", word) for word in _words(line) if not word.isalnum() and not _NUMBER.match(word))
        yield from (code for code in _CODE.findall(line) if code.isalnum())


def _words(line: str) -> Iterator[str]:
    for found in _NAME.finditer(line):
        word = found[0].rstrip("./-")
        if word and len(word) <= LONGEST:
            yield word


def _text(value: object) -> str | None:
    return storable(one_line(value))[:LONGEST] or None if isinstance(value, str) else None
