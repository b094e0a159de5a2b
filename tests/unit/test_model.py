import gzip
import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lore_etl.core.model import CHUNK as ADAPTER
from lore_etl.core.model import Ancestor, Chunk, KnowledgeType, canonical_json, chunk_id
from lore_etl.core.text import storable
from lore_etl.pipeline.sync import create_only
from lore_etl.stores.catalogue_rows import ChunkRecord
from lore_etl.stores.export import CHUNKS
from tests.harness.projects import ROOT, open_index, write_project

GOLDEN = ROOT / "tests" / "golden" / "chunks.jsonl"
PROJECT = {
    "README.md": "# Ferry\n\nFerry moves jobs from one shore to the other.\n\n## Setup\n\n```sh\nferry init\n```\n",
    "ferry/__init__.py": "",
    "ferry/core.py": 'class Vessel:\n    """Carries jobs."""\n\n    capacity = 3\n',
    "ferry/boats.py": (
        "from ferry.core import Vessel\n\n\nclass Boat(Vessel):\n"
        '    """A small one, for the jobs that are in a hurry and need no room."""\n\n'
        "    def cross(self, jobs: list[str]) -> int:\n"
        '        """Carry what fits, and say how many that were."""\n'
        "        return len(jobs[: self.capacity])\n"
    ),
    "issues/7.md": (
        "---\ntitle: It leaks\nlabels: [bug]\ncreatedAt: 2024-01-02\n---\n# It leaks\n\nWater comes in at the bow.\n\n"
        "### @ann - 2024-01-03T10:00:00Z\n\nFixed by a plank.\n"
    ),
}
CHUNK = Chunk(
    id=chunk_id("project", "a.py", "A"),
    content_hash="c" * 64,
    type=KnowledgeType.SRC,
    kind="class",
    source="a.py",
    title="a.py",
    lines=(1, 2),
    class_name="a.A",
    chain=(Ancestor(class_name="b.B", source="b.py"),),
    text="class A(B):\n    pass",
)


def written(folder: Path) -> str:
    """Return the lines of chunks of a project."""
    with closing(open_index(folder)) as index:
        create_only(index)
        return gzip.decompress((index.folder / CHUNKS).read_bytes()).decode()


@pytest.mark.requirement("NEO-045")
def test_the_chunks_of_a_small_project_equal_the_golden_file(tmp_path: Path) -> None:
    """After an intended change, copy the output over the golden file and review the diff before committing."""
    project = write_project(tmp_path / "ferry-project", PROJECT)

    assert written(project) == GOLDEN.read_text(encoding="utf-8")


def test_a_chunk_survives_a_round_trip_through_its_record() -> None:
    sealed = ChunkRecord.of(CHUNK).chunk

    assert ADAPTER.validate_json(canonical_json(sealed.record())) == sealed
    assert (sealed.record()["class"], sealed.record()["chain"]) == ("a.A", [{"class": "b.B", "source": "b.py"}])
    assert ChunkRecord.of(sealed).row() == ChunkRecord.of(CHUNK).row()


@pytest.mark.parametrize(
    "change", [{"lines": (3, 4)}, {"tags": ("x",)}, {"chain": ()}, {"title": "b"}, {"updated": "2024-01-02"}]
)
@pytest.mark.requirement("NEO-041")
def test_metadata_has_its_own_hash(change: dict[str, Any]) -> None:
    before, after = ChunkRecord.of(CHUNK), ChunkRecord.of(replace(CHUNK, **change))

    assert after.metadata_hash != before.metadata_hash
    assert after.content_hash == before.content_hash == CHUNK.content_hash


def test_moved_lines_change_the_metadata_of_a_chunk_but_not_its_id_or_content(tmp_path: Path) -> None:
    def read(text: str) -> Chunk:
        return ADAPTER.validate_json(written(write_project(tmp_path, {"a.py": text})))

    before, after = read(CHUNK.text + "\n"), read("\n\n" + CHUNK.text + "\n")

    assert (before.lines, after.lines) == ((1, 2), (3, 4))
    assert (before.id, before.content_hash) == (after.id, after.content_hash)
    assert before.metadata_hash != after.metadata_hash


def test_an_id_depends_on_scope_source_and_anchor_and_their_boundaries() -> None:
    ids = [chunk_id("p", "a", "b"), chunk_id("q", "a", "b"), chunk_id("p", "ab", ""), chunk_id("p", "a", "c")]

    assert len(set(ids)) == 4
    assert ids[0] == chunk_id("p", "a", "b")
    assert all(len(id_) == 32 and int(id_, 16) >= 0 for id_ in ids)


def test_equal_values_have_the_same_canonical_json_and_characters_that_no_store_accepts_are_replaced() -> None:
    assert canonical_json({"b": [1, "ü"], "a": None}) == canonical_json({"a": None, "b": [1, "ü"]})
    assert canonical_json({"b": [1, "ü"], "a": None}) == '{"a":null,"b":[1,"ü"]}'
    assert storable("a\0b\x1bc\ud800d ü漢🎉") == "a\N{REPLACEMENT CHARACTER}b�c�d ü漢🎉"
    assert json.loads(canonical_json(storable("\udfff"))) == "�"
