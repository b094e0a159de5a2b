"""An index under test: a set's temporary one, or the project's own, judged by the files that commits changed."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from lore_etl.config.project import cache_folder
from lore_etl.config.settings import Settings
from lore_etl.core.errors import InvalidArgument, NotFound, ProviderError, StorageError
from lore_etl.core.model import KnowledgeType, sha256
from lore_etl.core.progress import Progress, silent
from lore_etl.index import Index
from lore_etl.models.embedder import ConfiguredModel
from lore_etl.pipeline.corpus import load_records
from lore_server.changes.project_git import LOG, read_git
from lore_server.changes.ticket_names import files_by_name, names
from lore_server.evaluation.sets import EvaluationSet, Judgements, Question, read_set
from lore_server.query.history import History
from lore_server.query.parse import parse
from lore_server.query.query_service import QueryService, Retrieved
from lore_server.query.ranking import Ranked, Weights, weights
from lore_server.query.retrieve import LEGS

RANKINGS = ("hybrid", *LEGS, "classic")
DEPTH = 100  # maximum number of documents per question in a run
MAX_FILES = 20  # a commit that changes more is not specific to one ticket
GIT_SECONDS = 120
_FORMAT = "--format=%x1e%B%x1f"


@dataclass(frozen=True)
class Bench:
    """Questions with their candidates. `document` maps a result to the document of the set; None does not count."""

    service: QueryService
    settings: Settings
    document: Callable[[Ranked], str | None]

    def retrieve(self, questions: Sequence[Question], progress: Progress = silent) -> dict[str, Retrieved]:
        """Return the candidates of each question. Raises ProviderError: one leg alone must not be measured."""
        found = {}
        for number, question in enumerate(questions):
            progress("asking", number, len(questions))
            found[question.id] = self.service.candidates(parse(question.text))
            if degraded := found[question.id].candidates.degraded:
                raise ProviderError(f"Question `{question.id}`: {degraded}")
        progress("asking", len(questions), len(questions))
        return found

    def rank(
        self, retrieved: Mapping[str, Retrieved], ranking: str, own: Weights | None = None
    ) -> dict[str, list[Ranked]]:
        given = own or self.weights(ranking)
        return {
            question: self.service.rank(candidates, ranking, given)[1] for question, candidates in retrieved.items()
        }

    def runs(self, ranked: Mapping[str, Sequence[Ranked]]) -> dict[str, list[str]]:
        found = {}
        for question, results in ranked.items():
            documents = dict.fromkeys(map(self.document, results))
            found[question] = [document for document in documents if document is not None][:DEPTH]
        return found

    def weights(self, ranking: str) -> Weights:
        """Return the weights of a ranking, with the user's changes if it is the configured one."""
        query = self.settings.query
        return weights(ranking, query.weights if ranking == query.ranking else {})


@contextmanager
def open_bench(
    chosen: EvaluationSet | None,
    root: Path,
    settings: Settings,
    progress: Progress = silent,
    model: ConfiguredModel | None = None,
    history: History | None = None,  # of the set's documents, already read
) -> Iterator[tuple[Bench, EvaluationSet]]:
    """Open the bench of a set, or of the project's own history. Raises the errors of `set_from_git`."""
    if chosen is not None and chosen.records is not None:
        with scratch_index(chosen.corpus or chosen.name, settings, model) as index:
            sources, _ = load_records(index, chosen.records, progress)
            ids = {source: document_id for document_id, source in sources.items()}
            service = QueryService(index, history=history)
            yield Bench(service, settings, lambda result: ids.get(result.source)), chosen
        return
    with closing(Index(root, settings, model)) as index:
        if chosen is None:  # its answers are in the history, which must not be searched
            yield Bench(QueryService(index), settings, file_not_ticket), set_from_git(root, index)
        else:
            own = History(root)
            own.refresh()
            service = QueryService(index, history=own)
            yield Bench(service, settings, lambda result: result.source), chosen


def read_chosen(folder: Path | None, split: str | None) -> EvaluationSet | None:
    """Return the set in a folder; None stands for the project's history. Raises InvalidArgument."""
    if folder is not None:
        return read_set(folder, split)
    if split is not None:
        raise InvalidArgument("The project's history has no splits.", "Omit --split.")
    return None


@contextmanager
def scratch_index(name: str, settings: Settings, model: ConfiguredModel | None = None) -> Iterator[Index]:
    """Open an index outside any project, in this process; it is kept, so that the next run embeds only changes."""
    database = settings.database.in_this_process()
    configured = sha256(settings.embedding.model_dump_json(exclude={"cache_mb"}) + database.model_dump_json())[:12]
    folder = cache_folder() / "evaluation" / f"{name}-{configured}"
    path = settings.index.model_copy(update={"path": "index"})
    own = settings.model_copy(update={"index": path, "database": database})
    with closing(Index(folder, own, model)) as index:
        yield index


def set_from_git(root: Path, index: Index) -> EvaluationSet:
    """Return tickets, judged by the files in their commits. Raises IndexMissing, InvalidArgument, NotFound."""
    index.require()
    texts: dict[str, list[str]] = defaultdict(list)
    judged = set()
    for chunk in index.catalogue.every_chunk():
        if chunk.type == KnowledgeType.TICKET:
            texts[chunk.source].append(chunk.text)
        elif chunk.type != KnowledgeType.RELEASE:
            judged.add(chunk.source)
    tickets = files_by_name(texts)
    judgements: Judgements = defaultdict(dict)
    for message, files in commits(root):
        changed = [file for file in files if file in judged]
        if changed and len(files) <= MAX_FILES:
            for ticket in {tickets[name] for name in names(message) if name in tickets}:
                judgements[ticket].update(dict.fromkeys(changed, 1))
    if not judgements:
        hint = "Tickets are found by number (`#12` and issues/issue-12.md) or by key (`ABC-12`); sync them first."
        raise NotFound("No commit mentions an indexed ticket.", hint)
    questions = [Question(judgement, "\n".join(texts[judgement])) for judgement in sorted(judgements)]
    return EvaluationSet("history", questions, dict(judgements))


def file_not_ticket(result: Ranked) -> str | None:
    """Return the document that a result represents; tickets and releases do not count as changed files."""
    return None if result.chunk.type in (KnowledgeType.TICKET, KnowledgeType.RELEASE) else result.source


def commits(root: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the message and the changed files of the commits that touch the folder, newest first."""
    output = read_git(root, *LOG, "--name-only", "--no-merges", "--relative", _FORMAT, seconds=GIT_SECONDS)
    if not output.is_complete:
        raise StorageError("git takes too long to read the history.", "Evaluate a folder with a set.")
    for record in output.text.split("\x1e")[1:]:
        message, _, files = record.partition("\x1f")
        yield message, [name.strip("\n") for name in files.split("\0") if name.strip("\n")]
