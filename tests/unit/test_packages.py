"""Class trees of languages with packages."""

from __future__ import annotations

from textwrap import dedent

import pytest

from lore_etl.core.model import FileFacts
from lore_etl.relations.classes import resolve
from tests.harness.texts import facts_of


def tree(files: dict[str, str], **manifests: FileFacts) -> dict[str, tuple[str, ...]]:
    """Return the bases of each class that is defined in these files."""
    facts = {path: facts_of(path, dedent(text)) for path, text in files.items()} | manifests
    return {name: node.bases for name, node in resolve(facts, files).hierarchy.nodes.items() if node.source}


def test_an_import_of_java_leads_to_the_class_of_that_package() -> None:
    found = tree(
        {
            "web/Page.java": "package com.web;\nimport com.base.View;\nclass Page extends View implements Shown {}\n",
            "web/Shown.java": "package com.web;\ninterface Shown {}\n",
            "base/View.java": "package com.base;\nclass View {}\n",
            "other/View.java": "package com.other;\nclass View {}\n",
        }
    )

    assert found["com.web.Page"] == ("com.base.View", "com.web.Shown")


def test_an_import_that_leads_nowhere_matches_no_class_of_the_same_name() -> None:
    found = tree(
        {
            "a/Page.java": "package a;\nimport org.lib.View;\nclass Page extends View {}\n",
            "a/Plain.java": "package a;\nclass Plain extends Shape {}\n",
            "b/View.java": "package b;\nclass View {}\nclass Shape {}\n",
        }
    )

    assert found["a.Page"] == ("org.lib.View",)
    assert found["a.Plain"] == ("Shape",)
    assert found["b.View"] == ()


def test_classes_of_kotlin_and_java_extend_each_other() -> None:
    found = tree(
        {
            "A.kt": "package k\nimport j.Base\nclass A : Base(), k.inner.Face\n",
            "Base.java": "package j;\nimport k.inner.*;\nclass Base implements Face {}\n",
            "Face.kt": "package k.inner\ninterface Face {\n}\n",
        }
    )

    assert found == {"k.A": ("j.Base", "k.inner.Face"), "j.Base": ("k.inner.Face",), "k.inner.Face": ()}


def test_the_parts_of_a_class_in_csharp_are_one_class_with_all_its_bases() -> None:
    found = tree(
        {
            "A.cs": "namespace Shop.Web { public partial class Cart : Base { void Add() {} } }\n",
            "B.cs": "namespace Shop.Web;\npublic partial class Cart : ISum { void Sum() {} }\n",
            "Base.cs": "namespace Shop { class Base {} interface ISum {} }\n",
        }
    )

    assert found["Shop.Web.Cart"] == ("Shop.Base", "Shop.ISum")


def test_embedded_structs_of_go_are_found_through_the_module_name() -> None:
    files = {
        "internal/store/disk.go": 'package store\nimport "example.com/app/base"\n'
        "type Disk struct {\n\tbase.Common\n\tLocal\n}\n",
        "internal/store/local.go": "package store\ntype Local struct {\n\tn int\n}\n",
        "base/common.go": "package base\ntype Common struct {\n\tn int\n}\n",
        "other/use.go": 'package other\nimport "github.com/else/base"\ntype Use struct {\n\tbase.Common\n}\n',
    }
    manifest = FileFacts(family="manifest:go", package="example.com/app")

    found = tree(files, **{"go.mod": manifest})

    assert found["store.Disk"] == ("base.Common", "store.Local")
    assert found["other.Use"] == ("github.com.else.base.Common",)
    assert tree(files)["store.Disk"] == ("example.com.app.base.Common", "store.Local")


def test_methods_of_go_in_another_file_belong_to_their_type() -> None:
    facts = {
        "s/a.go": facts_of("s/a.go", "package s\ntype Disk struct {\n\tn int\n}\n"),
        "s/b.go": facts_of("s/b.go", "package s\nfunc (d *Disk) Read() {}\nfunc (g *Gone) Read() {}\n"),
    }

    resolved = resolve(facts, facts)

    assert resolved.full_names == {("s/a.go", "Disk"): "s.Disk", ("s/b.go", "Disk"): "s.Disk"}
    assert set(resolved.hierarchy.nodes) == {"s.Disk"}


def test_traits_of_rust_are_bases_of_the_types_that_implement_them() -> None:
    files = {
        "core/src/lib.rs": "mod store;\npub use store::Store;\npub struct Root;\n",
        "core/src/store/mod.rs": "pub trait Store: 'static + Send {}\npub mod disk;\n",
        "core/src/store/disk.rs": "use super::Store;\npub struct Disk;\n"
        "impl Store for Disk {}\nimpl fmt::Debug for Disk {}\n",
        "core/src/far.rs": "use crate::store::disk::Disk;\nuse crate::Store as S;\n"
        "impl Clone for Disk {}\nstruct Far;\nimpl S for Far {}\n"
        "struct Writer<W>;\nimpl<W: Write> Writer<W> { fn to<T: Copy>(t: T) where T: Eq {} }\n",
        "app/src/main.rs": "use my_core::Store;\nuse serde::Root;\nstruct App;\n"
        "impl Store for App {}\nimpl Root for App {}\n",
    }
    found = tree(files, **{"core/Cargo.toml": FileFacts(family="manifest:rust", package="my-core")})

    assert found["Store"] == ("Send",)
    assert found["Disk"] == ("Store", "fmt.Debug", "Clone")
    assert found["Far"] == ("Store",)
    assert found["Writer"] == ()  # bounds of parameters are not bases
    assert found["App"] == ("Store", "serde.Root")


def test_a_class_has_its_own_bases_whether_its_companion_object_precedes_or_follows_it() -> None:
    files = {
        "a.scala": "object Actor extends Serializable {}\nprivate[a] trait Actor extends Reactor with Channel[Int]\n",
        "b.scala": "class Task extends Job\nobject Task extends Serializable\n",
    }

    assert {name: bases for name, bases in tree(files).items() if name in ("Actor", "Task")} == {
        "Actor": ("Reactor", "Channel"), "Task": ("Job",)
    }  # fmt: skip


def test_a_class_of_ruby_may_be_reopened_and_finds_modules_around_it() -> None:
    found = tree(
        {
            "a.rb": "module Shop\n  class Cart < Base\n    include Sums\n  end\nend\n",
            "b.rb": "module Shop\n  class Cart\n    extend Logs\n  end\n"
            "  class Base\n  end\n  module Sums\n  end\nend\n",
        }
    )

    assert found["Shop.Cart"] == ("Shop.Base", "Shop.Sums", "Logs")


def test_classes_of_different_languages_do_not_mix() -> None:
    found = tree(
        {
            "a.js": "class Page extends Base {}\n",
            "b.swift": "class Base {}\nclass Card: Base {}\nclass Sheet: Page {}\n",
            "c.py": "class Base: ...\n",
        }
    )

    assert found["Page"] == ("Base",)
    assert found["b.swift:Base"] == ()
    assert found["Card"] == ("b.swift:Base",)
    assert found["Sheet"] == ("swift:Page",)


def test_classes_of_the_same_name_are_distinguished_by_their_files() -> None:
    found = tree(
        {
            "x/A.java": "package p;\nclass A {}\nclass B extends A {}\n",
            "y/A.java": "package p;\nclass A {}\n",
            "y/C.java": "package p;\nclass C extends A {}\n",
        }
    )

    assert found["p.B"] == ("x/A.java:A",)
    assert found["p.C"] == ("y/A.java:A",)


SHOP = "export class Shop {}\n"


def test_a_script_imports_packages_of_its_workspace_by_their_names() -> None:
    files = {
        "packages/core/lib/main.ts": SHOP,
        "packages/core/src/deep.ts": "export class Deep {}\n",
        "packages/bare/src/index.ts": "export class Bare {}\n",
        "apps/web/page.ts": "import {Shop} from '@acme/core';\nimport {Deep} from '@acme/core/deep';\n"
        "import {Bare} from 'bare';\nimport {Shop as Other} from 'core';\n"
        "class A extends Shop {}\nclass B extends Deep {}\nclass C extends Bare {}\nclass D extends Other {}\n",
    }
    core = facts_of("package.json", '{"name": "@acme/core", "main": "lib/main.js"}')
    bare = facts_of("package.json", '{"name": "bare"}')

    found = tree(files, **{"packages/core/package.json": core, "packages/bare/package.json": bare})

    assert [found[name] for name in "ABCD"] == [("Shop",), ("Deep",), ("Bare",), ("Other",)]


def test_a_script_imports_the_declarations_of_another() -> None:
    files = {
        "src/index.js": "export function h() {}\n",
        "src/index.d.ts": "export abstract class Component {}\n",
        "src/list.js": "export class List {}\n",
        "src/list.d.ts": "export class List {}\n",
        "compat/suspense.d.ts": "import {Component} from 'preact';\nexport class Suspense extends Component {}\n",
        "hooks/a.d.ts": "import {Component} from '../src';\nexport class A extends Component {}\n",
        "hooks/b.ts": "import {Component} from '../src/index.js';\nexport class B extends Component {}\n",
        "hooks/c.js": "import {List} from '../src/list';\nexport class C extends List {}\n",
    }
    manifest = facts_of("package.json", '{"name": "preact", "main": "dist/p.js", "types": "src/index.d.ts"}')

    found = tree(files, **{"package.json": manifest})

    assert [found[name] for name in ("Suspense", "A", "B", "C")] == [("Component",)] * 3 + [("List",)]


def test_the_paths_of_the_nearest_tsconfig_lead_to_files() -> None:
    files = {
        "web/src/ui/card.ts": "export class Card {}\n",
        "web/src/base.ts": "export default class Base {}\n",
        "other/ui/card.ts": "export class Card {}\n",
        "web/app.ts": "import {Card} from '@ui/card';\nimport Base from 'base';\nclass A extends Card {}\n"
        "class B extends Base {}\n",
        "other/app.ts": "import {Card} from '@ui/card';\nclass C extends Card {}\n",
    }
    config = facts_of("tsconfig.json", '{"compilerOptions": {"baseUrl": "src", "paths": {"@ui/*": ["ui/*"]}}}')

    found = tree(files, **{"web/tsconfig.json": config})

    assert found["A"] == ("web/src/ui/card.ts:Card",)
    assert found["B"] == ("Base",)
    assert found["C"] == ("Card",)


def test_a_package_from_elsewhere_is_not_a_file_of_the_same_name() -> None:
    found = tree(
        {
            "react.js": "export class Component {}\n",
            "a/b.js": "import {Component} from 'react';\nclass A extends Component {}\n",
        }
    )

    assert found["A"] == ("react:Component",)


def test_an_extension_gives_its_bases_to_a_class_outside_the_project() -> None:
    found = tree(
        {
            "Shown.swift": "protocol Shown {}\nprotocol Sent {}\nextension String: Shown {}\nextension Int {}\n",
            "Sent.swift": "extension String: Sent {}\nextension Shop.Cart: Sent {}\nstruct Shop { struct Cart {} }\n",
        }
    )

    assert found == {"Shown": (), "Sent": (), "String": ("Shown", "Sent"), "Shop": (), "Shop.Cart": ("Sent",)}


def test_a_class_within_a_function_is_in_the_tree_and_finds_its_neighbours() -> None:
    found = tree(
        {
            "a/A.java": "package a;\nclass A extends B { void f() { class C extends D {} class E extends C {} } }\n",
            "a/D.java": "package a;\nclass D {}\n",
        }
    )

    assert found == {"a.A": ("B",), "a.A.f.C": ("a.D",), "a.A.f.E": ("a.A.f.C",), "a.D": ()}


def implemented(files: dict[str, str], **manifests: FileFacts) -> dict[str, set[str]]:
    """Return the interfaces of each class that implements one."""
    facts = {path: facts_of(path, dedent(text)) for path, text in files.items()} | manifests
    nodes = resolve(facts, files).hierarchy.nodes.values()
    return {node.name: set(node.implements) for node in nodes if node.implements}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.java", "interface I {}\ninterface J extends I {}\nclass B {}\nclass A extends B implements I {}\n"),
        ("a.cs", "interface I {}\ninterface J : I {}\nclass B {}\nclass A : B, I {}\n"),
        ("a.kt", "interface I\ninterface J : I\nopen class B\nclass A : B(), I\n"),
        ("a.php", "<?php\ninterface I {}\ninterface J extends I {}\ntrait T {}\nclass B {}\n"
         "class A extends B implements I { use T; }\n"),
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
        "A": {"I"}
    }


def test_an_interface_outside_the_project_counts_where_the_code_marks_it() -> None:
    found = implemented(
        {
            "a.java": "import java.io.Closeable;\nclass A extends Base implements Closeable {}\n",
            "a.ts": "import {OnInit} from '@angular/core';\nclass Page extends Base implements OnInit {}\n",
            "a.cs": "class Shop : Base, IThing {}\n",  # the language marks neither
        }
    )

    assert found == {"A": {"java.io.Closeable"}, "Page": {"OnInit"}}


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
    found = implemented(GO, **{"go.mod": FileFacts(family="manifest:go", package="example.com/app")})

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
