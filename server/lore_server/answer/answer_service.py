"""The answer service: retrieve, then answer from the class tree, by a model or with the best passages."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from lore_etl.core.errors import ProviderError
from lore_etl.core.model import Chunk, KnowledgeType
from lore_etl.core.progress import NOBODY, Listener
from lore_etl.index import Index
from lore_etl.pipeline.extract import current_chunks
from lore_etl.relations.packages import DECLARATIONS
from lore_etl.stores.catalogue_rows import User
from lore_server.answer.change_answers import ChangeAnswers
from lore_server.answer.class_questions import calls_fact, class_fact, place_fact
from lore_server.answer.decision_states import state_fact
from lore_server.answer.kept_answers import EarlierAnswer, KeptAnswers, answer_id, completed
from lore_server.answer.manifest_facts import manifest_fact
from lore_server.answer.pack import SHOWN, Passage, pack
from lore_server.answer.passage_answers import PassageAnswers, WrittenAnswer, passage_citation, reference
from lore_server.answer.statements import prompt
from lore_server.answer.written_answers import ModelAnswers, VerifiedReply
from lore_server.changes.file_history import ProjectHistory
from lore_server.query.filters import Filters
from lore_server.query.freshness import Freshness
from lore_server.query.lineage import functions_named
from lore_server.query.outdated import changed_sources
from lore_server.query.query_service import QueryService, SearchOutcome
from lore_server.query.syntax import read_request
from lore_server.replies import budget
from lore_server.replies.paging import whole_lines, with_fields
from lore_server.replies.records import AnswerRecord, CitationRecord, ModelUseRecord

log = logging.getLogger(__name__)
UNANSWERED = "The model found no answer in the nearest passages; the references name their files."
UNFOUND = "The model did not find it in these passages."


class AnswerService:
    """Answers questions; without a model, or if it fails, with passages and the reason."""

    def __init__(
        self, index: Index, queries: QueryService, freshness: Freshness, kept: KeptAnswers, model: ModelAnswers
    ) -> None:
        self._index = index
        self._kept = kept
        self._model = model
        self._queries = queries
        self._freshness = freshness
        self._passages = PassageAnswers(index)
        self._changes = ChangeAnswers(index, ProjectHistory(index))

    def ask(
        self,
        *,
        query: str,
        type: str | Sequence[str],
        limit: int,
        max_tokens: int,
        brief: bool,
        follow_up: str | None = None,
        listener: Listener = NOBODY,
    ) -> AnswerRecord:
        """Return the result; the listener gets a preview of the text as it grows. Raises AnswerNotFound."""
        request = read_request(query, type)
        self._model.prepare()
        earlier = self._kept.earlier(follow_up) if follow_up is not None else None
        question = completed(request.text, earlier.question) if earlier else request.text
        found = self._queries.find(question, filters=request.filters, group_copies=True)
        is_wide = request.filters in (Filters(), Filters(types=(KnowledgeType.SRC,)))
        answer: WrittenAnswer | None = None
        if is_wide:
            tree, members_of = self._index.hierarchy, self._index.catalogue.members
            fact = class_fact(question, tree, members_of, self._users, self._is_test)
            if fact and all(place.source.endswith(DECLARATIONS) for place in fact.places):
                fact = place_fact(question, self._index) or fact  # a function may be declared as a class
            fact = fact or place_fact(question, self._index) or calls_fact(question, self._index)
            fact = fact.with_ignored_words(question) if fact else manifest_fact(question, self._index)
            fact = fact or state_fact(question, found.named, self._index)
            answer = self._passages.from_tree(fact) if fact else self._changes.answer(question, found)
        if answer is None and found.named and not any(one.passages for one in found.named):
            answer = self._passages.from_passages(found, limit, max_tokens)  # nothing that a model could quote
        doubt: str | None = None
        if answer is not None:
            listener.text(answer["answer"])
        else:
            answer = self._write_answer(found, limit, max_tokens, listener.text, earlier)
            doubt = found.doubt  # about the passages
        doubt = self._changed_since(answer["citations"]) or doubt
        changed = self._freshness.changed_of({one["source"] for one in answer["citations"]})
        reply: AnswerRecord = {
            "id": answer_id(query, question, answer),
            "answer": answer["answer"],
            "found": answer["found"],
            "mode": answer["mode"],
            "citations": answer["citations"],
            "confidence": round(found.confidence, 3),
            "references": [reference(ranked, found.today) for ranked in found.ranked[:limit]],
            "freshness": self._freshness.record(changed),  # files are compared while nobody waits for text
        }
        notes = {"doubt": doubt, "model": answer.get("model"), "degraded": answer.get("degraded")}
        reply = with_fields(reply, searched=question if question != request.text else "", **notes)
        if not reply["answer"].startswith(UNFOUND):
            self._kept.keep(query, question, reply)
        citations = [with_fields(one, changed=one["source"] in changed) for one in reply["citations"]]
        if brief:
            citations = [{**one, "quote": ""} for one in citations]
        return bounded({**reply, "citations": citations}, max_tokens)

    def _changed_since(self, citations: Sequence[CitationRecord]) -> str:
        """Return the doubt about saved answers whose sources have changed since; empty if no such answer is cited."""
        for one in citations:
            is_knowledge = one["type"] == KnowledgeType.KNOWLEDGE  # no other file need be read as a whole
            if is_knowledge and (changed := changed_sources(self._text(one["source"]), self._text)):
                files = ", ".join(f"`{source}`" for source in changed)
                return budget.clipped(f"The saved answer [{one['n']}] quotes text that is no longer in {files}.", 300)
        return ""

    def _text(self, source: str) -> str:
        return "\n".join(whole_lines(self._index.catalogue.of_source(source)))

    def _write_answer(
        self,
        found: SearchOutcome,
        limit: int,
        max_tokens: int,
        on_text: Callable[[str], None],
        earlier: EarlierAnswer | None,
    ) -> WrittenAnswer:
        """Let the model answer; if it fails or there is none, return passages and the reason."""
        provider = self._model.provider
        reason = f"no answer model: {provider.missing}" if provider.missing else ""
        passages = [] if provider.missing else self._packed(found, limit, earlier)
        written = VerifiedReply(provider.model, passages, on_text)
        if passages:
            try:
                self._model.write(prompt(found.query.text, passages, earlier), written)
            except ProviderError as error:
                log.warning("answer model failed: %s", error.message)
                reason = error.message
        if passages and not reason and (written.statements or found.doubt):
            answer = self._synthesized(written, found)
        else:
            answer = self._passages.from_passages(found, limit, max_tokens, is_follow_up=earlier is not None)
            if passages and not reason and answer["found"]:
                answer["answer"] = f"{UNFOUND}\n\n{answer['answer']}"
            if not written.statements:  # or passages would look like the end of that text
                on_text(answer["answer"])
        if passages:
            answer["model"] = _use(written)
        if reason:
            answer["degraded"] = f"{reason[:260]}; showing passages instead"
        return answer

    def _packed(self, found: SearchOutcome, limit: int, earlier: EarlierAnswer | None) -> list[Passage]:
        """Return the passages for the model; those of the earlier answer come last, so that it can cite them again."""
        room = self._index.settings.answer.context_tokens
        before = list(self._index.catalogue.chunks(earlier.cited).values())[:SHOWN] if earlier else []
        sources = {chunk.source for chunk in before} | {file.source for file in found.ranked[:limit]}
        now = {source: current_chunks(self._index, source) for source in self._freshness.changed_of(sources)}
        chunks_of = {source: self._index.catalogue.of_source(source) for source in sources} | now
        before = [current for chunk in before for current in _current(chunk, now)]
        ranked = [replace(file, chunk=chunk) for file in found.ranked[:limit] for chunk in _current(file.chunk, now)]
        tokens = max(room - sum(len(chunk.text) for chunk in before) // budget.CHARACTERS_PER_TOKEN, room // 2)
        passages = pack(ranked, found.candidates, chunks_of.__getitem__, limit, tokens)
        more = [chunk for chunk in before if not any(passage.contains(chunk) for passage in passages)]
        return [*passages, *(Passage(n, chunk) for n, chunk in enumerate(more, start=len(passages) + 1))]

    def _synthesized(self, written: VerifiedReply, found: SearchOutcome) -> WrittenAnswer:
        if not written.statements:
            written.on_text(UNANSWERED)
            return {"answer": UNANSWERED, "found": False, "mode": "synthesized", "citations": []}
        citations = [
            passage_citation(number, self._lines_of(proof.passage.chunk, proof.lines), found.today)
            for number, proof in enumerate(written.proofs, start=1)
        ]
        text = "\n\n".join(written.statements)[:60_000]
        return {"answer": text, "found": True, "mode": "synthesized", "citations": citations}

    def _lines_of(self, chunk: Chunk, lines: tuple[int, int]) -> Chunk:
        """Return some lines of a passage, with the id of the chunk where they begin; a part of a line stays whole."""
        if chunk.columns is not None:
            return chunk
        text = chunk.text.split("\n")[lines[0] - chunk.lines[0] : lines[1] - chunk.lines[0] + 1]
        within = [part for part in self._index.catalogue.of_source(chunk.source) if part.lines[0] <= lines[0]]
        id_ = within[-1].id if within else chunk.id
        return replace(chunk, id=id_, lines=lines, text="\n".join(text))

    def _users(self, name: str) -> dict[str, list[User]]:
        node = self._index.hierarchy.nodes.get(name)
        is_defined = node is not None and not str(node.source).endswith(DECLARATIONS)
        names = [*([name] if node else ()), *(() if is_defined else functions_named(self._index, name))]
        return {full: self._index.catalogue.users(full) for full in names}

    def _is_test(self, source: str) -> bool:
        return any(chunk.type == KnowledgeType.TEST for chunk in self._index.catalogue.of_source(source)[:1])


def _current(chunk: Chunk, now: Mapping[str, Sequence[Chunk]]) -> list[Chunk]:
    """Return the chunk as it is in its changed file, or else the nearest one there."""
    if chunk.source not in now:
        return [chunk]
    nearest = sorted(now[chunk.source], key=lambda one: (one.id != chunk.id, abs(one.lines[0] - chunk.lines[0])))
    return [replace(one, superseded_by=chunk.superseded_by) for one in nearest[:1]]


def _use(written: VerifiedReply) -> ModelUseRecord:
    use: ModelUseRecord = {"name": written.model}
    if written.usage is not None:
        use["input_tokens"], use["output_tokens"] = written.usage
    if written.dropped:
        use["dropped"] = written.dropped
    return use


ANSWER_SHARE = 0.5  # of the budget


def bounded(reply: AnswerRecord, max_tokens: int = budget.REPLY_TOKENS) -> AnswerRecord:
    """Cut the reply to the limit and add a line about the omitted parts."""
    text = budget.prefix(reply["answer"], int(ANSWER_SHARE * max_tokens * budget.CHARACTERS_PER_TOKEN))
    shown: AnswerRecord = {**reply, "answer": text, "citations": [], "references": []}
    shown["citations"] = budget.fitting(reply["citations"], budget.room(max_tokens, shown))
    shown["references"] = budget.fitting(reply["references"], budget.room(max_tokens, shown))
    missing = {
        "answer's characters": len(reply["answer"]) - len(text),
        "citations": len(reply["citations"]) - len(shown["citations"]),
        "references": len(reply["references"]) - len(shown["references"]),
    }
    if cut := " and ".join(f"{count:,} of the {what}" for what, count in missing.items() if count):
        shown["truncated"] = f"{cut} omitted to stay within max_tokens: use a larger one."
    return shown
