"""The default model: its graph is part of the repository; an installation also contains its weights and tokenizer.

`python -m tests.golden.default_model` writes the graph, which refers to the weights by their position in their
file. So nothing is compiled or copied, but the graph works only with the weights that it was written for.
`hatch_build.py` fetches these for every wheel and every editable installation.
"""

from __future__ import annotations

import json
from pathlib import Path

from lore_etl.core.errors import PackageMissing
from lore_etl.core.progress import Progress, silent
from lore_etl.models.content import file_digest

DEFAULT_MODEL = "all-MiniLM-L6-v2"
NAMES = (DEFAULT_MODEL, f"sentence-transformers/{DEFAULT_MODEL}")
ENGLISH_ONLY = frozenset(NAMES)  # models whose similarities mean little for other scripts
WEIGHTS = "model.safetensors"
FOLDER = Path(__file__).parent / "default_model"
DATA = Path(__file__).parent / "weights"
REINSTALL = "Install Lore again, from a clone of its repository or from a wheel."


def weights_folder() -> Path:
    """Return the folder with the weights and the tokenizer. Raises PackageMissing."""
    if not (DATA / WEIGHTS).is_file():
        raise PackageMissing("The weights of the default model are missing from this installation of Lore.", REINSTALL)
    return (DATA / WEIGHTS).resolve().parent  # ONNX Runtime refuses weights behind a symlink


def checked_folder(progress: Progress = silent) -> Path:
    """Return the folder of the weights if they are those of the graph. Raises PackageMissing."""
    folder = weights_folder()
    for name, digest in json.loads((FOLDER / "info.json").read_text(encoding="utf-8"))["files"].items():
        try:
            found = file_digest(folder / name, progress)
        except OSError as error:
            found = str(error)
        if found != digest:
            raise PackageMissing(f"The default model has a different {name} than Lore's graph.", REINSTALL)
    return folder
