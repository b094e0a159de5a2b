"""Questions about releases get the release that the notes state, and no other one that has the same words."""

from typing import Any

import pytest

from lore_server.answer.release_facts import heading_of
from lore_server.app import App
from tests.harness.calls import app_fixture
from tests.harness.chunks import make_chunk

FILES = {
    "README.md": "# Fleet Manager: ships in a row\n\nIt counts the ships of a fleet.\n",
    "CHANGELOG.md": "# Changes\n\n## Unreleased\n\n- Nothing yet.\n\n## 1.5.0\n\n*Unreleased*\n\n- Nothing either.\n\n"
    "## 2.0.0b1\n\n- The first sketch of galleons.\n\n"
    "## 1.4.0\n\n### Deck 9.9\n\n- Take the `anchorChain`, which holds each ship.\n\n### Removed\n\n- The planks.\n\n"
    "### Added\n\n- The `capstan`.\n\n"
    "- `ship.status()` has been removed. Use `ship.state()` instead.\n"
    "- Deprecate `oldSail` in favor of `newSail`.\n"
    "- Drop support for Hull 3.7. Add support for Hull 3.9.\n"
    "- Removed the parameter `mast`, which `sailUp()` had.\n\n"
    "## 1.3.0\n\n- Deprecate `__hull__`.\n- Add a `winch` flag.\n- Fix a crash of Hull 3.7 and of Sail 5.1.\n"
    "- Revert the breaking changes of the rudder of 1.0.0: a rudder steers.\n\n"
    "### Bugfixes\n\n- The `gunwale` holds.\n\n### Security\n\n- [CVE-2020-7777] Limit the shrouds.\n\n"
    "## 1.2.0\n\n- Drop support for Sail v5.1, and tests for the jib.\n- Remove all usages of the windlass.\n"
    "- Remove the bosun and add a helmsman.\n- The sextant replaces the now-removed astrolabe.\n- Add a hawser.\n"
    "- Add `@keel`, which marks a keel.\n- The `galleyStove` is going to be removed.\n"
    "- The Frigate `sail_plan` parameter is now removed.\n"
    "- Remove a reference to the compass.\n"
    "\n### Removed\n\n- The `lantern.wick` of brass.\n\n"
    "## 1.0.0\n\n- The tiller of oak is one of elm.\n- Drop the splinters in `tillerArm`.\n"
    "- Remove `Galley::stove`. Deprecate Rigging#splice.\n- Drop `Pump->valve`.\n"
    "- `bilge`: removed its smell.\n- Name the `tackle.block`, and drop the block of ice.\n- Weigh `cargo.key`.\n"
    "- Paint the keel.\n- Oil the winch.\n"
    + "".join(f"- A plank of oak for frame {number}, which the carpenter fits.\n" for number in range(20))
    + "\n[1.4.0]: https://ships.example/hawser/1.4.0\n[1.0.0]: https://ships.example/hawser/1.0.0\n",
    "issues/issue-12.md": "---\nstate: open\n---\n# Let the captain sign in\n\nThe harbour needs the captain.\n",
    "issues/issue-13.md": "---\nstate: closed\n---\n# Captain of the harbour\n\nThe harbour has a captain.\n",
    "docs/history.md": "# The fleet\n\nSteer with the rudder, also after breaking changes of the rudder. "
    "Sextant\nfinds the place.\n",
}
app = app_fixture(FILES)


def ask(app: App, question: str) -> dict[str, Any]:
    return app.call("ask_knowledge_base", {"query": question})


@pytest.mark.parametrize(
    "question",
    [
        *(
            "what is the latest version",
            "latest release of Manager",
            "What's the newest stable version of this project?",
        ),
        *("what is new since 1.2", "What has been added since version 1.3.0?"),
    ],
)
def test_the_latest_release_is_no_beta_and_no_version_of_something_else(app: App, question: str) -> None:
    reply = ask(app, question)

    assert reply["answer"].startswith("The latest release with notes here is 1.4.0 [1].")
    assert reply["citations"][0]["quote"].startswith("## 1.4.0\n")


@pytest.mark.parametrize(
    ("question", "unsaid"),
    [
        *((f"what is the latest {what}", "latest release") for what in ("version of Hull", "ships version")),
        *((f"is {successor}", "release note") for successor in ("newSail deprecated", "Hull 3.9 still supported")),
        ("was ship.state removed", "release note"),
        *((f"is {whole} still supported", "release note") for whole in ("Hull", "Hull 3")),
        ("which release added --breaking-rudder", "Closest match"),
        ("which release removed oldSail from TillerArm", "Closest match"),
        ("which release introduced the Sextant class of ships that steer a rudder", "Closest match"),
        ("how do I count the ships of a fleet tomorrow", "occurs nowhere"),
        ("how many ships can a fleet extend", "occurs nowhere"),
        ("which release painted the harbour of the captain blue", "Closest match"),
        ("What changed for the rudder in Hull 3.7?", "There is no note"),
    ],
)
def test_no_answer_states_what_the_notes_do_not_state(app: App, question: str, unsaid: str) -> None:
    assert unsaid not in ask(app, question)["answer"]


@pytest.mark.parametrize(
    ("question", "what"),
    [
        ("since when is there an anchorChain", "`anchorChain` is that of 1.4.0"),
        ("since which version can I use anchorChain?", "`anchorChain` is that of 1.4.0"),
        ("is oldSail deprecated", "`oldSail` as deprecated is that of 1.4.0"),
        ("which release deprecated __hull__", "`__hull__` as deprecated is that of 1.3.0"),
        ("When was `__hull__` deprecated?", "`__hull__` as deprecated is that of 1.3.0"),
        ("was ship.status removed?", "`ship.status` as removed is that of 1.4.0"),
        ("which version removed Hull 3.7 support", "`Hull 3.7` as removed is that of 1.4.0"),
        ("is Hull 3.7 still supported", "`Hull 3.7` as no longer supported is that of 1.4.0"),
        ("when was Sail 5.1 dropped?", "`Sail 5.1` as dropped is that of 1.2.0"),
        ("is sail 5.1 still supported", "`sail 5.1` as no longer supported is that of 1.2.0"),
        ("was the mast parameter of sailUp removed", "`mast` with `sailUp` as removed is that of 1.4.0"),
        ("which version added the hawser?", "`hawser` is that of 1.2.0"),
        ("when did you add the hawser?", "`hawser` is that of 1.2.0"),
        ("which version added @keel?", "`keel` is that of 1.2.0"),
        ("which release fixed the gunwale", "`gunwale` as fixed is that of 1.3.0"),
        ("which release fixed CVE-2020-7777", "`CVE-2020-7777` as fixed is that of 1.3.0"),
        ("which version removed sail_plan", "`sail_plan` as removed is that of 1.2.0"),
        ("which version added the winch flag", "`winch flag` is that of 1.3.0"),
        ("which version added the winch", "`winch` is that of 1.0.0"),
        ("which version added the hawser flag", "`hawser` is that of 1.2.0"),
        ("when did it gain a hawser", "`hawser` is that of 1.2.0"),
        ("which release removed the lantern.wick dependency", "`lantern.wick` as removed is that of 1.2.0"),
        ("since when is there cargo.key", "`cargo.key` is that of 1.0.0"),
    ],
)
def test_a_release_states_the_event_that_a_question_asks_for(app: App, question: str, what: str) -> None:
    assert ask(app, question)["answer"].startswith(f"The earliest release note here that names {what} [1].")


@pytest.mark.parametrize("question", ["What changed in Fleet Manager 1.4.0?", "what's new in the Manager v1.4.0"])
def test_the_name_of_the_project_may_be_before_a_release(app: App, question: str) -> None:
    assert ask(app, question)["answer"].startswith("`CHANGELOG.md` has the notes of 1.4.0 [1].")
    missing = ask(app, question.replace("1.4.0", "7.7.0"))

    assert (missing["found"], missing["answer"].partition(" in")[0]) == (False, "There is no note of release 7.7.0")


@pytest.mark.parametrize(
    ("name", "release"),
    [
        *((name, "1.0.0") for name in ("tillerArm", "bilge", "tackle.block", "Galley", "Pump")),
        pytest.param("capstan", "1.4.0", id="below another title"),
        pytest.param("ship.state", "1.4.0", id="used instead"),
        pytest.param("jib", "1.2.0", id="only its tests"),
        pytest.param("compass", "1.2.0", id="only a reference to it"),
        pytest.param("windlass", "1.2.0", id="only its usages"),
        pytest.param("helmsman", "1.2.0", id="added at once"),
        pytest.param("Hull", "1.4.0", id="only a version"),
        pytest.param("Frigate", "1.2.0", id="only its parameter"),
        pytest.param("galleyStove", "1.2.0", id="only later"),
        pytest.param("lantern", "1.2.0", id="only its member, below a title"),
        pytest.param("sextant", "1.2.0", id="in the place of what was removed"),
    ],
)
def test_what_something_else_was_removed_from_was_not_removed(app: App, name: str, release: str) -> None:
    expected = f"No sentence of the notes names `{name}` as removed; the latest that names it is that of {release} [1]."

    assert ask(app, f"which release removed {name}")["answer"].startswith(expected)


def test_what_a_deprecated_member_belongs_to_is_not_deprecated(app: App) -> None:
    assert "`Rigging` as deprecated; the latest" in ask(app, "which release deprecated Rigging")["answer"]
    assert "`Rigging#splice` as deprecated is" in ask(app, "which release deprecated Rigging#splice")["answer"]


def test_a_release_is_cited_with_its_own_notes_although_others_fit_better(app: App) -> None:
    reply = ask(app, "breaking changes of the rudder in 1.0")

    assert reply["answer"].startswith("`CHANGELOG.md` has the notes of 1.0 [1].")
    assert reply["citations"][0]["quote"].startswith("## 1.0.0\n\n- The tiller")


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("## Cargo\n\n- The keg is full.\n\n# v2.0.0\n\n## Deck\n\n- It is of oak.", ""),
        ("# v2.0.0\n\n## Deck\n\n- It is of oak.", "v2.0.0 > Deck"),
        ("Notes of the ferry.\n\n# v2.0.0\n\n## Deck\n\n- It is of oak.", "v2.0.0 > Deck"),
        ("- It is of oak.", "v2.0.0 > Deck"),
    ],
)
def test_a_passage_that_begins_with_notes_of_another_release_has_no_heading(text: str, heading: str) -> None:
    assert heading_of(make_chunk("CHANGELOG.md", "release", text, heading=("v2.0.0", "Deck"))) == heading


def test_the_closest_match_has_the_state_that_a_question_asks_for(app: App) -> None:
    answer = ask(app, "open tickets about the captain of the harbour")["answer"]

    assert answer.startswith("Closest match: ticket #12 (open)")


SEVERAL = {
    "README.md": "# Cordage\n\nRopes of all kinds.\n",
    "CHANGELOG.md": "# Changes\n\n## 0.2.0\n\n- Add `bend`.\n",
    "lib/rope/CHANGELOG.md": "# Changes\n\n## 3.1.0\n\n- Add `splice` and `whip`.\n\n## 3.0.0\n\n- First ropes.\n",
    "lib/rope/splice.js": "export function splice(ends) {\n  return ends\n}\n",
    "lib/knot/CHANGELOG.md": "# Changes\n\n## 0.4.0\n\n- Add `splice` of rope 3.1 to `whip`, and `hitch`.\n",
}
several = app_fixture(SEVERAL)


@pytest.mark.parametrize(
    ("question", "release"),
    [
        ("which release added splice", "3.1.0"),  # lib/rope defines it
        ("which knot release added splice", "0.4.0"),
        ("which release added whip", "0.4.0 in `lib/knot/CHANGELOG.md`"),
        ("which release added hitch", "0.4.0"),
        ("which release added bend", "0.2.0"),
    ],
)
def test_the_first_release_is_that_of_the_package_that_a_question_is_about(
    several: App, question: str, release: str
) -> None:
    assert f"` is that of {release} [1]." in ask(several, question)["answer"]
