"""Records of a corpus are typed and chunked as files, each as its own document."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from lore_etl.core.model import Chunk, KnowledgeType, SyncReport
from lore_etl.index import Index
from lore_etl.pipeline.corpus import CorpusRecord, load_records
from lore_etl.pipeline.sync import sync
from lore_etl.stores.claim import CATALOGUE
from lore_etl.stores.export import CHUNKS
from lore_server.query.parse import parse
from lore_server.query.retrieve import retrieve
from tests.harness.indexes import unfindable
from tests.harness.models import HashModel
from tests.harness.projects import chunks_of, ids_everywhere, open_index, write_project

PYTHON = "class Vessel:\n    '''Anything that floats.'''\n\n    def sail(self):\n        return 'sailing'\n"
RECORDS = [
    CorpusRecord("docs/tide.md", "# Tide\n\nTables of the tide are kept by the harbour master.\n", path="docs/tide.md"),
    CorpusRecord("c0", PYTHON, "Vessels", path="src/vessel.py"),
    CorpusRecord("c1", "export class Berth {\n    free() { return true }\n}\n", language="JavaScript"),
    CorpusRecord("4983", "The ferry crosses at dawn.", "Crossings"),
]


@pytest.fixture
def index(tmp_path: Path, model: HashModel) -> Iterator[Index]:
    with closing(open_index(tmp_path / "bench", model=model)) as opened:
        yield opened


def load(index: Index, records: Sequence[CorpusRecord] = RECORDS) -> SyncReport:
    return load_records(index, records)[1]


def chunks(index: Index, *records: CorpusRecord) -> list[Chunk]:
    """Return the chunks of these records after loading only them."""
    load(index, records)
    return chunks_of(index)


def found(index: Index, question: str) -> set[str]:
    return {
        candidate.chunk.source for candidate in retrieve(index, parse(question), None, 10).found if candidate.keyword
    }


# --- types of records --------------------------------------------------------------------------------------------


def test_all_stores_contain_the_records_and_each_is_found_by_word_and_by_vector(index: Index) -> None:
    sources, report = load_records(index, RECORDS)

    ids, vectors, words = ids_everywhere(index)
    assert ids == vectors == words
    assert report.created == report.embedded == len(ids)
    assert sources == {"docs/tide.md": "docs/tide.md", "c0": "src/vessel.py", "c1": "c1", "4983": "4983"}
    assert found(index, "harbour master") == {"docs/tide.md"}
    assert found(index, "ferry at dawn") == {"4983"}
    assert unfindable(index) == []


@pytest.mark.parametrize(
    ("path", "type_"),
    [
        ("docs/guide.md", "guide"), ("src/a.py", "src"), ("tests/test_a.py", "test"), ("examples/a.mjs", "example"),
        ("issues/issue-3.md", "ticket"), ("CHANGELOG.md", "release"), ("docs/adr/0001-a.md", "adr"),
        ("CLAUDE.md", "rule"), ("blog/a.md", "blog"), ("styles/a.scss", "src"),
    ],
)  # fmt: skip
def test_a_record_with_a_path_has_the_type_of_a_file_at_that_path(index: Index, path: str, type_: str) -> None:
    (only,) = chunks(index, CorpusRecord("7", "# Alpha\n\nSomething of it.\n", path=path))

    assert (only.type.value, only.source) == (type_, path)


def test_a_record_with_a_path_is_chunked_like_a_file_at_that_path(index: Index, tmp_path: Path) -> None:
    files = {
        "docs/guide.md": "---\ntitle: The harbour\ntags: [sea]\n---\n# Harbour\n\n## Tides\n\n" + "It rises. " * 90,
        "src/app/__init__.py": "",
        "src/app/vessel.py": PYTHON,
        "src/app/ship.py": "from app.vessel import Vessel\n\n\nclass Ship(Vessel):\n    pass\n",
        "web/berth.mjs": "export class Berth {\n    free() { return true }\n}\n",
        "docs/page.rst": "Page\n====\n\nText of it.\n",
        "notes/broken.md": "---\ntitle: [\n---\n# Broken\n\nFront matter.\n",
    }
    project = open_index(write_project(tmp_path / "project", files), model=HashModel())
    sync(project)
    of_files = [chunk for chunk in chunks_of(project) if "broken" not in chunk.source]
    project.close()

    of_records = chunks(index, *(CorpusRecord(str(n), files[path], path=path) for n, path in enumerate(files)))

    assert [record for record in of_records if "broken" not in record.source] == of_files
    assert index.hierarchy.named("Ship") == ["app.ship.Ship"]
    assert [ancestor.class_name for ancestor in index.hierarchy.chain("app.ship.Ship")] == ["app.vessel.Vessel"]


KINDS: list[tuple[CorpusRecord, dict[str, object]]] = [
    (CorpusRecord("7", "---\ntitle: [\n---\n# Broken\n\nIt is there.\n", path="notes/broken.md"),
     {"text": "# Broken\n\nIt is there.", "title": "Broken", "lines": (4, 6)}),
    (CorpusRecord("c0", PYTHON, "Vessels", language="Python"),
     {"type": "src", "source": "c0", "title": "Vessels", "symbols": ("Vessel", "Vessel.sail")}),
    (CorpusRecord("c0", PYTHON, language="cobol"), {"type": "src", "symbols": ()}),
    (CorpusRecord("MED-10", "# not a heading\nThe ferry crosses.", "Crossings"),
     {"type": "guide", "source": "MED-10", "title": "Crossings", "heading": ()}),
    (CorpusRecord("St._Louis", "A city.", "St. Louis", path="St._Louis"),  # the path is only a guess
     {"type": "guide", "title": "St. Louis", "source": "St._Louis"}),
    (CorpusRecord("7", "x = 1", "Nice", path="lib/a.lua"),
     {"type": "src", "title": "lib/a.lua", "source": "lib/a.lua"}),
    (CorpusRecord("1", "one\r\ntwo\rthree\nfour"), {"text": "one\ntwo\nthree\nfour", "lines": (1, 4)}),
]  # fmt: skip


@pytest.mark.parametrize(("record", "expected"), KINDS)
def test_a_record_is_read_by_its_path_or_language_or_as_a_text(
    index: Index, record: CorpusRecord, expected: dict[str, object]
) -> None:
    (only,) = chunks(index, record)

    assert {name: getattr(only, name) for name in expected} == expected


# --- separate documents ------------------------------------------------------------------------------------------


def test_records_with_the_same_path_are_separate_documents_even_if_another_has_the_name_of_the_second(
    index: Index,
) -> None:
    parts = [
        CorpusRecord("one", "def dawn():\n    return 'ferry'\n", path="src/a.py"),
        CorpusRecord("two", "def dusk():\n    return 'tide'\n", path="src/a.py"),
        CorpusRecord("three", "def noon():\n    return 'berth'\n", path="src/a.py"),
    ]
    sources, _ = load_records(index, parts)
    assert sources == {"one": "src/a.py", "two": "src/a.py#2", "three": "src/a.py#3"}
    assert found(index, "tide") == {"src/a.py#2"}
    assert {chunk.type for chunk in chunks_of(index)} == {KnowledgeType.SRC}
    assert [chunk.symbols for chunk in chunks_of(index)] == [("dawn",), ("dusk",), ("noon",)]

    texts = [
        CorpusRecord("src/a.py#2", "tide", path="src/a.py#2"),
        *(CorpusRecord(n, f"ferry {n}", path="src/a.py") for n in "xy"),
    ]
    sources, _ = load_records(index, texts)
    assert len(set(sources.values())) == len({chunk.source for chunk in chunks_of(index)}) == 3


def test_a_record_without_text_is_a_document_that_no_search_finds(index: Index) -> None:
    sources, report = load_records(index, [CorpusRecord("empty", " \n"), *RECORDS])

    assert "empty" in sources
    assert report.failed == []
    assert "empty" not in {chunk.source for chunk in chunks_of(index)}


# --- repeated loads ----------------------------------------------------------------------------------------------


def test_a_second_load_reads_and_embeds_nothing(tmp_path: Path, model: HashModel) -> None:
    with closing(open_index(tmp_path / "bench", model=model)) as first:
        load(first)
        chunks = chunks_of(first)
    stages: list[str] = []
    with closing(open_index(tmp_path / "bench", model=model)) as second:
        _, report = load_records(second, RECORDS, lambda stage, done, total: stages.append(stage))

        assert (report.embedded, report.created, report.updated, report.unchanged) == (0, 0, 0, len(chunks))
        assert len(model.embedder.embedded) == len(chunks)
        assert chunks_of(second) == chunks
        assert stages == []


def test_only_a_changed_record_is_embedded_and_chunked_again_and_the_index_has_exactly_the_last_records(
    index: Index, model: HashModel
) -> None:
    load(index)
    before = len(model.embedder.embedded)
    changed = load(index, [*RECORDS[:-1], CorpusRecord("4983", "The ferry crosses at dusk.", "Crossings")])
    assert (changed.embedded, changed.updated, changed.created, changed.deleted) == (1, 1, 0, 0)
    assert model.embedder.embedded[before:] == ["Crossings\nThe ferry crosses at dusk."]
    assert found(index, "ferry at dusk") == {"4983"}
    assert load(index, RECORDS[:1]).deleted > 0
    assert {chunk.source for chunk in chunks_of(index)} == {"docs/tide.md"}
    assert found(index, "ferry at dusk") == set()
    assert unfindable(index) == []

    assert chunks(index, CorpusRecord("c0", PYTHON, language="cobol"))[0].symbols == ()
    assert "Vessel" in chunks(index, CorpusRecord("c0", PYTHON, language="python"))[0].symbols


@pytest.mark.parametrize("name", [CATALOGUE, CHUNKS])
def test_a_damaged_file_is_rebuilt_without_embedding(tmp_path: Path, model: HashModel, name: str) -> None:
    with closing(open_index(tmp_path / "bench", model=model)) as first:
        load(first)
    (first.folder / name).write_bytes(b"garbage " * 600)
    before = len(model.embedder.embedded)

    with closing(open_index(tmp_path / "bench", model=model)) as index:
        load(index)
        assert found(index, "ferry at dawn") == {"4983"}
        assert unfindable(index) == []
    assert len(model.embedder.embedded) == before


def test_chunks_of_an_interrupted_load_are_not_mistaken_for_those_of_the_previous_load(
    tmp_path: Path, index: Index
) -> None:
    """The process was killed after it had indexed the words of the other records."""
    with closing(open_index(tmp_path / "other")) as other:
        load(other, RECORDS[:1])
        chunks = chunks_of(other)
    load(index, RECORDS[1:])
    index.catalogue.set_meta(dirty="1")
    index.keywords.replace(chunks, [chunk.id for chunk in chunks_of(index)])

    load(index, RECORDS[1:])

    assert {chunk.source for chunk in chunks_of(index)} == {"src/vessel.py", "c1", "4983"}
    assert found(index, "harbour master") == set()


# --- stored text -------------------------------------------------------------------------------------------------


def test_secrets_are_redacted_from_texts_and_titles_and_control_characters_are_harmless(
    index: Index, model: HashModel
) -> None:
    secret = "AKIA" + "ABCDEFGHIJKLMNOP"
    load(
        index,
        [
            CorpusRecord("1", f"the key is {secret}", f"about {secret}"),
            CorpusRecord("2", f"k = '{secret}'\n", path="a.py"),
        ],
    )
    assert all(secret not in chunk.text + chunk.title for chunk in chunks_of(index))
    assert all(secret not in text for text in model.embedder.embedded)
    assert all(secret.encode() not in file.read_bytes() for file in index.folder.rglob("*") if file.is_file())

    load(index, [CorpusRecord("1", "the ferry\x00 crosses\x1b at dawn", "A\ttitle\x07")])
    assert found(index, "ferry") == {"1"}
