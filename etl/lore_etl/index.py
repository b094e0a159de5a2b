"""Open the index of a project: its folder, its lock and its stores, each on first use."""

import logging
import threading
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from lore_etl.chunking.fit import RECIPE_VERSION
from lore_etl.chunking.tokens import TokenCounter
from lore_etl.config.project import cache_folder, index_folder, private_folder
from lore_etl.config.settings import Settings
from lore_etl.core.atomic import put_aside, read_if_any, remove_folder, write_atomically
from lore_etl.core.errors import Busy, IndexMissing, StorageError, os_errors_as
from lore_etl.core.progress import Progress
from lore_etl.files.conversion.sandbox import DEFAULT_BUDGET, SyncBudget
from lore_etl.files.git_folder import Head
from lore_etl.files.indexed import KnowledgeFolder, ProjectFiles
from lore_etl.models.embedder import ConfiguredModel, Embedder
from lore_etl.relations.classes import Hierarchy
from lore_etl.stores import integrity
from lore_etl.stores.catalogue import Catalogue
from lore_etl.stores.chroma.backend import Patience
from lore_etl.stores.chroma.generations import generations_of
from lore_etl.stores.chroma.vector_store import VectorStore
from lore_etl.stores.claim import CATALOGUE, LOCK, claim, inspect, is_ours, remark
from lore_etl.stores.embedding_cache import EmbeddingCache, SharedVectors
from lore_etl.stores.keywords import KeywordStore
from lore_etl.stores.owner_file import living_note, my_note, read_note, remove_note, write_note
from lore_etl.stores.readable import adjust_reserve, copy_stores, folder_of_stores, remove_copy
from lore_etl.stores.snapshot import Derived, Gate, Snapshot
from lore_etl.stores.vector_packs import VectorPacks

KEYWORDS = "keywords"
RELEASE_SECONDS = 5.0
PAUSE_SECONDS = 0.02
CLASSES = Derived[Hierarchy]("class tree")
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LoadLimits:
    """The limits of a sync, and the sizes that control how chunks are loaded into the stores."""

    embed_batch: int = 256  # the maximum number of chunks to embed again after an interruption
    first_words: int = 500  # chunks of a first sync that become searchable by keywords before the other files are read
    more_words: int = 4_000  # chunks in a later portion, or a quarter of those before; the last one is indexed alone
    unreached: float = 0.001  # share of the vectors that a search may miss for good, as HNSW is an approximation
    rebuild_minimum: int = 500  # vectors; a smaller index is renewed as rarely as one of this size
    conversion: SyncBudget = DEFAULT_BUDGET  # no setting, because a project may come from an attacker


DEFAULT_LIMITS = LoadLimits()


class Ownership:
    """The lock of an index, held from its first use to its close; the system releases it if the process is killed.

    It is in the folder of the stores, which differs from a read-only index folder. A note names the owner.
    """

    def __init__(self, folder: Path, kind: str = "direct", stores: Path | None = None) -> None:
        self._folder = folder
        # acquired in one thread, released in another
        self._lock = FileLock((stores or folder) / LOCK, mode=0o600, thread_local=False)
        self._note = my_note(kind)

    def take(self, wait_seconds: float = RELEASE_SECONDS) -> None:
        """Own the index, and do not wait for an owner that is running. Raises Busy, StorageError.

        Wait for a holder without a note, or whose process has ended: it is ending, starting, or only checking the lock.
        """
        try:
            self._lock.acquire(wait_seconds, PAUSE_SECONDS, cancel_check=lambda: living_note(self._folder) is not None)
        except Timeout as error:
            note = read_note(self._folder)
            holder = f"`{note.command}` (pid {note.pid}) since {note.since}" if note else "it is unidentified"
            hint = "Wait for it to finish and try again."
            if note is not None and note.address:
                hint = "Stop it with `lore stop`, or use it with a command without --no-daemon."
            raise Busy(f"Another process owns this index: {holder}.", hint) from error
        except OSError as error:
            inspect(self._folder)  # reports the cause, if the lock is a symlink
            raise StorageError(f"Cannot write to the index folder {self._folder.name}/: {error.strerror}.") from error
        with suppress(OSError):  # on a full disk the index can still be read
            write_note(self._folder, self._note)

    def release(self) -> None:
        if self._lock.is_locked:
            remove_note(self._folder, self._note)
        self._lock.release()


class Index:
    """The index of a project, opened and owned from its first use to `close`. Raises ConfigError for a wrong database.

    A `published` index has the texts of a commit, and no files to compare them with. `folder` has the stores: it is
    `index_folder`, or a private copy of an index folder that cannot be written.
    """

    def __init__(
        self,
        root: Path,
        settings: Settings,
        model: ConfiguredModel | None = None,
        knowledge: KnowledgeFolder | None = None,
        limits: LoadLimits = DEFAULT_LIMITS,
        published: Head | None = None,
    ) -> None:
        self.root = root
        self.limits = limits
        self.settings = settings
        self.published = published
        self._model = model or ConfiguredModel(settings.embedding)
        self.index_folder = index_folder(root, settings.index.path)
        self.folder = folder_of_stores(self.index_folder)
        self.files = ProjectFiles(root, settings.index.exclude, self.index_folder, knowledge, settings.index.include)
        self.generations = generations_of(self.folder, settings.database)
        self.gate = Gate()
        self.patience = Patience()
        self._guard = threading.RLock()
        self._loading = threading.Lock()
        self._embedder: Embedder | None = None
        self._tokens: TokenCounter | None = None
        self._ownership: Ownership | None = None
        self._catalogue: Catalogue | None = None
        self._keywords: KeywordStore | None = None
        self._vectors: VectorStore | None = None
        self._cache: EmbeddingCache | None = None

    def exists(self) -> bool:
        """Return whether there is an index on disk that Lore created. Creates no files."""
        is_known = self._ownership is not None or is_ours(self.index_folder)
        return is_known and (self.index_folder / CATALOGUE).exists()

    @property
    def is_read_only(self) -> bool:
        return self.folder != self.index_folder

    def own(self, kind: str = "direct") -> None:
        """Create the folder, and take its lock as an owner of a kind. Raises Busy, ForeignIndex, StorageError."""
        with self._guard:
            if self._ownership is not None:
                return
            with os_errors_as(StorageError, "Cannot create the index folder"):
                notice = claim(self.index_folder)
            if self.is_read_only:
                with os_errors_as(StorageError, "Cannot create a copy of the index, which is read-only"):
                    private_folder(self.folder.parent)
                    private_folder(self.folder)
            if notice:
                log.warning(notice)
            ownership = Ownership(self.index_folder, kind, self.folder)
            ownership.take()
            try:
                inspect(self.index_folder)
                if self.is_read_only:
                    with os_errors_as(StorageError, "Cannot copy the index, which is read-only"):
                        copy_stores(self.index_folder, self.folder)
                else:
                    adjust_reserve(self.index_folder)
            except BaseException:
                ownership.release()
                raise
            self._ownership = ownership
            for left_by_a_crash in self.folder.glob("*.tmp"):
                left_by_a_crash.unlink(missing_ok=True)

    def require(self) -> None:
        """Own an index that has been synced. Raises IndexMissing, Busy."""
        if not self.exists():
            hint = f"{IndexMissing.default_hint} {remark(self.index_folder)}".strip()
            raise IndexMissing("This project has no index yet.", hint)
        self.own()

    def own_for_writing(self) -> None:
        """Own the index in order to change it. Raises the errors of `own`, and StorageError if it is read-only."""
        if self.is_read_only:
            message = f"The index is read-only: {self.index_folder} cannot be written."
            raise StorageError(message, "Make it writable, or set index.path to another folder, then sync again.")
        self.own()
        inspect(self.index_folder)  # a checkout may have put links there meanwhile

    @property
    def catalogue(self) -> Catalogue:
        with self._guard:
            self.own()
            self._catalogue = self._catalogue or Catalogue(self.folder)
            return self._catalogue

    @property
    def snapshot(self) -> Snapshot:
        return self.catalogue.snapshot

    @property
    def keywords(self) -> KeywordStore:
        with self._guard:
            if self._keywords is None:
                self.mark_exchanged_stores()
                self._keywords = KeywordStore(self.folder / KEYWORDS)
            return self._keywords

    @property
    def vectors(self) -> VectorStore:
        """Return the current store, reopened if its server has died. Raises IndexDamaged, DatabaseUnavailable."""
        import lore_etl.stores.chroma.client  # noqa: F401 - before the guard is taken: other threads do not wait for it

        with self._guard:
            if self._vectors is not None and not self._vectors.is_alive():
                self.release_vectors()
            if self._vectors is None:
                self.mark_exchanged_stores()
                self._vectors = self.generations.open(self.generation, self.catalogue.with_vector())
            return self._vectors

    @property
    def generation(self) -> int:
        return int(self.catalogue.meta("generation") or 1)

    def bind_stores(self, load: str) -> None:
        """Write the id of a load, which the catalogue gets next, into the stores. Raises StorageError."""
        for store in self._bound_stores():
            write_atomically(store / integrity.LOAD, (load,))

    def mark_exchanged_stores(self) -> None:
        """Mark stores of another load, such as a backup's: they are intact, and a search would find what was."""
        dirty, load = self.catalogue.metas("dirty", "bound")
        for store in self._bound_stores() if dirty is None and load is not None else ():
            if read_if_any(store / integrity.LOAD) != load:
                integrity.mark(store)

    def _bound_stores(self) -> list[Path]:
        return [store for name in (KEYWORDS, f"vectors-{self.generation}") if (store := self.folder / name).is_dir()]

    def use(self, store: VectorStore | None) -> None:
        """Switch to the vector store of another generation, and close the old store."""
        with self._guard:
            old, self._vectors = self._vectors, store
        if old is not None and old is not store:
            old.close()

    def release_vectors(self) -> None:
        self.use(None)

    def has_open_vectors(self) -> bool:
        """Return whether the vector store is open in this process and its server is running."""
        store = self._vectors
        return store is not None and store.is_alive()

    def reset_keywords(self) -> None:
        """Delete a damaged keyword index; the next use creates an empty index."""
        with self._guard:
            self._keywords = None
            remove_folder(self.folder / KEYWORDS)
            integrity.unmark(self.folder / KEYWORDS)

    def reset_catalogue(self) -> None:
        """Set a damaged catalogue aside; the next use creates an empty one, which counts generations from 1 again."""
        with self._guard:
            self.release_vectors()  # otherwise a rebuild could delete the folder of the open generation
            if self._catalogue is not None:
                self._catalogue.close()
            self._catalogue = None
            put_aside(self.folder / CATALOGUE)
            integrity.unmark(self.folder / CATALOGUE)

    def prepare_model(self, progress: Progress, may_download: bool = True) -> None:
        """Compile the model if necessary; download it only if allowed. Raises ConfigError, ProviderUnavailable."""
        self._model.prepare(progress, may_download)

    @property
    def embedder(self) -> Embedder:
        """Return the model, loaded on first use. Raises ConfigError, ProviderError."""
        with self._loading:
            self._embedder = self._embedder or self._model.open()
            return self._embedder

    def tokens(self) -> TokenCounter:
        """Return the counter of the model's tokens, without loading the model. Raises ConfigError, ProviderError."""
        self._tokens = self._tokens or self._model.tokens()
        return self._tokens

    @property
    def model(self) -> str:
        """Return an identifier of the configured model and input recipe, without loading the model."""
        return f"{self._model.fingerprint} recipe {RECIPE_VERSION}"

    @property
    def cache(self) -> EmbeddingCache:
        """Return the embedding cache, which is kept across generations."""
        dimension = self.embedder.dimension  # before the guard is taken: other threads do not wait for loading
        with self._guard:
            if self._cache is None:
                self.own()
                settings, shared = self.settings.embedding, None
                # a model at an unusual endpoint may be another one in other projects
                if self._model.shares_vectors and not settings.base_url and settings.cache_mb:
                    shared = SharedVectors(cache_folder() / "vectors", settings.cache_mb * 1_000_000)
                self._cache = EmbeddingCache(self.folder, self.model, dimension, shared)
            return self._cache

    def preload(self) -> None:
        """Load chunks and their vectors into memory, as many as fit, so that the first searches need not."""
        cache = self.cache
        for hashes in self.catalogue.preload():
            cache.kept_values(hashes)

    def vector_packs(self) -> VectorPacks | None:
        """Return the vectors that machines share, if there are any for this model. Raises PackageMissing."""
        settings = self.settings.embedding
        if not settings.shared or settings.base_url:  # the name of a model may mean another one at that address
            return None
        return VectorPacks(settings.shared, self.model, self.embedder.dimension)

    @property
    def hierarchy(self) -> Hierarchy:
        """Return the class tree. Raises IndexMissing, CatalogueDamaged."""
        if self.catalogue.meta("layout") is None and not self.catalogue.total():
            raise IndexMissing("The index is empty.")
        return self.snapshot.read(CLASSES, None, self.catalogue.hierarchy)

    def close(self) -> None:
        """Close all stores, drop the model, and release the lock of the index, even if a store cannot be closed."""
        with self._guard, ExitStack() as ending:
            if self._ownership is not None:
                ending.callback(self._ownership.release)
                if self.is_read_only:
                    ending.callback(remove_copy, self.folder)
            for store in (self._cache, self._catalogue):
                if store is not None:
                    ending.callback(store.close)
            self._ownership = self._catalogue = self._cache = self._keywords = self._embedder = None
            self.release_vectors()
