"""Find a complete sentence of prose that answers a question."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from lore_etl.chunking.markdown import block_parser
from lore_etl.core.model import Chunk
from lore_etl.sources.source import PROSE, syntax_of
from lore_server.answer.pack import Passage
from lore_server.query.parse import looks_like_name

COVERED = 0.7  # share of the question's words
REASON_COVERED = 0.9  # a sentence with fewer of them gives the reason for something else
MIN_WORDS = 5
MAX_CHARACTERS = 400
_END = re.compile(r"(?<=[.!?])[ ]+(?=[A-Z`\"'(\[*_])")
_WHOLE = re.compile(r"^[`\"'(*_\[]{0,2}[A-Z`][^|]*[.!][`\"')*_\]]{0,2}$")
_DANGLING = re.compile(
    r"^(?:it|its|they|their|them|this|that|these|those|he|she|so|but|and|or|then|also|both|otherwise|instead|however|"
    r"alternatively|additionally|furthermore|moreover|finally|you can also|"
    r"such|there|here|another|neither|either|the (?:same|first|second|last|former|latter|other|others))\b",
    re.IGNORECASE,
)
_QUANTITY = re.compile(
    r"\bhow (?:many|much|long|often|fast|large|big|old)\b|\b(?:port|m(?:ax|in)imum|limit)\b", re.IGNORECASE
)
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|once|twice|half|hundred|thousand|never|no)\b",
    re.IGNORECASE,
)
_WHY = re.compile(r"^\W*why\b|\b(?:reasons?|rationale) (?:for|why|of)\b", re.IGNORECASE)
_REASON = re.compile(
    r"\b(?:because|since|so|therefore|thus|otherwise|would|reasons?|in order to|due to|avoids?|prevents?)\b",
    re.IGNORECASE,
)
_PLACE = r"(?:guide|section|chapter|page|article|document|tutorial|post|release)"
_REFERS = re.compile(  # to another place, or to what follows
    rf"\b(?:see|refer to|check out|consult|visit)\b.{{0,80}}\b(?:for|more|details|docs|{_PLACE}s?|below|above)\b"
    r"|\b(?:more|further) (?:information|details)\b|\b(?:read|learn) more\b|\bnote\b\W*\*"
    rf"|^(?:before|in this|let['’]?s|let us|we['’]ll|we will|welcome|now|first|the following|here|below)\b"
    rf"|\b(?:this|next|following|previous) {_PLACE}\b",
    re.IGNORECASE,
)
_HOW = re.compile(r"^\W*how (?:do|can|should|could|would|must|to)\b", re.IGNORECASE)
_DO = (
    r"(?:use|call|run|set|add|pass|create|specify|define|write|import|extend|override|register|enable|disable|provide|"
    r"configure|install|wrap|return|open|choose|select)"
)
_STEPS = re.compile(
    rf"^(?!(?:if|when|unless|once)\b)(?:to |{_DO}\b|you (?:can|must|should|have to|need)\b"
    rf"|.*(?:\b(?:by|via|through|using) \S*`|\byou (?:can|must) {_DO}\b))",
    re.IGNORECASE,
)
_WHAT_IS = re.compile(
    r"^\W*(?:what(?:['’]s| is| are)|define)\s+(?:an?\s+|the\s+)?(?P<subject>[\w .`'/$-]{2,60}?)\W*$", re.IGNORECASE
)
_VALUE = re.compile(r"\b(?:default|maximum|minimum|limit|difference|purpose|reason|number|port|of|in)\b", re.IGNORECASE)
_IS = r"[`*_]*\s+(?:\([^)]*\)\s*)?(?:is|are|means?|refers? to|provides?|represents?|allows?|lets?|describes?)\b"
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)  # `# name` in it is a comment
_CALLED = r"\b(?:called|known as|termed)\s+"
_VERSION = re.compile(r"\bv?(\d+(?:\.\d+)+)|\bversions? (\d+)", re.IGNORECASE)
_LINK = re.compile(r"!?\[([^\]\[]*)\]\([^()]*\)")


def find_lead(question: str, passages: Sequence[Passage], share: Callable[[str], float]) -> tuple[str, Passage] | None:
    """Return the sentence that covers the question best and fits its type, and its passage; None if there is none.

    `share` measures which share of the question's words a text contains. A question of no known type is only led by the
    best passage: the words alone do not show that a sentence further down answers it.
    """
    fits = _fitting(question)
    is_typed = any(form.search(question) for form in (_QUANTITY, _WHY, _HOW, _WHAT_IS))
    least = REASON_COVERED if _WHY.search(question) else COVERED
    some = [passage for passage in (passages if is_typed else passages[:1]) if share(passage.chunk.text) >= least]
    found = [(text, passage) for passage in some for text in sentences(passage) if fits(text)]
    best = max(found, key=lambda lead: (share(lead[0]), -lead[1].number), default=None)
    return best if best is not None and share(best[0]) >= least else None


def _fitting(question: str) -> Callable[[str], bool]:
    """Return whether a sentence can answer this type of question: a number, a reason, steps or a definition."""
    forms = [form for asks, form in ((_QUANTITY, _NUMBER), (_WHY, _REASON), (_HOW, _STEPS)) if asks.search(question)]
    names = [word for word in re.findall(r"[\w$.]*[\w$]", question) if looks_like_name(word)]
    versions = {one or other for one, other in _VERSION.findall(question)}
    subject = _subject(question)

    def fits(sentence: str) -> bool:
        if _REFERS.search(sentence) or not all(form.search(sentence) for form in forms):
            return False
        if versions and not versions & {one or other for one, other in _VERSION.findall(sentence)}:
            return False  # it may be about another version
        if subject is not None:
            return re.search(f"^{subject}{_IS}|{_CALLED}{subject}\\b", sentence, re.IGNORECASE) is not None
        return not names or any(name.casefold() in sentence.casefold() for name in names)

    return fits


def _subject(question: str) -> str | None:
    """Return a pattern for the subject of a "what is" question."""
    what = _WHAT_IS.search(question)
    if what is None or _VALUE.search(what["subject"]):
        return None
    words = (re.escape(word.removesuffix("s")) + "s?" for word in re.findall(r"[\w$]+", what["subject"]))
    return rf"(?:an? |the )?[`*_]*{r'[^A-Za-z0-9]+'.join(words)}"


def defining(question: str, chunks: Callable[[], Iterable[Chunk]]) -> list[Chunk]:
    """Return the first of these chunks that the subject of a "what is" question heads, or else that defines it."""
    subject = _subject(question)
    if subject is None:
        return []
    headed = re.compile(rf"^#+\s+{subject}[`*_]*\s*$", re.IGNORECASE | re.MULTILINE)
    begin = re.compile(rf"(?:^|[.!?]\s+){subject}{_IS}|{_CALLED}{subject}\b", re.IGNORECASE | re.MULTILINE)
    some = list(chunks())
    titled = [chunk for chunk in some if headed.search(_FENCE.sub("", chunk.text))]
    defined = [chunk for chunk in (*titled, *some) if begin.search(chunk.text)]
    return [*(chunk for chunk in defined if chunk in titled), *titled, *defined][:1]


def steps(question: str, chunks: Sequence[Chunk], share: Callable[[str], float]) -> list[Chunk]:
    """Return the prose with code that covers a "how do I" question best, if no chunk without code covers it better."""
    if not _HOW.search(question) or not chunks:
        return []
    best = max(chunks, key=lambda chunk: (share(chunk.text), "```" in chunk.text))
    return [best] if "```" in best.text and syntax_of(best.source) in PROSE else []


def sentences(passage: Passage) -> Iterator[str]:
    """Yield the complete, self-contained sentences of a passage's paragraphs."""
    text = passage.chunk.text
    if syntax_of(passage.chunk.source) != "markdown" or text.count("```") % 2:  # a part of a fence
        return
    lines = text.split("\n")
    for token in block_parser().parse(text):
        if token.type == "paragraph_open" and token.level == 0 and token.map:  # in no list, table or quotation
            joined = " ".join(line.strip() for line in lines[slice(*token.map)])
            yield from (piece for piece in _END.split(_LINK.sub(r"\1", joined)) if _is_whole(piece))


def _is_whole(sentence: str) -> bool:
    return (
        len(sentence) <= MAX_CHARACTERS
        and len(sentence.split()) >= MIN_WORDS
        and bool(_WHOLE.match(sentence))
        and not _DANGLING.match(sentence)
        and sentence.count("`") % 2 == 0
        and sentence.count("(") == sentence.count(")")
        and sentence.count('"') % 2 == 0
    )
