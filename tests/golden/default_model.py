"""Write the default model's graph again, without weights: `python -m tests.golden.default_model [FOLDER]`.

The model is compiled like any other. Then each weight is replaced by its position in the safetensors file of the
model's package, which ONNX Runtime maps into memory.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper

from lore_etl.models.export import SAMPLES, TOLERANCE, export_embedder
from lore_etl.models.model_cache import FOLDER, WEIGHTS, file_digest, read_model, weights_folder
from lore_etl.models.onnx_models import OnnxEmbedder

INLINE_BYTES = 8_192  # smaller tensors that are not in the weights, such as constants, stay in the graph


def export(folder: Path) -> None:
    """Write `model.onnx` and `info.json`, checked against the compiled model with weights. Raises SystemExit."""
    source = weights_folder()
    with tempfile.TemporaryDirectory() as temporary:
        whole = Path(temporary) / "whole"
        export_embedder(str(source), whole)
        graph = onnx.load(whole / "model.onnx")
        _refer_to(source / WEIGHTS, graph)
        info = json.loads((whole / "info.json").read_text(encoding="utf-8"))
        info["files"] = {name: file_digest(source / name) for name in (WEIGHTS, "tokenizer.json")}
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "model.onnx").write_bytes(graph.SerializeToString(deterministic=True))
        (folder / "info.json").write_text(json.dumps(info, indent=1) + "\n", encoding="utf-8")
        _check(OnnxEmbedder(read_model(whole), threads=1), OnnxEmbedder(read_model(folder, source), threads=1))


def _refer_to(file: Path, model: Any) -> None:
    """Replace the weights in the graph by their positions in the file, and drop the compiler's comments."""
    places = _tensors(file)
    graph, names, external, transposed = model.graph, {}, {}, []
    for tensor in list(graph.initializer):
        if tensor.raw_data in places:
            name, is_transposed, reference = places[tensor.raw_data]
            names[tensor.name] = f"{name}.T" if is_transposed else name
            if is_transposed and name not in external:
                transposed.append(helper.make_node("Transpose", [name], [f"{name}.T"], perm=[1, 0]))
            external[name] = reference
            graph.initializer.remove(tensor)
        elif len(tensor.raw_data) > INLINE_BYTES:
            raise SystemExit(f"{tensor.name} is not in {file.name}")
    nodes = [*transposed, *graph.node]
    for node in nodes:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.doc_string = ""
        del node.metadata_props[:]
    del graph.node[:], graph.value_info[:], graph.metadata_props[:], model.metadata_props[:]
    graph.node.extend(nodes)
    graph.initializer.extend(external[name] for name in sorted(external))


def _tensors(file: Path) -> dict[bytes, tuple[str, bool, Any]]:
    """Return each float tensor of a safetensors file by content: its name, whether it is transposed, its reference."""
    content = file.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    found: dict[bytes, tuple[str, bool, Any]] = {}
    for name, about in json.loads(content[8:start]).items():
        if about.get("dtype") != "F32":
            continue
        first, end = about["data_offsets"]
        data = content[start + first : start + end]
        reference = onnx.TensorProto(
            name=name, data_type=onnx.TensorProto.FLOAT, dims=about["shape"], data_location=onnx.TensorProto.EXTERNAL
        )
        for key, value in (("location", file.name), ("offset", start + first), ("length", end - first)):
            reference.external_data.add(key=key, value=str(value))
        if len(about["shape"]) == 2:
            turned = np.frombuffer(data, dtype=np.float32).reshape(about["shape"]).T.tobytes()
            found[turned] = (name, True, reference)
        found[data] = (name, False, reference)
    return found


def _check(whole: OnnxEmbedder, light: OnnxEmbedder) -> None:
    difference = float(np.abs(whole.embed(SAMPLES) - light.embed(SAMPLES)).max())
    if not difference <= TOLERANCE:
        raise SystemExit(f"the graph without weights differs from the compiled model by {difference:.1e}")


if __name__ == "__main__":
    export(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
