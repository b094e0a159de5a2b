"""How results look on a terminal: plain text, the same in a pipe."""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import Any

JSON = dict[str, Any]
CONFIG_TEMPLATE = """\
# Lore's configuration. Every key is optional; these are the defaults. See docs/configuration.md.

[index]
# exclude = ["vendor/", "*.generated.ts"]   # like .gitignore, and added to it
# max_file_bytes = 2000000
# guard_share = 0.3                          # a sync that would delete more is refused

[sources]
# tickets = ["tracker/**/*.md"]              # where tickets live, instead of the usual places

[embedding]
# provider = "local"                         # or "gemini", with GEMINI_API_KEY set
# model = "all-MiniLM-L6-v2"                 # any sentence-transformers model, by name or folder

[query]
# ranking = "hybrid"                         # or "classic"
# weights = { ticketPenalty = -30 }
# reranker = ""                              # a cross-encoder, by name or folder; empty is off
# rerank_depth = 20                          # results that it reads

[answer]
# provider = "auto"                          # Gemini if GEMINI_API_KEY is set; "none" always quotes
# model = "gemini-2.5-flash"
"""


def line(text: str = "") -> None:
    """One line on standard output."""
    sys.stdout.write(text + "\n")


def job(result: JSON) -> None:
    """A job: what it did, or how far it is."""
    if "report" in result:
        report(result["report"])
    else:
        line(f"The {result['action']} is {result['state']} (job {result['id']}).")


def report(result: JSON) -> None:
    """What a sync did."""
    counts = ", ".join(f"{result[name]} {name}" for name in ("created", "updated", "unchanged", "deleted", "embedded"))
    line(f"{result['files']} files in {result['duration']:.1f} s: {counts}.")
    if result["rebuilt"]:
        line(f"The vectors were built anew: {result['rebuilt']}.")
    for name in ("failed", "skipped"):
        for one in result[name]:
            sys.stderr.write(f"{name}: {one['source']}: {one['reason']}\n")
    for one in result["warnings"]:
        sys.stderr.write(f"warning: {one}\n")


def results(result: JSON) -> None:
    """Search results."""
    for number, one in enumerate(result["results"], start=1):
        heading = f"  {one['heading']}" if one["heading"] else ""
        first, last = one["lines"]
        line(f"{number}. {one['source']}:{first}-{last}  [{one['type']}]  {one['score']:.1f}{heading}")
        for term in one.get("why", ()):
            line(f"     {term['value']:+8.2f} {term['term']}")
        for text in one["excerpt"].split("\n")[:12]:
            line(f"     {text}")
    if not result["results"]:
        line("Nothing found.")
    _notes(result)


def answer(result: JSON) -> None:
    """An answer, its citations, and the state of the index."""
    line(result["answer"])
    line()
    for one in result["citations"]:
        line(f"[{one['n']}] {one['source']}:{one['lines'][0]}-{one['lines'][1]}")
    if not result["citations"]:
        for one in result["references"]:
            line(f"see {one['source']}:{one['lines'][0]}-{one['lines'][1]}")
    _notes(result)


def _notes(result: JSON) -> None:
    for name in ("truncated", "doubt", "degraded"):
        if result.get(name):
            sys.stderr.write(f"{name}: {result[name]}\n")
    freshness = result["freshness"]
    if freshness["state"] == "stale":
        sys.stderr.write(f"stale: {freshness['changed_files']} files changed since the last sync. Run `lore sync`.\n")
    elif freshness["state"] == "partial":
        sys.stderr.write(f"partial: {freshness['pending_vectors']} chunks have no vector yet. Run `lore sync`.\n")


def tree(result: JSON) -> None:
    """A class tree, indented."""
    children: dict[str, list[JSON]] = defaultdict(list)
    by_name = {one["class"]: one for one in result["classes"]}
    for one in result["classes"]:
        if one["class"] != result["root"]:
            for base in one["bases"]:
                children[base].append(one)
    if result.get("chain"):
        line("extends " + " > ".join(result["chain"]))
    seen: set[str] = set()

    def below(one: JSON, depth: int) -> None:
        where = f"  {one['source']}:{one['lines'][0]}" if one["source"] else "  (outside the project)"
        line("  " * depth + one["class"] + where)
        if one["class"] not in seen:
            seen.add(one["class"])
            for child in children[one["class"]]:
                below(child, depth + 1)

    below(by_name[result["root"]], 0)


def document(result: JSON) -> None:
    """One chunk."""
    line(f"{result['source']}:{result['lines'][0]}-{result['lines'][1]}  [{result['type']}, {result['kind']}]")
    line(" > ".join((result["title"], *result["heading"])))
    line()
    line(result["text"])


def listing(result: JSON) -> None:
    """A page of documents."""
    for one in result["documents"]:
        line(f"{one['id']}  {one['type']:9} {one['source']}:{one['lines'][0]}-{one['lines'][1]}")
    sys.stderr.write(f"{len(result['documents'])} of {result['total']}\n")


def health(result: JSON) -> None:
    """The state of each part."""
    line(f"{result['status']}  (Lore {result['version']}, model {result['model']})")
    for one in result["checks"]:
        line(f"  {one['status']:9} {one['part']:11} {one['detail']}")
    if result["counts"]:
        line("  " + ", ".join(f"{count} {kind}" for kind, count in result["counts"].items()))
