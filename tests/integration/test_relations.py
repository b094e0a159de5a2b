"""Replies show which types implement a class or interface, and which files use it."""

import random
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lore_etl.config.settings import Settings
from lore_server.app import App
from lore_server.operations.table import OPERATIONS
from tests.harness.calls import Opener, app_fixture, edit, sync_job
from tests.harness.models import HashModel
from tests.harness.projects import write_project

FILES: dict[str, str | bytes] = {
    "go.mod": "module example.com/port\n",
    "dock/dock.go": "package dock\n\ntype Dock interface {\n\tMoor(name string) error\n}\n",
    "quay/quay.go": "package quay\n\ntype Quay struct{}\n\nfunc (q *Quay) Moor(n string) error { return nil }\n",
    "raft/raft.go": "package raft\n\ntype Raft struct{}\n\nfunc (r *Raft) Float() error { return nil }\n",
}


@pytest.fixture
def app(synced_app_of: Opener) -> App:
    return synced_app_of(FILES)


def below(app: App, root: str) -> list[str]:
    found: dict[str, Any] = app.call("get_class_hierarchy", {"root": root})
    return [row["class"] for row in found["classes"][1:]]


@pytest.mark.requirement("NEO-032")
def test_the_types_that_implement_an_interface_are_below_it_also_after_an_edit(app: App) -> None:
    assert below(app, "dock.Dock") == ["quay.Quay"]
    shown = app.call("get_class_hierarchy", {"root": "Quay"})
    assert shown["classes"][0]["implements"] == ["dock.Dock"]
    assert "implements dock.Dock" in OPERATIONS["get_class_hierarchy"].text(shown).body

    edit(app, {"raft/moor.go": "package raft\n\nfunc (r Raft) Moor(name string) error { return nil }\n"})

    assert below(app, "dock.Dock") == ["quay.Quay", "raft.Raft"]


PARTS: dict[str, str | bytes] = {
    "dock/clerk.go": "package dock\n\ntype Clerk struct{ name string }\n\ntype Crane interface{ Lift() }\n",
    "dock/files.go": "package dock\n\nfunc (c *Clerk) File() {}\n",
    "src/Mast.cs": "namespace Rig {\n  partial class Mast {\n    void Raise() {}\n  }\n}\n",
    "src/Mast.Sails.cs": "namespace Rig {\n  partial class Mast {\n    void Furl() {}\n    void Raise() {}\n  }\n}\n",
    "lib/gull.rb": "class Gull\n  def fly; end\nend\n",
    "lib/gull/cry.rb": "class Gull\n  def cry; end\nend\n",
    "Cargo.toml": '[package]\nname = "sea"\n',
    "src/lib.rs": "pub struct Wave;\nimpl Wave {\n    pub fn rise(&self) {}\n}\nmod fall;\n",
    "src/fall.rs": "use crate::Wave;\nimpl Wave {\n    pub fn fall(&self) {}\n}\n",
    "Sources/Buoy.swift": "struct Buoy {\n    func ring() {}\n    typealias Tone = Int\n}\n",
    "Sources/Buoy+Light.swift": "extension Buoy {\n  func flash() {}\n}\nextension String {\n  func shout() {}\n}\n",
    "lib/lock.rb": "class Lock\n  def open; end\n  def open!; end\n  def self.open?; end\nend\n",
    "lib/hatch.ex": "defmodule Hatch do\n  def open!(x), do: x\n  defp open?(x), do: x\nend\n",
    "android/Hull.kt": "package h\nactual class Hull {\n  actual fun float() {}\n  fun sink() {}\n}\n",
    "common/HullCommon.kt": "package h\n\nexpect class Hull {\n  fun float()\n}\n",
    "net.hpp": "class Net {\n  void cast();\n  int size;\n};\n",
    "net.cpp": '#include "net.hpp"\nvoid Net::cast() {}\nvoid Net::haul() {}\n',
}


@pytest.mark.parametrize(
    ("root", "members"),
    [
        ("dock.Clerk", [".name  attribute, lines 3", ".File  method, dock/files.go:3"]),
        ("Rig.Mast", [".Raise  method, lines 3", ".Furl  method, src/Mast.Sails.cs:3"]),
        ("Gull", [".fly  method, lines 2", ".cry  method, lib/gull/cry.rb:2"]),
        ("Wave", [".rise  method, lines 3", ".fall  method, src/fall.rs:3"]),
        ("Lock", [".open  method, lines 2", ".open!  method, lines 3", ".open?  method, lines 4"]),
        ("Hatch", [".open!  method, lines 2", ".open?  method, lines 3"]),
        ("Buoy", [".ring  method, lines 2", ".Tone  type, lines 3", ".flash  method, Sources/Buoy+Light.swift:2"]),
        ("Net", [".cast  method, lines 2", ".size  attribute, lines 3", ".haul  method, net.cpp:3"]),
        ("h.Hull", [".float  method, lines 4", ".sink  method, android/Hull.kt:4"]),
        ("dock.Crane", [".Lift  method, lines 5"]),
    ],
)
def test_the_members_of_a_class_are_those_of_its_parts_in_all_files(app: App, root: str, members: list[str]) -> None:
    edit(app, PARTS)
    found = app.call("get_class_hierarchy", {"root": root})

    body = OPERATIONS["get_class_hierarchy"].text(found).body
    assert [line.strip() for line in body.split("\n") if line.startswith("  .")] == members
    for member in found["members"]:
        holder = app.call("get_document_by_id", {"id": member["id"]})
        assert holder["source"] == member.get("source", found["classes"][0]["source"])
        assert holder["lines"][0] <= member["lines"][0] <= holder["lines"][1]


def test_a_member_in_another_file_of_its_class_is_cited_there(app: App) -> None:
    edit(app, PARTS)

    reply = app.call("ask_knowledge_base", {"query": "Which members does dock.Clerk have?"})

    where = "in dock/clerk.go and 1 other file"
    assert reply["answer"] == f"`Clerk` defines at least 2 members {where}: `name` [1], `File` [2]."
    assert [one["quote"] for one in reply["citations"]][1] == "func (c *Clerk) File() {}"


def test_a_definition_after_a_comment_of_several_chunks_is_cited_at_its_line(app: App) -> None:
    line = "   * This method writes the log of watch {} as a text, see toLog in the manual.\n"
    comment = "".join(map(line.format, range(60)))
    text = f"class Log {{\n  int size;\n\n  /**\n{comment}   */\n  String toLog() {{ return null; }}\n}}\n"
    edit(app, {"Log.java": text})

    for question in ("Where is Log.toLog defined?", "Where is toLog defined?"):
        cited = app.call("ask_knowledge_base", {"query": question})["citations"]
        assert [(one["lines"], one["quote"]) for one in cited] == [([66, 66], "  String toLog() { return null; }")]


@pytest.mark.parametrize("ending", ["d.ts", "d.mts", "d.cts"])
def test_a_declaration_does_not_hide_the_function_that_it_describes(app: App, ending: str) -> None:
    function = "function AxError() {\n  Error.call(this);\n}\nexport default AxError;\n"
    edit(app, {f"index.{ending}": "declare class AxError extends Error {}\n", "lib/core.js": function})

    reply = app.call("ask_knowledge_base", {"query": "Where is AxError defined?"})

    assert reply["answer"] == "`AxError` is defined in lib/core.js [1]."


@pytest.mark.parametrize("name", ["is_open?", "`is_open?`", "is_open", "the method is_open of Lock"])
def test_a_method_with_a_mark_is_found_by_its_name_with_and_without_it(app: App, name: str) -> None:
    edit(app, {"lib/lock.rb": "class Lock\n  def initialize; end\n\n  def is_open?; end\nend\n"})

    cited = app.call("ask_knowledge_base", {"query": f"Where is {name} defined?"})["citations"]

    assert [(one["lines"], one["quote"].strip()) for one in cited] == [([4, 4], "def is_open?; end")]


BASES: dict[str, str | bytes] = {
    "fleet.py": "class Boat: ...\nclass Sailing(Boat): ...\nclass Towed: ...\nclass Yacht(Sailing, Towed): ...\n",
    "crew.ts": "interface Paid {}\nclass Person {}\nclass Cook extends Person implements Paid {}\n"
    "class Guest implements Paid {}\n",
    "app.php": "<?php\ninterface Routing {}\ninterface Handling {}\ntrait Logging {}\n"
    "class Proxy implements Routing {}\nclass App extends Proxy implements Handling { use Logging; }\n",
    "gull.rb": "class Gull\n  include Comparable\n  def fly; end\nend\n",
    "gull_size.rb": "class Gull < Bird\n  def big?; end\nend\nclass Bird < Animal\n  include Enumerable\nend\n",
    "shed.kt": "interface Locked\nopen class House\nclass Shed : Locked, House()\nclass Hut : Locked\n",
}


@pytest.mark.parametrize(
    ("root", "head"),
    [
        ("Yacht", ["extends fleet.Sailing > fleet.Boat, fleet.Towed"]),
        ("Cook", ["extends Person", "implements Paid"]),
        ("Guest", ["implements Paid"]),
        ("App", ["extends Proxy", "implements Handling", "mixes in Logging"]),
        ("Proxy", ["implements Routing"]),
        ("Gull", ["extends Bird > Animal", "mixes in Comparable"]),
        ("Shed", ["extends House", "implements Locked"]),
        ("Hut", ["implements Locked"]),
        ("Boat", []),
    ],
)
def test_the_bases_of_a_class_are_shown_apart_from_its_interfaces(port: App, root: str, head: list[str]) -> None:
    body = OPERATIONS["get_class_hierarchy"].text(port.call("get_class_hierarchy", {"root": root})).body

    assert [line for line in body.split("\n") if line.startswith(("extends", "implements", "mixes in"))] == head


USES: dict[str, str | bytes] = {
    "src/sail.py": 'class Sail:\n    """Catches the wind."""\n\n\ndef hoist() -> Sail:\n    return Sail()\n',
    "src/boat.py": "from sail import Sail, hoist\n\n\ndef depart() -> Sail:\n    hoist()\n    return hoist()\n",
    "src/other.py": "def hoist() -> None: ...\n\n\ndef rest(hoist: object) -> None:\n    print(hoist)\n",
    "web/mast.mjs": "export default class Mast {}\n",
    "web/deck.mjs": "import Spar from './mast.mjs';\n\nexport const made = new Spar();\n",
    "lib/knot.lua": "local Knot = {}\n",
}


def users(app: App, root: str) -> list[str]:
    found: list[str] = app.call("get_class_hierarchy", {"root": root})["used_by"]
    return found


def test_the_files_that_use_a_class_or_function_are_known_with_places_also_after_edits(app: App) -> None:
    edit(app, USES)

    assert users(app, "sail.Sail") == ["src/boat.py:1 and 1 more", "src/sail.py:5 and 1 more"]
    assert users(app, "src/sail.py:hoist") == ["src/boat.py:1 and 2 more"]
    assert users(app, "sail.hoist") == users(app, "src/sail.py:hoist")
    assert users(app, "Mast") == ["web/deck.mjs:1 and 1 more"]

    edit(app, {"src/boat.py": "\nfrom sail import hoist\n\nhoist()\n"})  # other names
    assert users(app, "sail.Sail") == ["src/sail.py:5 and 1 more"]
    assert users(app, "hoist") == ["src/boat.py:2 and 1 more"]

    edit(app, {"src/boat.py": "\n\nfrom sail import hoist\n\nhoist()\nhoist()\n"})  # the same names
    assert users(app, "hoist") == ["src/boat.py:3 and 2 more"]

    edit(app, {"src/sail.py": "hoist = None\n"})  # a definition that is no longer there
    assert app.index.catalogue.users("src/sail.py:hoist") == []

    edit(app, {"src/sail.py": USES["src/sail.py"]})
    assert users(app, "hoist") == ["src/boat.py:3 and 2 more"]


@pytest.mark.parametrize("seed", range(3))
def test_uses_after_edits_are_those_of_a_new_index(app: App, tmp_path: Path, seed: int) -> None:
    write_project(app.index.root, USES)
    chance = random.Random(seed)
    for _ in range(6):
        path, other = chance.sample(sorted(USES), 2)
        before = (app.index.root / path).read_bytes()
        text = chance.choice((USES[other], USES[path], b"\n" + before, before + b"\n", "class Sail: ...\n"))
        edit(app, {path: text})

    shutil.copytree(app.index.root, tmp_path / "copy", ignore=shutil.ignore_patterns(".lore"))
    with closing(App(tmp_path / "copy", Settings(), app.contract, HashModel(), home=tmp_path / "home")) as fresh:
        sync_job(fresh)

        assert app.index.catalogue.uses() == fresh.index.catalogue.uses()
        for root in ("sail.Sail", "src/sail.py:hoist", "src/other.py:hoist", "Mast"):
            assert app.index.catalogue.users(root) == fresh.index.catalogue.users(root)
    app.index.catalogue.check()


def test_results_name_the_relations_of_a_class_and_the_reply_what_it_does_not_cover(app: App) -> None:
    edit(app, {**USES, "src/alone.py": "class Alone:\n    pass\n"})

    results = {one["source"]: one for one in app.call("query_documents", {"query": "Mast Dock Quay"})["results"]}

    assert results["web/mast.mjs"]["relations"] == "used by at least 1 file: web/deck.mjs"
    assert results["dock/dock.go"]["relations"] == "implemented by at least 1: Quay"
    found = app.call("get_class_hierarchy", {"root": "sail.Sail"})
    assert "through objects" in found["not_covered"]
    text = OPERATIONS["get_class_hierarchy"].text(found).body
    assert "used by at least 2 files:\n  src/boat.py:1 and 1 more\n" in text
    unused = app.call("get_class_hierarchy", {"root": "alone.Alone"})
    assert unused["users"] == 0
    assert "no use of it was found\n" in OPERATIONS["get_class_hierarchy"].text(unused).body
    function = app.call("get_class_hierarchy", {"root": "hoist"})
    title = "src/sail.py:hoist\nused by at least 1 file:\n  src/boat.py:1 and 2 more\n"
    assert OPERATIONS["get_class_hierarchy"].text(function).body.startswith(title)


def test_who_uses_a_function_and_what_a_change_breaks_is_answered_with_places_tests_last(app: App) -> None:
    edit(app, USES)

    used = app.call("ask_knowledge_base", {"query": "who calls hoist()?"})
    changed = app.call("ask_knowledge_base", {"query": "what would break if I renamed hoist()?"})
    broken = app.call("ask_knowledge_base", {"query": "what breaks if I change Dock?"})
    made = app.call("ask_knowledge_base", {"query": "which types implement dock.Dock?"})

    assert used["answer"] == "`src/sail.py:hoist` is used by at least 1 file: src/boat.py [1]."
    assert [(row["source"], row["lines"]) for row in used["citations"]] == [("src/boat.py", [5, 5])]
    assert changed["answer"] == used["answer"]
    assert broken["mode"] != "structural"  # no file names it
    assert "Quay" in made["answer"]

    edit(app, {"tests/test_sail.py": "from sail import hoist\n\n\ndef test_hoist() -> None:\n" + "    hoist()\n" * 5})
    tested = app.call("ask_knowledge_base", {"query": "who calls hoist()?"})
    assert [row["source"] for row in tested["citations"]] == ["src/boat.py", "tests/test_sail.py"]


MANY_LINES = "import mast\nfrom sail import (\n    Sail,\n    hoist,\n)\n\n\n"


@pytest.mark.parametrize(
    ("rest", "quote"),
    [
        ("def go() -> None:\n    mast.hoist()\n    hoist()\n", "    hoist()"),
        ("def go() -> None:\n    mast.hoist()\n    # hoist() is next\n    each(hoist)\n", "    hoist,"),
        ("hoisted = 1\n", "    hoist,"),
    ],
    ids=["a call", "no call of its own", "only imported"],
)
def test_a_use_is_shown_by_its_call_or_by_its_name_in_the_import(app: App, rest: str, quote: str) -> None:
    edit(app, {**USES, "src/boat.py": MANY_LINES + rest})

    (used,) = app.call("ask_knowledge_base", {"query": "who calls hoist()?"})["citations"]

    assert (used["source"], used["quote"]) == ("src/boat.py", quote)


CALLS: dict[str, str | bytes] = {
    "src/winch.py": "class Winch:\n    def _reel(self) -> int:\n        return 1\n\n    def turn(self) -> int:\n"
    "        # _reel() is quick\n        return self._reel() + 1\n",
    "src/Crane.java": "class Crane {\n    private void lower(int by) {\n        stop();\n    }\n\n    void run() {\n"
    "        this.lower(2);\n    }\n}\n",
    "src/Hoist.java": "interface Hoist {\n    List<Rope> lower(int by);\n\n    boolean swing(int by);\n}\n",
    "src/rig.rs": "struct Rig;\n\nimpl Rig {\n    fn haul(&self) -> u8 {\n        1\n    }\n\n"
    "    fn go(&self) -> u8 {\n        Self::haul(self)\n    }\n}\n",
    "src/boom.ts": "export class Boom {\n    private swing<T>(by: T) {\n        return by;\n    }\n\n    run() {\n"
    "        return this.swing<number>(3);\n        public = swing(4)\n    }\n}\n",
    "src/bosun.rb": "class Bosun\n  def self.pipe_all(crew)\n    crew\n  end\n\n  def call\n    Bosun.pipe_all(1)\n"
    "  end\nend\n",
    "src/Deck.kt": "fun <T> List<T>.swabAll(by: Int) = by\n\nfun clean() = listOf(1).swabAll(2)\n",
    "src/helm.lua": "function Helm:steerTo(x)\n  return x\nend\n\nHelm:steerTo(3)\n",
    "tests/test_winch.py": "def test_reel() -> None:\n    assert Winch()._reel() == 1\n",
    "docs/winch.md": "# Winch\n\nCall `_reel()` and `stow()` to reel.\n",
}


@pytest.mark.parametrize(
    ("question", "name", "places"),
    [
        ("Who calls Winch._reel?", "_reel", ["src/winch.py:7", "tests/test_winch.py:2"]),
        ("callers of the method `_reel`", "_reel", ["src/winch.py:7", "tests/test_winch.py:2"]),
        ("what calls lower()", "lower", ["src/Crane.java:7"]),
        ("what breaks if we remove the method lower?", "lower", ["src/Crane.java:7"]),
        ("where is Rig::haul called?", "haul", ["src/rig.rs:9"]),
        ("who calls swing", "swing", ["src/boom.ts:7", "src/boom.ts:8"]),
        ("who calls Bosun.pipe_all", "pipe_all", ["src/bosun.rb:7"]),
        ("who calls the method swabAll", "swabAll", ["src/Deck.kt:3"]),
        ("who calls Helm.steerTo?", "steerTo", ["src/helm.lua:5"]),
        ("who calls stow()?", "stow", []),
        ("which tests call lower()", "lower", ["src/Crane.java:7"]),
        ("who calls for help", "for", []),
    ],
)
def test_callers_of_a_member_are_lines_with_its_name(port: App, question: str, name: str, places: list[str]) -> None:
    reply = port.call("ask_knowledge_base", {"query": question})

    lines = [f"{row['source']}:{row['lines'][0]}" for row in reply["citations"]]
    assert reply["answer"].startswith(f"`{name}(` is written in at least {len(places)} line") == bool(places)
    assert lines == places or not places
    assert ("The list is not limited by “tests”." in reply["answer"]) == ("tests" in question)


EQUALS: dict[str, str | bytes] = {
    **{f"{part}/gate.py": f"class Gate:\n    name = '{part}'\n" for part in ("air", "lake", "legacy", "sea")},
    **{f"app/old{n}.py": "from legacy.gate import Gate\n\n\ndef use() -> Gate:\n    return Gate()\n" for n in range(5)},
    **{f"app/user{n}.py": "from lake.gate import Gate\n\n\ndef use() -> Gate:\n    return Gate()\n" for n in range(3)},
    "app/other.py": "from air.gate import Gate\n\n\ndef use() -> Gate:\n    return Gate()\n",
    "first/open_lock.ts": "export function openLock() {\n    return 1;\n}\n",
    "second/doors.ts": "export function openLock() {\n    return 2;\n}\n",
    "web/main.ts": "import {openLock} from '../second/doors';\n\nopenLock();\n",
}


port = app_fixture({**FILES, **BASES, **CALLS, **EQUALS})


@pytest.mark.parametrize(("name", "first"), [("Gate", "lake/gate.py"), ("openLock", "second/doors.ts")])
def test_the_most_used_of_several_present_definitions_of_a_name_comes_first(port: App, name: str, first: str) -> None:
    assert port.call("query_documents", {"query": name})["results"][0]["source"] == first


QUESTIONS = (
    "what breaks if I change {}", "what is affected by {}", "who calls {}", "what uses {}", "where is {} defined",
    "which classes extend {}", "direct subclasses of {}", "what implements {}", "base class of {}", "members of {}",
    "where does {} inherit hoist from", "which release introduced {}", "why was {} changed", "history of {}",
    "what is {}", "what does {} use", "callers of {}", "{} and hoist", "`{}`", "{}()", "which tests cover {}",
    "difference between {} and Dock",
)  # fmt: skip


def test_every_question_about_every_kind_of_name_has_a_reply(app: App) -> None:
    edit(app, {**USES, **CALLS})

    for name in ("Dock", "dock.Dock", "hoist", "sail.hoist", "Winch._reel", "lower", "src/sail.py", "Nothing", "x"):
        for question in QUESTIONS:
            reply = app.call("ask_knowledge_base", {"query": question.format(name)})
            assert OPERATIONS["ask_knowledge_base"].text(reply).body, question
