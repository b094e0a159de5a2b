"""Render the results of the toolsets `query`, `documents` and `manage` as short text."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from lore_etl.core.progress import Plan
from lore_etl.core.text import counted
from lore_server.replies import records
from lore_server.replies.reply_text import ReplyText, changed, error_text, excerpt, kind, notes, nothing, outdated, span

SIMILAR_SHOWN = 3  # paths in a line, unless the score is explained
SHOWN_EXTENSIONS = 8
NONE_LISTED = "There is nothing to list with these arguments; try fewer."
_THEN = {"sync": "index their words, then embed their passages", "create": "write their chunks"}


def passages(result: records.QueryResultRecord) -> ReplyText:
    rows = [line for number, found in enumerate(result["results"], start=1) for line in _result(number, found)]
    body = "\n".join([*(rows or [nothing(result)]), *_facets(result), *_timings(result)])
    return ReplyText(body, notes(result), is_enough="truncated" not in result)


def _facets(result: records.QueryResultRecord) -> Iterator[str]:
    """Yield the numbers of files found: all, by type, folder, language and age."""
    facets: Mapping[str, Any] | None = result.get("facets")
    if facets is None:
        return
    yield f"{counted(result['total'], 'file')} found"
    ages = [age for age in facets["ages"] if age["files"]]
    groups = (("type", facets["types"]), ("path", facets["folders"]), ("lang", facets["langs"]), ("after", ages))
    for name, rows in groups:
        if rows:
            yield f"  by {name}: " + ", ".join(f"{row[name]} {row['files']:,}" for row in rows)


def _timings(result: records.QueryResultRecord) -> Iterator[str]:
    if (timings := result.get("timings")) is not None:
        steps: dict[str, float] = {**timings}  # type: ignore[dict-item]
        yield f"{sum(steps.values()):.1f} ms: {', '.join(f'{step} {taken:.1f}' for step, taken in steps.items())}"


def _result(number: int, result: records.ResultRecord) -> Iterator[str]:
    heading = f"  {result['heading']}" if result["heading"] else ""
    head = f"{number}. {_place(result)}  [{kind(result)}]  {result['score']:.1f}{heading}  ({result['id']})"
    yield f"{head}{changed(result)}{outdated(result)}"
    yield from (f"   {term['value']:+8.2f} {term['term']}" for term in result.get("why", ()))
    if result.get("similar"):
        paths = result.get("similar_sources", [])
        named = paths if "why" in result else paths[:SIMILAR_SHOWN]
        more = ", …" if named and len(named) < result["similar"] else ""
        yield f"   and {result['similar']:,} similar{': ' if named else ''}{', '.join(named)}{more}"
    if "relations" in result:
        yield f"   {result['relations']}"
    yield from _excerpt(result)
    for passage in result.get("passages", ()):
        heading = f"  {passage['heading']}" if passage["heading"] else ""
        yield f"   also {result['source']}:{span(passage['lines'])}{heading}  ({passage['id']})"
        yield from _excerpt(passage)


def _excerpt(result: records.ResultRecord | records.FurtherPassageRecord) -> Iterator[str]:
    yield from excerpt(result)
    if result.get("cut"):
        yield "   (cut)"


def answer(result: records.AnswerRecord) -> ReplyText:
    cited = []
    for citation in result["citations"]:
        heading = f"  {citation['heading']}" if citation["heading"] else ""
        place = f"[{citation['n']}] {_place(citation)}  [{kind(citation)}]{heading}  ({citation['id']})"
        cited.append(f"{place}{changed(citation)}{outdated(citation)}")
        cited += [f"    {line}".rstrip() for line in citation["quote"].split("\n") if citation["quote"]]
    seen = [] if cited else [f"see {_place(reference)}{outdated(reference)}" for reference in result["references"]]
    seen += [f"{_place(one)}: {one['relations']}" for one in result["references"] if "relations" in one]
    followed = [f"searched: {result['searched']}"] if "searched" in result else []
    use: Mapping[str, Any] = result.get("model", {})
    written = []
    if count := use.get("dropped"):
        written.append(f"dropped: {counted(count, 'statement')} of the model without a verified quote")
    if "input_tokens" in use:
        written.append(f"model: {use['name']}, {use['input_tokens']:,} + {use['output_tokens']:,} tokens")
    named = (*notes(result), *written, *followed, f"answer id: {result['id']} (for follow_up)")
    return ReplyText("\n".join([result["answer"], "", *cited, *seen]).rstrip(), named)


def classes(result: records.HierarchyResultRecord) -> ReplyText:
    chain = result.get("chain", [])
    root = next((class_ for class_ in result["classes"] if class_["class"] == result["root"]), None)
    bases, interfaces = (root["bases"], root.get("implements", [])) if root else (chain[:1], [])
    extended = [" > ".join(chain) if [base] == chain[:1] else base for base in bases if base not in interfaces]
    mixins = root.get("mixins", []) if root else []
    others = [one for one in interfaces if one not in mixins]
    parts = (("extends", extended), ("implements", others), ("mixes in", mixins))
    head = [f"{verb} {', '.join(some)}" for verb, some in parts if some]
    members = [
        f"  .{one['name']}  {one['kind']}, {_place(one) if 'source' in one else 'lines ' + span(one['lines'])}"
        for one in result.get("members", ())
    ]
    listed = ["", "members:", *members] if members else []
    if "users" in result:
        users = [f"  {user}" for user in result.get("used_by", ())]
        title = f"used by at least {counted(result['users'], 'file')}:" if result["users"] else "no use of it was found"
        listed += ["" if root else str(result["root"]), title, *users, f"not covered: {result['not_covered']}"]
    return ReplyText("\n".join([*head, *_branches(result), *listed]), notes(result))


def _branches(result: records.HierarchyResultRecord) -> Iterator[str]:
    """Yield a line for each class, indented below its base classes if these are shown."""
    by_name = {class_["class"]: class_ for class_ in result["classes"]}
    children: dict[str | None, list[records.HierarchyNodeRecord]] = defaultdict(list)
    for class_ in result["classes"]:
        bases = (*class_["bases"], *class_.get("implements", ())) if class_["class"] != result["root"] else ()
        for base in dict.fromkeys(base for base in bases if base in by_name) or (None,):
            children[base].append(class_)
    seen: set[str] = set()
    waiting = [(child, 0) for child in reversed(children[None])]
    while waiting or len(seen) < len(by_name):
        if not waiting:  # only cycles are left
            waiting.append((next(class_ for name, class_ in by_name.items() if name not in seen), 0))
        class_, depth = waiting.pop()
        where = "(outside the project)"
        if class_["source"] and class_["lines"]:
            where = f"{class_['source']}:{class_['lines'][0]}"
        deeper = f"  (+{class_['deeper']} below)" if "deeper" in class_ else ""
        yield f"{'  ' * depth}{class_['class']}  {where}{deeper}"
        if class_["class"] not in seen:
            seen.add(class_["class"])
            waiting += [(child, depth + 1) for child in reversed(children[class_["class"]])]


def documents(result: records.DocumentListRecord) -> ReplyText:
    rows = [f"{document['id']}  {document['type']:9} {_place(document)}" for document in result["documents"]]
    return ReplyText("\n".join(rows) or NONE_LISTED, (f"{len(rows)} of {result['total']}", *notes(result)))


def document(result: records.DocumentRecord) -> ReplyText:
    title = " > ".join((result["title"], *result["heading"]))
    place = f"{_place(result)}  [{result['type']}, {result['kind']}]  ({result['id']})"
    head = f"{place}{changed(result)}\n{title}"
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
    return ReplyText("\n".join(rows) or NONE_LISTED, (f"{len(rows)} of {result['total']}", *notes(result)))


def source(result: records.SourceTextRecord) -> ReplyText:
    """Render a file or some of its lines, with their history before them if it was requested."""
    blocks = []
    for part in (result, *result.get("others", ())):
        head = f"{_place(part)}  [{kind(part)}]{changed(part)}"
        blocks.append("\n".join([head, *_changes(part), "", part["text"]]))
    return ReplyText("\n\n".join(blocks), notes(result))


def history(result: records.SourceTextRecord) -> ReplyText:
    return ReplyText("\n".join([_place(result), *_changes(result)]))


def _changes(result: records.SourceTextRecord) -> Iterator[str]:
    for change in result.get("history", ()):
        yield f"{change['commit']}  {change['date']}  {change['subject']}  ({change['author']})"
        if "body" in change:
            yield f"   {change['body']}"
        for ticket in change["tickets"]:
            via = f" by pull request {ticket['via']}" if "via" in ticket else ""
            state = f" ({ticket['state']})" if "state" in ticket else ""
            title = f": {ticket['title']}  {ticket['source']}" if "source" in ticket else ""
            yield f"   {'closes' if 'closes' in ticket else 'names'} {ticket['name']}{via}{state}{title}"
    if "history_note" in result:
        yield f"note: {result['history_note']}"


def job(result: records.JobRecord) -> ReplyText:
    problem = [error_text(result["problem"])] if "problem" in result else []
    if "report" not in result:
        verb = "has" if result["state"] == "failed" else "is"
        state = f"The {result['action']} {verb} {result['state']} (job {result['id']})."
        if result["state"] == "running":
            left = f", {result['eta_seconds']:.0f} s left in this stage" if "eta_seconds" in result else ""
            done = f": {result['done']} of {result['total']}{left}" if result["total"] else ""
            state += f" {result['stage']}{done}."
        end = f"Cancellation was requested; get_job (id={result['id']}) shows when the job has ended."
        return ReplyText("\n".join([state, *problem]), (end,) * ("cancelling" in result))
    report = result["report"]
    counts = (
        f"{report['created']} created, {report['updated']} updated, {report['unchanged']} unchanged, "
        f"{report['deleted']} deleted, {report['embedded']} embedded"
    )
    body = [f"{counted(report['files'], 'file')} in {report['duration']:.1f} s: {counts}."]
    if report["rebuilt"]:
        body.append(f"The vectors were rebuilt: {report['rebuilt'].rstrip('.')}.")
    body += _inventory(report)
    remarks = [*_problems(report)]
    if "known" in report:
        remarks.append(f"{counted(report['known'], 'known problem')}: see `lore status` (healthcheck)")
    return ReplyText("\n".join([*body, *problem]), (*remarks, *notes(report)))


def cancelled(result: records.JobRecord) -> ReplyText:
    """Render a job after a request to cancel it, which changes nothing if the job had already ended."""
    ended = f"There was nothing to cancel: the {result['action']} had already ended (job {result['id']}).\n"
    whole = job(result)
    return replace(whole, body=ended + whole.body) if result["state"] in ("done", "failed") else whole


def _problems(record: records.SyncResultRecord | records.ProblemsRecord) -> Iterator[str]:
    yield from (f"failed: {failure['source']}: {failure['reason']}" for failure in record["failed"])
    yield from (f"skipped: {file['source']}: {file['reason']}" for file in record["skipped"])
    yield from (f"warning: {warning}" for warning in record["warnings"])


def plan(action: str, plan: Plan) -> str:
    """Return what a build has found and what it will do, a line each."""
    found = _inventory({"inventory": plan.inventory}) if plan.inventory else []
    some = f"{plan.to_read:,} of " if plan.to_read < plan.files else ""
    remove = [f"remove {counted(plan.removed, 'file')} from the index"] if plan.removed else []
    steps = [f"read {some}{counted(plan.files, 'file')}", *remove, _THEN[action]]
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
        rest = sum(row["files"] for row in left_out[SHOWN_EXTENSIONS:])
        lines.append("left out: " + ", ".join(rows) + (f" and {counted(rest, 'other file')}" if rest else ""))
    return lines


def database(result: records.DatabaseStateRecord) -> ReplyText:
    compared = result["verification"]["stores"] if "verification" in result else []
    rows = [
        f"  {row['store']:11} {row['items']:>9,} compared, {row['damaged']:,} damaged  {row['note']}".rstrip()
        for row in compared
    ]
    return ReplyText("\n".join([f"{result['status']}: {result['detail']}", *rows]))


def health(result: records.HealthRecord) -> ReplyText:
    rows = [f"{result['status']}  (Lore {result['version']}, model {result['model']})"]
    rows += [f"  {check['status']:9} {check['part']:12} {check['detail']}" for check in result["checks"]]
    if result["counts"]:
        rows.append("  " + ", ".join(f"{count} {kind}" for kind, count in result["counts"].items()))
    rows += [f"  {line}" for line in _inventory(result)]
    if "problems" in result:
        rows += [f"  {line}" for line in (*_problems(result["problems"]), *notes(result["problems"]))]
    if "job" in result:
        rows.append("  " + job(result["job"]).body)
    return ReplyText("\n".join(rows), notes(result))


def _place(row: Mapping[str, Any]) -> str:
    """Return the place of a passage or file, after its project if several were asked, and its group of near-copies."""
    project = f"{row['project']}: " if "project" in row else ""
    group = f"  (group {row['group']})" if "group" in row else ""
    return f"{project}{row['source']}:{span(row['lines'])}{group}"
