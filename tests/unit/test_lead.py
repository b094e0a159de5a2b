"""The lead of an answer is a complete sentence of prose that covers the question, or there is no lead."""

import re

import pytest

from lore_server.answer.lead import defining, find_lead, sentences, steps
from lore_server.answer.pack import Passage
from lore_server.query.confidence import share_of
from lore_server.query.proximity import stems
from tests.harness.chunks import make_chunk
from tests.harness.projects import ROOT
from tests.harness.texts import prose_of

TEXT = """# Retries

A failed job waits two seconds before its first retry. It is dead after five attempts.

- A failed job in a list waits two seconds.

> A failed job in a quotation waits two seconds.

| A failed job | waits two seconds before its first retry. |
|---|---|
| A failed job | waits two seconds before its first retry. |

```text
A failed job in a fence waits two seconds.
```

    A failed job in an indented block waits two seconds.

The failed job waits for two seconds:

Why does a failed job wait two seconds?
"""


def lead(question: str, text: str = TEXT, source: str = "docs/retries.md") -> str | None:
    passage = Passage(1, make_chunk(source, text=text, lines=(1, text.count("\n") + 1)))
    share = share_of(stems(question), lambda words: dict.fromkeys(words, 1.0))
    found = find_lead(question, [passage], share)
    return found and found[0]


def test_a_complete_sentence_of_markdown_prose_that_covers_the_question_leads() -> None:
    question = "How long does a failed job wait before its first retry?"

    assert lead(question) == "A failed job waits two seconds before its first retry."
    assert lead(question, source="ferry/retry.py") is None
    assert lead("How much does a train ticket to Vienna cost?") is None


@pytest.mark.parametrize("word", ["list", "quotation", "fence", "indented block"])
def test_fragments_never_lead(word: str) -> None:
    assert lead(f"How long does a failed job in a {word} wait?") is None or word not in str(lead(word))


@pytest.mark.parametrize(("source", "leads"), [("docs/environments.md", False), ("docs/projects.md", True)])
def test_each_word_of_a_short_question_is_in_the_sentence_or_above_it(source: str, leads: bool) -> None:
    question, text = "How do I create a new project?", "Create a new environment with `make`.\n"
    rarity = {"create": 1.0, "new": 1.0, "project": 0.2}  # the last is in most passages
    share = share_of(stems(question), lambda words: {word: rarity[word] for word in words})

    found = find_lead(question, [Passage(1, make_chunk(source, text=text, lines=(1, 2)))], share)

    assert (found is not None) == leads


def test_an_example_does_not_lead() -> None:
    question, text = "default port of the queue", "The default port of the queue is 443.\n"
    share = share_of(stems(question), lambda words: dict.fromkeys(words, 1.0))
    headings = [("Queue", "Ports"), ("Queue", "Example 3")]
    passages = [Passage(1, make_chunk("docs/queue.md", text=text, lines=(1, 2), heading=one)) for one in headings]

    assert [find_lead(question, [passage], share) is None for passage in passages] == [False, True]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How many failed jobs does a queue keep?", "A queue keeps failed jobs in its store for later.\n"),
        ("Why does a queue keep failed jobs?", "A queue keeps failed jobs in its store for later.\n"),
        (
            "Why is the queue the default store?",
            "A queue shares `QueueStore` with the others, so that other stores remain possible.\n",
        ),
        ("Why keep failed jobs in a queue?", "**Therefore:** Keep failed jobs in a queue if you can.\n"),
        ("What does a queue keep?", "It keeps the failed jobs of a queue for later.\n"),
        ("Does a queue keep failed jobs?", "A queue keeps failed jobs in its store [for\nlater](x.md) as (follows.\n"),
    ],
    ids=["no quantity", "no reason", "a reason for something else", "a conclusion", "dangling pronoun", "open bracket"],
)
def test_a_sentence_that_does_not_answer_does_not_lead(question: str, text: str) -> None:
    assert lead(question, text) is None


def test_no_sentence_that_could_lead_is_a_fragment_in_any_document_of_this_repository() -> None:
    """Whichever question is asked, its lead is one of these sentences."""
    files = [file for folder in ("docs", "data/sample") for file in sorted((ROOT / folder).rglob("*.md"))]
    count = 0
    for file in files:
        text = file.read_text(encoding="utf-8")
        passage = Passage(1, make_chunk(file.name, text=text, lines=(1, text.count("\n") + 1)))
        prose = prose_of(text)
        for sentence in sentences(passage):
            count += 1
            assert sentence in prose, file
            assert sentence[0].isupper() or sentence[0] in "`\"'*_(["
            assert sentence.rstrip("`\"')*_]")[-1] in ".!"

    assert count > 1000


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("What is a pallet wrapper?", "See on pallet wrapper pages for more information about each pallet wrapper."),
        ("What is a pallet wrapper?", "Before we dive into the pallet wrapper, here is some background on it."),
        ("What is a pallet wrapper?", "Each warehouse can include its own pallet wrapper for heavy loads."),
        ("How do I start the pallet wrapper?", "The pallet wrapper starts slowly if it is cold in the morning."),
        (
            "Which scale does version 12 need?",
            "The current version of the scale needs at least a weight of 22.12.0 grams.",
        ),
        ("What does wrap_pallet return?", "A pallet can return to its place after somebody has tried to wrap it."),
        ("How do I list the wrappers?", "You can also list the wrappers by setting a number of pallets first."),
        ("What is the minimum size that it wraps?", "A wrapper that wraps foil of any size with a minimum of care."),
        ("How does the wrapper work?", "This section describes how the wrapper does its work in the cold."),
        ("pallet wrapper modes", "In the sections below, explore the modes of each pallet wrapper in the hall."),
        ("How do I change the foil?", "To change the foil without tools, see the Foil of the other machines."),
        ("Which foil does the wrapper need?", "The table below lists each foil that the wrapper does need."),
        ("What does the wrap_limit option do?", "The option is new, and the wrapper may do `wrap_limit` after it."),
        ("How do I wind foil?", "You must also wind the foil of the other machines, as they do."),
        ("Where do I report a torn foil?", "Do not report a torn foil to the people who drive the machines."),
        ("Where do I report a torn foil?", "For all other foil, report torn pieces to the office in the hall."),
        ("Where do I report a torn foil?", "People who report a torn foil get a reward for it."),
        (
            "What is the difference between a foil winder of steel and a foil wrapper of steel?",
            "The foil winder and the foil wrapper of steel do need oil in the winter.",
        ),
        ("What is a wrapper?", "The `wrapper` option is a shorthand for the machine."),
        ("How do I hook a winder before each pallet?", "To use this, hook the winder in before each pallet arrives."),
        ("can I wind foil on rails", "The machine on rails will wind these sheets of foil."),
    ],
)
def test_a_sentence_of_another_type_does_not_lead(question: str, sentence: str) -> None:
    assert lead(question, f"{sentence}\n") is None


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("What is a pallet wrapper?", "A **pallet wrapper** is a machine that winds foil around a load."),
        ("what are pallet wrappers", "Pallet wrappers (also: winders) are machines that wind foil around a load."),
        ("What is a pallet wrapper?", "Machines that wind foil, called *pallet wrappers*, stand beside the ramp."),
        ("How do I start the pallet wrapper?", "To start the pallet wrapper, press its green button twice."),
        ("Which scale does version 12 need?", "The scale of version 12 needs a weight of at least four grams."),
        ("What does wrap_pallet return?", "The function `wrap_pallet` will return the length of the foil."),
        ("What is wrap_limit?", "The `wrap_limit` option allows so many rounds of foil."),
        ("What does the wrap_limit option do?", "The `wrap_limit` option ends the winding of foil."),
        ("Where do I report a torn foil?", "You report a torn foil to the office in the [hall](hall.md)."),
        ("Where do I report a torn foil?", "You report a torn foil to the [hall][the-hall]."),
        ("which licence covers the wrapper", "This project licences the wrapper under what its licence covers."),
        ("What is winder?", "winder is a machine with a name in lower case."),
        ("What is a PWM?", 'A Pallet Winding Machine (also called "PWM") is a machine that winds foil.'),
        (
            "What is the difference between a foil winder of steel and a foil wrapper of steel?",
            "A foil winder of steel works by hand, unlike the foil wrapper of steel.",
        ),
        ("Which weight does the wrapper need?", "The wrapper does need a weight below the maximum."),
    ],
)
def test_a_sentence_of_the_type_of_the_question_leads(question: str, sentence: str) -> None:
    assert lead(question, f"{sentence}\n") == re.sub(r"\[(hall)\]\S*?(?=\.$)", r"\1", sentence)


def test_a_sentence_leads_before_what_something_provides_and_without_the_roles_that_sphinx_reads() -> None:
    roles = "A {term}`winder` is a machine that `a {meth}` and {meth}`~crane.Foil.wind` control.\n"

    assert lead("What is a manifest?", f"{PROVIDED}\n{DEFINED}") == DEFINED.strip()
    assert lead("What is a winder?", roles) == "A `winder` is a machine that `a {meth}` and `crane.Foil.wind` control."


FENCE = ("a.md", "Write two of them:\n\n```sh\n# manifest\nload all\n```\n")
NAMES = ("a.md", "The freight is listed in a file called `manifest` in each hold.\n")
PROVIDED, DEFINED = "A manifest provides the weight of a ship.\n", "A manifest is a list of freight.\n"
USED = ("src/hold.ts", "// more than these fall overboard\nif (casks > this.maxCasks) maxCasks()\n")
SUBJECTS: dict[str, list[tuple[tuple[str, str], ...]]] = {
    "What is a manifest?": [
        (FENCE, NAMES),
        (FENCE, NAMES, ("a.md", "## Manifest\n\nIt lists the freight.\n")),
        *(
            (("a.md", "The manifest of the ship provides a list of its freight.\n"),
             ("a.md", f"{heading}\n\nThe freight, one line each.\n"))
            for heading in ("## Manifest", '## <a name="list" />Manifest', "Manifest\n--------", "Manifest\n^^^^^^^^",
                            "### `manifest` (String)")
        ),
        (("a.md", "# Manifests\n\nManifests can be printed.\n"), ("a.md", PROVIDED), ("a.md", DEFINED)),
    ],
    "What is maxCasks?": [
        (USED, ("src/hold.ts", "  /**\n   * The most casks in one hold.\n   */\n  readonly maxCasks?: number\n")),
        (USED, ("src/hold.ts", "\t// Casks beyond it stay on the quay.\n\tmaxCasks int\n")),
        (USED, ("src/hold.ts", "    # beyond it, casks stay on the quay\n    maxCasks = 4\n")),
        (USED, ("src/hold.ts", "// maxCasks is the most casks in one hold.\nfunc maxCasks() int {\n")),
    ],
    "What's maxCasks": [
        (("hold.json", '"maxCasks": {\n  "type": "integer"\n}\n'),
         ("hold.md", "## Max casks\n\n**`maxCasks`** (OPTIONAL) the limit of one hold.\n")),
    ],
    "what is berth": [
        (("dock.js", "function berth (ships) {\n  return ships\n}"),
         ("api.md", f"### {heading}\n\nTakes several ships."))
        for heading in ("`dock.berth(ships, options) => Berth`", "dock.berth(ships)", "`berth(ships): Berth`")
    ],
}  # fmt: skip
"""Passages for each question; the last one defines its subject."""


@pytest.mark.parametrize(
    ("question", "rows"), [(question, rows) for question in SUBJECTS for rows in SUBJECTS[question]]
)
def test_the_passage_that_says_what_a_subject_is_defines_it(question: str, rows: tuple[tuple[str, str], ...]) -> None:
    passages = [make_chunk(source, text=text) for source, text in rows]

    assert defining(question, lambda: passages) == [passages[-1]]


def test_the_opening_of_the_document_named_after_the_subject_comes_before_a_mention() -> None:
    mention = make_chunk("docs/ballast.md", text="A bilge pump provides ballast.\n", lines=(9, 9))
    opening = make_chunk(
        "docs/0012-bilge-pump.md", text="- Status: built\n\n# Summary\n\n- Drains a ship\n", lines=(1, 5)
    )
    later = make_chunk("docs/0012-bilge-pump.md", text="# Costs\n", lines=(6, 6))

    assert defining("What is a bilge pump?", lambda: [mention, later, opening]) == [opening]


def test_a_comment_that_says_what_a_class_is_comes_before_its_constructor() -> None:
    made = make_chunk("Hold.java", text="    /** Makes one. */\n    public CargoHold() {\n    }\n")
    opened = make_chunk("Hold.java", text=" */\npublic class CargoHold {\n")
    said = make_chunk("Hold.java", text="/**\n A CargoHold is a room below the deck.\n")

    assert defining("what is a CargoHold", lambda: [opened, made]) == [opened]
    assert defining("what is a CargoHold", lambda: [opened, made, said]) == [said]


def test_steps_are_code_in_any_notation_and_the_best_passage_keeps_its_place_if_it_has_some() -> None:
    question = "How do I wind foil on a ship?"
    share = share_of(stems(question), lambda words: dict.fromkeys(words, 1.0))
    plain = make_chunk("a.rst", text="Foil is wound on each ship.\n")
    literal = make_chunk("a.rst", text="Start it::\n\n   wind\n")
    noted = make_chunk("a.rst", text=".. note::\n\n   Wind foil on a ship.\n")
    covering = make_chunk("a.rst", text="Wind foil on a ship:\n\n.. code-block:: sh\n\n   wind\n")

    named = make_chunk("foils.rst", text="Turn the drum::\n\n   wind\n")

    assert steps(question, [plain, literal, covering], share) == [covering]
    assert steps(question, [literal, covering], share) == [literal]
    assert steps(question, [plain, covering, named], share) == [covering]
    assert steps(question, [noted, literal, named], share) == [named]
    assert steps(question, [noted, literal], share) == []
    assert steps(question, [plain, noted], share) == []
