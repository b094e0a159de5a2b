"""Write small projects to disk for tests, and copy the sample project."""

import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

from lore_etl.config.settings import Settings
from lore_etl.core.model import Chunk, SyncReport
from lore_etl.files.scan import RACY_NS
from lore_etl.index import DEFAULT_LIMITS, Index, LoadLimits
from lore_etl.pipeline.sync import sync
from lore_etl.stores.claim import adopt
from tests.harness.models import HashModel

ROOT = Path(__file__).parents[2]
SMALL = LoadLimits(embed_batch=32, rebuild_minimum=60)
"""Settings with which a tree of 70 sections is embedded in three batches and rebuilt when most of it changes."""
SAMPLE = ROOT / "data" / "sample"


def write_project(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files that are old enough for their time stamps to be trusted."""
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
    settle(folder)
    return folder


def copy_project(
    source: Path, target: Path, *without: str, copy_function: Callable[[str, str], object] = shutil.copy2
) -> Path:
    """Copy a project, except the names in `without`; adopt its index if it has one."""
    shutil.copytree(source, target, True, shutil.ignore_patterns("owner.*", *without), copy_function)
    settle(target)
    if (target / ".lore").exists():
        adopt((target / ".lore").resolve())
    return target


def settle(folder: Path) -> None:
    """Wait until no file of the project counts as just written (a bounded wait on the file system's clock)."""
    newest = max((path.lstat().st_ctime_ns for path in folder.rglob("*") if ".lore" not in path.parts), default=0)
    while (left := newest + RACY_NS - time.time_ns()) > 0:
        time.sleep(left / 1e9)


def open_index(
    folder: Path, settings: Settings | None = None, model: HashModel | None = None, limits: LoadLimits = DEFAULT_LIMITS
) -> Index:
    """Open an index of the folder with the stand-in model."""
    return Index(folder.resolve(), settings or Settings(), model or HashModel(), limits=limits)


def sync_once(
    folder: Path, settings: Settings | None = None, model: HashModel | None = None, limits: LoadLimits = DEFAULT_LIMITS
) -> SyncReport:
    """Sync an index of the folder with the stand-in model, and close it."""
    with closing(open_index(folder, settings, model, limits)) as index:
        return sync(index)


def chunks_of(index: Index, source: str | None = None) -> list[Chunk]:
    """Return the chunks of the catalogue."""
    return [chunk for chunk in index.catalogue.every_chunk() if source in (None, chunk.source)]


def ids_everywhere(index: Index) -> tuple[set[str], set[str], set[str]]:
    """Return the chunk ids in the catalogue, in Chroma and in tantivy."""
    vectors = {row.partition(".")[0] for row in index.vectors.rows()}
    return {chunk.id for chunk in chunks_of(index)}, vectors, set(index.keywords.versions())
