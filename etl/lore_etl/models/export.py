"""Steps shared by all compilations, in the child process: write the graph, its tokenizer and its info, or nothing."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch.export import Dim

TOLERANCE = 1e-4
SAMPLES = ["x", "How does a worker shut down?", "def run(self): return self._jobs.pop()", "word " * 600]
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
ONE_FILE_BYTES = 1_500_000_000  # protobuf is limited to 2 GB; the weights of larger models are in a separate file


class _Steps(torch.nn.Module):  # type: ignore[misc]
    """A model's modules in sequence, from token ids to the output of `finish`."""

    def __init__(
        self, model: torch.nn.Module, names: list[str], finish: Callable[[dict[str, Any]], torch.Tensor]
    ) -> None:
        super().__init__()
        self.steps = torch.nn.ModuleList(model.children())
        self.names = names
        self.finish = finish

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        features: dict[str, Any] = dict(zip(self.names, inputs, strict=True))
        for step in self.steps:
            features = step(features)
        return self.finish(features)


@contextmanager
def building(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder that is renamed to `folder` at the end, or removed after an error."""
    temporary = folder.with_name(f"{folder.name}.{os.getpid()}.tmp")
    temporary.mkdir(parents=True)
    try:
        yield temporary
        shutil.rmtree(folder, ignore_errors=True)
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_graph(
    model: torch.nn.Module,
    sample: Mapping[str, object],
    finish: Callable[[dict[str, Any]], torch.Tensor],
    output: str,
    max_tokens: int,
    folder: Path,
) -> list[str]:
    """Write `model.onnx` for batches and texts of any length up to `max_tokens`; return the names of its inputs."""
    names = [name for name in INPUTS if name in sample]
    shape = {0: Dim("batch", min=1, max=4096), 1: Dim("length", min=2, max=max_tokens)}
    torch.onnx.export(
        _Steps(model, names, finish),
        tuple(sample[name] for name in names),
        str(folder / "model.onnx"),
        input_names=names,
        output_names=[output],
        dynamic_shapes=(tuple(shape for _ in names),),
        dynamo=True,
        external_data=sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
        > ONE_FILE_BYTES,
    )
    return names


def write_info(info: Mapping[str, object], folder: Path) -> None:
    """Write `info.json`, whose presence marks a model as complete."""
    (folder / "info.json").write_text(json.dumps(info), encoding="utf-8")
