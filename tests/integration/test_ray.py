"""`lore embed --on ray`: a cluster computes the vectors of a project, and a killed worker costs only a repetition."""

import json
import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from lore_etl.chunking.fit import embedding_input
from lore_etl.config.settings import EmbeddingSettings, Settings
from lore_etl.core.extras import missing_packages
from lore_etl.core.json_types import JSON
from lore_etl.index import Index
from lore_etl.models.model_cache import DEFAULT_MODEL
from lore_etl.pipeline.embed import _embedded_there
from lore_etl.pipeline.sync import sync
from tests.harness.commands import run_lore
from tests.harness.models import LOADED
from tests.harness.projects import write_project
from tests.harness.ray_cluster import HALF, PACK_TEXTS, in_namespace

pytestmark = pytest.mark.later

PAGES = 1_000
SHARED = '[embedding]\nshared = "{}"\nshared_writes = true\n'
TRAP = "open({marker!r}, 'w').close()\n"
needs_ray = pytest.mark.skipif(bool(missing_packages("ray")), reason="needs ray (CONTRIBUTING.md)")


def configured(folder: Path, files: dict[str, str]) -> tuple[Path, Path]:
    """Return a project, and a configuration of its user that shares vectors in the folder `target`."""
    config = folder / "config.toml"
    config.write_text(SHARED.format(folder / "target") + "cache_mb = 0\n", encoding="utf-8")
    return write_project(folder / "project", files), config


def page(number: int) -> str:
    return f"# Page {number}\n\nThe ferry number {number} crosses at {number % 24} o'clock, unless a storm rises.\n"


def on_cluster(project: Path, config: Path, victim: str) -> tuple[int, int, int, JSON]:
    with tempfile.TemporaryDirectory(dir="/tmp") as scratch:  # the names of sockets are short
        done = in_namespace(str(project), str(config), str(config.parent / "target"), scratch, victim)
    assert done.returncode == 0, done.stderr
    killed, packs, code, output = json.loads(done.stdout)
    return killed, packs, code, output


@needs_ray
@pytest.mark.parametrize("victim", ["worker", "node", "command"])
def test_a_cluster_embeds_each_text_once_though_half_way_a_part_of_it_is_killed(tmp_path: Path, victim: str) -> None:
    target, marker = tmp_path / "target", tmp_path / "imported"
    trap = TRAP.format(marker=str(marker))
    files = {f"docs/{number}.md": page(number) for number in range(PAGES)}
    traps = {f"{name}.py": trap for name in ("onnxruntime", "tokenizers", "numpy", "lore_etl", "sitecustomize")}
    project, config = configured(tmp_path, {**files, **traps})
    killed, packs, code, report = on_cluster(project, config, victim)

    assert (killed, code) == (1, 0) and HALF <= packs <= PAGES // PACK_TEXTS  # there is one more
    assert not marker.exists()  # workers did not import modules of the project
    assert report["warnings"] == [] and report["created"] + report["unchanged"] >= PAGES

    lists = [file.read_bytes()[32:] for file in target.glob("*/*.keys")]
    shared = [packed[at : at + 32] for packed in lists for at in range(0, len(packed), 32)]
    earlier = packs * PACK_TEXTS if victim == "command" else 0  # of the killed command
    assert len(shared) == len(set(shared)) == report["embedded"] + earlier
    settings = Settings(embedding=EmbeddingSettings(shared=str(target), cache_mb=0))
    with closing(Index(write_project(tmp_path / "second", {**files, **traps}), settings, LOADED)) as second:
        synced = sync(second)
        assert (synced.embedded, synced.warnings) == (0, [])
        texts = {key.content_hash: key.id for key in second.catalogue.chunk_keys()}
        chunks = second.catalogue.chunks(texts.values())
        vectors = second.cache.get(texts)
        here = LOADED.open().embed([embedding_input(chunks[texts[name]]) for name in vectors])
    assert len(vectors) == len(shared) >= PAGES
    assert np.abs(here - np.stack(list(vectors.values()))).max() < 1e-3


@needs_ray
def test_vectors_that_are_not_those_of_their_texts_are_not_shared(tmp_path: Path) -> None:
    project, config = configured(tmp_path, {"docs/a.md": page(1)})
    killed, packs, code, problem = on_cluster(project, config, "truth")

    assert (killed, packs, code) == (0, 0, 74)
    assert "its vectors are not those of this machine" in str(problem)


def test_a_worker_with_another_model_refuses() -> None:
    with pytest.raises(ValueError, match="a worker has another model"):
        _embedded_there(DEFAULT_MODEL, "of another version", ["a text"])


@needs_ray
@pytest.mark.parametrize("address", ["auto", "local", "127.0.0.1:1", "ray://127.0.0.1:1"])
def test_a_cluster_that_the_user_did_not_name_or_start_is_not_looked_for(tmp_path: Path, address: str) -> None:
    project, config = configured(tmp_path, {"docs/a.md": page(1)})
    done = run_lore("-c", str(config), "embed", "--on", "ray", "--address", address, cwd=project)

    assert done.returncode == 74 and f"The cluster at {address} did not embed all texts" in done.stderr


@pytest.mark.parametrize(
    "own",
    ["", 'shared = "/nowhere"', "shared_writes = true", 'provider = "gemini"\nshared = "/n"\nshared_writes = true'],
)
def test_texts_stay_here_unless_the_user_lets_a_local_model_share_vectors(tmp_path: Path, own: str) -> None:
    project, config = configured(tmp_path, {"docs/a.md": page(1), "lore.toml": SHARED.format("s3://theirs")})
    config.write_text(f"[embedding]\n{own}\n", encoding="utf-8")
    command = ["-c", str(config), "embed", "--on", "ray", "--address", "127.0.0.1:1"]
    done = run_lore(*command, cwd=project, GEMINI_API_KEY="key")

    assert done.returncode != 0 and "`embedding.shared_writes`" in done.stderr
