"""Every reply names a document by the title in its text."""

import json

import pytest

from lore_server.app import App
from tests.harness.calls import Opener, edit

TITLE = "Handling of barnacles"
TEXT = "Every barnacle is scraped off the hull of the ferry before the winter."
DOCUMENTS = {
    "docs/a.rst": f"{'=' * 30}\n {TITLE}\n{'=' * 30}\n\nScraping\n--------\n\n{TEXT}\n",
    "docs/a.adoc": f"= {TITLE}\n\n== Scraping\n\n{TEXT}\n",
    "docs/a.org": f"#+TITLE: {TITLE}\n\n* Scraping\n\n{TEXT}\n",
    "docs/a.tex": f"\\title{{{TITLE}}}\n\\section{{Scraping}}\n\n{TEXT}\n",
    "docs/a.html": f"<title>{TITLE}</title>\n<h1>Scraping</h1>\n<p>{TEXT}</p>\n",
    "docs/a.ipynb": json.dumps({"cells": [{"cell_type": "markdown", "source": f"# {TITLE}\n\n## Scraping\n\n{TEXT}"}]}),
}


@pytest.mark.parametrize("path", DOCUMENTS)
def test_lists_searches_and_citations_show_the_title_of_a_document(hash_app: App, path: str) -> None:
    edit(hash_app, {path: DOCUMENTS[path]})
    found = hash_app.call("query_documents", {"query": "barnacle hull winter"})["results"][0]
    answer = hash_app.call("ask_knowledge_base", {"query": "what happens to a barnacle on the hull?"})
    rows = [
        hash_app.call("list_sources", {})["sources"][0],
        hash_app.call("list_documents", {})["documents"][0],
        hash_app.call("get_source", {"path": path}),
        hash_app.call("get_document_by_id", {"id": found["id"]}),
        found,
        *answer["references"],
    ]

    assert [row["title"] for row in rows] == [TITLE] * len(rows)
    assert "Scraping" in found["heading"]
    assert "Scraping" in answer["citations"][0]["heading"]


def test_a_file_is_read_with_its_front_matter_unless_it_has_changed(synced_app_of: Opener) -> None:
    secret = "ghp_" + "wJ4rT9kQ2mX7vB1nL6cZ8sD3fG5hA0pY4eU2"
    head = f"---\nid: 12\nstate: CLOSED\nlabels: [hull]\ntoken: {secret}\n---\n"
    alone = "---\ntitle: Harbour\nweight: 3\n---\n"
    app = synced_app_of({"issues/issue-12.md": f"{head}# {TITLE}\n\n{TEXT}\n", "docs/_index.md": alone})
    text = app.call("get_source", {"path": "issues/issue-12.md"})["text"]
    nothing_else = app.call("get_source", {"path": "docs/_index.md"})
    (app.index.root / "issues" / "issue-12.md").write_text("# Other\n")
    changed = app.call("get_source", {"path": "issues/issue-12.md"})

    assert text.startswith("---\nid: 12\nstate: CLOSED\nlabels: [hull]\ntoken: [redacted")
    assert secret not in text
    assert text.endswith(TEXT)
    assert (nothing_else["text"], nothing_else["lines"]) == (alone.rstrip("\n"), [1, 4])
    assert changed["changed"]
    assert changed["text"].split("\n")[:7] == [*[""] * 6, f"# {TITLE}"]
