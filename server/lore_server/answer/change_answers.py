"""Answer why something was changed and when it was added, with commits and the tickets that they name."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from lore_etl.core.model import Chunk, ClassNode, KnowledgeType
from lore_etl.core.text import counted, dotted, is_named, last_part, unmarked
from lore_etl.index import Index
from lore_etl.sources.source import syntax_of
from lore_server.answer.answer_markdown import shown_text
from lore_server.answer.class_questions import DATA, DefinedPlace, definitions
from lore_server.answer.passage_answers import STRUCTURAL, WrittenAnswer, definition_citation, passage_citation, refused
from lore_server.answer.release_facts import asked_event, first_release, is_before, latest_release
from lore_server.changes.file_history import ProjectHistory, preferred
from lore_server.changes.ticket_names import names, shown_name
from lore_server.query.query_service import SearchOutcome
from lore_server.query.wording import wording
from lore_server.replies.paging import place_of, whole_lines
from lore_server.replies.records import CitationRecord, FileChangeRecord, NamedTicketRecord

_FORM, _RELEASE_FORM = wording("changes"), wording("releases")
_QUESTIONS = tuple(_FORM[form] for form in ("why_changed", "what_changed", "what_caused", "history_of"))
SHOWN = 3  # commits
CITED = 5  # tickets


class ChangeAnswers:
    """Writes answers from the git history of the project."""

    def __init__(self, index: Index, history: ProjectHistory) -> None:
        self._index = index
        self._history = history

    def answer(self, question: str, found: SearchOutcome) -> WrittenAnswer | None:
        """Return who changed something last and why, or which commit added a name; None if no commit is known."""
        if latest := latest_release(question, self._index, self._history.tags):
            notes = [passage_citation(1, latest[1], found.today)] if latest[1] else []
            return {"answer": latest[0], "found": True, "mode": STRUCTURAL, "citations": notes}
        subject, done = asked_event(question) or ("", "")
        is_option = f"--{subject}" in question  # which its parser defines
        is_looked_up = subject and not is_option and (not done or _RELEASE_FORM["removal"].match(done))
        if is_looked_up and (defined := defined_place(subject, self._index)):
            return self._present(question, defined, done) if done else self._first(question, defined, found)
        if name := ticket_of(question):
            source = preferred(self._index.catalogue.paths(KnowledgeType.TICKET)).get(name)
            place = ChangedPlace(shown_name(name), source) if source else None
        else:
            place = changed_place(question, self._index)
        return self._written(place, found) if place else None

    def _first(self, question: str, place: ChangedPlace, found: SearchOutcome) -> WrittenAnswer | None:
        """Return the earliest commit with a name in the file that defines it, if no release note is as early."""
        name = last_part(place.name)
        if (earliest := self._history.first_with(place.source, name)) is None:
            return None
        (change, tag), note = earliest, first_release(question, self._index)
        if note and not is_before(tag, note[0]):
            return None
        citations = [_definition(place, *self._text(place.source))]
        searched = f"No release note here names `{place.name}`. The"
        if note:
            citations.append(passage_citation(2, note[1], found.today))
            searched = f"{note[0]} [2], but the"
        commit = f"earliest commit with `{name}` in `{place.source}` [1] is {_sentence(change, {}, '')}."
        tagged = f" The first tag with this commit is `{_plain(tag)}`." * bool(tag)
        return {"answer": f"{searched} {commit}{tagged}", "found": True, "mode": STRUCTURAL, "citations": citations}

    def _present(self, question: str, place: ChangedPlace, done: str) -> WrittenAnswer | None:
        """Return where a name is defined that a question takes for removed, if no release note names it."""
        if first_release(question, self._index):
            return None
        definition = _definition(place, *self._text(place.source))
        text = f"No sentence of the notes names `{place.name}` as {done}, and it is defined in `{place.source}` [1]."
        return {"answer": text, "found": True, "mode": STRUCTURAL, "citations": [definition]}

    def _text(self, source: str) -> tuple[list[Chunk], list[str]]:
        chunks = self._index.catalogue.of_source(source)
        return chunks, whole_lines(chunks)

    def _written(self, place: ChangedPlace, found: SearchOutcome) -> WrittenAnswer | None:
        chunks, lines = self._text(place.source)
        if place.lines and place.lines[0] > len(lines):
            return refused(f"`{place.source}` [1] has only {counted(len(lines), 'line')}.", chunks[:1], found)
        changes, note = self._history.of(place.source, lines, *(place.lines or ()))
        if not changes:  # why a name was changed, which may be a word of the question, a passage may say
            reason = f"No commit is known that changed `{place.source}` [1]. {note or ''}".rstrip()
            return refused(reason, chunks[:1], found) if place.name == place.source else None
        citations = [passage_citation(1, chunks[0], found.today)]
        if place.lines:
            citations = [_definition(place, chunks, lines)]
        is_ticket = chunks[0].type == KnowledgeType.TICKET
        numbers = {place.source: 1} if is_ticket else {}
        named = [ticket for change in changes[:SHOWN] for ticket in change["tickets"]]
        for source in dict.fromkeys(ticket["source"] for ticket in named if "source" in ticket):
            if source not in numbers and len(citations) <= CITED:
                numbers[source] = len(citations) + 1
                first = self._index.catalogue.of_source(source)[0]
                citations.append(passage_citation(numbers[source], first, found.today))
        latest, *earlier = [_sentence(change, numbers, place.source) for change in changes[:SHOWN]]
        body = f" It says: “{_plain(changes[0]['body'])}”." if "body" in changes[0] else ""
        before = f" Before that: {'; '.join(earlier)}." if earlier else ""
        if is_ticket:
            known: NamedTicketRecord = {"name": place.name, "source": place.source}
            own = next((ticket for ticket in named if ticket.get("source") == place.source), known)
            begin = f"{_ticket(own, numbers)} is {'closed' if 'closes' in own else 'named'} by"
        else:
            span = "" if place.lines is None else f" ({place.source}:{place.lines[0]}-{place.lines[1]})"
            begin = f"`{place.name}`{span} [1] was changed last by"
        who = f" {_plain(changes[0]['author'])} in" * found.query.text.casefold().startswith("who")
        answer = f"{begin}{who} commit {latest}.{body}{before}"
        return {"answer": answer, "found": True, "mode": STRUCTURAL, "citations": citations}


def _sentence(change: FileChangeRecord, numbers: dict[str, int], own: str) -> str:
    """Return a commit with the tickets that it names, except the ticket of the question."""
    tickets = ", ".join(_ticket(ticket, numbers) for ticket in change["tickets"] if ticket.get("source") != own)
    text = f"{change['commit']} on {change['date']}, “{_plain(change['subject'])}”"
    return f"{text}, for {tickets}" if tickets else text


def _ticket(ticket: NamedTicketRecord, numbers: dict[str, int]) -> str:
    number = numbers.get(ticket.get("source", ""))
    state = f" ({ticket['state']})" if "state" in ticket else ""
    title = f" “{_plain(ticket['title'])}”" if "title" in ticket else ""
    return f"{ticket['name']}{state}{title}{f' [{number}]' if number else ''}"


def _plain(text: str) -> str:
    """Return a text of a commit or a ticket without links, images, HTML and citation marks."""
    return shown_text(text).replace("[", "(").replace("]", ")")


class ChangedPlace(NamedTuple):
    """The subject of such a question: a file, some of its lines, or the definition of a name."""

    name: str
    source: str
    lines: tuple[int, int] | None = None


def ticket_of(question: str) -> str | None:
    """Return the name of the ticket in a question about its commits."""
    if (found := _FORM["of_ticket"].fullmatch(question)) is None:
        return None
    name = f"#{found['ticket']}" if found["ticket"].isdecimal() else found["ticket"].upper()
    return next(iter(names(name)), None)


def _definition(place: ChangedPlace, chunks: Sequence[Chunk], lines: Sequence[str]) -> CitationRecord:
    defined = DefinedPlace(place.name, place.source, place.lines or (1, len(lines)))
    return definition_citation(1, defined, chunks, lines)


def changed_place(question: str, index: Index) -> ChangedPlace | None:
    """Return the place in a question about its changes."""
    match = next((match for pattern in _QUESTIONS if (match := pattern.fullmatch(question))), None)
    if match is None:
        return None
    numbers = f":{match['first']}-{match['last'] or match['first']}" if match["first"] else ""
    given, asked = place_of(match["place"].rstrip(".:") + numbers)
    lines = (min(asked), max(asked)) if asked else None
    if (source := _file(given, index.catalogue.paths())) is not None:
        return ChangedPlace(source, source, lines)
    found = None if lines else defined_place(given, index)
    return found if found and found.lines else None  # several definitions have several histories


def defined_place(given: str, index: Index) -> ChangedPlace | None:
    """Return the only definition of a name, in the class tree or elsewhere; or the file of all, without lines."""
    given = dotted(given)
    if node := _node(given, index):
        return ChangedPlace(given, str(node.source), node.lines)
    class_, _, member = given.rpartition(".")
    if holder := _node(class_, index):
        for own_member in index.catalogue.members(holder):
            if member in (own_member.name, unmarked(own_member.name)):
                return ChangedPlace(given, own_member.source or str(holder.source), own_member.lines)
    own = [one for one in definitions(given, index) if syntax_of(one.source) not in DATA]  # which has keys as `license`
    if len({chunk.source for chunk in own}) != 1:
        return None
    meant = {full for chunk in own for full in chunk.symbols if is_named(full, given)}
    lines = min(chunk.lines[0] for chunk in own), max(chunk.lines[1] for chunk in own)
    return ChangedPlace(given, own[0].source, lines if len(meant) < 2 else None)


def _file(given: str, paths: Collection[str]) -> str | None:
    if given in paths:
        return given
    ending = [path for path in paths if "." in given and path.endswith(f"/{given}")]
    return ending[0] if len(ending) == 1 else None


def _node(name: str, index: Index) -> ClassNode | None:
    named = (index.hierarchy.nodes[full] for full in index.hierarchy.named(name) if is_named(full, name))
    own = [node for node in named if node.source and node.lines]
    return own[0] if len(own) == 1 else None
