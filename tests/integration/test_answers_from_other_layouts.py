"""Answers from reStructuredText, change logs with one heading per version, and functions that are in no class."""

import json
from typing import Any

import pytest

from lore_server.app import App
from tests.harness.calls import app_fixture

SAILS, QUAYS = "sails/CHANGELOG.md", "CHANGES/CHANGES-2.1.md"
TOOLS, ALARMS = "RELEASE-NOTES.txt", "doc/release_notes/6.0.0.txt"
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
    SAILS: "# Sails\n\n"
    + "".join(
        f"## [{version}](https://example.org/{version}) - {date}\n\n{notes}\n\n"
        for version, date, notes in (
            ("7.1.0", "2024-03-01", "### Fixed\n- Reefs hold."),
            ("7.0.2", "2024-02-01", "### Changed\n- Small jibs.\n\n### Upgrade from 6.4.0\n- Sew the jibs."),
            ("7.0.1", "2024-01-01", "- Spritsails are gone."),
        )
    ),
    QUAYS: "# Changes\n\n## v2.1.10 (2024-05-01)\n\n- Quays have numbers.\n\n"
    "## v2.1.4(2024-02-24)\n\n### Quay\n\n- [Fix the leak of the bilge pump](https://example.org/pull/9)\n",
    TOOLS: "".join(
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
    ALARMS: "= New Features\n\n* A bilge_alarm has been added.\n",
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
    "docs/reefs.md": "# Reefs\n\n"
    + "".join(f"## Reef {n}\n\nThe `reefDepth` stops the default sounding of reef {n}.\n\n" for n in range(9))
    + '## `reefDepth`\n<a id="reef-depth"></a>\n\n+ Default: `4` (fathoms)\n\nHow deep the water over a reef is.\n',
    "docs/lamps.rst": "Lamps\n=====\n\n"
    + "".join(f"Lamp {n}\n------\n\nThe lampSignal stops the default light of lamp {n}.\n\n" for n in range(9))
    + "Settings\n--------\n\n.. py:data:: lampSignal\n\n    What a lamp shows to ships that come\n"
    "    from the sea.\n\n    Default: ``'red'``\n",
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


EARLIEST = "The earliest release note here that names"
ANSWERS = {
    "a heading that only mentions a version is not taken for its notes": {
        "What changed in 4.4.0?": "`docs/trials.md` has a heading with 4.4.0 [1].",
        "What changed in 4.5.0?": "`docs/trials.md` has a heading with 4.5.0 [1].",
    },
    "the releases of a plain text are known by lines of their own": {
        "which release added sternPost()?": f"{EARLIEST} `sternPost` is that of 1.8.2 [1].…",
        "What changed in 1.8.2?": "`NEWS` has the notes of 1.8.2 [1].…",
        "What changed in 1.8.1?": "There is no note of release 1.8.1 in…",
        "What changed in 1.6.0?": "There is no note of release 1.6.0 in…",
    },
    "a change belongs to the release whose title is above it": {
        "which release dropped the tillerPin": (
            f"{EARLIEST} `tillerPin` as dropped is that of the unreleased changes [1].…"
        ),
        "which release added rudderChain": f"{EARLIEST} `rudderChain` is that of the unreleased changes [1].…",
        "which release fixed the keelBolt": f"{EARLIEST} `keelBolt` as fixed is that of 0.9.0 [1].…",
        "which release fixed the sternLamp": f"{EARLIEST} `sternLamp` as fixed is that of 0.8.0 [1].…",
        "which release added the sternGalley": f"{EARLIEST} `sternGalley` is that of 5.3.0 [1].…",
        "when was beakHead added?": f"{EARLIEST} `beakHead` is that of 5.0.1 [1].…",
        "which release added the short_splice plugin": f"{EARLIEST} `short_splice` is that of 8.1.0 [1].…",
        "which version removed old_knot": f"{EARLIEST} `old_knot` as removed is that of 8.2.0 [1].…",
        "when was the bilge_alarm added": f"{EARLIEST} `bilge_alarm` is that of 6.0.0 [1].…",
        "which release added hawser_splice": f"{EARLIEST} `hawser_splice` is that of the unreleased changes [1].…",
        "which release added the planks of elm": f"{EARLIEST} `planks of elm` is that of 0.7.0 [1].…",
    },
    "a verb within a link states a change": {
        "which version fixed the leak of the bilge pump": (
            f"{EARLIEST} `leak of the bilge pump` as fixed is that of 2.1.4 [1].…"
        ),
    },
    "neither `before its removal` nor `dependencies` states a change of what the note names": {
        f"which release {verb} the {name}": (
            f"No sentence of the notes names `{name}` as {verb}; the latest that names it is that of 0.9.0 [1].…"
        )
        for verb, name in (("removed", "keelBolt"), ("removed", "spritYard"), ("deprecated", "spritYard"))
    },
    "the name of a function may begin with its package": {
        f"where is {name} defined": f"`{name}` is defined in {place} [1]."
        for name, place in (
            ("fleet.Weigh", "anchor.go"),
            ("navy.hoist", "src/navy/flags.py"),
            ("navy.flags.hoist", "src/navy/flags.py"),
        )
    },
    "what implements a class that no passage names as one is not answered": {
        f"who implements the Bosun {kind}": f"There is no {kind} `Bosun` in this knowledge base.…"
        for kind in ("class", "interface")
    },
    "a sentence that defines the name leads without its markup": {
        "what is a spring line": (
            "A *spring line* is a rope that keeps a ship from moving along the quay, see ropes. [1]…"
        ),
        "what is a capstan": "A capstan is a turning drum that pulls ropes with `haul` and hemp. [1]…",
        "What is a Deadeye?": "`Deadeye` stands for a round block. [1]…",
    },
}  # fmt: skip
"""The questions, by what the answers show; of an answer that ends with three dots, more follows."""


@pytest.mark.parametrize(
    ("question", "answer"),
    [pytest.param(*one, id=f"{shown}: {one[0]}") for shown, answers in ANSWERS.items() for one in answers.items()],
)
def test_a_question_is_answered_from_the_part_of_a_document_that_decides_it(
    app: App, question: str, answer: str
) -> None:
    reply = ask(app, question)

    begin = answer.removesuffix("…")
    assert (reply["answer"][: len(begin)] if answer.endswith("…") else reply["answer"]) == begin
    assert reply["found"] is not begin.startswith("There is no")


@pytest.mark.parametrize("name", ["fleet.Weigh", "navy.hoist", "navy.flags.hoist"])
def test_the_name_of_a_function_does_not_begin_with_another_package(app: App, name: str) -> None:
    assert "is defined in" not in ask(app, f"where is ships.{name} defined")["answer"]


@pytest.mark.parametrize(
    ("question", "source", "version", "begin", "end"),
    [
        ("What changed in 0.5.1?", "hull/ChangeLog", "0.5.1", "Changes with v0.5.1:", "plank 2: add pitch (#2)"),
        ("What changed in 7.0.2?", SAILS, "7.0.2", "## [7.0.2](https://example.org/7.0.2)", "- Sew the jibs."),
        ("What changed in 7.0?", SAILS, "7.0", "## [7.0.2](https://example.org/7.0.2)", "- Spritsails are gone."),
        ("What changed in 5.3.0?", TOOLS, "5.3.0", "Royal Fleet Tools 5.3.0 Release Notes", "* Add sternGalley."),
        ("What changed in 5.2.0?", TOOLS, "5.2.0", "Royal Fleet Tools 5.2.0 Release Notes", "* Add poopLantern."),
        ("What changed in 5.1.0?", TOOLS, "5.1.0", "Version 5.1.0\nRelease Notes", "* Add sprit topsails."),
        ("What changed in 5.0.1?", TOOLS, "5.0.1", "Release Notes for version 5.0.1", "* Add beakHead."),
        (
            "What changed in 8.1.0?",
            "lines/CHANGELOG",
            "8.1.0",
            "=== 8.1.0 (2025-11-02)",
            "* Add the short_splice plugin",
        ),
        ("What changed in 6.0.0?", ALARMS, "6.0.0", "= New Features", "* A bilge_alarm has been added."),
        ("What changed in v2.1.4?", QUAYS, "2.1.4", "## v2.1.4(2024-02-24)", "bilge pump](https://example.org/pull/9)"),
        ("what's new in 2.1.4", QUAYS, "2.1.4", "## v2.1.4(2024-02-24)", "bilge pump](https://example.org/pull/9)"),
    ],
)
def test_the_passage_of_a_release_has_its_notes_and_no_others(
    app: App, question: str, source: str, version: str, begin: str, end: str
) -> None:
    reply = ask(app, question)

    assert reply["answer"] == f"`{source}` has the notes of {version} [1]."
    assert reply["citations"][0]["quote"].startswith(begin)
    assert reply["citations"][0]["quote"].endswith(end)


@pytest.mark.parametrize("question", ["where is drainBilge implemented", "Where is drainBilge defined?"])
def test_a_function_is_defined_where_its_file_defines_it(app: App, question: str) -> None:
    reply = ask(app, question)

    assert reply["answer"] == "`drainBilge` is defined in lib/pump.js [1]."
    assert (reply["mode"], reply["found"]) == ("structural", True)
    assert reply["citations"][0]["quote"] == "function drainBilge (pump) {"


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("What is the default beam of BeamPlanner?", "DEFAULT_BEAM = 7"),
        ("what is the default value of the stowDepth option", "stowDepth = 12"),
        ("which default for stowDepth is used?", "stowDepth = 12"),
        ("What is the default of reefDepth?", "+ Default: `4` (fathoms)"),
        ("default of lampSignal", "Default: ``'red'``"),
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


@pytest.mark.parametrize(
    "question",
    ["how do I haul a rope somewhere else", "how does something haul ropes again", "Beyond which rope must I haul?"],
)
def test_a_word_that_stands_for_any_thing_or_place_need_not_occur(app: App, question: str) -> None:
    assert "occurs nowhere" not in ask(app, question)["answer"]


TRIALS = "a guide to testing before tests and other guides"
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
        *(
            pytest.param(question, "docs/trials.md", "", "", id=f"{TRIALS}: {question}")
            for question in ("how do i test a pump", "how can we test my pump?", "how to test pumps")
        ),
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
