"""A published index: verified by a key that the user accepted, resumable, and never used in part."""

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from lore_etl.config.settings import DatabaseSettings, Settings
from lore_etl.core.errors import ConfigError, IndexMissing, InvalidArgument, LoreError, ModelMismatch, NotFound
from lore_etl.index import Index
from lore_etl.pipeline import publish as publishing
from lore_etl.pipeline.publish import SIGNATURE_BYTES, Published, install, latest, nearest, publish
from lore_etl.pipeline.sync import sync
from lore_etl.stores.target import Target, TargetFailed
from lore_server.query.query_service import QueryService
from tests.harness.evaluation import commit, git
from tests.harness.models import HashModel
from tests.harness.projects import write_project
from tests.harness.published import KEY, OTHER, private, public, publish_project, target_at

FILES = {f"docs/{n}.md": f"# Page {n}\n\nThe ferry number {n} crosses at {n} o'clock.\n" for n in range(20)}
KEYS = [public()]


def opened(root: Path, model: str = "hash") -> Index:
    return Index(root, Settings(), HashModel(model))


def head(root: Path) -> str:
    return git(root, "rev-parse", "HEAD").strip()


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a repository, and a target with the snapshot of its commit."""
    folder = tmp_path_factory.mktemp("published")
    root = write_project(folder / "origin", FILES)
    git(root, "init", "-b", "main")
    git(root, "add", ".")
    commit(root, "Add the pages")
    publish_project(str(root), str(folder / "target"))
    return root, folder / "target"


@pytest.fixture
def target(origin: tuple[Path, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(origin[1], tmp_path / "target"))


@pytest.fixture
def clone(origin: tuple[Path, Path], tmp_path: Path) -> Iterator[Index]:
    git(origin[0], "clone", "--quiet", str(origin[0]), str(tmp_path / "clone"))
    with closing(opened(tmp_path / "clone")) as index:
        yield index


def fetched(index: Index, target: Path) -> Published:
    place = target_at(target)
    found = nearest(place, KEYS, git(index.root, "rev-list", "HEAD").split())
    install(index, place, found)
    return found


def test_a_clone_starts_from_the_nearest_commit_and_syncs_the_difference(clone: Index, target: Path) -> None:
    start = head(clone.root)
    write_project(clone.root, {"docs/1.md": "# Page 1\n\nCancelled.\n", "docs/new.md": "# New\n\nA night ferry.\n"})
    git(clone.root, "add", ".")
    commit(clone.root, "Change a page")

    found = fetched(clone, target)

    assert (found.commit, found.branch, clone.catalogue.meta("synced_commit")) == (start, "main", start)
    assert QueryService(clone).find("ferry number 7").ranked[0].source == "docs/7.md"
    report = sync(clone)
    assert (report.created, report.updated, report.unchanged, report.embedded) == (1, 1, 19, 2)
    assert (report.rebuilt, report.warnings) == (None, [])
    outcome = QueryService(clone).find("ferry number 7")
    assert (outcome.ranked[0].source, outcome.degraded) == ("docs/7.md", None)


def test_what_is_not_of_the_stores_is_neither_published_nor_replaced(clone: Index, target: Path) -> None:
    sync(clone)
    write_project(clone.index_folder, {"token": "secret", "tickets/1.md": "# A ticket\n"})
    fetched(clone, target)

    assert (clone.index_folder / "token").read_text() == "secret"
    assert (clone.index_folder / "tickets/1.md").exists()
    assert not (clone.index_folder / publishing.INCOMING).exists()
    with closing(opened(clone.root)) as other, pytest.raises(LoreError):  # it is owned
        other.own()


def signed(published: Published, key: Ed25519PrivateKey = KEY) -> bytes:
    text = json.dumps(asdict(published)).encode()
    return key.sign(text) + text


def flip(file: Path, at: int) -> None:
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    file.write_bytes(content)


def part(target: Path) -> Path:
    return max((target / "parts").iterdir(), key=lambda file: file.stat().st_size)


LIES: dict[str, Callable[[Path, Published], object]] = {
    "a bit of the list is flipped": lambda file, _: flip(file, SIGNATURE_BYTES + 40),
    "a bit of the signature is flipped": lambda file, _: flip(file, 3),
    "unsigned": lambda file, _: file.write_bytes(file.read_bytes()[SIGNATURE_BYTES:]),
    "empty": lambda file, _: file.write_bytes(b""),
    "signed by another key": lambda file, found: file.write_bytes(signed(found, OTHER)),
    "expired": lambda file, found: file.write_bytes(signed(replace(found, expires=time.time() - 1))),
    "of another commit": lambda file, found: file.write_bytes(signed(replace(found, commit="0" * 40))),
    "of another format": lambda file, found: file.write_bytes(signed(replace(found, format="lore snapshot 2"))),
    "with the token": lambda file, found: file.write_bytes(signed(replace(found, files={"token": (0, [])}))),
    "leads outside": lambda file, found: file.write_bytes(signed(replace(found, files={"vectors-1/../../x": (0, [])}))),
    "a project outside": lambda file, found: file.write_bytes(signed(replace(found, project="../x"))),
    "a bit of a part is flipped": lambda file, _: flip(part(file.parents[1]), 1_000),
    "a part is cut": lambda file, _: os.truncate(part(file.parents[1]), 100),
    "a part is gone": lambda file, _: part(file.parents[1]).unlink(),
    "of another model": lambda file, found: file.write_bytes(signed(replace(found, model="other"))),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_snapshot_that_is_not_as_signed_is_refused_and_the_index_stays(clone: Index, target: Path, lie: str) -> None:
    write_project(clone.root, {"docs/own.md": "# Own\n\nThe submarine of this clone.\n"})
    sync(clone)
    file = target / "commits" / head(clone.root)
    LIES[lie](file, nearest(target_at(target), KEYS, [file.name]))

    with pytest.raises(LoreError):
        fetched(clone, target)

    assert QueryService(clone).find("submarine").ranked[0].source == "docs/own.md"
    assert sync(clone).unchanged == len(FILES) + 1


def test_without_an_accepted_key_or_a_target_nothing_is_fetched_or_published(clone: Index, target: Path) -> None:
    with pytest.raises(InvalidArgument, match="not signed by a key that you accept"):
        nearest(target_at(target), [], [head(clone.root)])
    with pytest.raises(ConfigError, match="not a public key"):
        nearest(target_at(target), ["%"], [head(clone.root)])
    sync(clone)
    nowhere = target_at(Path("/dev/null/x"))
    with pytest.raises(LoreError):
        nearest(nowhere, KEYS, ["1" * 40])
    with pytest.raises(LoreError, match="Not published"):
        publish(clone, nowhere, private(), "main", 30, lambda path: True)


def test_an_interrupted_fetch_continues(clone: Index, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    whole = Target.read_named

    def counted(self: Target, path: str) -> bytes:
        read.append(path)
        if len(read) == 4:
            raise TargetFailed("cut off")
        return whole(self, path)

    monkeypatch.setattr(Target, "read_named", counted)
    with pytest.raises(LoreError, match="cut off"):
        fetched(clone, target)
    assert clone.catalogue.total() == 0
    fetched(clone, target)

    assert clone.catalogue.total() == len(FILES)
    assert [path for path in read[:4] if path in read[4:]] == [read[3]]  # only the one that failed
    assert sync(clone).rebuilt is None


def test_only_changed_files_are_sent_again(origin: tuple[Path, Path], target: Path, clone: Index) -> None:
    before = set((target / "parts").iterdir())
    clone.close()
    assert publish_project(str(clone.root), str(target)).commit == head(clone.root)
    again = set((target / "parts").iterdir())
    with closing(opened(clone.root)) as index:
        found, sent = publish(index, target_at(target), private(), "main", 1, lambda path: True)

    assert before < again
    assert sent < sum(file.stat().st_size for file in again - before)
    assert set(found.files) >= {"catalogue.sqlite", "embeddings.sqlite"}


def test_the_latest_snapshot_of_a_branch_is_found_by_its_name(clone: Index, target: Path) -> None:
    place = target_at(target)
    clone.close()
    publish_project(str(clone.root), str(target), "feature/x")
    shutil.copy(target / "branches/feature%2Fx", target / "branches/other")

    assert latest(place, KEYS, "feature/x").branch == "feature/x"
    with pytest.raises(InvalidArgument, match="another commit or branch"):
        latest(place, KEYS, "other")
    with pytest.raises(NotFound):
        latest(place, KEYS, "missing")
    with pytest.raises(NotFound, match="No commit of this branch"):
        nearest(place, KEYS, ["1" * 40])


def test_nothing_is_published_that_was_not_committed_or_is_not_complete(clone: Index, target: Path) -> None:
    place = target_at(target)
    elliptic = generate_private_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with pytest.raises(IndexMissing):
        publish(clone, place, private(), "main", 30, lambda path: True)
    sync(clone)
    with pytest.raises(InvalidArgument, match=r"such as docs/3\.md"):
        publish(clone, place, private(), "main", 30, lambda path: path != "docs/3.md")
    for key in ("", "no key", elliptic.decode()):
        with pytest.raises(ConfigError, match="key"):
            publish(clone, place, key, "main", 30, lambda path: True)
    remote = Settings(database=DatabaseSettings(mode="http", host="127.0.0.1"))
    with closing(Index(clone.root, remote, HashModel())) as other, pytest.raises(ConfigError, match="index folder"):
        publish(other, place, private(), "main", 30, lambda path: True)
    with closing(opened(clone.root, "another")) as other:
        clone.close()
        with pytest.raises(ModelMismatch):
            fetched(other, target)
