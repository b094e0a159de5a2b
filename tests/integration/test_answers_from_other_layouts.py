"""Answers from reStructuredText, change logs with one heading per version, and functions that are in no class."""

import json
from typing import Any

import pytest

from lore_server.app import App
from tests.harness.calls import app_fixture

FILES = {
    "NEWS": "Ship News\n\n"
    + "".join(
        f"Changes in {version}\n\n * the oars are {how}\n\n * "
        + "the crew repeats the song of the sea " * 40
        + f"\n\n{end}"
        for version, how, end in (
            ("1.9.0", "longer", ""),
            ("1.8.2", "lighter", " * added the sternPost() of elm\n\nOars of 1.8.1 are made of ash.\n\n"),
            ("1.7.0", "new", " * the keel is older than 1.6.0\n"),
        )
    ),
    "hull/ChangeLog": "Hull\n\n"
    + "".join(
        f"Changes with v{version}:\n\n\tAdditions:\n\n\t* plank 1: add {what} (#1)\n\t* plank 2: add {what} (#2)\n\n"
        for version, what in (("0.6.0", "oakum"), ("0.5.1", "pitch"), ("0.5.0", "tar"))
    ),
    "sails/CHANGELOG.md": "# Sails\n\n"
    + "".join(
        f"## [{version}](https://example.org/{version}) - {date}\n\n{notes}\n\n"
        for version, date, notes in (
            ("7.1.0", "2024-03-01", "### Fixed\n- Reefs hold."),
            ("7.0.2", "2024-02-01", "### Changed\n- Small jibs.\n\n### Upgrade from 6.4.0\n- Sew the jibs."),
            ("7.0.1", "2024-01-01", "- Spritsails are gone."),
        )
    ),
    "CHANGES/CHANGES-2.1.md": "# Changes\n\n## v2.1.10 (2024-05-01)\n\n- Quays have numbers.\n\n"
    "## v2.1.4(2024-02-24)\n\n### Quay\n\n- [Fix the leak of the bilge pump](https://example.org/pull/9)\n",
    "RELEASE-NOTES.txt": "".join(
        f"{title}\n\nShips of oak.\n\nNew Features\n------------\n\n* {what}\n\n"
        for title, what in (
            ("Royal Fleet Tools 5.3.0 Release Notes\n-------------------------------------", "Add sternGalley."),
            ("Royal Fleet Tools 5.2.0 Release Notes", "Add poopLantern."),
            ("Version 5.1.0\nRelease Notes", "Add sprit topsails."),
            ("Release Notes for version 5.0.1", "Add beakHead."),
        )
    ),
    "lines/CHANGELOG": "=== main\n\n* Add the hawser_splice plugin\n\n=== 8.2.0 (2026-01-02)\n\n"
    "* Remove the old_knot\n\n=== 8.1.0 (2025-11-02)\n\n* Add the short_splice plugin\n",
    "doc/release_notes/6.0.0.txt": "= New Features\n\n* A bilge_alarm has been added.\n",
    "docs/oakum.md": "# Oakum\n\nConsider a reasonable `oakumGrade` option, perhaps 100 to 1000, for a wet hull.\n",
    "docs/mooring.rst": "Mooring\n=======\n\nHow ships are tied to a quay.\n\n.. _spring-lines:\n\nSpring lines\n"
    "^^^^^^^^^^^^\n\n.. note::\n   A spring line is a picture here.\n\nA *spring line* is a rope that keeps a "
    "ship from moving along\nthe quay, see :ref:`ropes <ropes>`. It is made of ``nylon`` or "
    ":term:`hemp`.\n\nThrow it first.\n",
    "docs/capstan.rst": "Capstan\n=======\n\nA capstan is a turning drum that\npulls ropes with ``haul`` and "
    ":term:`hemp`.\n\nThe drum turns clockwise.\n",
    "docs/crews.md": "# Crews\n\nThe Bosun whistles. Without a Bosun, ropes remain on the quay, and each Bosun has "
    "one.\n",
    "docs/pilots.md": "# Pilots\n\nA river pilot implements the `Pilot` interface, and so does a sea pilot.\n",
    "docs/manifest.md": "# Manifest\n\n## `HoldFields`\n\nThe `HoldFields` of a manifest control which holds and hold "
    "fields are allowed.\n\n### Banned holds\n\nBan a hold by its hold number, so that the hold stays empty:\n\n"
    "```\nholds.ban(hold)\n```\n\n## Signatures\n\n" + "Each officer signs the list in ink. " * 40 + "\n\n## Rats\n\n"
    "If a hold has rats, close its hatch and fumigate the hold first.\n",
    "docs/fumigation.md": "# Fumigation\n\nTo fumigate the cargo, name its decks with the option `smoke`:\n\n"
    "```\nship.open({smoke: ['lower']})\n```\n\n## Masks\n\nThe option `smoke` is for the crew in masks.\n\n"
    "## Gas\n\nAnother gas may be chosen:\n\n```\nship.open({smoke: {gas: 'sulphur'}})\n```\n",
    "docs/hulls.md": "# Hulls\n\nEach hull is built of oak.\n\n## Fire-safety\n\nTar and pitch are kept ashore.\n\n"
    "## Water resistance\n\nCaulk keeps it out.\n\n## Paint\n\nBlack.\n",
    "docs/galley.md": "# Galley\n\n<h3 id='salt'>\nHow do I keep meat fresh?\n</h3>\n\nSee [salt](salt.md).\n\n"
    "<h3>How do I keep water fresh?</h3>\n\nCopper coins in the barrel do it.\n",
    "docs/water.md": "# Barrels\n\nTo keep a barrel of fresh water, tie it:\n\n```\nbarrel.tie('fresh water')\n```\n",
    "docs/rigging.md": '# <a name="rigging" />Rigging\n\nA mast stays upright by its stays. What a mainStay is '
    'made of, the shipwright decides.\n\n## <a name="spars" />Spars\n\nThe yards and the booms.\n\n'
    '## <a name="main-stay" />Main stay\n\n**`mainStay`** (rope, REQUIRED) from the masthead to the bow.\n',
    "lib/rig.js": "export const rig = {\n  mainStay: 'hemp',\n  mainStayLength: 20,\n  spar: 'pine',\n}\n",
    "docs/words.md": "# Words\n\n## What's a `Deadeye`?\n\n`Deadeye` stands for a round block. It has three holes.\n",
    "lib/deadeye.js": "/** A Deadeye is made of elm. */\nfunction Deadeye () {\n  return 'deadeye'\n}\n",
    "i18n/en.json": json.dumps(
        {
            name: {"title": f"Of {name}", "quays": [f"quay {number}" for number in range(200)]}
            for name in ("ebb", "spring tides", "neap tides")
        },
        indent=2,
    ),
    "docs/tides.md": "# Tides\n\n## Spring tides of the port\n\nShips with a deep keel leave at spring tides.\n",
    "docs/charts.md": "# Charts\n\nCharts keep the depths of a coast in one roll.\n\n## Portability\n\nThe roll has "
    "the same lines on each ship: copy it in Lisbon and read it in Bergen.\n\n## Ink\n\nInk is made of oak galls, "
    "and a chart is locked while it is drawn.\n",
    "rudder/CHANGELOG.md": "# Changes\n\n## [UNRELEASED]\n\n### Removed\n\n- Drop the tillerPin.\n\n### Added\n\n- The "
    "`rudderChain` for large ships.\n\n## 0.9.0 (6th May, 2024)\n\n- Fix the `keelBolt`.\n- Name "
    "the dependencies of the `spritYard` before its removal.\n\n## 0.8.0\n\n### Added\n\n"
    + "".join(f"- A plank of oak for frame {number}, which the carpenter fits in May.\n" for number in range(20))
    + "\n### Fixed\n\n- The `sternLamp` burns.\n\n## 0.7.0\n\n- The first planks of elm.\n",
    "hold/BeamPlanner.java": "/** A BeamPlanner plans the beam of a hull: its default beam is that of oak. */\n"
    "class BeamPlanner {\n"
    + "".join(
        f"    /** Returns the beam of plank {n}, with the default beam of the planner. */\n"
        f"    int beam{n}(int beam) {{\n        return beam * {n} + this.beam / beam;\n    }}\n\n"
        for n in range(30)
    )
    + "    static final int DEFAULT_BEAM = 7;\n\n    int beam = DEFAULT_BEAM;\n}\n",
    "hold/stow.ts": "type StowOptions = {\n  /** The stowDepth of a cask. */\n  stowDepth?: number\n}\n\n"
    + "".join(
        f"/** Checks that the option stowDepth fits cask {n}. */\n"
        f"export const fits{n} = (options: StowOptions) => options.stowDepth! > {n}\n\n"
        for n in range(30)
    )
    + "/** Stows casks. */\nexport const stow = ({ stowDepth = 12, row }: StowOptions) => stowDepth * row\n",
    "lib/pump.js": "'use strict'\n\nfunction drainBilge (pump) {\n  return pump.litres * 2\n}\n\n"
    "module.exports = { drainBilge }\n",
    "lib/ship.js": "const { drainBilge } = require('./pump')\n\nmodule.exports = ship => drainBilge(ship.pump)\n",
    "test/pump.test.js": "const { drainBilge } = require('../lib/pump')\n\ntest('drains', () => drainBilge({}))\n",
    "test/pumps.test.js": "test('a pump', () => test_pump(1))\n\nfunction test_pump (pump) {\n  return pump\n}\n",
    "docs/trials.md": "# The ship\n\n## Testing on land\n\nEach part is tried in a pool before it goes to sea.\n\n"
    "## Sailing from 4.4.0\n\nCut the ropes.\n\n## Sailing to > 4.5.0 (soon)\n\nTie them again.\n",
    "docs/pump.md": "# Pumps\n\nA pump has two handles, and I paint my pump.\n",
    "go.mod": "module example.org/sea/fleet\n\ngo 1.22\n",
    "anchor.go": "package fleet\n\n// Weigh lifts the anchor.\nfunc Weigh(chain int) int {\n\treturn chain\n}\n",
    "src/navy/__init__.py": "from navy.flags import hoist\n",
    "src/navy/flags.py": "def hoist(flag: str) -> str:\n    return flag\n",
}
app = app_fixture(FILES, real=True)


def ask(app: App, question: str) -> dict[str, Any]:
    return app.call("ask_knowledge_base", {"query": question})


@pytest.mark.parametrize("question", ["What changed in v2.1.4?", "what's new in 2.1.4"])
def test_a_version_is_found_under_a_heading_with_a_v(app: App, question: str) -> None:
    reply = ask(app, question)

    assert reply["answer"].startswith("`CHANGES/CHANGES-2.1.md` has the notes of 2.1.4 [1].")
    assert "bilge pump" in reply["citations"][0]["quote"]


@pytest.mark.parametrize("version", ["4.4.0", "4.5.0"])
def test_a_heading_that_only_mentions_a_version_is_not_taken_for_its_notes(app: App, version: str) -> None:
    assert ask(app, f"What changed in {version}?")["answer"] == f"`docs/trials.md` has a heading with {version} [1]."


def test_the_releases_of_a_plain_text_are_known_by_lines_of_their_own(app: App) -> None:
    added = ask(app, "which release added sternPost()?")
    changed = ask(app, "What changed in 1.8.2?")
    missing = [ask(app, f"What changed in {version}?")["answer"] for version in ("1.8.1", "1.6.0")]

    assert added["answer"].startswith("The earliest release note here that names `sternPost` is that of 1.8.2 [1].")
    assert changed["answer"].startswith("`NEWS` has the notes of 1.8.2 [1].")
    assert [text.partition(" in")[0] for text in missing] == [
        "There is no note of release 1.8.1",
        "There is no note of release 1.6.0",
    ]


@pytest.mark.parametrize(
    ("version", "source", "begin", "end"),
    [
        ("0.5.1", "hull/ChangeLog", "Changes with v0.5.1:", "plank 2: add pitch (#2)"),
        ("7.0.2", "sails/CHANGELOG.md", "## [7.0.2](https://example.org/7.0.2)", "- Sew the jibs."),
        ("5.3.0", "RELEASE-NOTES.txt", "Royal Fleet Tools 5.3.0 Release Notes", "* Add sternGalley."),
        ("5.2.0", "RELEASE-NOTES.txt", "Royal Fleet Tools 5.2.0 Release Notes", "* Add poopLantern."),
        ("5.1.0", "RELEASE-NOTES.txt", "Version 5.1.0\nRelease Notes", "* Add sprit topsails."),
        ("5.0.1", "RELEASE-NOTES.txt", "Release Notes for version 5.0.1", "* Add beakHead."),
        ("8.1.0", "lines/CHANGELOG", "=== 8.1.0 (2025-11-02)", "* Add the short_splice plugin"),
        ("6.0.0", "doc/release_notes/6.0.0.txt", "= New Features", "* A bilge_alarm has been added."),
        ("7.0", "sails/CHANGELOG.md", "## [7.0.2](https://example.org/7.0.2)", "- Spritsails are gone."),
    ],
)
def test_the_passage_of_a_release_has_its_notes_and_no_others(
    app: App, version: str, source: str, begin: str, end: str
) -> None:
    reply = ask(app, f"What changed in {version}?")

    assert reply["answer"] == f"`{source}` has the notes of {version} [1]."
    assert reply["citations"][0]["quote"].startswith(begin)
    assert reply["citations"][0]["quote"].endswith(end)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("which release dropped the tillerPin", "names `tillerPin` as dropped is that of the unreleased changes [1]."),
        ("which release added rudderChain", "names `rudderChain` is that of the unreleased changes [1]."),
        ("which release fixed the keelBolt", "names `keelBolt` as fixed is that of 0.9.0 [1]."),
        ("which release fixed the sternLamp", "names `sternLamp` as fixed is that of 0.8.0 [1]."),
        ("which release added the sternGalley", "names `sternGalley` is that of 5.3.0 [1]."),
        ("when was beakHead added?", "names `beakHead` is that of 5.0.1 [1]."),
        ("which release added the short_splice plugin", "names `short_splice` is that of 8.1.0 [1]."),
        ("which version removed old_knot", "names `old_knot` as removed is that of 8.2.0 [1]."),
        ("when was the bilge_alarm added", "names `bilge_alarm` is that of 6.0.0 [1]."),
        (
            "which release added hawser_splice",
            "names `hawser_splice` is that of the unreleased changes [1].",
        ),
        ("which release added the planks of elm", "names `planks of elm` is that of 0.7.0 [1]."),
        pytest.param(
            "which version fixed the leak of the bilge pump",
            "names `leak of the bilge pump` as fixed is that of 2.1.4 [1].",
            id="a verb within a link",
        ),
    ],
)
def test_a_change_belongs_to_the_release_whose_title_is_above_it(app: App, question: str, answer: str) -> None:
    assert ask(app, question)["answer"].startswith(f"The earliest release note here that {answer}")


@pytest.mark.parametrize(
    ("question", "what"),
    [
        ("which release removed the keelBolt", "`keelBolt` as removed"),
        ("which release removed the spritYard", "`spritYard` as removed"),  # `before its removal` is none
        ("which release deprecated the spritYard", "`spritYard` as deprecated"),  # nor are `dependencies` a deprecation
    ],
)
def test_a_change_that_no_release_note_states_is_not_attributed_to_the_release_that_names_its_subject(
    app: App, question: str, what: str
) -> None:
    expected = f"No release note here names {what}; the latest that names it is that of 0.9.0 [1]."

    assert ask(app, question)["answer"].startswith(expected)


@pytest.mark.parametrize("question", ["where is drainBilge implemented", "Where is drainBilge defined?"])
def test_a_function_is_defined_where_its_file_defines_it(app: App, question: str) -> None:
    reply = ask(app, question)

    assert reply["answer"] == "`drainBilge` is defined in lib/pump.js [1]."
    assert (reply["mode"], reply["found"]) == ("structural", True)
    assert reply["citations"][0]["quote"] == "function drainBilge (pump) {"


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("fleet.Weigh", "anchor.go"),
        ("navy.hoist", "src/navy/flags.py"),
        ("navy.flags.hoist", "src/navy/flags.py"),
    ],
)
def test_the_name_of_a_function_may_begin_with_its_package(app: App, name: str, place: str) -> None:
    assert ask(app, f"where is {name} defined")["answer"] == f"`{name}` is defined in {place} [1]."
    assert "is defined in" not in ask(app, f"where is ships.{name} defined")["answer"]


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("What is the default beam of BeamPlanner?", "DEFAULT_BEAM = 7"),
        ("what is the default value of the stowDepth option", "stowDepth = 12"),
        ("which default for stowDepth is used?", "stowDepth = 12"),
    ],
)
def test_the_passage_that_states_a_default_comes_first(app: App, question: str, value: str) -> None:
    assert value in ask(app, question)["citations"][0]["quote"]


def test_a_sentence_without_a_default_does_not_answer_what_it_is(app: App) -> None:
    assert "oakumGrade" not in ask(app, "What is the default of the oakumGrade option?")["answer"]


@pytest.mark.parametrize("name", ["FumigateCargo", "BannedHolds", "ShipOpen", "DrainPump", "rig.OpenShip"])
def test_the_definition_of_a_name_whose_parts_are_other_names_is_not_answered(app: App, name: str) -> None:
    reply = ask(app, f"Where is {name} defined?")

    assert not reply["found"]
    assert reply["answer"].startswith(f"`{name}` occurs nowhere in this knowledge base.")


@pytest.mark.parametrize("name", ["MainStay", "drain_bilge"])
def test_the_definition_of_a_name_in_another_spelling_may_be_in_a_passage(app: App, name: str) -> None:
    assert "occurs nowhere" not in ask(app, f"Where is {name} defined?")["answer"]


@pytest.mark.parametrize("question", ["how do i test a pump", "how can we test my pump?", "how to test pumps"])
def test_a_guide_to_testing_comes_before_tests_and_other_guides(app: App, question: str) -> None:
    assert ask(app, question)["citations"][0]["source"] == "docs/trials.md"


@pytest.mark.parametrize(
    "question",
    ["how do I haul a rope somewhere else", "how does something haul ropes again", "Beyond which rope must I haul?"],
)
def test_a_word_that_stands_for_any_thing_or_place_need_not_occur(app: App, question: str) -> None:
    assert "occurs nowhere" not in ask(app, question)["answer"]


@pytest.mark.parametrize("kind", ["class", "interface"])
def test_what_implements_a_class_that_no_passage_names_as_one_is_not_answered(app: App, kind: str) -> None:
    reply = ask(app, f"who implements the Bosun {kind}")

    assert reply["answer"].startswith(f"There is no {kind} `Bosun` in this knowledge base.")
    assert reply["found"] is False


@pytest.mark.parametrize(
    ("question", "lead"),
    [
        ("what is a spring line", "A *spring line* is a rope that keeps a ship from moving along the quay, see ropes."),
        ("what is a capstan", "A capstan is a turning drum that pulls ropes with `haul` and hemp."),
        ("What is a Deadeye?", "`Deadeye` stands for a round block."),
    ],
)
def test_a_sentence_that_defines_the_name_leads_without_its_markup(app: App, question: str, lead: str) -> None:
    assert ask(app, question)["answer"].startswith(f"{lead} [1]")


IN_A_HEADING = "another form of a word in a heading"
AMONG_SECTIONS = "a heading within a passage of several sections"


@pytest.mark.parametrize(
    ("question", "source", "heading", "text"),
    [
        pytest.param("who implements the Pilot interface", "docs/pilots.md", "Pilots", "", id="an interface in a text"),
        pytest.param(
            "how do I fumigate a hold",
            "docs/fumigation.md",
            "Fumigation",
            "# Fumigation\n\nTo fumigate the cargo",
            id="the guide that the question names",
        ),
        pytest.param("is it portable", "docs/charts.md", "Charts > Portability", "", id=IN_A_HEADING),
        pytest.param("Portable?", "docs/charts.md", "Charts > Portability", "", id=f"{IN_A_HEADING}, alone"),
        pytest.param("is it fire safe", "docs/hulls.md", "Hulls", "", id=AMONG_SECTIONS),
        pytest.param("Is it water resistant?", "docs/hulls.md", "Hulls", "", id=f"{AMONG_SECTIONS}, below another"),
        pytest.param("How do I keep water fresh?", "docs/galley.md", "", "Copper coins", id="a question as a heading"),
        pytest.param("what is a spar", "docs/rigging.md", "", "yards", id="a heading with an anchor"),
        pytest.param("what's mainStay", "docs/rigging.md", "", "masthead", id="words of a name"),
        pytest.param("spring tides", "docs/tides.md", "", "Ships with a deep keel", id="a guide before a key of data"),
    ],
)
def test_the_passage_that_a_question_names_comes_first(
    app: App, question: str, source: str, heading: str, text: str
) -> None:
    reply = ask(app, question)

    first = reply["citations"][0]
    assert reply["found"] is True
    assert first["source"] == source
    assert first["heading"].startswith(heading)
    assert text in first["quote"]


@pytest.mark.parametrize("question", ["is it portable by mules", "is it a safe", "is it submersible"])
def test_a_heading_with_some_words_of_a_question_is_no_evidence(app: App, question: str) -> None:
    assert ask(app, question)["found"] is False
