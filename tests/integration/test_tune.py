"""Fitting the weights: a fit is written only if it improves held-out questions."""

import tomllib
from pathlib import Path

import pytest

from lore_etl.config.settings import QuerySettings, Settings, load_settings
from lore_etl.core.errors import ConfigError, InvalidArgument, StorageError
from lore_server.evaluation.tune import SMALLEST_SET, STEPS, Fit, fit_folders, write
from lore_server.query.ranking import HYBRID, weights
from tests.harness.evaluation import tuning_set
from tests.harness.models import HashModel, counter
from tests.harness.refusals import refused

pytestmark = pytest.mark.later

FEW = Settings(query=QuerySettings(nResults=10))
"""Few candidates: a fit ranks every question some hundred times."""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counter()
    monkeypatch.setenv("LORE_CACHE", str(tmp_path / "cache"))


def fitted(folder: Path, settings: Settings = FEW, *others: Path) -> Fit:
    return fit_folders([folder, *others], None, folder, settings, model=HashModel())


# --- the fit -----------------------------------------------------------------------------------------------------


def test_every_fitted_weight_belongs_to_the_hybrid_ranking_and_its_steps_span_the_default() -> None:
    assert set(STEPS) <= set(HYBRID)
    assert all(min(steps) <= HYBRID[name] <= max(steps) for name, steps in STEPS.items())


def test_a_fit_by_chance_does_not_generalize(tmp_path: Path) -> None:
    found = fitted(tuning_set(tmp_path / "set", 40, is_random=True))

    assert not found.generalises
    assert found.after >= found.before


def test_a_weight_that_helps_everywhere_is_found_and_the_next_fit_starts_from_it(tmp_path: Path) -> None:
    folder = tuning_set(tmp_path / "set", 40, is_random=False)
    best = fitted(folder)

    assert best.generalises
    assert best.weights.keys() & {"guideMatch", "sourceMatch"}
    assert all(value != HYBRID[name] for name, value in best.weights.items())
    assert best.after > best.before + 0.1
    assert best.held_out.difference > 0.1
    assert best.held_out.interval[0] > 0
    assert best.held_out.p < 0.01

    again = fitted(folder, Settings(query=QuerySettings(nResults=10, weights=best.weights)))

    assert again.before == pytest.approx(best.after)
    assert again.after >= again.before
    assert all(value != best.weights.get(name) for name, value in again.weights.items())


@pytest.mark.parametrize("answered", [SMALLEST_SET - 1, 5])
def test_a_set_too_small_to_distinguish_a_gain_from_chance_is_rejected(tmp_path: Path, answered: int) -> None:
    """Unanswerable questions do not count towards the size of a set."""
    folder = tuning_set(tmp_path / "set", 40, is_random=False, answered=answered)

    with refused(InvalidArgument, match=f"{answered} questions are too few", hint=f"at least {SMALLEST_SET} questions"):
        fitted(folder)


def test_weights_that_help_every_left_out_set_generalise(tmp_path: Path) -> None:
    sets = [tuning_set(tmp_path / name, 30, is_random=False) for name in ("one", "two")]

    found = fitted(sets[0], FEW, sets[1])

    assert found.generalises
    assert found.losing == ()


def test_weights_that_help_one_set_and_hurt_another_do_not_generalise(tmp_path: Path) -> None:
    guides = tuning_set(tmp_path / "guides", 30, is_random=False)
    source = tuning_set(tmp_path / "source", 40, is_random=False, wants_source=True)

    found = fitted(guides, Settings(query=QuerySettings(nResults=10, weights={"sourceMatch": 0})), source)

    assert not found.generalises


def test_questions_without_an_answer_do_not_count_in_a_fit(tmp_path: Path) -> None:
    found = fitted(tuning_set(tmp_path / "set", 45, is_random=False, answered=35))

    assert found.generalises
    assert found.after <= 1


def test_neither_two_sets_of_one_name_nor_two_rankings_are_mixed(tmp_path: Path) -> None:
    one, two = (tuning_set(tmp_path / name / "set", 30, is_random=False) for name in ("one", "two"))
    with pytest.raises(InvalidArgument, match="same name"):
        fitted(one, FEW, two)

    settings = Settings(query=QuerySettings(ranking="classic"))
    with pytest.raises(ConfigError, match=r"query\.ranking"):
        fitted(tuning_set(tmp_path / "set", 40, is_random=False), settings)


# --- lore.toml ---------------------------------------------------------------------------------------------------

CHANGED = {"proximity": 30, "vectorShare": 0.45}


def written(file: Path, before: str | None) -> str:
    if before is not None:
        file.write_bytes(before.encode())
    write(file, CHANGED)
    return file.read_bytes().decode()


@pytest.mark.parametrize(
    "before",
    [
        None,
        "",
        "[index]\nexclude = ['vendor/']\n",
        "[query]\nnResults = 50\n[answer]\nprovider = 'none'\n",
        "[query.weights]\nticketPenalty = -3\n",
        "[query]\nweights = { ticketPenalty = -3 }\n",
        "[query]\nweights.ticketPenalty = -3\n",
        "query.weights.ticketPenalty = -3\n[answer]\nprovider = 'none'\n",
        "query = { nResults = 50 }\n",
        "query = { weights = { ticketPenalty = -3 } }\n",
        "[query]\nnResults = 50\n[answer]\nprovider = 'none'\n[query.weights]\nticketPenalty = -3\n",
        "[query.weights]\nproximity = 1\nticketPenalty = -3\n[answer]\nprovider = 'none'\n[query]\nnResults = 50\n",
    ],
)
def test_weights_are_written_to_any_configuration_beside_the_other_keys(tmp_path: Path, before: str | None) -> None:
    file = tmp_path / "lore.toml"
    old = tomllib.loads(before or "")

    new = tomllib.loads(written(file, before))

    query = old.get("query", {})
    assert new == {**old, "query": {**query, "weights": {**query.get("weights", {}), **CHANGED}}}
    assert weights("hybrid", load_settings(tmp_path).query.weights)["proximity"] == 30


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_comments_order_and_line_ends_are_kept(tmp_path: Path, end: str) -> None:
    lines = [
        "# ours", "[query] # how", "nResults = 50   # few", "", "[query.weights]", "proximity = 1 # near",
        "# tickets are old", "ticketPenalty = -3", "", "[answer]", "provider = 'none'", "",
    ]  # fmt: skip

    after = written(tmp_path / "lore.toml", end.join(lines))

    assert after.replace("vectorShare = 0.45\n", "").replace("proximity = 30", "proximity = 1") == end.join(lines)


@pytest.mark.parametrize("before", ["[query", "query = 3\n", "[query]\nweights = 3\n", b"\xff\xfe"])
def test_an_invalid_configuration_is_reported_and_not_changed(tmp_path: Path, before: str | bytes) -> None:
    file = tmp_path / "lore.toml"
    content = before.encode() if isinstance(before, str) else before
    file.write_bytes(content)

    with pytest.raises(ConfigError, match=r"lore\.toml is not valid"):
        write(file, CHANGED)

    assert file.read_bytes() == content


def test_an_unwritable_configuration_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"lore\.toml"):
        write(tmp_path / "gone" / "lore.toml", CHANGED)
