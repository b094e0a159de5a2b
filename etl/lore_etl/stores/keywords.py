"""Search chunks by keywords with tantivy: their words, paths and defined names. Queries are terms, never parsed."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import tantivy

from lore_etl.core.errors import IndexDamaged, explaining
from lore_etl.core.model import Chunk
from lore_etl.stores import integrity
from lore_etl.stores.tokenizer import query_terms, term_text

WRITER_BYTES = 64_000_000
MAX_QUERY_TERMS = 512
LOOKED_AT = 2_000  # hits that are compared with the chunks that pass a filter, unless too few of them pass
FEW = 500  # chunks whose ids may be terms of a query; with more, it is cheaper to read all hits
Field = Literal["words", "path", "names"]
_KNOWN_RUNS = 1 << 15  # a project repeats most of its words
_LONGEST_TERM = 65_000  # bytes; tantivy does not index longer ones
_LONG_RUN = 100  # characters; longer ones are rarely repeated
_REPEATED = 2  # how often the words of title, headings, symbols and path count among the words of a chunk
_TERMS_VERSION = 1  # increase it with every change of `_fields` or `tokenizer` that gives a chunk other words


class _Snapshot(NamedTuple):
    """The index as of a commit, with the chunk ids that searches have read: reading an id from the file takes 4 µs."""

    searcher: tantivy.Searcher
    ids: dict[tuple[int, int], str]


class KeywordStore:
    """The keyword index. Commits are atomic, and the index can be rebuilt from chunks alone. Raises IndexDamaged."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._schema = _schema()
        self.check_files()
        with self._reporting():
            folder.mkdir(parents=True, exist_ok=True)
            self._index = tantivy.Index(self._schema, path=str(folder))
            words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()  # they are stems already
            self._index.register_tokenizer("prose", words)
            self._index.config_reader("manual")
        self.publish()

    def verify(self) -> None:
        """Raise IndexDamaged if any call has found damage since the index was built."""
        if integrity.is_suspect(self._folder):
            raise IndexDamaged("The keyword index is damaged: an earlier call could not use it.")

    def check_files(self, *, by_content: bool = True) -> None:
        """Raise IndexDamaged, and mark the index, if another program has changed its files."""
        self.verify()
        with self._reporting():
            if integrity.changed(self._folder, by_content=by_content):
                integrity.mark(self._folder)
                raise IndexDamaged("The keyword index is damaged: its files have changed since they were written.")

    def replace(self, chunks: Iterable[Chunk], deleted: Iterable[str]) -> None:
        """Add or replace chunks and remove ids in one commit, or change nothing. Raises StorageError."""
        with self._reporting():
            integrity.unseal(self._folder)
            writer = self._index.writer(WRITER_BYTES, 1)
            try:
                for chunk_id in deleted:
                    writer.delete_documents_by_term("id", chunk_id)
                for chunk in chunks:
                    writer.delete_documents_by_term("id", chunk.id)
                    writer.add_document(tantivy.Document(**_fields(chunk)))
                writer.commit()
            finally:
                writer.wait_merging_threads()
            integrity.seal(self._folder)

    def publish(self) -> None:
        with self._reporting():
            self._index.reload()
            self._snapshot = _Snapshot(self._index.searcher(), {})

    def search(
        self, text: str, limit: int, type_: str | None = None, only: Collection[str] | None = None
    ) -> list[tuple[str, float]]:
        """Return (chunk id, BM25 score), best first, of all chunks or of those in `only`."""
        terms = _terms_of(text)
        if not terms or (only is not None and not only):
            return []
        query = _any_of([self._term("words", stem(term)) for term in terms])
        if type_ is not None:
            query = self._only(query, "type", [type_])
        if only is None:
            return self._hits(query, limit)
        if len(only) <= FEW:
            return self._hits(self._only(query, "id", only), limit)
        first = self._hits(query, max(limit, LOOKED_AT))
        hits = [hit for hit in first if hit[0] in only]
        if len(hits) < limit and len(first) == max(limit, LOOKED_AT):
            hits = [hit for hit in self._hits(query) if hit[0] in only]
        return hits[:limit]

    def defining(self, names: Iterable[str], limit: int) -> list[str]:
        """Return the ids of chunks that define one of these names, as written or else in lower case."""
        query = _any_of([self._term("names", name) for name in names])
        return [id_ for id_, _ in self._hits(query, limit)]

    def defined(self, names: Iterable[str]) -> list[str]:
        """Return those of these names that a chunk defines, as written or else in lower case."""
        with self._reporting():
            return [name for name in names if self._snapshot.searcher.doc_freq("names", name)]

    def holding(self, words: Iterable[str]) -> set[str]:
        """Return the ids of the chunks that have all of these words, in the forms found in the index."""
        return {id_ for id_, _ in self._hits(_all_of([self._term("words", stem(word)) for word in words]))}

    def scores(self, text: str, field: Field, ids: Sequence[str]) -> dict[str, float]:
        """Return the BM25 scores of the given chunks whose field contains a word of the text, by chunk id."""
        found = _terms_of(text)
        if not found or not ids:
            return {}
        query = _any_of([self._term(field, stem(term)) for term in found])
        with self._reporting():
            searcher = self._snapshot.searcher
            most = sum(searcher.doc_freq(field, stem(term)) for term in found)
        if most < len(ids):  # reading all matches is cheaper than a query with all ids
            wanted = set(ids)
            return {id_: score for id_, score in self._hits(query, most) if id_ in wanted}
        return dict(self._hits(self._only(query, "id", ids), len(ids)))

    def _only(self, query: tantivy.Query, field: str, values: Iterable[str]) -> tantivy.Query:
        """Restrict a query to the chunks with one of these values, without an effect on their scores."""
        # a set query would compare all ids of the index: for hundreds of ids, this is two to three times as fast
        those = _any_of(self._key(field, value) for value in values)
        return _all_of([query, tantivy.Query.const_score_query(those, 0.0)])

    def _hits(self, query: tantivy.Query, limit: int | None = None) -> list[tuple[str, float]]:
        """Return (chunk id, score) of the best matches, or of all, best first."""
        with self._reporting():
            searcher, ids = self._snapshot
            limit, found = max(1, searcher.num_docs if limit is None else limit), []
            for score, address in searcher.search(query, limit, count=False).hits:
                place = address.segment_ord, address.doc
                if (id_ := ids.get(place)) is None:
                    id_ = ids[place] = searcher.doc(address)["id"][0]
                found.append((id_, score))
            return found

    def rarity(self, words: Iterable[str]) -> dict[str, float]:
        """Return the inverse document frequency of each word among all chunks, with the formula of BM25."""
        with self._reporting():
            searcher = self._snapshot.searcher
            # a word can have more chunks than there are, because tantivy counts deleted ones until it merges files
            counts = {word: min(searcher.num_docs, searcher.doc_freq("words", stem(word))) for word in words}
            return {word: math.log(1 + (searcher.num_docs - n + 0.5) / (n + 0.5)) for word, n in counts.items()}

    def differing(self, chunks: Iterable[Chunk]) -> list[str]:
        """Return the ids of those of these chunks that are not found by all of their words, or have another version."""
        with self._reporting():
            searcher = self._snapshot.searcher
            return [chunk.id for chunk in chunks if searcher.search(self._exactly(chunk), 1).count != 1]

    def _exactly(self, chunk: Chunk) -> tantivy.Query:
        fields = _fields(chunk)
        terms = {(name, fields[name]) for name in ("id", "version", "type")}
        terms |= {(name, term) for name in get_args(Field) for term in fields[name].split()}
        return _all_of(self._key(name, term) for name, term in sorted(terms) if len(term.encode()) <= _LONGEST_TERM)

    def versions(self) -> dict[str, str]:
        """Return the hash of the record that each chunk was indexed from, by id."""
        with self._reporting():
            searcher = self._snapshot.searcher
            hits = searcher.search(tantivy.Query.all_query(), max(1, searcher.num_docs), count=False).hits
            found = (searcher.doc(address) for _, address in hits)
            return {document["id"][0]: document["version"][0] for document in found}

    def count(self) -> int:
        return int(self._snapshot.searcher.num_docs)

    def _reporting(self) -> AbstractContextManager[None]:
        problem = "is damaged: tantivy cannot use it"
        return explaining(lambda error: integrity.explain(error, self._folder, "keyword index", (ValueError,), problem))

    def _term(self, field: Field, term: str) -> tantivy.Query:
        return tantivy.Query.term_query(self._schema, field, term, index_option="freq")

    def _key(self, field: str, value: str) -> tantivy.Query:
        return tantivy.Query.term_query(self._schema, field, value, index_option="basic")


def _any_of(queries: Iterable[tantivy.Query]) -> tantivy.Query:
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, query) for query in queries])


def _all_of(queries: Iterable[tantivy.Query]) -> tantivy.Query:
    return tantivy.Query.boolean_query([(tantivy.Occur.Must, query) for query in queries])


def words_version() -> str:
    """Return a text that changes with the words and weights of the same chunk, so that all are indexed again."""
    return f"{_TERMS_VERSION} {_REPEATED}"


@lru_cache(1 << 14)
def stem(term: str) -> str:
    return str((_stemmer().analyze(term) or [term])[0])


def _terms_of(text: str) -> list[str]:
    return query_terms(text)[:MAX_QUERY_TERMS]


def stems(text: str) -> frozenset[str]:
    return frozenset(_stems(text).split())


@lru_cache(1 << 12)  # questions find the same files again
def path_stems(path: str) -> frozenset[str]:
    return stems(path.replace("/", " "))


def question_stems(text: str) -> frozenset[str]:
    """Return the words that a question is searched by, in the form that the index has."""
    return frozenset(map(stem, _terms_of(text)))


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("version", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("type", tokenizer_name="raw", index_option="basic")
    for field in get_args(Field):
        builder.add_text_field(field, tokenizer_name="prose", index_option="freq")
    return builder.build()


@cache
def _stemmer() -> tantivy.TextAnalyzer:
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    return builder.filter(tantivy.Filter.stemmer("english")).build()


def _stems(text: str) -> str:
    # no term contains white space
    return " ".join(_known_stems(run) if len(run) <= _LONG_RUN else _stems_of(run) for run in text.split())


def _stems_of(text: str) -> str:
    return " ".join(_stemmer().analyze(term_text(text)))


_known_stems = lru_cache(_KNOWN_RUNS)(_stems_of)


def _fields(chunk: Chunk) -> dict[str, str]:
    """Return one field for all words: on code and tickets, it beat several by .05 nDCG@10 (benchmarks/results.md)."""
    path = _stems(chunk.source.replace("/", " "))
    title = chunk.title if chunk.title != chunk.source else ""
    place = f"{path} {_stems(' '.join((title, *chunk.heading, *chunk.symbols, chunk.class_name or '')))} "
    words = place * _REPEATED + _stems(" ".join((*chunk.tags, *chunk.details, chunk.text)))
    return {
        "id": chunk.id,
        "version": chunk.metadata_hash,
        "type": chunk.type.value,
        "path": path,
        "words": words,
        "names": " ".join(_names(chunk.symbols)),
    }


def _names(symbols: Iterable[str]) -> Iterator[str]:
    """Yield the last part of each symbol that is a single word, as written and in lower case."""
    for name in dict.fromkeys(symbol.rpartition(".")[2] for symbol in symbols if not any(map(str.isspace, symbol))):
        yield from dict.fromkeys((name, name.casefold()))
