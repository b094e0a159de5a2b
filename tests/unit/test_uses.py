"""The names in a file refer to definitions, in each language whose uses are recorded."""

from dataclasses import replace
from textwrap import dedent

import pytest

from lore_etl.core.model import FileFacts
from lore_etl.relations.classes import resolve
from lore_etl.stores.catalogue_rows import pack_uses, use_rows
from tests.harness.texts import facts_of

Files = dict[str, str]
GO = FileFacts(family="manifest:go", package="example.com/app")
MANIFESTS = {"go": {"go.mod": GO}, "go, of a later version": {"go.mod": replace(GO, package="example.com/app/v2")}}
RUST = FileFacts(family="manifest:rust", package="app")


def uses(files: Files, path: str, **manifests: FileFacts) -> dict[str, tuple[int, int]]:
    """Return the places and the first line of each class and function that a file uses."""
    facts = {name: facts_of(name, dedent(text)) for name, text in files.items()} | manifests
    target = resolve(facts, files).target
    packed = pack_uses(facts[path].uses, lambda name: target(path, name))
    return {name: (places, line) for _, name, _, places, line in use_rows(path, packed)}


CASES: dict[str, tuple[Files, dict[str, tuple[int, int]]]] = {
    "python": (
        {
            "pkg/__init__.py": "from .sea import Boat\n",
            "pkg/sea.py": "class Boat: ...\n\ndef sail(): ...\n",
            "user.py": "from pkg import Boat as B, sea\nimport os\n\ndef f(sea):\n    sea.sail()\n\nB.x()\n"
            "sea.sail()\n",
        },
        {"pkg.sea.Boat": (2, 1), "pkg/sea.py:sail": (1, 8)},
    ),
    "javascript": (
        {
            "sea.mjs": "export default class Boat {}\nexport function sail() {}\nfunction hidden() {}\n",
            "all.mjs": "export * from './sea.mjs';\n",
            "user.mjs": "import Ship, {sail as go} from './sea.mjs';\nimport * as all from './all.mjs';\n"
            "new Ship(); go(); all.sail(); hidden();\nconst {sail} = x;\n",
        },
        {"Boat": (2, 1), "sea.mjs:sail": (3, 1)},
    ),
    "exports of javascript": (
        {
            "user.js": "function sail() {}\nfunction row() {}\nfunction steer() { row(); }\nexports.go = sail;\n"
            "module.exports = { sail, row: row };\n",
        },
        {"user.js:row": (1, 3)},
    ),
    "a default export of javascript": ({"user.mjs": "function sail() {}\nexport default sail;\n"}, {}),
    "typescript": (
        {
            "sea.ts": "export interface Boat {}\nexport const sail = (): void => {};\n",
            "user.tsx": "import {Boat, sail} from './sea';\nlet b: Boat;\nconst v = <a onClick={sail}/>;\n",
        },
        {"Boat": (2, 1), "sea.ts:sail": (2, 1)},
    ),
    "go": (
        {
            "sea/sea.go": "package sea\n\ntype Boat struct{}\n\nfunc Sail() {}\n\nfunc (b Boat) Row() {}\n",
            "user.go": 'package main\n\nimport s "example.com/app/sea"\n\nfunc main() {\n\tvar b s.Boat\n\tb.Row()\n'
            "\ts.Sail()\n\tlocal()\n}\n\nfunc local() {}\n",
        },
        {"sea.Boat": (1, 6), "sea/sea.go:Sail": (1, 8), "user.go:local": (1, 9)},
    ),
    "go, of a later version": (
        {
            "app.go": "package app\n\nfunc Sail() {}\n",
            "sea/user.go": 'package sea\n\nimport (\n\t"example.com/app/v2"\n\t"gopkg.in/yaml.v3"\n)\n\n'
            "func Row() {\n\tapp.Sail()\n}\n",
        },
        {"app.go:Sail": (1, 9)},
    ),
    "java": (
        {
            "a/Boat.java": "package a;\npublic class Boat { static class Mast {} }\n",
            "a/User.java": "package a;\nclass User { Boat b = Boat.made(); Boat.Mast m; }\n",
            "b/Other.java": "package b;\nimport a.Boat;\nclass Other { @Odd Boat boat() { return new Boat(); } }\n",
            "b/User.java": "package b;\nclass Unrelated { Boat b; }\n",
        },
        {"a.Boat": (2, 2), "a.Boat.Mast": (1, 2)},
    ),
    "kotlin": (
        {
            "Boat.kt": "package a\nclass Boat\nfun sail() {}\n",
            "User.kt": "package b\nimport a.Boat\nimport a.sail\nfun f(b: Boat?) { Boat(); sail() }\n",
        },
        {"a.Boat": (3, 2), "Boat.kt:sail": (2, 3)},
    ),
    "scala": (
        {
            "Boat.scala": "package a\nclass Boat\n",
            "User.scala": "package b\nimport a.Boat\nclass User(b: Boat) { new Boat }\n",
        },
        {"a.Boat": (3, 2)},
    ),
    "csharp": (
        {
            "Boat.cs": "namespace A { public class Boat {} }\n",
            "User.cs": "using A;\nclass User : Boat { Boat b = new Boat(); List<Boat> All() => Boat.All(); }\n",
        },
        {"A.Boat": (5, 2)},
    ),
    "php": (
        {
            "Boat.php": "<?php\nnamespace A;\nclass Boat {}\nfunction sail() {}\n",
            "User.php": "<?php\nnamespace B;\nuse A\\Boat;\n"
            "class User { function f(?Boat $b) { new Boat(); \\A\\sail(); new \\User(); } }\n",
        },
        {"A.Boat": (3, 3), "Boat.php:sail": (1, 4)},
    ),
    "rust": (
        {
            "src/sea.rs": "pub struct Boat;\npub fn sail() {}\n",
            "src/user.rs": "use crate::sea::{Boat, sail};\nfn f(b: &Boat) { sail(); crate::sea::sail(); }\n",
        },
        {"Boat": (2, 1), "src/sea.rs:sail": (3, 1)},
    ),
    "an alias of rust": (
        {
            "src/main.rs": "mod sea;\nuse sea::Boat;\npub(crate) type Raft<'a> = Boat<'a, u8>;\n",
            "src/sea.rs": "pub struct Boat<'a, T>;\n",
            "src/user.rs": "use super::*;\nfn f(raft: Raft) {}\n",
        },
        {"Boat": (1, 2)},
    ),
    "modules of rust that import all of each other": (
        {
            **{
                f"src/m{n}.rs": "".join(f"use crate::m{other}::*;\n" for other in range(6))
                + f"use crate::m{(n + 1) % 6}::Lost;\n"
                for n in range(6)
            },
            "src/lib.rs": "pub use m0::Lost;\npub struct Boat;\n",
            "src/user.rs": "use crate::{Boat, Lost};\nfn f(lost: Lost, boat: Boat) {}\n",
        },
        {"Boat": (2, 1)},
    ),
    "a long chain of modules of rust that re-export a name": (
        {
            **{f"src/m{n}.rs": f"pub use crate::m{n + 1}::Lost;\n" for n in range(1_500)},
            "src/lib.rs": "pub use m0::Lost;\npub struct Boat;\n",
            "src/user.rs": "use crate::{Boat, Lost};\nfn f(lost: Lost, boat: Boat) {}\n",
        },
        {"Boat": (2, 1)},
    ),
    "a module that exports many": (
        {
            **{f"m{n}.ts": f"export class C{n} {{}}\n" for n in range(300)},
            "all.ts": "".join(f"export * from './m{n}';\n" for n in range(300)),
            "user.ts": "import {C299} from './all';\n",
        },
        {"C299": (1, 1)},
    ),
    "swift": (
        {
            "Boat.swift": "struct Boat { static func made() {} }\nfunc sail() {}\n",
            "User.swift": "class User: Boat {\n  let b: [Boat?] = []\n"
            "  func f() { sail(); Boat.made(); x.sail() }\n}\n",
        },
        {"Boat": (3, 1), "Boat.swift:sail": (1, 3)},
    ),
    "ruby within its modules": (
        {
            "throttle.rb": "module Sea\n  class Port\n    class Gate\n    end\n    class Limit\n    end\n  end\nend\n",
            "other.rb": "module Lake\n  class Gate\n  end\nend\nclass Limit\nend\n",
            "user.rb": "module Sea\n  class Port\n    class Plan\n      def f\n        Gate.new(Limit)\n"
            "      end\n    end\n  end\nend\n",
        },
        {"Sea.Port.Gate": (1, 5)},
    ),
    "ruby": (
        {
            "boat.rb": "module Sea\n  class Boat\n  end\nend\n",
            "user.rb": "class User < Sea::Boat\n  def f\n    Sea::Boat.new\n  end\nend\n",
        },
        {"Sea.Boat": (2, 1)},
    ),
    "dart": (
        {
            "boat.dart": "class Boat { static Boat made() => Boat(); }\nvoid sail() {}\n",
            "user.dart": "import 'boat.dart';\nvoid f(List<Boat> b) {\n  sail();\n  Boat.made();\n  x.sail();\n}\n",
        },
        {"Boat": (2, 2), "boat.dart:sail": (1, 3)},
    ),
    "c": (
        {
            "boat.c": "struct boat { int n; };\nint sail(struct boat *b) { return 1; }\n",
            "boat.h": "int sail(struct boat *b);\n",
            "user.c": '#include "boat.h"\nint f(struct boat b) { return sail(&b) + g(sail); }\n',
        },
        {"boat": (1, 2), "boat.c:sail": (1, 2)},
    ),
    "cpp": (
        {
            "boat.h": "namespace sea {\nclass Boat { public: static Boat made(); };\n}\n",
            "boat.cc": "namespace sea {\ntemplate <class T> void Sail(T b) {}\n}\n",
            "user.cc": "namespace sea {\nstruct User { std::vector<Boat> all; };\n"
            "void f(const Boat& b) { sea::Boat c; Sail<int>(1); }\n}\n",
        },
        {"sea.Boat": (3, 2), "boat.cc:Sail": (1, 3)},
    ),
    "lua": (
        {
            "boat.lua": "local boat = {}\nlocal function row() end\nfunction boat.sail() row() end\nreturn boat\n",
            "user.lua": "local boat = require 'boat'\nboat.sail()\nrow()\n",
        },
        {"boat.lua:boat.sail": (1, 2)},
    ),
}


@pytest.mark.parametrize("language", CASES)
def test_names_lead_to_the_definitions_that_imports_and_packages_decide(language: str) -> None:
    files, expected = CASES[language]
    path = next(name for name in files if name.lower().rpartition("/")[2].startswith("user."))

    assert uses(files, path, **MANIFESTS.get(language, {"Cargo.toml": RUST})) == expected


@pytest.mark.parametrize(
    ("files", "path"),
    [
        ({"a.py": "def f(): ...\n", "b.py": "f()\n"}, "b.py"),  # not imported
        ({"a.py": "def f(): ...\n", "b.py": "from elsewhere import f\nf()\n"}, "b.py"),
        ({"a.py": "def f(): ...\n", "b.py": "x.f()\n"}, "b.py"),  # through an object
        ({"x.go": "package p\nfunc f() {}\n", "y.go": "package p\nfunc f() {}\n", "z.go": "package p\nvar _ = f()\n"},
         "z.go"),  # two definitions
        ({"a.mjs": "export class A {}\n", "b.mjs": "new A();\n"}, "b.mjs"),
        ({"a.lua": "local function f() end\n", "b.lua": "f()\n"}, "b.lua"),  # known only in its file
        ({"a.ex": "defmodule A do\nend\n", "b.ex": "A.f()\n"}, "b.ex"),  # a language without uses
    ],
)  # fmt: skip
def test_a_name_that_nothing_decides_leads_nowhere(files: Files, path: str) -> None:
    assert uses(files, path) == {}
