"""Answer why something was changed and when it was added, with commits and the tickets that they name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lore_etl.core.errors import ProviderError
from lore_etl.core.model import Chunk, KnowledgeType
from lore_etl.core.text import last_part
from lore_etl.index import Index
from lore_server.answer.change_questions import ChangedPlace, changed_place, defined_place, ticket_of
from lore_server.answer.citations import definition_citation, passage_citation
from lore_server.answer.class_questions import DefinedPlace, MembersOf
from lore_server.answer.links import without_links
from lore_server.answer.passage_answers import STRUCTURAL, WrittenAnswer
from lore_server.answer.release_facts import asked_event, first_release
from lore_server.changes.file_history import ProjectHistory, preferred
from lore_server.changes.ticket_names import shown_name
from lore_server.query.query_service import SearchOutcome
from lore_server.replies.excerpt import whole_lines

if TYPE_CHECKING:
    from lore_server.replies.records import CitationRecord, FileChangeRecord, NamedTicketRecord

SHOWN = 3  # commits
CITED = 5  # tickets


class ChangeAnswers:
    """Writes answers from the git history of the project."""

    def __init__(self, index: Index, history: ProjectHistory, members_of: MembersOf) -> None:
        self._index = index
        self._history = history
        self._members_of = members_of

    def answer(self, question: str, found: SearchOutcome) -> WrittenAnswer | None:
        """Return the answer to a question about the reason for a change, or for the commit that added a name.

        None for other questions, and if no commit is known.
        """
        chunks = [ranked.chunk for ranked in (*found.passages, *found.ranked)]
        if (added := asked_event(question)) and not added[1]:
            return self._first(question, added[0], chunks)
        if name := ticket_of(question):
            source = preferred(self._index.catalogue.paths(KnowledgeType.TICKET)).get(name)
            place = ChangedPlace(shown_name(name), source) if source else None
        else:
            paths = self._index.catalogue.types
            place = changed_place(question, paths, self._index.hierarchy, self._members_of, chunks)
        if place is None:
            return None
        chunks = self._index.catalogue.of_source(place.source)
        lines = whole_lines(chunks)
        changes = self._history.of(place.source, lines, *(place.lines or ())).changes
        return self._written(place, chunks, lines, changes, found) if changes else None

    def _first(self, question: str, name: str, chunks: Sequence[Chunk]) -> WrittenAnswer | None:
        """Return the earliest commit with a name in the file that defines it, if no release note has the name."""
        place = defined_place(name, self._index.hierarchy, self._members_of, chunks)
        if place is None or place.lines is None or first_release(question, self._index):
            return None
        if (found := self._history.first_with(place.source, last_part(name))) is None:
            return None
        change, tag = found
        whole = self._index.catalogue.of_source(place.source)
        citation = definition_citation(1, DefinedPlace(name, place.source, place.lines), whole, whole_lines(whole))
        searched = f"`{last_part(name)}` in `{place.source}` [1]"
        answer = (
            f"No release note here names `{name}`. The earliest commit with {searched} is "
            f"{_sentence(change, {}, '')}." + f" The first tag with this commit is `{_plain(tag)}`." * bool(tag)
        )
        return {"answer": answer, "found": True, "mode": STRUCTURAL, "citations": [citation]}

    def _written(
        self,
        place: ChangedPlace,
        chunks: Sequence[Chunk],
        lines: Sequence[str],
        changes: Sequence[FileChangeRecord],
        found: SearchOutcome,
    ) -> WrittenAnswer:
        citations = [_place_citation(place, chunks, lines, found)]
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
        answer = f"{begin} commit {latest}.{body}{before}"
        return {"answer": answer, "found": True, "mode": STRUCTURAL, "citations": citations}


def _place_citation(
    place: ChangedPlace, chunks: Sequence[Chunk], lines: Sequence[str], found: SearchOutcome
) -> CitationRecord:
    if place.lines is None or place.lines[0] > len(lines):
        return passage_citation(1, chunks[0], found.today)
    return definition_citation(1, DefinedPlace(place.name, place.source, place.lines), chunks, lines)


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
    try:
        text = without_links(text, ())
    except ProviderError:
        text = "(text removed)"
    return text.replace("[", "(").replace("]", ")")
