"""Names in a question are looked up before anything is ranked, and nothing else is stated as a fact."""

from pathlib import Path
from typing import Any

import pytest

from lore_server.app import App
from lore_server.contract import Contract
from lore_server.query.subjects import elsewhere, nouns
from tests.harness.calls import app_fixture, synced_app


def ticket(number: int, title: str, text: str) -> str:
    return f"---\nid: {number}\ntitle: {title}\nstate: CLOSED\n---\n# {title}\n\n{text}\n"


def adapter(folder: str, name: str = "Adapter") -> str:
    return f"package {folder}\n\n// {name} sends parcels with {folder}.\ntype {name} struct {{\n\tkey string\n}}\n"


def widget(name: str, imported: str, clause: str) -> str:
    return (
        f"{imported}/**\n * @class {name}\n */\nclass {name.rpartition('.')[2]} {clause}{{\n    static config = "
        f"{{className: '{name}'}}\n}}\nexport default Neo.setupClass({name.rpartition('.')[2]});\n"
    )


def crane(version: str, *lines: str) -> str:
    return f"# Crane {version}\n\nThis release follows the one before it and is about stabilization.\n\n" + "".join(
        f"- {line}\n" for line in lines
    )


FILES = {
    "issues/issue-410.md": ticket(410, "Parcels are weighed twice", "The scale of the sorter weighs a parcel twice."),
    "issues/issue-411.md": ticket(
        411, "Labels overlap", "What is ticket #410 about? It is about parcels; this ticket #411 is about labels."
    ),
    "release-notes/v3.0.0.md": crane("v3.0.0", "The new conveyor moves parcels in three lanes", "`crane lift` is new"),
    "release-notes/v3.2.0.md": crane(
        "v3.2.0",
        "v3.0.0 changed the conveyor; what changed now is its speed",
        "The multi-lane scanner reads labels, and the weight once: it can weigh-once",
        "The tare to balance is printed; the tare on the balance is not `printed` now",
    ),
    "release-notes/v3.10.0.md": crane(
        "v3.10.0",
        "The multi-lane scanner is faster",
        "Fix `--weigh-once`",
        "Add the new option `tare` to `Tare.balance()`",
    ),
    "docs/belt/CHANGELOG.md": "# Belt\n\n## 0.3.0\n\n- Add `lift()`\n\n## 0.2.0\n\n- Read `.lift` and lift_all()\n"
    "- Add `.lower()`\n\n"
    "## 0.1.0\n\n- The lift is not `re-lift`\n",
    "docs/history/CHANGELOG.md": "# Changes of the belt\n\n## 0.9.1 (May 2, 2024)\n\n- Add `--belt-speed` (GH-77)\n\n"
    "## 0.9.0 (April 1, 2024)\n\n- The belt can be reversed.\n",
    "package.json": '{"name": "crane", "exports": {"next": "./crane", "js": "./parcels"}}\n',
    "docs/pallets.md": "# Pallets\n\nSee [the guide to pallet wrappers](wrappers.md) for more information.\n\n"
    "Before we dive into pallet wrappers, here is some background on warehouses.\n",
    "docs/wrappers.md": "# Pallet wrappers\n\nBefore we dive into pallet wrappers, let us look at foil.\n\n"
    "A pallet wrapper is a machine that winds foil around the load of a pallet.\n\nFor a pallet wrapper, see also the "
    "page on foil.\n",
    "docs/glossary.md": "# Glossary\n\n## C\n\n### Conveyor lanes\n\nThree ways side by side on which parcels move.\n\n"
    "### Crate\n\nA conveyor lane carries no crates, because they are too heavy for the conveyor of a lane.\n",
    "docs/deploy.md": "# Deploy Crane\n\nTo deploy Crane to a server, run these commands:\n\n```bash\n"
    "crane build\ncrane push --all\n```\n\nThe server then restarts.\n\n## On Nimbus\n\nDeploy Crane with a token.\n",
    "docs/partners.md": "# Partners\n\nParcels of Crane are loaded by Gantry, [Lift](https://example.org/lift), "
    "`Derrick` and Hoister.\n\n- Barge\n- Tugboat\n- Punt\n\nA Derrick loads them at night, and how the Punt "
    "is loaded is in its manual.\n\nWanted:\n\n* \U0001f525 **Windlass Boat**  \n* **Capstan** - of oak\n",
    "docs/commands/crane-lift.md": "# Command: crane lift\n\nLifts a parcel from the belt to a shelf.\n",
    "carriers/air/fast/adapter.go": adapter("fast"),
    "carriers/air/slow/adapter.go": adapter("slow"),
    "carriers/sea/adapter.go": adapter("sea"),
    "store/interface.go": "package store\n\n// Shelf keeps parcels.\ntype Shelf interface {\n\tPruner\n"
    "\tPut(id string)\n}\n\n// Pruner removes old parcels.\ntype Pruner interface {\n\tPrune()\n}\n",
    "store/bolt/state.go": 'package bolt\n\nimport "example.org/crane/store"\n\n// State is a shelf.\n'
    "type State struct{}\n\nfunc (s *State) Put(id string) {}\n\nvar _ store.Shelf = (*State)(nil)\n",
    **{
        f"logs/{host}.md": f"# Log of {host}\n\n```\nAdding zephyr/stack:{host} to Crane\nzephyr     7  crane\n```\n"
        for host in ("north", "south", "east", "west", "centre")
    },
    "wire/protocols.go": "package wire\n\n// Protocols of parcels, such as\n//\n//\tParcel-Protocol: soap, wamp\n//\n"
    "// of which the belt supports the first.\nfunc Protocols() []string {\n\treturn nil\n}\n",
    "go.mod": "module example.org/crane\n\ngo 1.21\n",
    "tools/wheel.py": "from belt import Roller\n\n\nclass Wheel(Roller):\n    pass\n",
    "ui/Widget.mjs": widget("Crane.ui.Widget", "", ""),
    **{
        f"ui/{part}/Panel.mjs": widget(
            f"Crane.ui.{part}.Panel", "import Widget from '../Widget.mjs';\n\n", "extends Widget "
        )
        for part in ("left", "right")
    },
}
crane_app = app_fixture(FILES, real=True)


def ask(app: App, question: str) -> dict[str, Any]:
    return app.call("ask_knowledge_base", {"query": question})


@pytest.mark.parametrize(
    ("question", "source", "begin"),
    [
        ("What is ticket #410 about?", "issues/issue-410.md", "Ticket #410 (closed): Parcels are weighed twice [1]."),
        ("what is issue 411 about", "issues/issue-411.md", "Ticket #411 (closed): Labels overlap [1]."),
        ("What changed in v3.0.0?", "release-notes/v3.0.0.md", "`release-notes/v3.0.0.md` has the notes of 3.0.0 [1]."),
        ("what's new in 3.10", "release-notes/v3.10.0.md", "`release-notes/v3.10.0.md` has the notes of 3.10 [1]."),
        ("What changed in 0.9.1?", "docs/history/CHANGELOG.md", "`docs/history/CHANGELOG.md` has the notes of 0.9.1"),
        ("what is GH-77 about", "docs/history/CHANGELOG.md", "`docs/history/CHANGELOG.md` names #77 [1]."),
        (
            "what is in store/interface.go",
            "store/interface.go",
            "`store/interface.go` defines `store.Pruner`, `store.Shelf` [1].",
        ),
        (
            "what does `crane lift` do",
            "docs/commands/crane-lift.md",
            "`crane lift` is in `docs/commands/crane-lift.md`",
        ),
    ],
)
def test_what_a_question_names_comes_first_everywhere(crane_app: App, question: str, source: str, begin: str) -> None:
    reply = ask(crane_app, question)

    assert crane_app.call("query_documents", {"query": question})["results"][0]["source"] == source
    assert reply["citations"][0]["source"] == source
    assert reply["answer"].startswith(begin)
    assert (reply["mode"], reply["found"]) == ("structural", True)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("What is ticket #4100 about?", "There is no ticket #4100 in this knowledge base."),
        ("What changed in v4.1.0?", "There is no note of release 4.1.0 in this knowledge base."),
        ("What does store/memory.go do?", "There is no file `store/memory.go` in this knowledge base, which"),
        ("what does `crane fly` do", "`crane fly` occurs nowhere in this knowledge base."),
        ("how do I deploy Crane to Heroku", "`Heroku` occurs nowhere in this knowledge base."),
        ("how do I deploy Crane to Zephyr", "`Zephyr` occurs only within other names, as in `logs/centre.md`"),
        ("How do I load parcels with Gantry Lift?", "`Gantry` occurs only in a list of names, in `docs/partners.md`"),
        (
            "How do I load parcels with the Windlass Boat?",
            "`Windlass` occurs only in a list of names, in `docs/partners.md`",
        ),
        ("what is Tugboat", "`Tugboat` occurs only in a list of names, in `docs/partners.md`"),
        ("Does Crane support SOAP protocols of parcels?", "`SOAP` occurs only in `wire/protocols.go`"),
        ("Does Crane speak HTTP/3?", "`HTTP/3` occurs nowhere in this knowledge base."),
        ("What does the command crane fly do?", "`crane fly` occurs nowhere in this knowledge base."),
        ("How do I keep parcels in PostgreSQL?", "`PostgreSQL` occurs nowhere in this knowledge base."),
        ("How do I list parcels in Next.js?", "`Next.js` occurs nowhere in this knowledge base."),
        ("How do I wind foil with Ware?", "`Ware` occurs nowhere in this knowledge base."),  # and not in `warehouses`
        ("How do I juggle parcels?", "`juggle` occurs nowhere in this knowledge base."),
        ("Does Crane support auctions of parcels?", "`auctions` occurs nowhere in this knowledge base."),
        ("When is Crane 4 released?", "`Crane 4` occurs nowhere in this knowledge base."),
        ("Which structs implement billing.Invoicer?", "`billing.Invoicer` occurs nowhere in this knowledge base."),
    ],
)
def test_what_is_nowhere_is_said_to_be_nowhere(crane_app: App, question: str, sentence: str) -> None:
    reply = ask(crane_app, question)

    word = sentence.split("`")[1] if "`" in sentence else ""
    assert reply["answer"].startswith(sentence)
    assert (reply["found"], bool(reply["citations"])) == (False, "only" in sentence or word in ("juggle", "auctions"))


def test_a_name_with_a_noun_after_it_is_looked_up_as_a_whole(crane_app: App) -> None:
    def found(question: str, source: str) -> str | None:
        shown = crane_app.index.catalogue.of_source(source)
        place = elsewhere(question, nouns(question), shown, crane_app.index, are_lists_enough=True)
        return place and place[0]

    assert found("is there a Crane manual", "docs/deploy.md") == "`Crane` and `manual` occur together only in"
    for question, source in (
        ("is there a Crane manual", "docs/partners.md"),  # it is shown
        ("is there a manual of Crane", "docs/deploy.md"),
        ("why a Crane over the manual", "docs/deploy.md"),
        ("how does Crane manual", "docs/deploy.md"),  # in the place of a verb
    ):
        assert found(question, source) is None


@pytest.mark.parametrize(
    "question",
    [
        "how do I shove Crane onto a server",
        "how can I quickly bring up Crane on a server",
        "what machine swallows the load of a pallet in foil",
        "how is Crane kicked onto a server",
        "where do parcels of Crane land on a belt",
        "where does Crane often run between parcels",
    ],
)
def test_an_everyday_verb_that_occurs_nowhere_is_no_reason_to_refuse(crane_app: App, question: str) -> None:
    assert ask(crane_app, question)["found"]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("how do I deploy Crane to Heroku", "Heroku"),
        ("keep the parcels of the belt in PostgreSQL", "PostgreSQL"),
        ("deploy Crane to Nimbus with a token", None),
        ("Zephyr in the log of Crane", None),
        ("parcels of carriers.Adapter for Crane on the conveyor lanes", None),
        ("parcels of the kind belt.Roller for Crane on the conveyor lanes", None),
        ("parcels of carriers.Balloon for Crane on the conveyor lanes", "carriers.Balloon"),
        ("Does Crane 3 move parcels on a Conveyor 7?", None),
        ("Does Crane 5 move parcels on a Conveyor 7?", "Crane 5"),
    ],
)
def test_a_search_doubts_a_query_with_a_name_that_is_nowhere(crane_app: App, query: str, name: str | None) -> None:
    reply = crane_app.call("query_documents", {"query": query})

    assert reply["results"]
    assert reply.get("doubt") == (name and f"`{name}` occurs nowhere in this knowledge base.")


@pytest.mark.parametrize(
    "question",
    ["Is a parcel loaded by Lift?", "which Gantry or Lift loads parcels", "How do I load parcels with a Derrick?"],
)
def test_a_list_of_names_answers_whether_something_is_in_it(crane_app: App, question: str) -> None:
    reply = ask(crane_app, question)

    assert reply["found"] is True
    assert "docs/partners.md" in [one["source"] for one in reply["citations"]]


@pytest.mark.parametrize(
    ("question", "begin"),
    [
        (
            "what are #410 and #4100 about?",
            "There is no ticket #4100 in this knowledge base. Ticket #410 (closed)",
        ),
        (
            "what is a pallet wrapper",
            "A pallet wrapper is a machine that winds foil around the load of a pallet. [1]",
        ),
    ],
    ids=["a missing ticket beside one that exists", "a definition, not a reference or an introduction"],
)
def test_an_answer_begins_with_what_was_asked_for(crane_app: App, question: str, begin: str) -> None:
    reply = ask(crane_app, question)

    assert reply["answer"].startswith(begin)
    assert reply["found"] is True


def test_classes_of_one_name_are_asked_back_and_subclasses_told_apart(crane_app: App) -> None:
    classes = ask(crane_app, "which plugins implement the Adapter interface for air")
    subclasses = ask(crane_app, "list subclasses of Crane.ui.Widget")

    assert classes["answer"].startswith("3 classes are called `Adapter`, 2 of them in `air`: ")
    assert [one["source"] for one in classes["citations"]] == [
        "carriers/air/fast/adapter.go", "carriers/air/slow/adapter.go",
    ]  # fmt: skip
    assert "`Crane.ui.left.Panel` [1], `Crane.ui.right.Panel` [2]" in subclasses["answer"]


def test_what_implements_an_interface_of_go_is_asserted_in_its_file(crane_app: App) -> None:
    reply = ask(crane_app, "which structs implement store.Shelf")

    assert reply["mode"] == "structural"
    assert "`bolt.State` [1]" in reply["answer"]
    assert "Pruner" not in reply["answer"]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("which release introduced the multi-lane scanner", "names `multi-lane scanner` is that of 3.2.0 [1]."),
        ("which release added the `--belt-speed` option?", "names `belt-speed` is that of 0.9.1 [1]."),
        ("which version added the `lift()` function", "names `lift` is that of 0.3.0 [1]."),
        ("which release introduced the tare option of balance()?", "names `tare` and `balance` is that of 3.10.0 [1]."),
        (
            "which release added a tare option in `Tare.balance`",
            "names `tare` and `Tare.balance` is that of 3.10.0 [1].",
        ),
        ("which version added lower()?", "names `lower` is that of 0.2.0 [1]."),
        ("when was Belt.lower added?", "names `lower` is that of 0.2.0 [1]."),
        ("which release added --weigh-once", "names `weigh-once` is that of 3.10.0 [1]."),
        ("in which version was --weigh-once fixed", "names `weigh-once` as fixed is that of 3.10.0 [1]."),
    ],
)
def test_a_release_is_named_with_its_evidence(crane_app: App, question: str, answer: str) -> None:
    reply = ask(crane_app, question)

    assert reply["answer"].startswith(f"The earliest release note here that {answer}")
    assert reply["mode"] == "structural"


def test_a_release_or_ticket_without_evidence_is_the_closest_match(crane_app: App) -> None:
    release = ask(crane_app, "which release introduced moving parcels on lanes of the conveyor")
    report = ask(crane_app, "which ticket reports that the scale weighs twice")

    assert release["answer"].startswith("Closest match: 3.")
    assert report["answer"].startswith("Closest match: ticket #410 (closed): Parcels are weighed twice [1].")
    assert [release["mode"], report["mode"]] == ["extractive"] * 2


@pytest.mark.parametrize(
    ("question", "source", "quoted"),
    [
        (
            "how do I deploy Crane to a server",
            "docs/deploy.md",
            "To deploy Crane to a server, run these commands:\n\n```bash\ncrane build\ncrane push --all\n```",
        ),
        ("what is a conveyor lane?", "docs/glossary.md", "### Conveyor lanes\n\nThree ways side by side"),
    ],
    ids=["steps with their commands", "an entry of a glossary"],
)
def test_what_a_question_asks_for_is_quoted_first(crane_app: App, question: str, source: str, quoted: str) -> None:
    first = ask(crane_app, question)["citations"][0]

    assert first["source"] == source
    assert quoted in first["quote"]


def test_a_file_far_ahead_of_the_others_shows_three_passages(tmp_path: Path, contract: Contract) -> None:
    sections = (
        f"## Winch {part}\n\nThe {part} of the winch is oiled {when}, before use. {'More on it. ' * 60}\n\n"
        for part, when in (("drum", "each morning"), ("brake", "on Fridays"), ("gear", "in spring"), ("motor", "twice"))
    )
    files = {"docs/winch.md": "# Oiling\n\n" + "".join(sections), "docs/mail.md": "# Mail\n\nPost leaves at noon.\n"}
    with synced_app(tmp_path, files, contract, real=True) as app:
        reply = ask(app, "How is each part of the winch oiled?")

    assert [one["source"] for one in reply["citations"]] == ["docs/winch.md"] * 3


def test_the_best_section_of_each_file_precedes_any_second_one(tmp_path: Path, contract: Contract) -> None:
    files = {
        "docs/winch.md": f"# Winch\n\n## Drum\n\nThe winch is oiled each morning. {'Then the mate signs. ' * 30}\n\n"
        f"## Brake\n\nOil for the winch is kept below. {'Below it is dry and dark. ' * 25}\n",
        "docs/pump.md": f"# Pump\n\nThe pump beside the winch is oiled on Fridays. {'Fridays have a bell. ' * 60}\n",
    }
    with synced_app(tmp_path, files, contract, real=True) as app:
        reply = ask(app, "when is the winch oiled")

    assert [one["source"] for one in reply["citations"]][:3] == ["docs/winch.md", "docs/pump.md", "docs/winch.md"]


def test_the_passages_of_a_section_stay_together(tmp_path: Path, contract: Contract) -> None:
    files = {
        "docs/rafts.md": f"# Rafts\n\n## Why no rafts?\n\nWe do not use rafts. {'The mate has a list. ' * 60}\n\nRafts "
        f"are slow, so we use barges. {'It is kept in the hold. ' * 60}\n",
        "docs/pump.md": f"# Pump\n\nWe use no rafts: pumps of rafts leak. {'Fridays have a bell. ' * 30}\n",
    }
    with synced_app(tmp_path, files, contract, real=True) as app:
        reply = ask(app, "why not use rafts?")

    sources = [one["source"] for one in reply["citations"]]
    assert sources == sorted(sources, reverse=True)
    assert len(sources) > len(set(sources)) == 2


def test_subclasses_in_tests_come_after_the_others(tmp_path: Path, contract: Contract) -> None:
    def mast(name: str) -> str:
        return f"from masts import Mast\n\n\nclass {name}(Mast):\n    height = 4\n"

    files = {
        "masts.py": "class Mast:\n    height = 9\n",
        "tests/a_fake.py": mast("AFake"),
        "tests/test_masts.py": mast("BFake"),
        "mizzen.py": mast("Mizzen"),
        "topmast.py": mast("Topmast"),
    }
    with synced_app(tmp_path, files, contract, real=True) as app:
        found = [one["source"] for one in app.call("query_documents", {"query": "what extends Mast"})["results"]]

    assert found[:3] == ["masts.py", "mizzen.py", "topmast.py"]
    assert sorted(found[3:]) == ["tests/a_fake.py", "tests/test_masts.py"]


def test_a_product_is_unknown_although_each_part_of_its_name_is_common(tmp_path: Path, contract: Contract) -> None:
    files = {f"docs/quay-{n}.md": f"# Quay {n}\n\nThe js of the crane calls the next quay.\n" for n in range(120)}
    with synced_app(tmp_path, files, contract) as app:
        replies = [ask(app, f"How does the crane call the {name}?") for name in ("Next.js", "quay.next")]

    assert [one["answer"].startswith("`Next.js` occurs nowhere") for one in replies] == [True, False]
