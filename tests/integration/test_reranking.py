"""Small random cross-encoders, compiled like real models, against their originals; no network access."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from lore_etl.config.settings import QuerySettings, Settings
from lore_etl.core.errors import ConfigError
from lore_etl.models.reranking import CrossEncoder, open_cross_encoder, prepared
from lore_etl.pipeline.sync import sync
from lore_server.query.query_service import QueryService, SearchOutcome
from tests.harness.processes import child, guarded
from tests.harness.projects import open_index, write_project
from tests.harness.workers import built_once

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] the ferry crosses at dawn ##s a b . how does boat stop".split()
LIMIT = 48
QUERIES = ["the ferry", "", "how does a boat stop " * 40, "Größe 数据库 🦀", "e\u0301 \0 \u202e"]
PASSAGES = [
    "",
    " ",
    "a",
    "the ferry crosses at dawn",
    "ferrys " * 500,
    "Größe 데이터 👩‍👩‍👧",
    "dawn . b " * 9,
    "數" * 3_000,
]


def bert(folder: Path, labels: int = 1, head: bool = True) -> Path:
    """Save a BERT for pairs, with token types and the default activation, a sigmoid."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertModel, BertTokenizer

    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    BertTokenizer(vocab_file=str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=LIMIT, num_labels=labels, initializer_range=0.3,
    )  # fmt: skip
    (BertForSequenceClassification if head else BertModel)(config).save_pretrained(folder)
    return folder


def qwen(folder: Path) -> Path:
    """Save a model without token types or activation, padded on the left, with a prompt before each query."""
    import torch
    from sentence_transformers import CrossEncoder as Original
    from transformers import BertTokenizer, Qwen3Config, Qwen3ForSequenceClassification

    bare = folder.with_name(folder.name + "-bare")
    bare.mkdir()
    (bare / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    names = ["input_ids", "attention_mask"]
    tokenizer = BertTokenizer(vocab_file=str(bare / "vocab.txt"), model_input_names=names, padding_side="left")
    tokenizer.save_pretrained(bare)
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(WORDS), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        num_key_value_heads=2, head_dim=16, max_position_embeddings=LIMIT, num_labels=1, pad_token_id=0,
        initializer_range=0.3,
    )  # fmt: skip
    Qwen3ForSequenceClassification(config).save_pretrained(bare)
    whole = Original(
        str(bare), device="cpu", activation_fn=torch.nn.Identity(), prompts={"ask": "how "}, default_prompt_name="ask"
    )
    whole.save_pretrained(str(folder))
    return folder


@pytest.fixture(scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("LORE_CACHE", str(folder))
        patch.setenv("HF_HUB_OFFLINE", "1")
        yield folder


@pytest.fixture(scope="module", params=[bert, pytest.param(qwen, marks=pytest.mark.long)])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a small model that all workers share. Tests must not change it."""

    def build(folder: Path) -> None:
        folder.mkdir()
        request.param(folder / "tiny")

    return built_once(tmp_path_factory, f"reranker-{request.param.__name__}", build) / "tiny"


OPEN = """
import sys
started = []
sys.addaudithook(lambda event, given: started.append(given[1]) if event == "subprocess.Popen" else None)
from lore_etl.models.reranking import open_cross_encoder
scores = open_cross_encoder(sys.argv[1], threads=1).score("the ferry", ["at dawn", "a boat"])
print(scores.tolist(), "torch" in sys.modules, sum("lore_etl.models.export_reranker" in module for module in started))
"""


@pytest.fixture(scope="module")
def opened(model: Path, own_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """Open the model in two processes; return the scores, whether torch was loaded, and the compiled files of each.

    One worker compiles it; the cache of each gets a copy of the result.
    """

    def build(folder: Path) -> None:
        folder.mkdir()
        cache = {"LORE_CACHE": str(folder / "cache"), "HF_HUB_OFFLINE": "0"}
        offline = guarded(folder / "guard") | cache
        with child(OPEN, model, environment=offline) as first, child(OPEN, model, environment=offline) as second:
            replies = [process.communicate(timeout=300)[0].rsplit(" ", 2) for process in (first, second)]
        (folder / "replies.json").write_text(json.dumps(replies), encoding="utf-8")

    built = built_once(tmp_path_factory, f"opened-{model.parent.name}", build)
    shutil.copytree(built / "cache", own_cache, dirs_exist_ok=True)
    replies: list[list[str]] = json.loads((built / "replies.json").read_text(encoding="utf-8"))
    return replies


def test_two_processes_compile_a_model_once_without_torch_or_the_network(
    opened: list[list[str]],
) -> None:
    assert opened[0][0] == opened[1][0]
    assert [reply[1] for reply in opened] == ["False", "False"]
    assert sorted(int(reply[2]) for reply in opened) == [0, 1]


@pytest.fixture(scope="module")
def served(model: Path, opened: list[list[str]]) -> CrossEncoder:
    """Return the model that the processes compiled."""
    return open_cross_encoder(str(model), threads=2)


@pytest.mark.parametrize("query", QUERIES, ids=lambda text: ascii(text)[:12])
def test_the_compiled_model_gives_the_scores_of_its_original(model: Path, served: CrossEncoder, query: str) -> None:
    from sentence_transformers import CrossEncoder as Original

    from lore_etl.models.export import TOLERANCE  # imports torch

    expected = Original(str(model), device="cpu").predict([(query, passage) for passage in PASSAGES])

    found = served.score(query, PASSAGES)

    assert (found.dtype, found.shape, served.name) == (np.float32, (len(PASSAGES),), str(model))
    assert np.abs(found - expected).max() < TOLERANCE
    assert np.ptp(found) > 10 * TOLERANCE


def test_a_passage_gets_the_same_score_alone_and_among_others(served: CrossEncoder) -> None:
    many = [f"{text} {'b ' * (n % 7)}" for n in range(20) for text in PASSAGES]

    together = served.score("the ferry", many)

    alone = np.concatenate([served.score("the ferry", [passage]) for passage in many])
    assert np.abs(together - alone).max() < 1e-5


def test_no_passages_get_no_scores(served: CrossEncoder) -> None:
    found = served.score("the ferry", [])

    assert (found.dtype, found.shape) == (np.float32, (0,))


def test_concurrent_threads_get_the_same_scores(served: CrossEncoder) -> None:
    expected = served.score("the ferry", PASSAGES)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: served.score("the ferry", PASSAGES), range(24)))

    assert max(np.abs(scored - expected).max() for scored in found) < 1e-5


def test_a_compiled_model_is_not_compiled_again(model: Path, served: CrossEncoder, own_cache: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in own_cache.rglob("*")}

    again = open_cross_encoder(str(model)).score("the ferry", PASSAGES)

    assert np.abs(again - served.score("the ferry", PASSAGES)).max() < 1e-5
    assert {path: path.stat().st_mtime_ns for path in own_cache.rglob("*")} == before


# --- rejected models ---------------------------------------------------------------------------------------------


def assert_refused(name: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=r"^Configuration key `query\.reranker`: ") as found:
        prepared(name)

    assert reason in found.value.message
    assert "Name a cross-encoder that gives one score" in found.value.hint


@pytest.mark.parametrize("name", ["/no/such/folder", "./nor-this", "~/nor-that"])
def test_a_missing_folder_is_a_configuration_error(name: str, own_cache: Path) -> None:
    assert_refused(name, f"there is no folder {name}")


def test_a_model_name_unknown_to_the_hub_is_a_configuration_error(own_cache: Path) -> None:
    assert_refused("no such model", "a model on the hub named no such model")


def test_a_model_with_several_labels_is_rejected(tmp_path: Path) -> None:
    from lore_etl.models.export_reranker import Unfit, export

    model = bert(tmp_path / "model", labels=3)

    with pytest.raises(Unfit, match="the model gives 3 labels, not a single score"):
        export(str(model), tmp_path / "compiled")

    assert list(tmp_path.iterdir()) == [model]


def test_a_model_without_trained_scores_is_rejected(tmp_path: Path) -> None:
    from lore_etl.models.export_reranker import Unfit, export

    embedding_model = bert(tmp_path / "model", head=False)

    with pytest.raises(Unfit, match="not trained to score pairs"):
        export(str(embedding_model), tmp_path / "compiled")

    assert not (tmp_path / "compiled").exists()


def test_a_folder_without_a_model_is_rejected_with_the_reason(tmp_path: Path) -> None:
    from lore_etl.models.export_reranker import Unfit, export

    (tmp_path / "empty").mkdir()

    with pytest.raises(Unfit, match=r"cannot be loaded: .*model_type"):
        export(str(tmp_path / "empty"), tmp_path / "compiled")


def searched(root: Path, reranker: str, depth: int = 5) -> SearchOutcome:
    """Search a small project with this reranker."""
    index = open_index(root, Settings(query=QuerySettings(reranker=reranker, rerank_depth=depth)))
    try:
        sync(index)
        return QueryService(index).find("how does the ferry stop at dawn", "all")
    finally:
        index.close()


def test_a_configured_cross_encoder_reranks_the_best_files_and_explains_it(
    model: Path, served: CrossEncoder, tmp_path: Path
) -> None:
    root = write_project(
        tmp_path, {f"docs/{n}.md": f"# Ferry {n}\n\nthe ferry crosses at dawn {n}\n" for n in range(8)}
    )

    plain, read = searched(root, ""), searched(root, str(model))

    assert {result.source for result in read.ranked} == {result.source for result in plain.ranked}
    assert [result.source for result in read.ranked[5:]] == [result.source for result in plain.ranked[5:]]
    assert all("reranker" in dict(result.why) for result in read.ranked[:5])
    assert not any("reranker" in dict(result.why) for result in (*read.ranked[5:], *plain.ranked))


def test_a_missing_reranker_fails_every_search_and_names_the_setting(own_cache: Path, tmp_path: Path) -> None:
    root = write_project(tmp_path, {"a.md": "# Ferry\n\nthe ferry\n", "b.md": "# Boat\n\nthe ferry boat\n"})

    with pytest.raises(ConfigError, match=r"query\.reranker"):
        searched(root, str(tmp_path / "nowhere"))
