"""Limit the size of an answer: its text comes first, then its citations, then other references."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lore_server.replies import budget

if TYPE_CHECKING:
    from lore_server.replies.records import AnswerRecord

ANSWER_CHARACTERS = 12_000  # half of the maximum of a reply


def bounded(reply: AnswerRecord) -> AnswerRecord:
    """Cut the reply to the limit and add a line about the omitted parts."""
    text = budget.prefix(reply["answer"], ANSWER_CHARACTERS)
    shown: AnswerRecord = {**reply, "answer": text, "citations": [], "references": []}
    shown["citations"] = budget.fitting(reply["citations"], budget.room(budget.REPLY_TOKENS, shown))
    shown["references"] = budget.fitting(reply["references"], budget.room(budget.REPLY_TOKENS, shown))
    missing = {
        "characters of the answer": len(reply["answer"]) - len(text),
        "citations": len(reply["citations"]) - len(shown["citations"]),
        "references": len(reply["references"]) - len(shown["references"]),
    }
    if cut := " and ".join(f"{count:,} {what}" for what, count in missing.items() if count):
        shown["truncated"] = f"{cut} omitted to stay within {budget.REPLY_TOKENS:,} tokens: use a smaller limit."
    return shown
