"""Class trees across files, in every language with classes."""

from collections.abc import Mapping
from textwrap import dedent

import pytest

from lore_etl.core.model import Ancestor
from lore_etl.relations.classes import Hierarchy, resolve
from tests.harness.texts import facts_of


def tree(files: Mapping[str, str], project: str = "project") -> Hierarchy:
    return resolve({path: facts_of(path, text) for path, text in files.items()}, files, project).hierarchy


def bases(files: Mapping[str, str], project: str = "project") -> str:
    """Return the classes of the project by name, each with its bases: `A < B C, B, C`."""
    nodes = sorted((node.name, node.bases) for node in tree(files, project).nodes.values() if node.source)
    return ", ".join(" < ".join(filter(None, (name, " ".join(found)))) for name, found in nodes)


TREES: dict[str, tuple[dict[str, str], str]] = {
    "Python's absolute, relative and module imports": ({
        "src/app/__init__.py": "", "src/app/core.py": "class Base: ...\n", "src/app/sub/__init__.py": "",
        "src/app/sub/a.py": "from app.core import Base\nclass A(Base): ...\n",
        "src/app/sub/b.py": "from ..core import Base as Root\nclass B(Root): ...\n",
        "src/app/sub/c.py": "from .. import core\nclass C(core.Base): ...\n",
        "src/app/sub/d.py": "import app.core\nclass D(app.core.Base): ...\n",
        "src/app/sub/e.py": "import app.core as c\nclass E(c.Base): ...\n",
    }, "app.core.Base, app.sub.a.A < app.core.Base, app.sub.b.B < app.core.Base, app.sub.c.C < app.core.Base, "
       "app.sub.d.D < app.core.Base, app.sub.e.E < app.core.Base"),
    "re-exports through packages": ({
        "app/__init__.py": "from .core import *\n", "app/core/__init__.py": "from .deep import Base\n",
        "app/core/deep.py": "class Base: ...\n",
        "main.py": "from app import Base\nimport app\nclass A(Base): ...\nclass B(app.Base): ...\n",
    }, "app.core.deep.Base, main.A < app.core.deep.Base, main.B < app.core.deep.Base"),
    "circular imports lead to no class": ({
        "a.py": "from b import X\nfrom b import *\nclass A(X): ...\nclass B(Y): ...\n",
        "b.py": "from a import X\nfrom a import *\n",
    }, "a.A < a.X, a.B < Y"),
    "packages without an init file are resolved by path": ({
        "app/models/base.py": "class Base: ...\n",
        "app/models/near.py": "from .base import Base\nclass Near(Base): ...\n",
        "app/views/far.py": "from app.models.base import Base\nclass Far(Base): ...\n",
        "app/views/up.py": "from ..models.base import Base\nclass Up(Base): ...\n",
        "lib/__init__.py": "", "lib/inner/thing.py": "class Thing: ...\n",
    }, "base.Base, far.Far < base.Base, lib.inner.thing.Thing, near.Near < base.Base, up.Up < base.Base"),
    "a package in a folder without an init file is found by its full path": ({
        "sea/ferry/__init__.py": "from sea.ferry.hull import Hull\nclass Ship: ...\n",
        "sea/ferry/hull.py": "class Hull: ...\n",
        "sea/ferry/boat.py": "from sea.ferry import Ship, Hull\nclass Boat(Ship, Hull): ...\n",
        "main.py": "import sea.ferry\nclass Raft(sea.ferry.Ship): ...\n",
    }, "ferry.Ship, ferry.boat.Boat < ferry.Ship ferry.hull.Hull, ferry.hull.Hull, main.Raft < ferry.Ship"),
    "a project that is a package is named after its folder": ({
        "__init__.py": "", "core.py": "class Base: ...\n",
        "a.py": "from project.core import Base\nclass A(Base): ...\n",
    }, "project.a.A < project.core.Base, project.core.Base"),
    "nested classes, generics and several bases": ({
        "m.py": "from typing import Generic, TypeVar\nclass Base(Generic[T]): ...\nclass Mixin: ...\nclass Outer:\n"
                "    class Base(Base): ...\n    class Inner(Base): ...\n"
                "class Child(Mixin, Base[int], Outer.Inner): ...\n",
    }, "m.Base < typing.Generic, m.Child < m.Mixin m.Base m.Outer.Inner, m.Mixin, m.Outer, m.Outer.Base < m.Base, "
       "m.Outer.Inner < m.Outer.Base"),
    "classes of the same name in two files are both kept": ({
        "one/util.py": "class Tool: ...\n", "one/main.py": "from util import Tool\nclass A(Tool): ...\n",
        "two/util.py": "class Tool: ...\n", "two/run.py": "from util import Tool\nclass B(Tool): ...\n",
        "a.js": "export class View {}\n", "b.js": "export class View {}\n",
        "c.js": "import {View} from './b.js';\nclass Main extends View {}\n",
    }, "Main < b.js:View, a.js:View, b.js:View, main.A < one/util.py:Tool, one/util.py:Tool, run.B < two/util.py:Tool, "
       "two/util.py:Tool"),
    "a stub and its module describe one class": ({"m.py": "class A: ...\n", "m.pyi": "class A: ...\n"}, "m.A"),
    "a builtin of Python is no class of JavaScript": (
        {"a.js": "class Exception {}\n", "b.py": "class E(Exception): ...\n"}, "Exception, b.E < builtins.Exception"
    ),
    "default and named imports of JavaScript": ({
        "core/base.mjs": "class Base { static config = {className: 'My.core.Base'} }\nexport default setup(Base);\n",
        "core/index.ts": "export class Named {}\nexport class Other {}\n",
        "a.mjs": "import Root from './core/base.mjs';\nclass A extends Root {}\n",
        "b.ts": "import {Named as N} from './core';\nclass B extends N {}\n",
        "c.ts": "import * as core from './core/index.js';\nclass C extends core.Other<string> {}\n",
        "d.js": "import React from 'react';\nclass D extends React.Component {}\n",
    }, "A < My.core.Base, B < Named, C < Other, D < React.Component, My.core.Base, Named, Other"),
    "interfaces and the classes that implement them": ({
        "src/vessel.ts": "export interface Named { name: string }\n"
                         "export default interface Vessel<T> extends Named { sail(): T }\n",
        "src/boat.ts": "import type Vessel, { Named as Titled } from './vessel';\n"
                       "export abstract class Boat<T> implements Vessel<T>, Titled, Disposable { abstract row(): T }\n",
        "src/ferry.ts": "import { Boat } from './boat';\nexport class Ferry extends Boat<number> {}\n"
                        "export class Odd extends mixin(Boat) implements Iterable<number> {}\n",
    }, "Boat < Vessel Named Disposable, Ferry < Boat, Named, Odd < Iterable, Vessel < Named"),
    "a class is followed through files that re-export it": ({
        "lib/real.js": "class Helper {}\nclass Real {}\nexport {Real as Shown};\nexport default wrap(Real);\n",
        "lib/plain.cjs": "class Plain {}\nclass Second {}\nmodule.exports = {Plain, Second};\n",
        "lib/one.cjs": "class Helping {}\nclass One {}\nmodule.exports = One;\n",
        "index.js": "export {Shown, default as Whole} from './lib/real.js';\nexport * as ns from './lib/real.js';\n"
                    "import Again from './lib/real.js';\nexport {Again};\n",
        "all.js": "export * from './index.js';\n",
        "a.js": "import {Shown} from './index';\nclass A extends Shown {}\n",
        "b.js": "import {Whole} from './all.js';\nclass B extends Whole {}\n",
        "c.js": "import {ns} from './all.js';\nclass C extends ns.Shown {}\n",
        "d.js": "import {Again} from './all.js';\nclass D extends Again {}\n",
        "e.js": "import * as all from './all.js';\nclass E extends all.Shown {}\n",
        "f.cjs": "const {Second} = require('./lib/plain.cjs');\nclass F extends Second {}\n",
        "g.cjs": "const Base = require('./lib/one.cjs');\nclass G extends Base {}\n",
        "h.js": "import Real from '@/lib/real';\nclass H extends Real {}\n",
    }, "A < Real, B < Real, C < Real, D < Real, E < Real, F < Second, G < One, H < Real, Helper, Helping, One, Plain, "
       "Real, Second"),
    "a class name may contain hyphens": ({
        "a.mjs": "class A extends Base { static config = {className: 'Neo.magic-move.my-text.A'} }\n",
        "b.mjs": "import A from './a.mjs';\n/** @class Neo.foo-bar.B */\nclass B extends A {}\n",
    }, "Neo.foo-bar.B < Neo.magic-move.my-text.A, Neo.magic-move.my-text.A < Base"),
    "a script imports packages of its workspace by their names": ({
        "packages/core/lib/main.ts": "export class Shop {}\n", "packages/core/src/deep.ts": "export class Deep {}\n",
        "packages/core/package.json": '{"name": "@acme/core", "main": "lib/main.js"}',
        "packages/bare/src/index.ts": "export class Bare {}\n", "packages/bare/package.json": '{"name": "bare"}',
        "apps/web/page.ts": "import {Shop} from '@acme/core';\nimport {Deep} from '@acme/core/deep';\n"
                            "import {Bare} from 'bare';\nimport {Shop as Other} from 'core';\nclass A extends Shop {}\n"
                            "class B extends Deep {}\nclass C extends Bare {}\nclass D extends Other {}\n",
    }, "A < Shop, B < Deep, Bare, C < Bare, D < Other, Deep, Shop"),
    "global imports of C# are those of all files below": ({
        "src/Usings.cs": "global using Rig.Masts;\n", "src/Masts/Mast.cs": "namespace Rig.Masts;\nclass Mast {}\n",
        "src/Deck/Top.cs": "namespace Rig.Deck;\nclass Top : Mast {}\n", "test/Other.cs": "class Other : Mast {}\n",
    }, "Other < Mast, Rig.Deck.Top < Rig.Masts.Mast, Rig.Masts.Mast"),
    "the parts of a class of Kotlin for several platforms are one": ({
        "common/Sail.kt": "package rig\nexpect class Sail : Cloth\nexpect object Wind\nexpect interface Held\n",
        "jvm/Sail.kt": "package rig\ninternal actual class Sail : Cloth(), Held\n",
        "js/Sail.kt": "package rig\ninternal actual class Sail : Cloth()\nactual object Wind\nactual interface Held\n",
    }, "rig.Held, rig.Sail < Cloth rig.Held, rig.Wind"),
    "names of C++ may come from a namespace that a file uses": ({
        "rig.hpp": "namespace rig::deck {\nclass Mast {};\nclass Boom {};\n}\n", "mast.hpp": "class Mast {};\n",
        "a.cpp": "using namespace rig::deck;\nclass A : public Boom {};\n",
        "b.cpp": "using rig::deck::Mast;\nclass B : public Mast {};\n",
    }, "A < rig.deck.Boom, B < rig.deck.Mast, Mast, rig.deck.Boom, rig.deck.Mast"),
    "bases of C# may depend on a condition": ({
        "a.cs": "interface IHeld {}\ninterface ITied {}\npublic class Knot : IHeld\n#if TIES\n    , ITied\n#endif\n{\n"
                "#if TIES\n    int x;\n#endif\n    void Tie() {}\n}\n",
    }, "IHeld, ITied, Knot < IHeld ITied"),
    "the declarations of a package describe its classes": ({
        "package.json": '{"name": "oar", "main": "./index.js", "types": "typings/index.d.ts"}',
        "index.js": "const { Blade } = require('./lib/blade.js');\nexports.Blade = Blade;\n",
        "lib/blade.js": "class Blade extends Error {}\n", "lib/grip.js": "class Grip {}\n",
        "test/grip.test.js": "class Grip {}\n", "other/blade.d.ts": "export class Blade {}\n",
        "typings/index.d.ts": "export class Blade extends Error {}\nexport class Grip {}\n"
                              "export class Flat extends Blade {}\n",
    }, "Flat < lib/blade.js:Blade, lib/blade.js:Blade < Error, lib/grip.js:Grip, other/blade.d.ts:Blade, "
       "test/grip.test.js:Grip, typings/index.d.ts:Grip"),
    "a class and its declaration beside it are one, also if another has its name": ({
        "a/oar.js": "export class Oar {}\n", "a/oar.d.ts": "export class Oar {}\n",
        "b/oar.mjs": "export class Oar {}\n", "b/oar.d.mts": "", "b/oar.d.ts": "export class Oar {}\n",
        "oar.py": "class Oar: ...\n", "oar.pyi": "class Oar: ...\n",
    }, "a/oar.js:Oar, b/oar.mjs:Oar, oar.Oar"),
    "a script imports the declarations of another": ({
        "package.json": '{"name": "preact", "main": "dist/p.js", "types": "src/index.d.ts"}',
        "src/index.js": "export function h() {}\n", "src/index.d.ts": "export abstract class Component {}\n",
        "src/list.js": "export class List {}\n", "src/list.d.ts": "export class List {}\n",
        "compat/suspense.d.ts": "import {Component} from 'preact';\nexport class Suspense extends Component {}\n",
        "hooks/a.d.ts": "import {Component} from '../src';\nexport class A extends Component {}\n",
        "hooks/b.ts": "import {Component} from '../src/index.js';\nexport class B extends Component {}\n",
        "hooks/c.js": "import {List} from '../src/list';\nexport class C extends List {}\n",
    }, "A < Component, B < Component, C < List, Component, List, Suspense < Component"),
    "classes of TypeScript may be in namespaces": ({
        "hull.d.ts": "export = hull;\ndeclare namespace hull {\n  interface Part {}\n"
                     "  export interface Deck extends Part {}\n"
                     "  namespace aft { abstract class Cabin implements Deck {} }\n}\n",
        "a.ts": "import hull from './hull';\nclass A implements hull.Deck {}\n",
        "b.ts": "import {Part, aft} from './hull';\nclass B extends aft.Cabin implements Part {}\n",
        "c.ts": "export namespace mast { export class Top {} }\nnamespace boom { class Low extends mast.Top {} }\n",
        "d.ts": "import * as rig from './c';\nclass D extends rig.mast.Top {}\n"
                "declare module './c' { interface Top {} }\n",
    }, "A < hull.Deck, B < hull.aft.Cabin hull.Part, D < mast.Top, boom.Low < mast.Top, hull.Deck < hull.Part, "
       "hull.Part, hull.aft.Cabin < hull.Deck, mast.Top"),
    "the paths of the nearest tsconfig lead to files": ({
        "web/tsconfig.json": '{"compilerOptions": {"baseUrl": "src", "paths": {"@ui/*": ["ui/*"]}}}',
        "web/src/ui/card.ts": "export class Card {}\n", "web/src/base.ts": "export default class Base {}\n",
        "other/ui/card.ts": "export class Card {}\n",
        "web/app.ts": "import {Card} from '@ui/card';\nimport Base from 'base';\nclass A extends Card {}\n"
                      "class B extends Base {}\n",
        "other/app.ts": "import {Card} from '@ui/card';\nclass C extends Card {}\n",
    }, "A < web/src/ui/card.ts:Card, B < Base, Base, C < Card, other/ui/card.ts:Card, web/src/ui/card.ts:Card"),
    "a package from elsewhere is not a file of the same name": ({
        "react.js": "export class Component {}\n",
        "a/b.js": "import {Component} from 'react';\nclass A extends Component {}\n",
    }, "A < react:Component, Component"),
    "an import of Java leads to the class of that package": ({
        "web/Page.java": "package com.web;\nimport com.base.View;\nclass Page extends View implements Shown {}\n",
        "web/Shown.java": "package com.web;\ninterface Shown {}\n",
        "base/View.java": "package com.base;\nclass View {}\n",
        "other/View.java": "package com.other;\nclass View {}\n",
    }, "com.base.View, com.other.View, com.web.Page < com.base.View com.web.Shown, com.web.Shown"),
    "an import that leads nowhere matches no class of the same name": ({
        "a/Page.java": "package a;\nimport org.lib.View;\nclass Page extends View {}\n",
        "a/Plain.java": "package a;\nclass Plain extends Shape {}\n",
        "b/View.java": "package b;\nclass View {}\nclass Shape {}\n",
    }, "a.Page < org.lib.View, a.Plain < Shape, b.Shape, b.View"),
    "classes of Kotlin and Java extend each other": ({
        "A.kt": "package k\nimport j.Base\nclass A : Base(), k.inner.Face\n",
        "Base.java": "package j;\nimport k.inner.*;\nclass Base implements Face {}\n",
        "Face.kt": "package k.inner\ninterface Face {\n}\n",
    }, "j.Base < k.inner.Face, k.A < j.Base k.inner.Face, k.inner.Face"),
    "the parts of a class in C# are one class with all its bases": ({
        "A.cs": "namespace Shop.Web { public partial class Cart : Base { void Add() {} } }\n",
        "B.cs": "namespace Shop.Web;\npublic partial class Cart : ISum { void Sum() {} }\n",
        "Base.cs": "namespace Shop { class Base {} interface ISum {} }\n",
    }, "Shop.Base, Shop.ISum, Shop.Web.Cart < Shop.Base Shop.ISum"),
    "embedded structs of Go are found through the module name": ({
        "go.mod": "module example.com/app\n",
        "internal/store/disk.go": 'package store\nimport "example.com/app/base"\n'
                                  "type Disk struct {\n\tbase.Common\n\tLocal\n}\n",
        "internal/store/local.go": "package store\ntype Local struct {\n\tn int\n}\n",
        "base/common.go": "package base\ntype Common struct {\n\tn int\n}\n",
        "other/use.go": 'package other\nimport "github.com/else/base"\ntype Use struct {\n\tbase.Common\n}\n',
    }, "base.Common, other.Use < github.com.else.base.Common, store.Disk < base.Common store.Local, store.Local"),
    "without its module name, a package of Go is one from elsewhere": ({
        "store/disk.go": 'package store\nimport "example.com/app/base"\ntype Disk struct {\n\tbase.Common\n}\n',
        "base/common.go": "package base\ntype Common struct {\n\tn int\n}\n",
    }, "base.Common, store.Disk < example.com.app.base.Common"),
    "traits of Rust are bases of the types that implement them, bounds of parameters are not": ({
        "core/Cargo.toml": '[package]\nname = "my-core"\n',
        "core/src/lib.rs": "mod store;\npub use store::Store;\npub struct Root;\n",
        "core/src/store/mod.rs": "pub trait Store: 'static + Send {}\npub mod disk;\n",
        "core/src/store/disk.rs": "use super::Store;\npub struct Disk;\n"
                                  "impl Store for Disk {}\nimpl fmt::Debug for Disk {}\n",
        "core/src/far.rs": "use crate::store::disk::Disk;\nuse crate::Store as S;\n"
                           "impl Clone for Disk {}\nstruct Far;\nimpl S for Far {}\n"
                           "struct Writer<W>;\nimpl<W: Write> Writer<W> { fn to<T: Copy>(t: T) where T: Eq {} }\n",
        "app/src/main.rs": "use my_core::Store;\nuse serde::Root;\nstruct App;\n"
                           "impl Store for App {}\nimpl Root for App {}\n",
    }, "App < Store serde.Root, Disk < Store fmt.Debug Clone, Far < Store, Root, Store < Send, Writer"),
    "a class has its own bases whether its companion object precedes or follows it": ({
        "a.scala": "object Actor extends Serializable {}\nprivate[a] trait Actor extends Reactor with Channel[Int]\n",
        "b.scala": "class Task extends Job\nobject Task extends Serializable\n",
    }, "Actor < Reactor Channel, Task < Job"),
    "an alias of Rust is the type that it names": ({
        "src/lib.rs": "mod crew;\nuse crew::*;\ntype Sailor<'a> = Crew<'a, u8>;\nimpl Show for Sailor<'_> {}\n",
        "src/crew.rs": "pub struct Crew<'a, T>;\nimpl Iterator for Crew<'_, u8> { type Item = Crew; }\n",
    }, "Crew < Iterator Show"),
    "a class of Ruby may be reopened and finds modules around it": ({
        "a.rb": "module Shop\n  class Cart < Base\n    include Sums\n  end\nend\n",
        "b.rb": "module Shop\n  class Cart\n    extend Logs\n  end\n"
                "  class Base\n  end\n  module Sums\n  end\nend\n",
    }, "Shop, Shop.Base, Shop.Cart < Shop.Base Shop.Sums Logs, Shop.Sums"),
    "classes of different languages do not mix": ({
        "a.js": "class Page extends Base {}\n", "c.py": "class Base: ...\n",
        "b.swift": "class Base {}\nclass Card: Base {}\nclass Sheet: Page {}\n",
    }, "Card < b.swift:Base, Page < Base, Sheet < swift:Page, b.swift:Base, c.Base"),
    "classes of the same name are distinguished by their files": ({
        "x/A.java": "package p;\nclass A {}\nclass B extends A {}\n", "y/A.java": "package p;\nclass A {}\n",
        "y/C.java": "package p;\nclass C extends A {}\n",
    }, "p.B < x/A.java:A, p.C < y/A.java:A, x/A.java:A, y/A.java:A"),
    "an extension gives its bases to a class outside the project": ({
        "Shown.swift": "protocol Shown {}\nprotocol Sent {}\nextension String: Shown {}\nextension Int {}\n",
        "Sent.swift": "extension String: Sent {}\nextension Shop.Cart: Sent {}\nstruct Shop { struct Cart {} }\n",
    }, "Sent, Shop, Shop.Cart < Sent, Shown, String < Shown Sent"),
    "no other file sees the class of a source file of C++": ({
        "db/key_test.cc": "namespace n {\nstruct Order {};\nstruct Own : Order {};\n}\n",
        "db/key.h": "namespace n {\nclass Key : public Order {};\n}\n",
        "include/n/order.h": "namespace n {\nclass Order {};\n}\n",
    }, "db/key_test.cc:Order, include/n/order.h:Order, n.Key < include/n/order.h:Order, n.Own < db/key_test.cc:Order"),
    "a name from the root is not looked up in the namespace": ({
        "E.php": "<?php\nnamespace N;\nclass E extends \\E {}\nclass F extends \\N\\E {}\nclass G extends \\M\\E {}\n",
        "a.h": "namespace n {\nclass H : ::n::K {};\nclass K : ::K {};\n}\n", "k.h": "class K {};\n",
        "b.rb": "module P\n  class Q; end\n  class R < ::Q; end\nend\nclass Q; end\n",
    }, "K, N.E < E, N.F < N.E, N.G < M.E, P, P.Q, P.R < Q, Q, n.H < n.K, n.K < K"),
    "a class within a function is in the tree and finds its neighbours": ({
        "a/A.java": "package a;\nclass A extends B { void f() { class C extends D {} class E extends C {} } }\n",
        "a/D.java": "package a;\nclass D {}\n",
    }, "a.A < B, a.A.f.C < a.D, a.A.f.E < a.A.f.C, a.D"),
}  # fmt: skip


@pytest.mark.parametrize(("files", "expected"), TREES.values(), ids=TREES)
def test_each_base_is_the_class_that_its_name_means_in_its_file(files: dict[str, str], expected: str) -> None:
    assert bases(files) == expected


@pytest.mark.parametrize(
    "import_",
    [
        "import Base from 'elsewhere';",
        "import {Base} from '@scope/some-lib';",
        "import {Other as Base} from './missing.js';",
        "import Base from './empty.js';",
        "import {Base} from './empty.js';",
        "import {Base} from './circle.js';",
        "const Base = require('elsewhere');",
        "const {Base} = require('./missing');",
    ],
)
def test_an_unresolved_import_does_not_match_a_class_of_the_same_name(import_: str) -> None:
    files = {
        "core/base.js": "export default class Base {}\n",
        "core/other.js": "export class Other {}\n",
        "empty.js": "export const nothing = 1;\n",
        "circle.js": "export * from './circle.js';\nexport {Base} from './circle.js';\n",
        "a.js": f"{import_}\nclass A extends Base {{}}\n",
    }
    found = tree(files)

    assert [ancestor.source for ancestor in found.chain("A")] == [None]
    assert [node.name for node in found.below(["Base"])] == ["Base"]


def test_the_chain_of_a_class_follows_its_first_base_classes_out_of_the_project() -> None:
    text = "class A(Exception): ...\nclass B(A, object): ...\nclass C(B): ...\n"

    assert tree({"m.py": text}).chain("m.C") == (
        Ancestor(class_name="m.B", source="m.py"),
        Ancestor(class_name="m.A", source="m.py"),
        Ancestor(class_name="Exception", source=None),
    )


def test_a_cycle_of_base_classes_terminates() -> None:
    found = tree({"m.py": "class A(B): ...\nclass B(A): ...\n"})

    assert [ancestor.class_name for ancestor in found.chain("m.A")] == ["m.B"]
    assert [node.name for node in found.below(["m.A"])] == ["m.A", "m.B"]


def test_a_subtree_lists_parents_before_children_and_each_class_once() -> None:
    text = "class A: ...\nclass B(A): ...\nclass C(A): ...\nclass D(B, C): ...\nclass E: ...\n"

    assert [node.name for node in tree({"m.py": text}).below(["m.A"])] == ["m.A", "m.B", "m.C", "m.D"]


@pytest.mark.parametrize(
    ("name", "named", "nearest"),
    [
        ("pkg.m.EventBus", ["pkg.m.EventBus"], ["pkg.m.EventBus"]),
        ("m::eventbus", ["pkg.m.EventBus"], ["pkg.m.EventBus"]),
        (r"m\eventbus", ["pkg.m.EventBus"], ["pkg.m.EventBus"]),
        ("Bus", [], ["pkg.m.EventBus"]),
        ("EvntBus", [], ["pkg.m.EventBus"]),
        ("view", ["a.js:View", "b.js:View"], ["a.js:View", "b.js:View"]),
        ("Views", [], ["a.js:View", "b.js:View"]),
        ("my-text.a", ["Neo.magic-move.my-text.A"], ["Neo.magic-move.my-text.A"]),
    ],
)
def test_a_class_is_found_by_suffix_in_any_case_and_similar_names_are_suggested(
    name: str, named: list[str], nearest: list[str]
) -> None:
    found = tree({
        "pkg/__init__.py": "", "pkg/m.py": "class EventBus: ...\nclass Other: ...\n",
        "a.js": "export class View {}\n", "b.js": "export class View {}\n",
        "c.mjs": "class A { static config = {className: 'Neo.magic-move.my-text.A'} }\n",
    })  # fmt: skip

    assert (found.named(name), found.nearest(name)) == (named, nearest)


def test_the_records_of_the_class_tree_are_sorted_by_name() -> None:
    found = tree({"m.py": "class A(Exception): ...\nclass B(A): ...\n"})

    assert found.records() == [
        {"class": "Exception", "parent": None, "bases": [], "source": None, "lines": None},
        {"class": "m.A", "parent": "Exception", "bases": ["Exception"], "source": "m.py", "lines": [1, 1]},
        {"class": "m.B", "parent": "m.A", "bases": ["m.A"], "source": "m.py", "lines": [2, 2]},
    ]


def test_methods_of_go_in_another_file_belong_to_their_type() -> None:
    facts = {
        "s/a.go": facts_of("s/a.go", "package s\ntype Disk struct {\n\tn int\n}\n"),
        "s/b.go": facts_of("s/b.go", "package s\nfunc (d *Disk) Read() {}\nfunc (g *Gone) Read() {}\n"),
    }

    resolved = resolve(facts, facts)

    assert resolved.full_names == {("s/a.go", "Disk"): "s.Disk", ("s/b.go", "Disk"): "s.Disk"}
    assert set(resolved.hierarchy.nodes) == {"s.Disk"}


def implemented(files: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the interfaces of each class that implements one."""
    facts = {path: facts_of(path, dedent(text)) for path, text in files.items()}
    nodes = resolve(facts, files).hierarchy.nodes.values()
    return {node.name: set(node.implements) for node in nodes if node.implements}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.java", "interface I {}\ninterface J extends I {}\nclass B {}\nclass A extends B implements I {}\n"),
        ("a.cs", "interface I {}\ninterface J : I {}\nclass B {}\nclass A : B, I {}\n"),
        ("a.kt", "interface I\ninterface J : I\nopen class B\nclass A : B(), I\n"),
        ("a.php", "<?php\ninterface I {}\ninterface J extends I {}\ntrait M {}\nclass B {}\n"
         "class A extends B implements I { use M; }\n"),
        ("a.ex", "defprotocol I do\nend\ndefmodule A do\n  use B\nend\ndefimpl I, for: A do\nend\n"),
        ("b.ex", "defmodule I do\nend\ndefmodule A do\n  use B\n  @behaviour I\nend\n"),
        ("a.rb", "module I; end\nclass B; end\nclass A < B\n  include I\nend\n"),
        ("a.swift", "protocol I {}\nprotocol J: I {}\nclass B {}\nclass A: B {}\nextension A: I {}\n"),
        ("a.scala", "trait I\ntrait J extends I\nclass B\nclass A extends B with I\n"),
        ("a.rs", "trait I {}\ntrait J: I {}\nstruct B {}\nstruct A {}\nimpl I for A {}\nimpl A {}\n"),
        ("a.dart", "mixin M {}\nclass I {}\nclass B {}\nclass A extends B with M implements I {}\n"),
        ("a.ts", "interface I {}\ninterface J extends I {}\nclass B {}\nexport class A extends B implements I {}\n"),
        ("a.d.ts", "interface I {}\ninterface B {}\nclass B {}\nexport class A extends B implements I {}\n"),
        ("a.go", "package p\ntype I interface{ Run(n int) }\ntype J interface{ I; Stop() }\ntype B struct{}\n"
         "type A struct{ B }\nfunc (a *A) Run(times int) {}\n"),
    ],
)  # fmt: skip
def test_a_class_implements_interfaces_and_extends_classes(path: str, text: str) -> None:
    found = implemented({path: text})

    assert {name.rpartition(".")[2]: {base.rpartition(".")[2] for base in found[name]} for name in found} == {
        "A": {"I", "M"} if "M {" in text else {"I"}
    }


def test_an_interface_outside_the_project_counts_where_the_code_marks_it() -> None:
    found = implemented(
        {
            "a.java": "import java.io.Closeable;\nclass A extends Base implements Closeable {}\n",
            "a.ts": "import {OnInit} from '@angular/core';\nclass Page extends Base implements OnInit {}\n",
            "a.cs": "class Shop : Base, IThing {}\nclass Mall : IThing, IDs {}\nclass Host : IPAddress {}\n",
        }
    )

    assert found == {"A": {"java.io.Closeable"}, "Page": {"OnInit"}, "Shop": {"IThing"}, "Mall": {"IThing", "IDs"}}


GO = {
    "store/store.go": """
        package store

        import "example.com/app/model"

        type Store interface {
            Get(ctx context.Context, ids ...model.ID) (*model.Item, error)
            io.Closer
        }

        type hidden interface{ lock() }
        """,
    "model/model.go": "package model\n\ntype ID struct{}\n\ntype Item struct{}\n",
    "disk/disk.go": """
        package disk

        import (
            m "example.com/app/model"
            "example.com/app/store"
        )

        type closing struct{}

        func (c closing) Close() (err error) { return nil }

        type Disk struct{ closing }

        func (d *Disk) Get(c context.Context, many ...m.ID) (item *m.Item, err error) { return nil, nil }

        func (d *Disk) lock() {}

        type Shown struct{ fmt.GoStringer }

        func (s Shown) Plain() {}

        type Other struct{ closing }

        func (o *Other) Get(c context.Context, many ...string) (*m.Item, error) { return nil, nil }

        type Names []string

        func (n Names) Plain() {}

        var (
            _ store.Plain = (*Names)(nil)
            _ fmt.Formatter = Other{}
        )
        """,
    "store/plain.go": "package store\n\ntype Plain interface {\n\tPlain()\n\tfmt.GoStringer\n}\n",
}


def test_types_of_go_implement_interfaces_by_their_methods_or_by_assertions() -> None:
    found = implemented({**GO, "go.mod": "module example.com/app\n"})

    assert found == {
        "disk.Disk": {"store.Store"},  # with a promoted method
        "disk.Names": {"store.Plain"},  # asserted: the methods of an embedded interface from elsewhere are not known
        "disk.Other": {"fmt.Formatter"},
        "disk.Shown": {"store.Plain"},  # which embeds the same interface from elsewhere
    }


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("M(a, b int, c string)", "M(int, int, string)", True),
        ("M(f func(int) error, m map[string][]byte)", "M(func(int) error, map[string][]uint8)", True),
        ("M() (n int, err error)", "M() (int, error)", True),
        ("M(x interface{})", "M(any)", True),
        ("M(ch <-chan int)", "M(chan int)", False),
        ("M(x T)", "M(x *T)", False),
        ("M(x T)", "M(x q.T)", False),
        ("M(x ...int)", "M(x []int)", False),
    ],
)
def test_methods_of_go_are_compared_by_their_types(one: str, other: str, is_same: bool) -> None:
    found = implemented(
        {"a.go": f"package p\n\ntype I interface{{ {one} }}\n\ntype A int\n\nfunc (a A) {other} {{}}\n"}
    )

    assert bool(found) == is_same
