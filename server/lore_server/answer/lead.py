"""Find a complete sentence of prose that answers a question."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from lore_etl.chunking.markdown import block_parser
from lore_etl.core.headings import without_markup
from lore_etl.core.model import Chunk
from lore_etl.sources.source import PROSE, syntax_of
from lore_server.answer.pack import Passage
from lore_server.query.parse import looks_like_name
from lore_server.query.path_words import file_name_matches, name_words
from lore_server.query.proximity import stems
from lore_server.query.reference import spelled
from lore_server.query.wording import wording

_FORM = wording("sentences")
EXPLAINED = re.compile("|".join(_FORM[name].pattern for name in ("how", "why", "what_is")), re.IGNORECASE)
COVERED = 0.7  # share of the question's words
REASON_COVERED = 0.9  # a sentence with fewer of them gives the reason for something else
SHORT, WHOLE = 3, 0.99  # words of a question, and the share of them all
MIN_WORDS = 5
MAX_CHARACTERS = 400
_END = re.compile(r"(?<=[.!?])[ ]+(?=[A-Z`\"'(\[*_])")
_WHOLE = re.compile(r"^(?:[`\"'(*_\[]{0,2}[A-Z`]|(?!wh)[a-z][\w.-]* is an? )[^|]*[.!][`\"')*_\]]{0,2}$")
_KIND, _IS_SOME, _IS, _DOES, _CALLED = (_FORM[name].pattern for name in ("kind", "is_some", "is", "does", "called"))
_CODE = re.compile(r"```|^\.\. (?:code|sourcecode)\S*::|^(?!\.\. ).*::\n\s*\n[ \t]", re.MULTILINE)
_LITERAL = r"""\s*(?::[^=\n]{1,40})?=\s*(?:["'`\[{\d-]|true\b|false\b|nil\b|null\b|none\b)"""  # that is assigned
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)  # `# name` in it is a comment
_LINK = re.compile(r"!?\[([^\]\[]*)\](?:\([^()]*\)|\[[^\]\[]*\])|(?<![^\s(*])\{[\w:.+-]+\}(`)[~!]?(?=\w)")  # or a role
_RST_BLOCK = re.compile(r"^(?:[ \t:|]|\.\. |#\. ).*", re.MULTILINE)  # of a directive, field, line block or list
_RST_LINK = re.compile(r"(?::[\w.+:-]{1,60}:`!?~?([^`<]+?)|(?<!`)`([^`<]+?)(?=[^`]*`_))(?:\s*<[^`]*>)?`(?:__?)?")


def find_lead(question: str, passages: Sequence[Passage], share: Callable[[str], float]) -> tuple[str, Passage] | None:
    """Return the sentence that covers the question best and fits its type, and its passage; None if there is none."""
    fits = _fitting(question)
    is_typed = any(_FORM[name].search(question) for name in ("asks_quantity", "why", "how", "what_is", "what_does"))
    least = REASON_COVERED if _FORM["why"].search(question) else COVERED
    # if the type is unknown, only the best passage counts: words alone do not show that a later sentence answers it
    some = [passage for passage in (passages if is_typed else passages[:1]) if share(passage.chunk.text) >= least]
    # the values of an example are its own
    some = [one for one in some if not _FORM["example"].match("".join(one.chunk.heading[-1:]))]
    found = [(text, passage) for passage in some for text in sentences(passage) if fits(text)]
    if _subject(question) is None and len({stem for _, stem in stems(question)}) <= SHORT:  # each word must be there
        found = [one for one in found if share(" ".join((one[0], one[1].chunk.source, *one[1].chunk.heading))) > WHOLE]
    defines = re.compile(_says_what(_subject(question) or "(?!)"), re.IGNORECASE)
    best = max(found, key=lambda one: (bool(defines.match(one[0])), share(one[0]), -one[1].number), default=None)
    return best if best is not None and share(best[0]) >= least else None


def _fitting(question: str) -> Callable[[str], bool]:
    """Return whether a sentence can answer this type of question: a number, a reason, steps, a place, a definition."""
    answering = {"asks_quantity": "number", "why": "reason", "how": "steps", "where": "place", "compares": "contrast"}
    answering |= {"asks_default": "default"}
    forms = [_FORM[form] for asks, form in answering.items() if _FORM[asks].search(question)]
    names = [word for word in re.findall(r"[\w$.]*[\w$]", question) if looks_like_name(word)]
    versions = {one or other for one, other in _FORM["version"].findall(question)}
    subject, says = _subject(question), _DOES if _FORM["what_does"].search(question) else _IS

    def fits(sentence: str) -> bool:
        if _FORM["refers"].search(sentence) or not all(form.search(sentence) for form in forms):
            return False
        if versions and not versions & {one or other for one, other in _FORM["version"].findall(sentence)}:
            return False  # it may be about another version
        if subject is not None:
            form = f"^{subject}{says}|^{_says_what(subject)}|{_CALLED}{subject}\\b"
            return re.search(form, sentence, re.IGNORECASE) is not None
        return not names or any(name.casefold() in sentence.casefold() for name in names)

    return fits


def _subject(question: str) -> str | None:
    """Return a pattern for the subject of a "what is" or "what does … do" question."""
    what = _FORM["what_is"].search(question) or _FORM["what_does"].search(question)
    if what is None or _FORM["value"].search(what["subject"]):
        return None
    words = (spelled(word).pattern for word in re.findall(r"[\w$]+", what["subject"]))
    of, is_kind = (rf"(?:{_KIND} )?", rf"(?:[`*_]*\s+{_KIND}\b)?") if what["article"] is None else ("", "")
    return rf"(?:an? |the )?{of}[`*_]*{r'[^A-Za-z0-9]+'.join(words)}{is_kind}"


def _says_what(subject: str) -> str:
    """Return a pattern for the beginning of "X is a …" and "A long name (X) is a …"."""
    return rf"(?:{subject}{_IS_SOME}|[^.()\n]{{3,80}}\((?:[^()\n]*\W)?{subject}\W*\)\s+(?:is an?|are)\b)"


def defining(question: str, chunks: Callable[[], Iterable[Chunk]]) -> list[Chunk]:
    """Return the first of these chunks that says what the subject of a "what is" question is, or that it heads."""
    # the beginning of a document with that name counts as headed, and in code a declaration with a comment above it
    subject = _subject(question)
    if subject is None:
        return []
    title, begin = rf"(?:what(?:['’]s| is| are) )?{subject}[`*_]*\s*(?:\([^)\n]*\):?)?[ \t]*", r"(?:^|[.!?]\s+)"
    signature = rf"[`*_]*(?:[\w$]+\.)*{title}[`*_]*\??(?:(?:=>|->|:).*)?"
    heading = rf"^#+\s+{signature}$|^{title}\n([=~^\"'*+.:-])\1{{2,}}$"
    forms = (heading, begin + _says_what(subject), rf"{begin}{subject}{_IS}|{_CALLED}{subject}\b")
    declared = rf"(?:\*/|(?://|#).*)\n[ \t]*(?:[\w@]+[ \t]+)*{subject}\b(?:\??[ \t]*[:=;({{<]|[ \t]+\w+$)"
    commented = rf"^[ \t]*(?:/?\*+|//+|#+)?[ \t]*{subject}{_IS}"

    def rank(chunk: Chunk) -> tuple[bool, ...]:
        if syntax_of(chunk.source) not in PROSE:
            is_explained = re.search(commented, chunk.text, re.IGNORECASE | re.MULTILINE) is not None
            return False, is_explained, re.search(declared, chunk.text, re.MULTILINE) is not None
        text = without_markup(_FENCE.sub("", chunk.text))
        titled, defines, mentions = (bool(re.search(form, text, re.IGNORECASE | re.MULTILINE)) for form in forms)
        stem = PurePosixPath(chunk.source).stem.lstrip("-_0123456789")
        titled = titled or (chunk.lines[0] == 1 and re.fullmatch(subject, stem, re.IGNORECASE) is not None)
        return titled and mentions, defines, titled, mentions

    best = max(chunks(), key=rank, default=None)
    return [best] if best is not None and any(rank(best)) else []


def valued(question: str, chunks: Iterable[Chunk]) -> list[Chunk]:
    """Return the first of these chunks that states the default for which a question asks."""
    asked = _FORM["asks_default"].search(question)
    if asked is None:
        return []
    name = asked["subject"].rstrip(".-")
    states = rf"\bdefault_?{re.escape(name)}{_LITERAL}"  # an ordinary word may have other values too
    if looks_like_name(name):
        states = rf"{states}|{spelled(name).pattern}(?:{_LITERAL}|{_FORM['states_default'].pattern})"
    return [one for one in chunks if re.search(states, one.text, re.IGNORECASE)][:1]


def steps(question: str, chunks: Sequence[Chunk], share: Callable[[str], float]) -> list[Chunk]:
    """Return the first chunk, the one that covers a "how do I" question best, or the guide it names, if it has code."""
    code = [chunk for chunk in chunks if _CODE.search(chunk.text)] if _FORM["how"].search(question) else []
    if not code:
        return []
    best = code[0] if code[0] is chunks[0] else max(chunks, key=lambda one: (share(one.text), one in code))
    if best not in code:
        named = file_name_matches(name_words(question), {one.source for one in code})
        some = (chunk for chunk in code if named[chunk.source])
        best = max(some, key=lambda one: (share(one.text), one.source, -one.lines[0]), default=best)
    return [best] if best in code and syntax_of(best.source) in PROSE else []


def sentences(passage: Passage) -> Iterator[str]:
    """Yield the complete, self-contained sentences of a passage's paragraphs."""
    text, syntax = passage.chunk.text, syntax_of(passage.chunk.source)
    if syntax not in ("markdown", "rst") or text.count("```") % 2:  # a part of a fence
        return
    if syntax == "rst":
        text = _RST_LINK.sub(r"\1\2", _RST_BLOCK.sub("", text)).replace("``", "`")
    for token in block_parser().parse(text):
        if token.type == "paragraph_open" and token.level == 0 and token.map:  # in no list, table or quotation
            joined = " ".join(line.strip() for line in text.split("\n")[slice(*token.map)])
            yield from (piece for piece in _END.split(_LINK.sub(r"\1\2", joined)) if _is_whole(piece))


def _is_whole(sentence: str) -> bool:
    return (
        len(sentence) <= MAX_CHARACTERS
        and len(sentence.split()) >= MIN_WORDS
        and bool(_WHOLE.match(sentence))
        and not _FORM["dangling"].match(sentence.lstrip("*_"))
        and sentence.count("`") % 2 == 0
        and sentence.count("(") == sentence.count(")")
        and sentence.count('"') % 2 == 0
    )
