"""Find a complete sentence of prose that answers a question."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from lore_etl.chunking.markdown import block_parser
from lore_etl.core.model import Chunk
from lore_etl.sources.source import PROSE, syntax_of
from lore_server.answer.pack import Passage
from lore_server.answer.wording import wording
from lore_server.query.parse import looks_like_name

_FORM = wording("sentences")
COVERED = 0.7  # share of the question's words
REASON_COVERED = 0.9  # a sentence with fewer of them gives the reason for something else
MIN_WORDS = 5
MAX_CHARACTERS = 400
_END = re.compile(r"(?<=[.!?])[ ]+(?=[A-Z`\"'(\[*_])")
_WHOLE = re.compile(r"^[`\"'(*_\[]{0,2}[A-Z`][^|]*[.!][`\"')*_\]]{0,2}$")
_IS = r"[`*_]*\s+(?:\([^)]*\)\s*)?(?:is|are|means?|refers? to|provides?|represents?|allows?|lets?|describes?)\b"
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)  # `# name` in it is a comment
_CALLED = r"\b(?:called|known as|termed)\s+"
_LINK = re.compile(r"!?\[([^\]\[]*)\]\([^()]*\)")


def find_lead(question: str, passages: Sequence[Passage], share: Callable[[str], float]) -> tuple[str, Passage] | None:
    """Return the sentence that covers the question best and fits its type, and its passage; None if there is none.

    If the type is unknown, only the best passage counts: words alone do not show that a later sentence answers it.
    """
    fits = _fitting(question)
    is_typed = any(_FORM[name].search(question) for name in ("asks_quantity", "why", "how", "what_is"))
    least = REASON_COVERED if _FORM["why"].search(question) else COVERED
    some = [passage for passage in (passages if is_typed else passages[:1]) if share(passage.chunk.text) >= least]
    found = [(text, passage) for passage in some for text in sentences(passage) if fits(text)]
    best = max(found, key=lambda lead: (share(lead[0]), -lead[1].number), default=None)
    return best if best is not None and share(best[0]) >= least else None


def _fitting(question: str) -> Callable[[str], bool]:
    """Return whether a sentence can answer this type of question: a number, a reason, steps or a definition."""
    answering = (("asks_quantity", "number"), ("why", "reason"), ("how", "steps"))
    forms = [_FORM[form] for asks, form in answering if _FORM[asks].search(question)]
    names = [word for word in re.findall(r"[\w$.]*[\w$]", question) if looks_like_name(word)]
    versions = {one or other for one, other in _FORM["version"].findall(question)}
    subject = _subject(question)

    def fits(sentence: str) -> bool:
        if _FORM["refers"].search(sentence) or not all(form.search(sentence) for form in forms):
            return False
        if versions and not versions & {one or other for one, other in _FORM["version"].findall(sentence)}:
            return False  # it may be about another version
        if subject is not None:
            return re.search(f"^{subject}{_IS}|{_CALLED}{subject}\\b", sentence, re.IGNORECASE) is not None
        return not names or any(name.casefold() in sentence.casefold() for name in names)

    return fits


def _subject(question: str) -> str | None:
    """Return a pattern for the subject of a "what is" question."""
    what = _FORM["what_is"].search(question)
    if what is None or _FORM["value"].search(what["subject"]):
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
    if not _FORM["how"].search(question) or not chunks:
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
        and not _FORM["dangling"].match(sentence)
        and sentence.count("`") % 2 == 0
        and sentence.count("(") == sentence.count(")")
        and sentence.count('"') % 2 == 0
    )
