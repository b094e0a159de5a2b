"""The keyword leg: tantivy over titles, paths, symbols and bodies. Queries are built from terms, never parsed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import tantivy

from etl.errors import IndexDamaged, StorageError
from etl.model import Chunk
from etl.stores import seal
from etl.stores.atomic import is_full
from etl.stores.words import terms

WRITER_BYTES = 64_000_000
MAX_QUERY_TERMS = 64
FIELD_BOOSTS = {"body": 1.0, "title": 1.0, "path": 0.7, "symbols": 1.6}


class KeywordStore:
    """Chunks by their words. Commits are atomic, and the store can be rebuilt from chunks alone.

    Raises:
        IndexDamaged: the files are not as they were left, or tantivy cannot read them.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._schema = _schema()
        self._stemmer = _analyzer()
        if seal.changed(folder):
            raise IndexDamaged("The keyword index is damaged: its files changed since they were written.")
        with self._reporting():
            folder.mkdir(parents=True, exist_ok=True)
            self._index = tantivy.Index(self._schema, path=str(folder))
            self._index.register_tokenizer("prose", self._stemmer)
            self._index.config_reader("manual")
            self._index.reload()

    def replace(self, chunks: Iterable[Chunk], gone: Iterable[str]) -> None:
        """Put chunks in (over those of the same id) and take ids out, in one commit.

        Raises:
            StorageError: nothing was changed.
        """
        with self._reporting():
            seal.unseal(self._folder)
            writer = self._index.writer(WRITER_BYTES, 1)
            try:
                for one in gone:
                    writer.delete_documents_by_term("id", one)
                for chunk in chunks:
                    writer.delete_documents_by_term("id", chunk.id)
                    writer.add_document(_document(chunk))
                writer.commit()
            finally:
                writer.wait_merging_threads()
            self._index.reload()
            seal.seal(self._folder)

    def search(self, text: str, limit: int, type_: str | None = None) -> list[tuple[str, float]]:
        """(chunk id, BM25 score), best first."""
        wanted = list(dict.fromkeys(terms(text)))[:MAX_QUERY_TERMS]
        if not wanted:
            return []
        query = tantivy.Query.boolean_query([(tantivy.Occur.Should, self._term(term)) for term in wanted])
        if type_ is not None:
            only = tantivy.Query.term_query(self._schema, "type", type_, index_option="basic")
            free = tantivy.Query.const_score_query(only, 0.0)
            query = tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.Must, free)])
        with self._reporting():
            searcher = self._index.searcher()
            hits = searcher.search(query, limit, count=False).hits
            return [(searcher.doc(address)["id"][0], float(score)) for score, address in hits]

    def ids(self) -> set[str]:
        """The id of every chunk in the store."""
        with self._reporting():
            searcher = self._index.searcher()
            if not searcher.num_docs:
                return set()
            hits = searcher.search(tantivy.Query.all_query(), searcher.num_docs, count=False).hits
            return {searcher.doc(address)["id"][0] for _, address in hits}

    def count(self) -> int:
        """How many chunks the store holds."""
        return int(self._index.searcher().num_docs)

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StorageError(f"The keyword index failed: {error.strerror}.") from error
        except ValueError as error:
            if is_full(self._folder):
                raise StorageError("The keyword index failed: the disk is full.") from error
            raise IndexDamaged("The keyword index is damaged: tantivy cannot read it.") from error

    def _term(self, term: str) -> tantivy.Query:
        stem = (self._stemmer.analyze(term) or [term])[0]
        queries: Sequence[tantivy.Query] = [
            tantivy.Query.boost_query(
                tantivy.Query.term_query(
                    self._schema, field, term if field in ("path", "symbols") else stem, index_option="freq"
                ),
                boost,
            )
            for field, boost in FIELD_BOOSTS.items()
        ]
        return tantivy.Query.disjunction_max_query(queries, tie_breaker=0.3)


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("type", tokenizer_name="raw", index_option="basic")
    for field in ("path", "symbols"):
        builder.add_text_field(field, tokenizer_name="whitespace", index_option="freq")
    for field in ("title", "body"):
        builder.add_text_field(field, tokenizer_name="prose", index_option="freq")
    return builder.build()


def _analyzer() -> tantivy.TextAnalyzer:
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    return builder.filter(tantivy.Filter.stemmer("english")).build()


def _document(chunk: Chunk) -> tantivy.Document:
    headings = " ".join((chunk.title if chunk.title != chunk.source else "", *chunk.heading))
    return tantivy.Document(
        id=chunk.id,
        type=chunk.type.value,
        path=" ".join(terms(chunk.source.replace("/", " "))),
        symbols=" ".join(terms(" ".join((*chunk.symbols, chunk.class_name or "")))),
        title=" ".join(terms(headings)),
        body=" ".join(terms(f"{chunk.text} {' '.join(chunk.tags)}")),
    )
