"""Answer a question from several projects.

Scores of different indexes cannot be compared, but how well the best passages fit can (`query.confidence`). So the
closest projects are searched, and a result's score is its share of its project's best, times the confidence.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from contextvars import copy_context
from itertools import chain, islice
from typing import TypeVar

from lore_etl.core.errors import AnswerNotFound, Cancelled, InvalidArgument, LoreError, UnknownOperation
from lore_etl.core.json_types import JSON
from lore_etl.core.progress import Listener
from lore_server.app import App
from lore_server.contract import ACROSS_PROJECTS, Contract
from lore_server.query.confidence import DOUBT, DOUBTFUL, SUGGESTION, Fit
from lore_server.query.lineage import Export, exported_by, importers_of
from lore_server.replies import budget

SEARCH, ASK = ACROSS_PROJECTS
SEARCHED = 4  # projects, of those that fit best
IMPORTING = 20  # projects in which importers are looked up, because others may have been closed meanwhile
LEAST_SHARE = 0.7  # of the best fit; a project below it has nothing to add (docs/adr/0017)
POINTS = 100.0  # of the best passage of a project that fits fully
SMALLEST = 200  # tokens of a reply
THREADS = 2  # more only wait for the lock of the interpreter, in turns that cost time
STATES = ("partial", "stale", "fresh")  # the state of the least fresh index is that of the reply
Result = TypeVar("Result")
Errors = dict[str, LoreError]  # of the projects that cannot be searched


class Across:
    """The operations that one call can ask of several projects, which `hold` opens by name."""

    def __init__(self, contract: Contract, hold: Callable[[str], AbstractContextManager[App]]) -> None:
        self._contract = contract
        self._hold = hold
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="across")

    def call(self, names: Sequence[str], operation_id: str, arguments: JSON, listener: Listener) -> JSON:
        """Search or ask the projects with these names. Raises LoreError, also if none of them can be searched."""
        if operation_id not in ACROSS_PROJECTS:
            hint = f"Across projects, only {SEARCH} and {ASK} answer; name one project: /mcp/<project>."
            raise UnknownOperation(f"{operation_id} is not served across projects.", hint)
        operation = self._contract[operation_id]
        accepted = operation.accept(arguments)
        reply = self._search(names, accepted) if operation_id == SEARCH else self._ask(names, accepted, listener)
        operation.check_result(reply)
        return reply

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)

    def _search(self, names: Sequence[str], given: JSON) -> JSON:
        if given.get("cursor"):
            raise InvalidArgument("A search across projects has one page.", "Name one project, or use a larger limit.")
        failed = Errors()
        fits = self._fits(names, given, failed)
        ranked, searched = self._ranked(fits, given, failed)
        counts = Counter(row["project"] for row in ranked)

        def details(name: str, app: App) -> JSON:
            part = {
                "limit": counts[name],
                "max_tokens": max(SMALLEST, given["max_tokens"] * counts[name] // len(ranked)),
            }
            return app.call(SEARCH, {**given, **part})

        parts = self._each(details, counts, failed)
        shown = {(name, row["id"]): row for name, part in parts.items() for row in part["results"]}
        rows = [{**shown[key], **row} for row in ranked if (key := (row["project"], row["id"])) in shown]
        self._add_importers(rows, list(fits)[:IMPORTING], failed)
        known = [one["freshness"] for one in {**searched, **parts}.values()]
        sums = {key: n for key in ("changed_files", "pending_vectors") if (n := sum(one.get(key, 0) for one in known))}
        confidence = next(iter(fits.values())).confidence
        reply: JSON = {
            "query": next(reply["query"] for reply in searched.values()),
            "total": sum(reply["total"] for reply in searched.values()),
            "results": [],
            "confidence": round(confidence, 3),
            "freshness": {"state": min((one["state"] for one in known), key=STATES.index), **sums},
            **({"suggestion": SUGGESTION} if not rows else {"doubt": DOUBT} if confidence < DOUBTFUL else {}),
            **_degraded(failed),
        }
        reply["results"] = _fitting(rows, budget.room(given["max_tokens"], reply), given["max_tokens"])
        if (omitted := sum(row["project"] not in failed for row in ranked) - len(reply["results"])) > 0:
            reply["truncated"] = f"{omitted} of the results omitted: use a larger max_tokens."
        return reply

    def _add_importers(self, rows: Sequence[JSON], names: Iterable[str], failed: Errors) -> None:
        """Add to the classes and functions found the files of other projects that import them."""

        def exports(name: str, app: App) -> dict[str, Export | None]:
            with app.index.gate.reading():
                return {row["id"]: exported_by(app.index, row["id"]) for row in rows if row["project"] == name}

        def importers(name: str, app: App) -> dict[tuple[str, str], str]:
            with app.index.gate.reading():
                return {key: importers_of(app.index, one) for key, one in exported.items() if key[0] != name}

        found = self._each(exports, {row["project"]: 0 for row in rows}, failed)
        exported = {(name, id_): one for name, known in found.items() for id_, one in known.items() if one}
        importing = self._each(importers, names if exported else (), failed)
        for row in rows:
            lines = ((name, known.get((row["project"], row["id"]))) for name, known in importing.items())
            texts = [row.get("relations"), *(f"in {name}, {line}" for name, line in lines if line)]
            if any(texts):
                row["relations"] = budget.clipped("; ".join(filter(None, texts)), 300)

    def _ask(self, names: Sequence[str], given: JSON, listener: Listener) -> JSON:
        """Return the answer of the project that fits best, with references to the passages of all."""
        failed = Errors()
        fits = self._fits(names, given, failed)
        search = self._contract[SEARCH]
        known = {name: value for name, value in given.items() if name in search.input_schema["properties"]}
        ranked, _ = self._ranked(fits, {**search.accept(known), "limit": min(given["limit"], 20)}, failed)
        self._add_importers(ranked, list(fits)[:IMPORTING], failed)
        best = [row["project"] for row in ranked[:1]]
        reply, answering = self._answered(dict.fromkeys((*best, *fits)), given, failed, listener)
        if reply["mode"] == "structural":  # a count or a list of one project
            reply["answer"] = f"In {answering}: {reply['answer']}"
        for citation in reply["citations"]:
            citation["project"] = answering
        kept = self._contract[ASK].output_schema["properties"]["references"]["items"]["properties"]
        rows = [{name: value for name, value in row.items() if name in kept} for row in ranked]
        left = budget.room(given["max_tokens"], {**reply, "references": []})
        return {**_degraded(failed), **reply, "references": budget.fitting(rows, left)}

    def _answered(self, order: Iterable[str], given: JSON, failed: Errors, listener: Listener) -> tuple[JSON, str]:
        """Return the first answer that was found, or else the first reply, of the best projects. Raises LoreError."""
        nothing, unknown = None, AnswerNotFound("There is no project to ask.")
        for name in islice(order, SEARCHED if "follow_up" not in given else None):
            try:
                with self._hold(name) as app:
                    reply = app.call(ASK, given, listener)
            except AnswerNotFound as error:
                unknown = error
            except (Cancelled, InvalidArgument):
                raise
            except LoreError as error:
                failed[name] = error
            else:
                if reply["found"]:
                    return reply, name
                here = reply["answer"].replace("this knowledge base", f"the project {name}")
                nothing = nothing or ({**reply, "answer": here}, name)
        if nothing:
            return nothing
        raise next(iter(failed.values()), unknown)

    def _fits(self, names: Sequence[str], given: JSON, failed: Errors) -> dict[str, Fit]:
        """Return how well each project fits, best first. Raises LoreError if all of them fail."""
        fits = self._each(lambda _, app: app.fit(given), names, failed)
        return dict(sorted(fits.items(), key=lambda item: -item[1].confidence))

    def _ranked(self, fits: Mapping[str, Fit], given: JSON, failed: Errors) -> tuple[list[JSON], dict[str, JSON]]:
        """Return the best results of the projects that fit best, without excerpts, and the replies of each."""
        best = next(iter(fits.values())).confidence
        likely = (name for name, fit in fits.items() if fit.confidence and fit.confidence >= LEAST_SHARE * best)
        close = list(islice(likely, SEARCHED)) or list(fits)[:1]
        brief = {**given, "brief": True, "passages": 0, "explain": False, "facets": False, "max_tokens": 100_000}
        replies = self._each(lambda _, app: app.answer(self._contract[SEARCH], brief), close, failed)
        compared = (_compared(name, one["results"], fits[name].confidence) for name, one in replies.items())
        return sorted(chain(*compared), key=lambda row: -row["score"])[: given["limit"]], replies

    def _each(self, work: Callable[[str, App], Result], names: Iterable[str], failed: Errors) -> dict[str, Result]:
        """Return the results of work in these projects, without those that fail. Raises LoreError if all fail."""

        def run(name: str) -> Result:
            with self._hold(name) as app:
                return work(name, app)

        results, errors = dict[str, Result](), Errors()
        started = {name: self._pool.submit(copy_context().run, run, name) for name in names}
        for name, one in started.items():
            try:
                results[name] = one.result()
            except (Cancelled, InvalidArgument):
                raise
            except LoreError as error:
                errors[name] = error
        if errors and not results:
            raise next(iter(errors.values()))
        failed |= errors
        return results


def _compared(name: str, rows: Sequence[JSON], confidence: float) -> Iterator[JSON]:
    """Yield the results of a project with scores that can be compared with those of other projects."""
    best = max((row["score"] for row in rows), default=0.0)
    for row in rows:
        share = max(0.0, row["score"] / best) if best > 0 else 0.0
        yield {
            "project": name,
            **{key: row[key] for key in row if key != "excerpt"},
            "score": round(POINTS * confidence * share, 3),
        }


def _fitting(rows: Sequence[JSON], room: int, max_tokens: int) -> list[JSON]:
    """Return the first rows that fit, but at least the first, with a shorter excerpt. Raises InvalidArgument."""
    taken = budget.fitting(rows, room)
    if taken or not rows:
        return taken
    left = room - budget.size({**budget.shortened(rows[0]), "excerpt": "", "cut": True}) - 2
    cut = {**rows[0], "excerpt": budget.prefix(rows[0]["excerpt"], max(0, left)), "cut": True}
    return budget.some([cut], room, "The first result", max_tokens)


def _degraded(failed: Errors) -> JSON:
    names = ", ".join(f"{name} ({error.code})" for name, error in sorted(failed.items()))
    return {"degraded": budget.clipped(f"Not searched: {names}", 290)} if failed else {}
