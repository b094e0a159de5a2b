"""Check each part of Lore by using it. A check creates nothing, and only a successful model probe is cached."""

import contextlib
import json
import os
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from lore_etl.core.dates import seconds_since
from lore_etl.core.errors import LoreError
from lore_etl.index import Index
from lore_etl.models.embedder import model_name
from lore_etl.pipeline.sync import emptiness
from lore_etl.stores.claim import is_ours
from lore_server import __version__
from lore_server.answer.written_answers import chosen
from lore_server.contract import Contract
from lore_server.query.freshness import Freshness
from lore_server.replies.paging import with_fields
from lore_server.replies.records import CheckRecord, DriftRecord, HealthOwnerRecord, HealthRecord, JobRecord
from lore_server.services.verification import Verifier

PROBE_SECONDS = 300  # the model's files do not change; the other parts are checked every time
MIN_FREE_BYTES = 200_000_000
OF_INDEX = ("database", "collection", "keywords")  # the parts that have nothing to check without an index
PROBE = "Does the embedding model work?"
Verdict = tuple[str, str]


@dataclass
class HealthService:
    """The checks of all parts. The model probe is the slowest, so a successful probe is cached until a build ends."""

    index: Index
    contract: Contract
    job: Callable[[], JobRecord | None]
    owner: Callable[[], HealthOwnerRecord | None]
    freshness: Freshness
    verifier: Verifier
    drift: Callable[[], DriftRecord]
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _probe: tuple[float, Verdict] | None = None

    def check(self, *, refresh: bool = False) -> HealthRecord:
        """Return the state of each part; with `refresh`, the model is probed again."""
        if refresh:
            self.forget()
        checks = self._checks()
        statuses = [check["status"] for check in checks]
        folder = self.index.index_folder
        record: HealthRecord = {
            "status": "unhealthy" if "failed" in statuses else "degraded" if "degraded" in statuses else "healthy",
            "checks": checks,
            "counts": {},
            "files": 0,
            "size_bytes": size_of(folder) if is_ours(folder) else 0,
            "model": model_name(self.index.settings.embedding),
            "database": self.index.settings.database.mode,
            "project": self.index.root.name,
            "version": __version__,
            "index_age_seconds": None,
        }
        record = with_fields(record, job=self.job(), owner=self.owner())
        with contextlib.suppress(LoreError):  # the checks report the cause
            if self.index.exists():
                catalogue = self.index.catalogue
                record["counts"], record["files"] = catalogue.counts(), catalogue.files_with_chunks()
                record["index_age_seconds"] = seconds_since(catalogue.meta("synced_at"))
                inventory, problems = (json.loads(catalogue.meta(name) or "null") for name in ("inventory", "problems"))
                record = with_fields(record, inventory=inventory, problems=problems)
                record["freshness"] = self.freshness.record()
                if (drift := self.drift())["total"]:
                    record["drift"] = drift
        return record

    def forget(self) -> None:
        with self._guard:
            self._probe = None

    def _checks(self) -> list[CheckRecord]:
        parts: dict[str, Callable[[], Verdict]] = {
            "contract": lambda: ("ok", f"{len(self.contract.operations)} operations."),
            "database": self._check_database,
            "collection": self._check_collection,
            "keywords": self._check_keywords,
            "verification": self._check_verification,
            "embedding": self._check_embedding,
            "answers": self._check_answers,
            "disk": self._check_disk,
        }
        checks: list[CheckRecord] = []
        for part, check in parts.items():
            try:
                is_missing = part in OF_INDEX and not self.index.exists()
                status, detail = self._repaired("degraded", "There is no index yet.") if is_missing else check()
            except LoreError as error:
                status, detail = "failed", f"{error.message} {error.hint}"
            checks.append({"part": part, "status": status, "detail": detail[:500]})
        return checks

    def _repaired(self, status: str, detail: str, remedy: str = "Run `lore sync`.") -> Verdict:
        """Return the verdict on a part that a sync repairs. While a build runs, the part is only unfinished."""
        if job := self.job():
            return "degraded", f"{detail} Wait for the running {job['action']} (job {job['id']})."
        return status, f"{detail} {remedy}"

    def _check_database(self) -> Verdict:
        if not self.index.generations.exists(self.index.generation):
            if not self.index.catalogue.with_vector():
                return self._repaired("degraded", "There are no vectors yet.")
            remedy = "Run `lore sync` to rebuild it from cached vectors."
            return self._repaired("failed", "The vector store is missing.", remedy)
        store = self.index.vectors
        return "ok", f"{store.count()} vectors, {store.where()}."

    def _check_collection(self) -> Verdict:
        chunks, waiting = sum(self.index.catalogue.counts().values()), self.index.catalogue.waiting()
        if not chunks:
            reason = emptiness(self.index)
            return self._repaired("degraded", reason.message, reason.hint)
        if self.index.catalogue.meta("model") not in (None, self.index.model):
            return self._repaired(
                "failed", "The vectors come from another model.", "Run `lore sync` to build new ones."
            )
        if waiting:
            return self._repaired("degraded", f"{waiting} of {chunks} chunks have no vector yet.")
        failed = self.index.catalogue.meta("failed_sync")
        if failed is not None and self.freshness.record()["state"] != "fresh":
            message, hint = json.loads(failed)
            return self._repaired("degraded", f"The last sync failed: {message}", hint)
        return "ok", f"{chunks} chunks."

    def _check_keywords(self) -> Verdict:
        if not (self.index.folder / "keywords").exists():
            if not self.index.catalogue.total():
                return self._repaired("degraded", "No words are indexed yet.")
            return self._repaired("failed", "The keyword index is missing.", "Run `lore sync` to rebuild it.")
        self.index.keywords.verify()
        count, chunks = self.index.keywords.count(), sum(self.index.catalogue.counts().values())
        if count != chunks:
            return self._repaired("failed", f"The keyword index contains {count} of {chunks} chunks.")
        return "ok", f"{count} chunks."

    def _check_verification(self) -> Verdict:
        is_intact, detail = self.verifier.state()
        return ("ok", detail) if is_intact else self._repaired("failed", detail)

    def _check_embedding(self) -> Verdict:
        with self._guard:
            if self._probe is None or time.monotonic() - self._probe[0] >= PROBE_SECONDS:
                self._probe, started = None, time.monotonic()
                probe = f"{PROBE} {started}"  # a new text, because vectors of queries may be kept
                length = float((self.index.embedder.embed_query(probe) ** 2).sum())
                if abs(length - 1) > 0.01:
                    return "failed", "The model returns vectors whose length is not 1."
                milliseconds = 1000 * (time.monotonic() - started)
                verdict = "ok", f"{self.index.embedder.name}, a probe took {milliseconds:.0f} ms."
                self._probe = time.monotonic(), verdict
            return self._probe[1]

    def _check_answers(self) -> Verdict:
        provider = chosen(self.index.settings.answer)
        if provider.missing:
            is_wanted = provider.kind == "openai"
            return "degraded" if is_wanted else "ok", f"{provider.missing}: answers are passages."
        at = f" at {urlsplit(provider.base_url).netloc.rpartition('@')[2]}" if provider.base_url else ""
        return "ok", f"{provider.kind}: {provider.model}{at}; only ask calls it."

    def _check_disk(self) -> Verdict:
        if self.index.is_read_only:
            return "ok", "The index is read-only: it is read from a private copy, and cannot be synced."
        try:
            free = shutil.disk_usage(self.index.folder).free
        except FileNotFoundError:  # there is no index yet, or it is being deleted
            free = shutil.disk_usage(self.index.root).free
        if free < MIN_FREE_BYTES:
            return "degraded", f"Only {free // 1_000_000} MB are free."
        return "ok", f"{free // 1_000_000_000} GB are free."


def size_of(folder: Path) -> int:
    """Return the total size of all files below the folder, in bytes; ignore files that vanish meanwhile."""
    total = 0
    for parent, _, names in os.walk(folder):  # ignores folders that vanish; rglob raises
        for name in names:
            with contextlib.suppress(OSError):
                total += Path(parent, name).lstat().st_size
    return total
