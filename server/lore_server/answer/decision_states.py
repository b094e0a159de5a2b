"""Answer in which state a decision or specification is, and which of them are in a state, as they declare it."""

import re
from collections.abc import Sequence

from lore_etl.core.model import Chunk, KnowledgeType
from lore_etl.core.text import counted
from lore_etl.index import Index
from lore_etl.pipeline.extraction import some_of
from lore_server.answer.class_questions import MAX_NAMED, DefinedPlace, Fact
from lore_server.query.proximity import stems, stems_of
from lore_server.query.reference import Reference
from lore_server.query.wording import wording
from lore_server.replies.paging import whole_lines

_FORM = wording("decisions")
_QUESTIONS = tuple(_FORM[form] for form in ("listed", "listed_by_state", "is_in_state", "status_of", "has_status"))
_KINDS = {"decision": KnowledgeType.ADR, "specification": KnowledgeType.PRP}
MOST_MEANT = 3  # documents


def state_fact(question: str, named: Sequence[Reference], index: Index) -> Fact | None:
    """Return the state of a decision that a question names, or the decisions in a state; None for other questions."""
    asked = next(filter(None, (form.fullmatch(question) for form in _QUESTIONS)), None)
    if asked is None:
        return None
    groups, catalogue = asked.groupdict(), index.catalogue
    known = {kind: [*map(catalogue.of_source, catalogue.paths(type_))] for kind, type_ in _KINDS.items()}
    if kind := next((kind for kind in _KINDS if groups.get(kind)), ""):
        return _in_state(groups["state"].casefold(), kind, known[kind])
    documents = [own for some in known.values() for own in some]
    sources = {source for one in named for source in one.sources}
    words = {stem for _, stem in stems(groups.get("topic") or "")}
    about = [own for own in documents if words and words <= stems_of(own[0].title)]
    meant = [own for own in documents if own[0].source in sources] or about
    texts = [
        f"The status of `{own[0].source}` is “{own[0].state}” [{n}]." if own[0].state
        else f"`{own[0].source}` [{n}] does not state its status." for n, own in enumerate(meant, start=1)
    ]  # fmt: skip
    return _fact(" ".join(texts), meant) if 0 < len(meant) <= MOST_MEANT else None


def _in_state(asked: str, kind: str, documents: Sequence[list[Chunk]]) -> Fact | None:
    """Return the documents in a state: of a superseded one, only the successor may say so."""
    is_replaced = _FORM["replaced"].match(asked)
    form = _FORM["replaced"] if is_replaced else re.compile(rf"{re.escape(asked)}\b")
    own = [one for one in documents if form.match(one[0].state or "") or (is_replaced and one[0].superseded_by)]
    if own:
        names = [f"`{one[0].source}` [{n}]" for n, one in enumerate(own, start=1)]
        verb = "is" if len(own) == 1 else "are"
        begin = f"At least {counted(len(own), kind)} here {verb} “{asked}”"
        return _fact(f"{begin}: {some_of(names, MAX_NAMED)}.", own[:MAX_NAMED])
    states = sorted({one[0].state for one in documents if one[0].state})
    others = f"; the stated ones are: {some_of(states, MAX_NAMED)}" if states else ""
    return Fact(f"No {kind} here states “{asked}” as its status{others}.", ()) if documents else None


def _fact(text: str, documents: Sequence[list[Chunk]]) -> Fact:
    """Return the sentence with the places that support it, and with the successors of superseded documents."""
    successors = [(n, own[0].superseded_by) for n, own in enumerate(documents, start=1) if own[0].superseded_by]
    texts = [text, *(f"[{n}] is superseded by {successor}." for n, successor in successors)]
    return Fact(" ".join(texts), tuple(map(_stating, documents)))


def _stating(own: Sequence[Chunk]) -> DefinedPlace:
    """Return the line that states the status; the first one for front matter, which is in no passage."""
    word = re.escape((own[0].state or "").partition(" ")[0])
    form = re.compile(rf"\W*(?:status\W*)?{word}\b", re.IGNORECASE)
    lines = enumerate(whole_lines(own), start=1)
    line = next((n for n, text in lines if form.match(text)), own[0].lines[0])
    return DefinedPlace(own[0].title, own[0].source, (line, line))
