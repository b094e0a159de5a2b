"""The keyword index on real tantivy: identifiers, prose, other scripts, hostile text, damaged files."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lore_etl.core.model import Chunk
from lore_etl.stores import integrity
from lore_etl.stores.keywords import KeywordStore
from tests.harness.chunks import make_chunk

TEXTS = {
    "camel.js": "const before = afterSetSelectedRecord(value);",
    "snake.py": "def load_chunk_file(path): ...",
    "dotted.py": "import os.path.expanduser",
    "acronym.ts": "new HTTPServerFactory().listen()",
    "digits.md": "the codec utf8mb4 and the hash sha256sum",
    "version.md": "What changed in v2.14.3 of the ferry",
    "prose.md": "Workers were shutting down while connections remained",
    "chinese.md": "数据库连接池的配置方法",
    "korean.md": "데이터베이스 연결 설정",
    "dollar.js": "$scope.applyNow($element)",
    "dash.css": "the border-left-width of a panel",
    "umlaut.md": "Die Größe der Fähre über den Fluß",
}


def store_with(folder: Path, *chunks: Chunk) -> KeywordStore:
    store = KeywordStore(folder)
    replace(store, chunks)
    return store


def replace(store: KeywordStore, chunks: Iterable[Chunk], deleted: Iterable[str] = ()) -> None:
    store.replace(chunks, deleted)
    store.publish()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> KeywordStore:
    return store_with(tmp_path_factory.mktemp("filled"), *(make_chunk(path, text=TEXTS[path]) for path in TEXTS))


def ids_of(store: KeywordStore, query: str, type_: str | None = None) -> list[str]:
    return [id_ for id_, _ in store.search(query, 20, type_)]


@pytest.mark.parametrize(
    ("query", "source"),
    [
        ("afterSetSelectedRecord", "camel.js"), ("aftersetselectedrecord", "camel.js"),
        ("selected record", "camel.js"), ("load_chunk_file", "snake.py"), ("chunk file", "snake.py"),
        ("os.path.expanduser", "dotted.py"), ("expanduser", "dotted.py"), ("path", "dotted.py"),
        ("HTTPServerFactory", "acronym.ts"), ("http server", "acronym.ts"), ("utf8mb4", "digits.md"),
        ("sha256sum", "digits.md"), ("256", "digits.md"), ("v2.14.3", "version.md"), ("worker shut", "prose.md"),
        ("connection remains", "prose.md"), ("连接池", "chinese.md"), ("配置", "chinese.md"),
        ("데이터베이스", "korean.md"), ("$scope", "dollar.js"),
        ("border-left-width", "dash.css"), ("größe", "umlaut.md"),
        ("GRÖSSE", "umlaut.md"), ("Fluß", "umlaut.md"),
    ],
)  # fmt: skip
def test_a_word_or_a_part_of_an_identifier_ranks_its_chunk_first(filled: KeywordStore, query: str, source: str) -> None:
    assert ids_of(filled, query)[:1] == [make_chunk(source).id]


def test_path_title_heading_and_symbols_are_searched_as_well_as_the_text(tmp_path: Path) -> None:
    names = {"title": "Harbour", "heading": ("Docking",), "symbols": ("Pilot",), "tags": ("urgent",)}
    chunk = make_chunk("src/ferry/berth.py", **names)  # type: ignore[arg-type]
    store = store_with(tmp_path, chunk)

    for word in ("berth", "ferry", "harbour", "dock", "pilot", "urgent"):
        assert ids_of(store, word) == [chunk.id], word


def test_a_symbol_outranks_the_same_word_in_prose(tmp_path: Path) -> None:
    prose, code = make_chunk("a.md", text="Berth Berth"), make_chunk("b.md", text="class Berth", symbols=("Berth",))
    store = store_with(tmp_path, prose, code)

    assert ids_of(store, "Berth") == [code.id, prose.id]


def test_a_type_filter_returns_only_that_type(tmp_path: Path) -> None:
    guide, ticket = make_chunk("a.md", "guide", "ferry"), make_chunk("b.md", "ticket", "ferry")
    store = store_with(tmp_path, guide, ticket)

    assert ids_of(store, "ferry", "ticket") == [ticket.id]
    assert ids_of(store, "ferry", "release") == []
    assert dict(store.search("ferry", 5, "guide"))[guide.id] == pytest.approx(dict(store.search("ferry", 5))[guide.id])


def test_a_commit_replaces_and_removes_chunks_and_ignores_unknown_ids(tmp_path: Path) -> None:
    first, second = make_chunk("a.md", text="lighthouse"), make_chunk("b.md", text="ferry")
    store = store_with(tmp_path, first, second)

    replace(store, [make_chunk("a.md", text="beacon")], ["unknown"])
    assert (ids_of(store, "lighthouse"), ids_of(store, "beacon")) == ([], [first.id])
    assert store.count() == 2

    replace(store, (), [first.id, "unknown"])
    assert store.versions().keys() == {second.id}
    assert (ids_of(store, "beacon"), ids_of(store, "ferry")) == ([], [second.id])


def test_a_search_after_a_commit_returns_the_chunks_of_that_commit(tmp_path: Path) -> None:
    before, after = make_chunk("a.md", text="ferry"), make_chunk("b.md", text="ferry")
    store = store_with(tmp_path, before)
    assert ids_of(store, "ferry") == [before.id]

    store.replace([after], [before.id])
    assert ids_of(store, "ferry") == [before.id]
    store.publish()

    assert ids_of(store, "ferry") == [after.id]


def test_committed_chunks_exist_after_reopening_with_and_without_a_seal(tmp_path: Path) -> None:
    KeywordStore(tmp_path).replace((make_chunk(f"{n}.md", text=f"word{n}") for n in range(3_000)), ())

    for _ in range(2):
        again = KeywordStore(tmp_path)
        assert again.count() == 3_000
        assert len(again.versions()) == 3_000
        assert ids_of(again, "word2999")[:1] == [make_chunk("2999.md").id]
        integrity.unseal(tmp_path)


def test_an_unreadable_chunk_leaves_the_store_unchanged(tmp_path: Path) -> None:
    store = store_with(tmp_path, make_chunk("a.md", text="ferry"))

    def broken() -> Iterator[Chunk]:
        yield make_chunk("b.md", text="ferry")
        raise RuntimeError("the caller failed")

    with pytest.raises(RuntimeError):
        store.replace(broken(), ())
    store.publish()

    assert ids_of(store, "ferry") == [make_chunk("a.md").id]
    replace(store, [make_chunk("c.md", text="ferry")])
    assert KeywordStore(tmp_path).versions().keys() == {make_chunk("a.md").id, make_chunk("c.md").id}


@pytest.mark.parametrize(
    "query",
    [
        "", " ", "\0", "a\0b", "+-&&||!(){}[]^\"~*?:\\/", "title:*", "body:[a TO z]",
        "AND OR NOT", '"unclosed', "(((((",
        "*" * 10_000, "a " * 5_000, "x" * 10_000, "\ud800", "\uffff\ufffe", "e\u0301\u200d\u202e", "🦀" * 500, "ſ İ ß",
        "' OR 1=1 --", "<script>", "%00%ff", "\n\r\t\v\f",
    ],
    ids=lambda text: ascii(text)[:20],
)  # fmt: skip
def test_hostile_query_text_never_raises(filled: KeywordStore, query: str) -> None:
    assert len(filled.search(query, 10)) <= 10


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=200))
def test_any_text_can_be_searched_for(filled: KeywordStore, query: str) -> None:
    assert all(score >= 0 for _, score in filled.search(query, 10, "guide"))


@settings(max_examples=40, deadline=None)
@given(text=st.text(alphabet=st.characters(codec="utf-8"), max_size=300))
@pytest.mark.promise(18)
def test_any_text_can_be_indexed(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    store = store_with(tmp_path_factory.mktemp("any"), make_chunk("a.md", text=text + " lighthouse"))
    assert ids_of(store, "lighthouse") == [make_chunk("a.md").id]


def test_words_count_equally_however_they_are_separated(tmp_path: Path) -> None:
    words = ["harbours", "Mastered", "HTTPServer", "snake_case", "a.b-c", "utf8mb4", "数据库", "Größe", "x" * 100] * 3
    separators = [" ", "\n", "\u2003", "\x1c", ",", ",\u3000"]
    chunks = [make_chunk(f"p{'v' * n}.md", text=separator.join(words)) for n, separator in enumerate(separators)]
    store = store_with(tmp_path, *chunks)

    for word in words:
        scores = dict(store.search(word, 20))
        assert set(scores) == {chunk.id for chunk in chunks}
        assert len({round(score, 5) for score in scores.values()}) == 1


def test_scores_equal_those_of_a_search_however_many_chunks_are_scored(filled: KeywordStore) -> None:
    query, ids = "workers shut connections path", [make_chunk(source).id for source in TEXTS]
    every = filled.scores(query, "words", [*ids, *(f"unknown{n}" for n in range(50))])

    assert every == dict(filled.search(query, 20))
    assert every == {id_: score for some in ids for id_, score in filled.scores(query, "words", [some]).items()}
    assert filled.scores("workers", "words", []) == {}
    assert filled.scores("what is it", "path", ["unknown"]) == {}
    assert list(filled.scores("camel", "path", ids)) == [make_chunk("camel.js").id]


def test_a_word_of_every_chunk_keeps_its_weight_when_a_chunk_with_it_was_deleted(tmp_path: Path) -> None:
    store = store_with(tmp_path, *(make_chunk(f"{name}.md", text="The ferry sails.") for name in "abc"))
    replace(store, [make_chunk("d.md", text="The ferry waits.")], [make_chunk("c.md", text="The ferry sails.").id])

    assert store.rarity(["ferry"])["ferry"] > 0


def test_words_in_few_chunks_are_rare_and_stop_words_count_only_without_others(filled: KeywordStore) -> None:
    rarity = filled.rarity(["the", "expanduser", "nowhere"])

    assert rarity["the"] < rarity["expanduser"] < rarity["nowhere"]
    assert ids_of(filled, "what were the connections") == ids_of(filled, "connections")
    assert ids_of(filled, "were")
