"""Passages are split into quotable sentences with their lines."""

from __future__ import annotations

from lore_server.answer.pack import Passage
from lore_server.answer.sentences import sentences
from tests.harness.chunks import make_chunk

TEXT = """## Retries

A failed job is tried again. The delay doubles each time, up to five
minutes, and a jitter of ten percent is added.

- The number of attempts is set by `max_attempts`.

```python
# this is a comment in code, not a heading
queue.retry(job, delay=30)
```

| key | value |
| --- | --- |"""
PASSAGE = Passage(1, make_chunk("docs/retries.md", text=TEXT, lines=(10, 23)))
CODE = '''from ferry.errors import ConfigError, StoreError
from ferry.stores.sql import SQLStore


class SQLiteStore(SQLStore):
    """The default store: one SQLite file in WAL mode,
    which needs no server."""

    # a busy database is tried again for five seconds
    TIMEOUT = 5.0
'''


def test_sentences_keep_the_lines_of_their_paragraph() -> None:
    found = {sentence.text: sentence.lines for sentence in sentences(PASSAGE)}

    assert found["A failed job is tried again."] == (12, 13)
    assert found["The delay doubles each time, up to five minutes, and a jitter of ten percent is added."] == (12, 13)
    assert found["The number of attempts is set by `max_attempts`."] == (15, 15)
    assert found["queue.retry(job, delay=30)"] == (19, 19)


def test_headings_fences_and_table_rules_are_not_sentences() -> None:
    texts = [sentence.text for sentence in sentences(PASSAGE)]

    assert not any(text.startswith(("##", "```", "| ---")) for text in texts)


def test_only_prose_is_quoted_from_code() -> None:
    passage = Passage(1, make_chunk("ferry/sqlite.py", "src", text=CODE, lines=(1, 11)))

    assert {(sentence.text, sentence.lines) for sentence in sentences(passage)} == {
        ("The default store: one SQLite file in WAL mode, which needs no server.", (6, 7)),
        ("a busy database is tried again for five seconds", (9, 9)),
    }
