"""Render the results of the toolsets `query`, `documents` and `manage` as short text."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from lore_etl.core.progress import Plan
from lore_etl.core.text import counted
from lore_server.replies.reply_text import ReplyText, error_text, excerpt, notes, nothing, outdated, shown, span

if TYPE_CHECKING:
    from lore_server.replies import records


SIMILAR_SHOWN = 3  # paths in a line
SHOWN_EXTENSIONS = 8
_THEN = {"sync": "index their words, then embed their passages", "create": "write their chunks"}


class Placed(TypedDict):
    """A part of a file."""

    source: str
    lines: list[int]


def passages(result: records.QueryResultRecord) -> ReplyText:
    rows = [line for number, found in enumerate(result["results"], start=1) for line in _result(number, found)]
    body = "\n".join([*(rows or [nothing(result)]), *_facets(result), *_timings(result)])
    return ReplyText(body, notes(result), is_enough="truncated" not in result)


def _facets(result: records.QueryResultRecord) -> Iterator[str]:
    """Yield the numbers of files found: all, by type, folder, language and age."""
    if (facets := result.get("facets")) is None:
        return
    yield f"{result['total']:,} file{'' if result['total'] == 1 else 's'} found"
    if facets["types"]:
        yield "  by type: " + ", ".join(f"{type_['type']} {type_['files']:,}" for type_ in facets["types"])
    if facets["folders"]:
        yield "  by path: " + ", ".join(f"{folder['path']} {folder['files']:,}" for folder in facets["folders"])
    if facets["langs"]:
        yield "  by lang: " + ", ".join(f"{lang['lang']} {lang['files']:,}" for lang in facets["langs"])
    if dated := [f"{age['after']} {age['files']:,}" for age in facets["ages"] if age["files"]]:
        yield "  by after: " + ", ".join(dated)


def _timings(result: records.QueryResultRecord) -> Iterator[str]:
    """Yield the time of the search and of each step."""
    if (timings := result.get("timings")) is not None:
        steps: dict[str, float] = {**timings}  # type: ignore[dict-item]
        yield f"{sum(steps.values()):.1f} ms: {', '.join(f'{step} {taken:.1f}' for step, taken in steps.items())}"


def _result(number: int, result: records.ResultRecord) -> Iterator[str]:
    heading = f"  {result['heading']}" if result["heading"] else ""
    kind = ", ".join(
        filter(
            None, (result["type"], shown(result["origin"], result["type"]), result.get("library"), result.get("state"))
        )
    )
    head = f"{number}. {_found(result)}  [{kind}]  {result['score']:.1f}{heading}  ({result['id']})"
    yield f"{head}{_changed(result.get('changed'))}{outdated(result)}"
    for term in result.get("why", ()):
        yield f"   {term['value']:+8.2f} {term['term']}"
    if result.get("similar"):
        yield f"   {_similar(result)}"
    if "relations" in result:
        yield f"   {result['relations']}"
    yield from _excerpt(result)
    for passage in result.get("passages", ()):
        place: Placed = {"source": result["source"], "lines": passage["lines"]}
        heading = f"  {passage['heading']}" if passage["heading"] else ""
        yield f"   also {_place(place)}{heading}  ({passage['id']})"
        yield from _excerpt(passage)


def _similar(result: records.ResultRecord) -> str:
    """Return how many files have the same text, with all paths if the score is explained, else with the first."""
    paths = result.get("similar_sources", [])
    shown = paths if "why" in result else paths[:SIMILAR_SHOWN]
    more = ", …" if len(shown) < result["similar"] else ""
    return (
        f"and {result['similar']:,} similar: {', '.join(shown)}{more}"
        if shown
        else f"and {result['similar']:,} similar"
    )


def _excerpt(result: records.ResultRecord | records.FurtherPassageRecord) -> Iterator[str]:
    yield from excerpt(result)
    if result.get("cut"):
        yield "   (cut)"


def answer(result: records.AnswerRecord) -> ReplyText:
    cited = [line for citation in result["citations"] for line in _cited(citation)]
    seen = [] if cited else [f"see {_found(reference)}{outdated(reference)}" for reference in result["references"]]
    followed = [f"searched: {result['searched']}"] if "searched" in result else []
    named = (*notes(result), *_model_use(result), *followed, f"answer id: {result['id']} (for follow_up)")
    return ReplyText("\n".join([result["answer"], "", *cited, *seen]).rstrip(), named)


def _model_use(result: records.AnswerRecord) -> Iterator[str]:
    use = result.get("model")
    if use is None:
        return
    if count := use.get("dropped"):
        yield f"dropped: {count} {'statement' if count == 1 else 'statements'} of the model without a verified quote"
    if "input_tokens" in use:
        yield f"model: {use['name']}, {use['input_tokens']:,} + {use['output_tokens']:,} tokens"


def _cited(citation: records.CitationRecord) -> Iterator[str]:
    facts = (
        citation["type"],
        shown(citation["origin"], citation["type"]),
        citation.get("library"),
        citation.get("state"),
        citation.get("date"),
    )
    kind = ", ".join(filter(None, facts))
    heading = f"  {citation['heading']}" if citation["heading"] else ""
    place = f"[{citation['n']}] {_found(citation)}  [{kind}]{heading}  ({citation['id']})"
    yield f"{place}{_changed(citation.get('changed'))}{outdated(citation)}"
    for line in citation["quote"].split("\n") if citation["quote"] else ():
        yield f"    {line}".rstrip()


def classes(result: records.HierarchyResultRecord) -> ReplyText:
    head = [f"extends {' > '.join(result['chain'])}"] if result.get("chain") else []
    root = next((class_ for class_ in result["classes"] if class_["class"] == result["root"]), None)
    if root and "implements" in root:
        head.append(f"implements {', '.join(root['implements'])}")
    members = [
        f"  .{member['name']}  {member['kind']}, lines {span(member['lines'])}" for member in result.get("members", ())
    ]
    listed = ["", "members:", *members] if members else []
    if "users" in result:
        users = (f"  {user}" for user in result.get("used_by", ()))
        listed += ["", f"used by at least {counted(result['users'], 'file')}:", *users]
        listed += [f"not covered: {result['not_covered']}"]
    return ReplyText("\n".join([*head, *_branches(result), *listed]), notes(result))


def _branches(result: records.HierarchyResultRecord) -> Iterator[str]:
    """Yield a line for each class, indented below its base classes if these are shown."""
    by_name = {class_["class"]: class_ for class_ in result["classes"]}
    children: dict[str | None, list[records.HierarchyNodeRecord]] = defaultdict(list)
    for class_ in result["classes"]:
        above: list[str | None] = (
            [base for base in (*class_["bases"], *class_.get("implements", ())) if base in by_name]
            if class_["class"] != result["root"]
            else []
        )
        for base in dict.fromkeys(above or [None]):
            children[base].append(class_)
    seen: set[str] = set()
    waiting = [(child, 0) for child in reversed(children[None])]
    while waiting or len(seen) < len(by_name):
        if not waiting:  # only cycles are left
            waiting.append((next(class_ for name, class_ in by_name.items() if name not in seen), 0))
        class_, depth = waiting.pop()
        where = (
            f"{class_['source']}:{class_['lines'][0]}"
            if class_["source"] and class_["lines"]
            else "(outside the project)"
        )
        deeper = f"  (+{class_['deeper']} below)" if "deeper" in class_ else ""
        yield f"{'  ' * depth}{class_['class']}  {where}{deeper}"
        if class_["class"] not in seen:
            seen.add(class_["class"])
            waiting += [(child, depth + 1) for child in reversed(children[class_["class"]])]


def documents(result: records.DocumentListRecord) -> ReplyText:
    rows = [f"{document['id']}  {document['type']:9} {_place(document)}" for document in result["documents"]]
    return ReplyText("\n".join(rows), (f"{len(rows)} of {result['total']}", *notes(result)))


def document(result: records.DocumentRecord) -> ReplyText:
    title = " > ".join((result["title"], *result["heading"]))
    place = f"{_place(result)}  [{result['type']}, {result['kind']}]  ({result['id']})"
    head = f"{place}{_changed(result.get('changed'))}\n{title}"
    return ReplyText("\n".join([head, *_facts(result), "", result["text"]]), notes(result))


def _facts(result: records.DocumentRecord) -> Iterator[str]:
    """Yield the metadata of a chunk, a line each; with a small budget, some of it follows on the next page."""
    chain = [ancestor["class"] for ancestor in result["chain"]]
    facts = {
        "class": " > ".join([result.get("class") or "…", *chain]) if result.get("class") or chain else "",
        "symbols": ", ".join(result["symbols"]),
        "tags": ", ".join(result["tags"]),
        "created": result.get("created"),
        "updated": result.get("updated"),
        "state": result.get("state"),
        "library": result.get("library"),
        "valid until": result.get("valid_until"),
        "superseded by": result.get("superseded_by"),
    }
    return (f"{name}: {value}" for name, value in facts.items() if value)


def sources(result: records.SourceListRecord) -> ReplyText:
    rows = [
        f"{row['source']}  [{row['type']}]  {row.get('change') or counted(row['lines'], 'line')}"
        for row in result["sources"]
    ]
    return ReplyText("\n".join(rows), (f"{len(rows)} of {result['total']}", *notes(result)))


def job(result: records.JobRecord) -> ReplyText:
    problem = [error_text(result["problem"])] if "problem" in result else []
    if "report" not in result:
        return ReplyText(
            "\n".join([f"The {result['action']} is {result['state']} (job {result['id']}).{_pace(result)}", *problem])
        )
    report = result["report"]
    counts = (
        f"{report['created']} created, {report['updated']} updated, {report['unchanged']} unchanged, "
        f"{report['deleted']} deleted, {report['embedded']} embedded"
    )
    body = [f"{counted(report['files'], 'file')} in {report['duration']:.1f} s: {counts}."]
    if report["rebuilt"]:
        body.append(f"The vectors were rebuilt: {report['rebuilt'].rstrip('.')}.")
    body += _inventory(report)
    known = (
        [f"{counted(report['known'], 'known problem')}: see `lore status` (healthcheck)"] if "known" in report else []
    )
    return ReplyText("\n".join([*body, *problem]), (*_problems(report), *known, *notes(report)))


def _problems(record: records.SyncResultRecord | records.ProblemsRecord) -> Iterator[str]:
    """Yield a line for each file that failed or was skipped, and for each warning."""
    yield from (f"failed: {failure['source']}: {failure['reason']}" for failure in record["failed"])
    yield from (f"skipped: {file['source']}: {file['reason']}" for file in record["skipped"])
    yield from (f"warning: {warning}" for warning in record["warnings"])


def plan(action: str, plan: Plan) -> str:
    """Return what a build has found and what it will do, a line each."""
    found = _inventory({"inventory": plan.inventory}) if plan.inventory else []
    read = (
        f"read {plan.to_read:,} of {counted(plan.files, 'file')}"
        if plan.to_read < plan.files
        else (f"read {counted(plan.files, 'file')}")
    )
    steps = [read, *([f"forget {counted(plan.deleted, 'deleted file')}"] if plan.deleted else []), _THEN[action]]
    return "\n".join([*found, f"plan: {', '.join(steps)}"])


def _inventory(result: Mapping[str, Any]) -> list[str]:
    """Return lines that name the languages found and the files left out; the JSON has the types too."""
    if "inventory" not in result:
        return []
    found, left_out = result["inventory"]["found"], result["inventory"]["left_out"]
    lines = []
    languages: Counter[str] = Counter()
    for row in found:
        languages[row["language"]] += row["files"]
    if languages:
        lines.append("found: " + ", ".join(f"{files} {language}" for language, files in languages.most_common()))
    if left_out:
        rows = (f"{row['files']} {row['extension']} ({row['reason']})" for row in left_out[:SHOWN_EXTENSIONS])
        rest = len(left_out) - SHOWN_EXTENSIONS
        lines.append("left out: " + ", ".join(rows) + (f" and {rest} more extensions" if rest > 0 else ""))
    return lines


def _pace(result: records.JobRecord) -> str:
    if result["state"] != "running":
        return ""
    left = f", {result['eta_seconds']:.0f} s left in this stage" if "eta_seconds" in result else ""
    return (
        f" {result['stage']}: {result['done']} of {result['total']}{left}."
        if result["total"]
        else f" {result['stage']}."
    )


def database(result: records.DatabaseStateRecord) -> ReplyText:
    compared = result["verification"]["stores"] if "verification" in result else []
    rows = [
        f"  {row['store']:11} {row['items']:>9,} compared, {row['damaged']:,} damaged  {row['note']}".rstrip()
        for row in compared
    ]
    return ReplyText("\n".join([f"{result['status']}: {result['detail']}", *rows]))


def health(result: records.HealthRecord) -> ReplyText:
    rows = [f"{result['status']}  (Lore {result['version']}, model {result['model']})"]
    rows += [f"  {check['status']:9} {check['part']:11} {check['detail']}" for check in result["checks"]]
    if result["counts"]:
        rows.append("  " + ", ".join(f"{count} {kind}" for kind, count in result["counts"].items()))
    rows += [f"  {line}" for line in _inventory(result)]
    if "problems" in result:
        rows += [f"  {line}" for line in (*_problems(result["problems"]), *notes(result["problems"]))]
    if "job" in result:
        rows.append("  " + job(result["job"]).body)
    return ReplyText("\n".join(rows))


def _changed(is_changed: bool | None) -> str:
    return "  (changed since the last sync)" if is_changed else ""


def _place(placed: Placed) -> str:
    return f"{placed['source']}:{span(placed['lines'])}"


def _found(found: records.ResultRecord | records.CitationRecord | records.ReferenceRecord) -> str:
    """Return the place of a passage, after its project if several were asked."""
    project = f"{found['project']}: " if "project" in found else ""
    return f"{project}{found['source']}:{span(found['lines'])}"
