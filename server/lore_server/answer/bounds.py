"""An answer within the limit of a reply: its text first, then what it cites, then what was found beside."""

from __future__ import annotations

from typing import Any

from lore_server.replies import budget

ANSWER_CHARACTERS = 12_000  # half of what a reply may take


def bounded(reply: dict[str, Any]) -> dict[str, Any]:
    """The reply, cut to the limit, with a line that says what was cut."""
    text = budget.prefix(reply["answer"], ANSWER_CHARACTERS)
    cut = [f"{len(reply['answer']) - len(text):,} characters of the answer"] if text != reply["answer"] else []
    shown = {**reply, "answer": text, "citations": [], "references": []}
    for name in ("citations", "references"):
        shown[name] = budget.fitting(reply[name], budget.room(budget.REPLY_TOKENS, shown))
        if len(shown[name]) < len(reply[name]):
            cut.append(f"{len(reply[name]) - len(shown[name])} {name}")
    if cut:
        shown["truncated"] = (
            f"{' and '.join(cut)} left out beyond {budget.REPLY_TOKENS:,} tokens: ask with a smaller limit."
        )
    return shown
