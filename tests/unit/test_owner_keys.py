"""The keys that an owner of an index needs: which owner suits which client."""

import pytest

from lore_etl.stores.owner_file import Note
from lore_server.owner.find import KEYS, key_digests
from lore_server.owner.predecessor import OwnerRequirements

GEMINI = {"GEMINI_API_KEY": "g" * 20}
OPENAI = {"OPENAI_API_KEY": "o" * 20}


def suits(owner: dict[str, str], client: dict[str, str]) -> bool:
    """Return whether an owner that was started with one environment suits a client with another."""
    note = Note(1, "born", "lore", "now", build="build", config="config", key=key_digests(owner))
    return OwnerRequirements("build", "config", key_digests(client)).is_met_by(note)


@pytest.mark.parametrize("name", KEYS)
def test_every_key_and_address_of_a_provider_is_compared(name: str) -> None:
    others = dict.fromkeys(KEYS, "same")

    assert suits({**others, name: "old"}, {**others, name: "old"})
    assert not suits({**others, name: "old"}, {**others, name: "new"})
    assert not suits(others | {name: ""}, {**others, name: "new"})


def test_an_owner_with_more_keys_suits_a_client_with_fewer_and_the_same_value_under_another_name_is_another_key() -> (
    None
):
    assert suits(GEMINI | OPENAI, OPENAI)
    assert suits(GEMINI | OPENAI, {})
    assert not suits(GEMINI, GEMINI | OPENAI)
    assert not suits({}, GEMINI)
    assert not suits({"GEMINI_API_KEY": "same"}, {"OPENAI_API_KEY": "same"})


def test_digests_contain_no_key() -> None:
    assert "g" * 20 not in key_digests(GEMINI)
    assert key_digests({}) == ""
