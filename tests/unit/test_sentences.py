"""Chunks are split into sentences that can be shown."""

from lore_server.framework.best_sentence import sentences
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
CHUNK = make_chunk("docs/retries.md", text=TEXT, lines=(10, 23))
CODE = '''from ferry.errors import ConfigError, StoreError
from ferry.stores.sql import SQLStore


class SQLiteStore(SQLStore):
    """The default store: one SQLite file in WAL mode,
    which needs no server."""

    # a busy database is tried again for five seconds
    TIMEOUT = 5.0
'''


def test_the_lines_of_a_paragraph_are_joined_before_it_is_split_and_headings_and_rules_are_no_sentences() -> None:
    found = list(sentences(CHUNK))

    assert found[:3] == [
        "A failed job is tried again.",
        "The delay doubles each time, up to five minutes, and a jitter of ten percent is added.",
        "The number of attempts is set by `max_attempts`.",
    ]
    assert "queue.retry(job, delay=30)" in found
    assert not any(text.startswith(("##", "```", "| ---")) for text in found)


def test_only_prose_is_quoted_from_code() -> None:
    chunk = make_chunk("ferry/sqlite.py", "src", text=CODE, lines=(1, 11))

    assert list(sentences(chunk)) == [
        "The default store: one SQLite file in WAL mode, which needs no server.",
        "a busy database is tried again for five seconds",
    ]
