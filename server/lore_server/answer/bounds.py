"""Limit the size of an answer: its text comes first, then its citations, then other references."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lore_server.replies import budget

if TYPE_CHECKING:
    from lore_server.replies.records import AnswerRecord

ANSWER_SHARE = 0.5  # of the budget


def bounded(reply: AnswerRecord, max_tokens: int = budget.REPLY_TOKENS) -> AnswerRecord:
    """Cut the reply to the limit and add a line about the omitted parts."""
    text = budget.prefix(reply["answer"], int(ANSWER_SHARE * max_tokens * budget.CHARACTERS_PER_TOKEN))
    shown: AnswerRecord = {**reply, "answer": text, "citations": [], "references": []}
    shown["citations"] = budget.fitting(reply["citations"], budget.room(max_tokens, shown))
    shown["references"] = budget.fitting(reply["references"], budget.room(max_tokens, shown))
    missing = {
        "characters of the answer": len(reply["answer"]) - len(text),
        "citations": len(reply["citations"]) - len(shown["citations"]),
        "references": len(reply["references"]) - len(shown["references"]),
    }
    if cut := " and ".join(f"{count:,} {what}" for what, count in missing.items() if count):
        shown["truncated"] = f"{cut} omitted to stay within {max_tokens:,} tokens: use a larger max_tokens."
    return shown
