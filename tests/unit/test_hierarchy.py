from __future__ import annotations

from collections.abc import Mapping

import pytest

from lore_etl.core.model import Ancestor
from lore_etl.relations.classes import Hierarchy, resolve
from tests.harness.texts import facts_of


def tree(files: Mapping[str, str], project: str = "project") -> Hierarchy:
    return resolve({path: facts_of(path, text) for path, text in files.items()}, files, project).hierarchy


def bases(files: Mapping[str, str], project: str = "project") -> dict[str, tuple[str, ...]]:
    """Return the base classes of each class of the project by its full name."""
    nodes = tree(files, project).nodes.values()
    return {node.name: node.bases for node in nodes if node.source}


def test_python_bases_are_followed_through_absolute_relative_and_module_imports() -> None:
    files = {
        "src/app/__init__.py": "",
        "src/app/core.py": "class Base: ...\n",
        "src/app/sub/__init__.py": "",
        "src/app/sub/a.py": "from app.core import Base\nclass A(Base): ...\n",
        "src/app/sub/b.py": "from ..core import Base as Root\nclass B(Root): ...\n",
        "src/app/sub/c.py": "from .. import core\nclass C(core.Base): ...\n",
        "src/app/sub/d.py": "import app.core\nclass D(app.core.Base): ...\n",
        "src/app/sub/e.py": "import app.core as c\nclass E(c.Base): ...\n",
    }

    assert bases(files) == {
        "app.core.Base": (),
        **{f"app.sub.{name.lower()}.{name}": ("app.core.Base",) for name in "ABCDE"},
    }


def test_reexports_through_packages_resolve_to_the_definition() -> None:
    files = {
        "app/__init__.py": "from .core import *\n",
        "app/core/__init__.py": "from .deep import Base\n",
        "app/core/deep.py": "class Base: ...\n",
        "main.py": "from app import Base\nimport app\nclass A(Base): ...\nclass B(app.Base): ...\n",
    }

    assert bases(files) == {
        "app.core.deep.Base": (),
        "main.A": ("app.core.deep.Base",),
        "main.B": ("app.core.deep.Base",),
    }


def test_circular_imports_resolve_to_no_class_of_the_project() -> None:
    files = {
        "a.py": "from b import X\nfrom b import *\nclass A(X): ...\nclass B(Y): ...\n",
        "b.py": "from a import X\nfrom a import *\n",
    }

    assert bases(files) == {"a.A": ("a.X",), "a.B": ("Y",)}


def test_packages_without_an_init_file_are_resolved_by_path() -> None:
    files = {
        "app/models/base.py": "class Base: ...\n",
        "app/models/near.py": "from .base import Base\nclass Near(Base): ...\n",
        "app/views/far.py": "from app.models.base import Base\nclass Far(Base): ...\n",
        "app/views/up.py": "from ..models.base import Base\nclass Up(Base): ...\n",
        "lib/__init__.py": "",
        "lib/inner/thing.py": "class Thing: ...\n",
    }

    assert bases(files) == {
        "base.Base": (),
        "near.Near": ("base.Base",),
        "far.Far": ("base.Base",),
        "up.Up": ("base.Base",),
        "lib.inner.thing.Thing": (),
    }


def test_a_package_in_a_folder_without_an_init_file_is_found_by_its_full_path() -> None:
    files = {
        "sea/ferry/__init__.py": "from sea.ferry.hull import Hull\nclass Ship: ...\n",
        "sea/ferry/hull.py": "class Hull: ...\n",
        "sea/ferry/boat.py": "from sea.ferry import Ship, Hull\nclass Boat(Ship, Hull): ...\n",
        "main.py": "import sea.ferry\nclass Raft(sea.ferry.Ship): ...\n",
    }

    assert bases(files) == {
        "ferry.Ship": (),
        "ferry.hull.Hull": (),
        "ferry.boat.Boat": ("ferry.Ship", "ferry.hull.Hull"),
        "main.Raft": ("ferry.Ship",),
    }


def test_a_project_that_is_a_package_is_named_after_its_folder() -> None:
    files = {
        "__init__.py": "",
        "core.py": "class Base: ...\n",
        "a.py": "from lib.core import Base\nclass A(Base): ...\n",
    }

    assert bases(files, "lib") == {"lib.core.Base": (), "lib.a.A": ("lib.core.Base",)}


def test_nested_classes_generics_and_several_bases_are_resolved() -> None:
    text = (
        "from typing import Generic, TypeVar\n"
        "class Base(Generic[T]): ...\n"
        "class Mixin: ...\n"
        "class Outer:\n"
        "    class Base(Base): ...\n"
        "    class Inner(Base): ...\n"
        "class Child(Mixin, Base[int], Outer.Inner): ...\n"
    )

    assert bases({"m.py": text}) == {
        "m.Base": ("typing.Generic",),
        "m.Mixin": (),
        "m.Outer": (),
        "m.Outer.Base": ("m.Base",),
        "m.Outer.Inner": ("m.Outer.Base",),
        "m.Child": ("m.Mixin", "m.Base", "m.Outer.Inner"),
    }


def test_classes_with_the_same_name_in_two_files_are_both_kept() -> None:
    files = {
        "one/util.py": "class Tool: ...\n",
        "one/main.py": "from util import Tool\nclass A(Tool): ...\n",
        "two/util.py": "class Tool: ...\n",
        "two/run.py": "from util import Tool\nclass B(Tool): ...\n",
        "a.js": "export class View {}\n",
        "b.js": "export class View {}\n",
        "c.js": "import {View} from './b.js';\nclass Main extends View {}\n",
    }

    found = tree(files)

    assert bases(files) == {
        "one/util.py:Tool": (),
        "two/util.py:Tool": (),
        "main.A": ("one/util.py:Tool",),
        "run.B": ("two/util.py:Tool",),
        "a.js:View": (),
        "b.js:View": (),
        "Main": ("b.js:View",),
    }
    assert found.named("view") == ["a.js:View", "b.js:View"]
    assert found.nearest("Views") == ["a.js:View", "b.js:View"]


def test_a_stub_and_its_module_describe_one_class() -> None:
    files = {"m.py": "class A: ...\n", "m.pyi": "class A: ...\n"}

    assert bases(files) == {"m.A": ()}


def test_a_python_builtin_does_not_resolve_to_a_javascript_class() -> None:
    files = {"a.js": "class Exception {}\n", "b.py": "class E(Exception): ...\n"}

    assert bases(files) == {"Exception": (), "b.E": ("builtins.Exception",)}


def test_javascript_bases_are_followed_through_default_and_named_imports() -> None:
    files = {
        "core/base.mjs": "class Base { static config = {className: 'My.core.Base'} }\nexport default setup(Base);\n",
        "core/index.ts": "export class Named {}\nexport class Other {}\n",
        "a.mjs": "import Root from './core/base.mjs';\nclass A extends Root {}\n",
        "b.ts": "import {Named as N} from './core';\nclass B extends N {}\n",
        "c.ts": "import * as core from './core/index.js';\nclass C extends core.Other<string> {}\n",
        "d.js": "import React from 'react';\nclass D extends React.Component {}\n",
    }

    assert bases(files) == {
        "My.core.Base": (),
        "Named": (),
        "Other": (),
        "A": ("My.core.Base",),
        "B": ("Named",),
        "C": ("Other",),
        "D": ("React.Component",),
    }


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
    assert [node.name for node in found.subtree("Base")] == ["Base"]


def test_interfaces_and_the_classes_that_implement_them_are_in_the_tree() -> None:
    files = {
        "src/vessel.ts": "export interface Named { name: string }\n"
        "export default interface Vessel<T> extends Named { sail(): T }\n",
        "src/boat.ts": "import type Vessel, { Named as Titled } from './vessel';\n"
        "export abstract class Boat<T> implements Vessel<T>, Titled, Disposable { abstract row(): void }\n",
        "src/ferry.ts": "import { Boat } from './boat';\nexport class Ferry extends Boat<number> {}\n"
        "export class Odd extends mixin(Boat) implements Iterable<number> {}\n",
    }

    assert bases(files) == {
        "Named": (), "Vessel": ("Named",), "Boat": ("Vessel", "Named", "Disposable"), "Ferry": ("Boat",),
        "Odd": ("Iterable",),
    }  # fmt: skip


def test_a_class_is_followed_through_files_that_reexport_it() -> None:
    files = {
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
    }
    found = bases(files)

    assert {name: found[name] for name in "ABCDEH"} == dict.fromkeys("ABCDEH", ("Real",))
    assert (found["F"], found["G"]) == (("Second",), ("One",))


def test_a_class_name_may_contain_hyphens() -> None:
    files = {
        "a.mjs": "class A extends Base { static config = {className: 'Neo.magic-move.my-text.A'} }\n",
        "b.mjs": "import A from './a.mjs';\n/** @class Neo.foo-bar.B */\nclass B extends A {}\n",
    }

    assert bases(files) == {"Neo.magic-move.my-text.A": ("Base",), "Neo.foo-bar.B": ("Neo.magic-move.my-text.A",)}
    assert tree(files).named("my-text.a") == ["Neo.magic-move.my-text.A"]


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
    assert [node.name for node in found.subtree("m.A")] == ["m.A", "m.B"]


def test_a_subtree_lists_parents_before_children_and_each_class_once() -> None:
    text = "class A: ...\nclass B(A): ...\nclass C(A): ...\nclass D(B, C): ...\nclass E: ...\n"

    assert [node.name for node in tree({"m.py": text}).subtree("m.A")] == ["m.A", "m.B", "m.C", "m.D"]


def test_a_class_is_found_by_suffix_in_any_case_and_similar_names_are_suggested() -> None:
    found = tree({"pkg/__init__.py": "", "pkg/m.py": "class EventBus: ...\nclass Other: ...\n"})

    assert found.named("pkg.m.EventBus") == ["pkg.m.EventBus"]
    assert found.named("m::eventbus") == ["pkg.m.EventBus"]
    assert found.named("Bus") == []
    assert found.nearest("EvntBus") == ["pkg.m.EventBus"]
    assert found.nearest("bus") == ["pkg.m.EventBus"]


def test_the_records_of_the_class_tree_are_sorted_by_name() -> None:
    found = tree({"m.py": "class A(Exception): ...\nclass B(A): ...\n"})

    assert found.records() == [
        {"class": "Exception", "parent": None, "bases": [], "source": None, "lines": None},
        {"class": "m.A", "parent": "Exception", "bases": ["Exception"], "source": "m.py", "lines": [1, 1]},
        {"class": "m.B", "parent": "m.A", "bases": ["m.A"], "source": "m.py", "lines": [2, 2]},
    ]
