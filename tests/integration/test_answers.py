"""Without a model, answers are read from the class tree, a ticket or a release, or consist of passages."""

import json
from pathlib import Path

import pytest

from lore_etl.core.errors import IndexMissing
from lore_server.answer.passage_answers import CLOSEST, EVIDENCE
from lore_server.app import App
from tests.harness.calls import Opener
from tests.harness.projects import ROOT
from tests.harness.texts import prose_of

QUESTION = "How long does Ferry wait between retries?"


@pytest.mark.requirement("NEO-028")
def test_without_a_key_the_answer_consists_of_passages_with_citations_of_exact_lines(app: App, sample: Path) -> None:
    reply = app.call("ask_knowledge_base", {"query": QUESTION})

    assert reply["mode"] == "extractive"
    assert "GEMINI_API_KEY" in reply["degraded"]
    assert reply["references"]
    assert [citation["n"] for citation in reply["citations"]] == list(range(1, len(reply["citations"]) + 1))
    for one in reply["citations"]:
        first, last = one["lines"]
        assert one["quote"] == "\n".join((sample / one["source"]).read_text().split("\n")[first - 1 : last])


@pytest.mark.requirement("NEO-030")
def test_a_question_about_classes_a_ticket_or_a_release_is_answered_from_them(app: App) -> None:
    reply = app.call("ask_knowledge_base", {"query": "Which classes extend RetryPolicy?"})
    assert reply["mode"] == "structural"
    assert reply["answer"].startswith("`RetryPolicy` has at least 3 subclasses: `ferry.retry.ConstantBackoff` [1]")
    assert {one["source"] for one in reply["citations"]} == {"ferry/retry.py"}
    assert reply["citations"][0]["quote"] == "class ConstantBackoff(RetryPolicy):"
    assert "degraded" not in reply

    ticket = app.call("ask_knowledge_base", {"query": "Which ticket reports that two schedulers enqueue a job twice?"})
    release = app.call("ask_knowledge_base", {"query": "Which release introduced the dashboard?"})
    assert ticket["answer"].startswith("Closest match: ticket #38 (closed): Two schedulers enqueue")
    assert release["answer"].startswith("The earliest release note here that names `dashboard` is that of 1.2.0 [1].")
    assert [ticket["mode"], release["mode"]] == ["extractive", "structural"]


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Which classes extend BaseWorkerModel?", "BaseWorkerModel"),
        ("What are the base classes of ferry_pools.BaseWorkerModel?", "ferry_pools.BaseWorkerModel"),
        ("Where is BaseWorkerModel defined?", "BaseWorkerModel"),
        ("Where is retry_worker_pool defined?", "retry_worker_pool"),
        ("Which spices belong in a curry from Goa?", "Goa"),
    ],
)
def test_a_question_for_a_name_that_occurs_nowhere_has_no_answer_but_the_nearest_documents(
    app: App, question: str, name: str
) -> None:
    reply = app.call("ask_knowledge_base", {"query": question})

    assert reply["found"] is False
    assert f"`{name}` occurs nowhere in this knowledge base." in reply["answer"]
    assert reply["citations"] == []
    assert reply["references"]


@pytest.mark.parametrize("question", ["Where is {} defined?", "How do sailing tickets and {} work?"])
@pytest.mark.parametrize("operation", ["ask_knowledge_base", "query_documents"])
def test_a_doubt_about_a_long_name_is_shortened(app: App, operation: str, question: str) -> None:
    reply = app.call(operation, {"query": question.format("Zq" + "xk" * 300)})

    assert len(reply.get("doubt", "")) <= 300


@pytest.mark.parametrize(
    "question", ["Where is max_attempts defined?", "Which classes extend BaseWorkerModel and RetryPolicy?"]
)
def test_a_structural_question_for_a_name_that_occurs_has_an_answer(app: App, question: str) -> None:
    reply = app.call("ask_knowledge_base", {"query": question})

    assert reply["found"] is True
    assert reply["citations"]


@pytest.mark.parametrize(
    ("question", "source"),
    [
        ("RetryPolicy 的子类有哪些？", "ferry/retry.py"),
        ("SQLiteStore 在哪里定义？", "ferry/stores/sqlite.py"),
        ("PayloadTooLarge 是什么时候抛出的？", "ferry/errors.py"),
        ("v1.2.0 有什么变化？", "release-notes/v1.2.0.md"),
        ("JitteredBackoff はどのように待ち時間を計算しますか？", "ferry/retry.py"),
        ("DailyAt の使い方を教えてください", "ferry/schedule.py"),
        ("issue-38 はどんなバグですか？", "issues/issue-38.md"),
    ],
)
def test_a_chinese_or_japanese_question_finds_the_file_it_names_and_is_doubtful(
    app: App, question: str, source: str
) -> None:
    reply = app.call("ask_knowledge_base", {"query": question})

    assert reply["references"][0]["source"] == source
    assert reply["found"]
    assert "cannot judge a question in this script" in reply["doubt"]


@pytest.mark.parametrize("question", ["京都の天気は？", "什么是最好的咖喱食谱？", "Kubernetes 上如何部署 Istio？"])
def test_a_question_in_another_script_without_a_known_name_is_not_answered(app: App, question: str) -> None:
    reply = app.call("ask_knowledge_base", {"query": question})

    assert (reply["found"], reply["citations"]) == (False, [])
    assert "cannot judge this question" in reply["answer"]


def test_no_reply_leads_with_a_fragment_of_code_a_diagram_a_table_or_a_list(app: App, sample: Path) -> None:
    leads = []
    for question in sample_questions():
        reply = app.call("ask_knowledge_base", {"query": question})
        if reply["mode"] == "extractive" and reply["found"] and not reply["answer"].startswith((EVIDENCE, CLOSEST)):
            leads.append(reply)

    assert len(leads) >= 2
    for reply in leads:
        lead, _, number = reply["answer"].partition("\n\n")[0].removesuffix("]").rpartition(" [")
        cited = reply["citations"][int(number) - 1]
        assert cited["source"].endswith(".md")
        assert lead[0].isupper() or lead[0] == "`"
        assert lead[-1] in ".!"
        assert lead in prose_of((sample / cited["source"]).read_text())


def sample_questions() -> list[str]:
    """Return the questions of the evaluation set that the sample project answers."""
    folder = ROOT / "data" / "evaluation"
    rows = [row.split("\t") for row in (folder / "qrels.tsv").read_text().splitlines()[1:]]
    of_sample = {id_ for id_, path, _ in rows if path.startswith("data/sample/")}
    questions = map(json.loads, (folder / "queries.jsonl").read_text().splitlines())
    return [one["text"] for one in questions if one["_id"] in of_sample]


def test_asking_a_missing_index_is_an_error_and_not_an_empty_answer(hash_app: App) -> None:
    with pytest.raises(IndexMissing):
        hash_app.call("ask_knowledge_base", {"query": "x"})


def test_a_quote_of_an_html_page_has_no_lines_that_its_tags_left_blank(synced_app_of: Opener) -> None:
    fields = "".join(f"  <div>\n    <label>\n      Winch {n}\n    </label>\n  </div>\n\n" for n in range(3))
    head = "<html>\n<script>\nhaul();\n</script>\n<body>\n"
    app = synced_app_of({"sandbox/client.html": f"{head}<h1>Winches</h1>\n\n{fields}</body>\n</html>\n"})

    (citation,) = app.call("ask_knowledge_base", {"query": "what are Winches"})["citations"]
    (result,) = app.call("query_documents", {"query": "winch"})["results"]

    text = "Winches\n\n      Winch 0\n\n      Winch 1\n\n      Winch 2"
    assert (citation["quote"], citation["lines"][0]) == (text, 6)
    assert (result["excerpt"], "cut" in result) == (text, False)
