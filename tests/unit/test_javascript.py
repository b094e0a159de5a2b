from textwrap import dedent

import pytest

from lore_etl.chunking import chunk
from lore_etl.core.model import ClassDefinition, Member
from tests.harness.models import counter
from tests.harness.texts import chunks_in, document, facts_of, outline, symbols, words

BODY = words(30)


def code(text: str) -> str:
    """Return a module with BODY replaced by a text that is long enough for its own chunk."""
    return dedent(text).strip("\n").replace("BODY", BODY)


NEO = code("""
    import Component from '../component/Base.mjs';

    /**
     * A button. BODY
     * @class Neo.button.Base
     * @extends Neo.component.Base
     */
    class Button extends Component {
        static config = {
            /** @member {String} className='Neo.button.Base' @protected */
            className: 'Neo.button.Base',
            ntype: 'button',
            /** The icon. BODY */
            iconCls_: null
        }

        /**
         * Triggered after the icon changed. BODY
         * @param {String} value
         */
        afterSetIconCls(value) {
            this.update();
        }
    }

    export default Neo.setupClass(Button);
    """)


def test_a_neo_class_gives_chunks_for_its_comment_config_and_methods_with_jsdoc() -> None:
    chunks = chunks_in("src/button/Base.mjs", NEO)

    assert outline(chunks) == [
        ("class", (1, 15), ("Button",)),
        ("method", (17, 26), ("Button", "afterSetIconCls")),
    ]
    assert symbols(chunks) == [("Button",), ("Button.afterSetIconCls",)]


Pieces = list[tuple[str, tuple[int, int], str]]
CHUNKS: dict[str, tuple[str, str, Pieces]] = {
    "functions in every syntax": ("a.js", """
        /** BODY */
        export async function load() {}
        /** BODY */
        export const save = async () => {};
        /** BODY */
        exports.drop = function () {};
        /** BODY */
        Store.prototype.find = function () {};
        /** BODY */
        export default function () {}
        """,
        [("function", (1, 2), "load"), ("function", (3, 4), "save"), ("function", (5, 6), "drop"),
         ("function", (7, 8), "Store.find"), ("function", (9, 10), "default")]),
    "declarations of TypeScript": ("a.ts", """
        /** BODY */
        export interface Options<T> { name: T }
        /** BODY */
        export type Id = string;
        /** BODY */
        export enum Mode { On, Off }
        /** BODY */
        @decorated()
        export abstract class Repo<T> extends Base<T> implements Reader {
            /** BODY */
            private load = async (): Promise<void> => {};
            /** BODY */
            abstract find(id: Id): T;
        }
        """,
        [("interface", (1, 2), "Options"), ("type", (3, 4), "Id"), ("enum", (5, 6), "Mode"), ("class", (7, 9), "Repo"),
         ("method", (10, 11), "Repo.load"), ("method", (12, 14), "Repo.find")]),
    "a component in TSX": ("Card.tsx", """
        /** BODY */
        export const Card = ({title}: Props) => (
            <section>
                <h2>{title}</h2>
            </section>
        );
        """,
        [("function", (1, 6), "Card")]),
    "tests with the titles of their suites": ("button.spec.mjs", """
        import {test} from 'runner';

        test.describe('Button', () => {
            test.beforeEach(async () => { setup('BODY'); });

            test('shows an icon', async () => {
                expect('BODY');
            });

            describe('pressed', function () {
                it.skip(`calls back`, () => { expect('BODY'); });
            });
        });
        """,
        [("suite", (1, 4), "Button"), ("test", (6, 8), "Button › shows an icon"),
         ("test", (10, 13), "Button › pressed, Button › pressed › calls back")]),
    "tests that run on some systems": ("a.test.js", """
        describe.serial('files', () => {
            if (supports('links')) {
                it('follows links', () => { function later() {} expect('BODY'); });
            }
            it.each([1])('reads %d', async n => { expect('BODY'); });
        });
        describe('shared', cases); // BODY
        """,
        [("test", (1, 3), "files, files › follows links"), ("test", (4, 6), "files › reads %d"),
         ("suite", (7, 7), "shared")]),
    "a function declared after other variables": ("a.js", """
        const first = 1,
              load = () => {},
              last = '/* BODY */';
        """,
        [("function", (1, 3), "load, first, last")]),
    "definitions in namespaces": ("a.d.ts", """
        declare namespace pino {
            /** BODY */
            function load(): void;
            /** BODY */
            class Store extends pino.Base {
                /** BODY */
                find(): void;
            }
        }
        """,
        [("function", (1, 3), "pino.load"), ("class", (4, 5), "pino.Store"), ("method", (6, 9), "pino.Store.find")]),
    "the methods of a declared class": ("a.d.ts", """
        export declare class Store {
            /** BODY */
            find(): void;
            /** BODY */
            drop(): void;
        }
        """,
        [("class", (1, 3), "Store, Store.find"), ("method", (4, 6), "Store.drop")]),
    "a class expression in a variable": (
        "a.js", "const Shape = class extends Base { area() { return 0; } };\n", [("class", (1, 1), "Shape")]
    ),
    "the local name of a required module is no definition": (
        "a.js",
        "var make = require('./make')\nvar {one} = require('two')\nvar old = require('net').connect()\nlet unset\n\n"
        "use(old)\n", [("imports", (1, 6), "old, unset")]
    ),
    "wide characters before a definition": ("a.js", """
        const greeting = '👩‍👩‍👧 héllo';  /* ümlaut */ function f() {}
        /** BODY 漢字 */
        function g() {}
        """,
        [("function", (1, 3), "f, g")]),
    "definitions on a shared line": ("a.js", """
        function a() {} function b() {}
        /** BODY */
        function c() {}
        """,
        [("function", (1, 3), "a, c")]),
}  # fmt: skip


@pytest.mark.parametrize(("path", "text", "expected"), CHUNKS.values(), ids=CHUNKS)
def test_definitions_become_chunks_with_their_comments(path: str, text: str, expected: Pieces) -> None:
    found = chunks_in(path, code(text))

    assert [(chunk.kind, chunk.lines, ", ".join(chunk.symbols)) for chunk in found] == expected
    assert "\n".join(chunk.text for chunk in found).split() == code(text).split()


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.ts", CHUNKS["declarations of TypeScript"][1], [
            ClassDefinition("Options", (2, 2), is_interface=True), ClassDefinition("Mode", (6, 6)),
            ClassDefinition("Repo", (8, 14), ("Base", "Reader"), implements=("Reader",)),
        ]),
        ("a.js", CHUNKS["a class expression in a variable"][1], [ClassDefinition("Shape", (1, 1), ("Base",))]),
        ("a.ts", "export const A = class extends B { area() {} };\n", [ClassDefinition("A", (1, 1), ("B",))]),
        ("a.ts", "declare global {\n  interface A extends B { find(): void }\n}\n",
         [ClassDefinition("A", (2, 2), ("B",), is_interface=True)]),
        ("a.d.ts", "export declare abstract class A extends B implements C {}\n",
         [ClassDefinition("A", (1, 1), ("B", "C"), implements=("C",))]),
        ("a.d.ts", "export declare interface A extends B { find(): void }\n",
         [ClassDefinition("A", (1, 1), ("B",), is_interface=True)]),
        ("a.d.ts", "declare module 'x' {\n  export interface A extends B {}\n  export class C extends D {}\n}\n", []),
        ("a.d.ts", "declare namespace n {\n  export class C extends D {}\n}\n",
         [ClassDefinition("n.C", (2, 2), ("D",))]),
        ("a.js", "/**\n * @class my.app.View\n */\nexport default class View extends ns.Base {}\n",
         [ClassDefinition("View", (4, 4), ("ns.Base",), "my.app.View")]),
        ("src/button/Base.mjs", NEO, [ClassDefinition("Button", (8, 24), ("Component",), "Neo.button.Base")]),
        ("a.mjs", "class A extends B {\n  static config = {mixins: [C, D, 'E'], x: [F]}\n  config = {mixins: 0}\n}\n",
         [ClassDefinition("A", (1, 4), ("B", "C", "D"))]),
    ],
)  # fmt: skip
def test_a_class_has_its_bases_and_the_name_from_its_config_or_comment(
    path: str, text: str, expected: list[ClassDefinition]
) -> None:
    assert list(facts_of(path, code(text)).classes) == expected


@pytest.mark.parametrize(
    "text",
    [
        "export const A = class extends B { one() {} };", "export declare class A extends B { one(): void }",
        "export declare interface A extends B { one(): void }", "declare class A { one(): void }",
        "export default class A { one = () => {} }", "@b() export class A { one() {} }",
    ],
)  # fmt: skip
def test_a_class_has_its_methods_however_it_is_declared(text: str) -> None:
    assert facts_of("a.ts", text).members["A"] == (Member("one", "method", (1, 1)),)


def test_every_form_of_import_is_parsed() -> None:
    text = code("""
        import Def, {Named, Other as Alias} from './a.js';
        import * as all from '../b.js';
        import 'side-effect';
        """)

    assert facts_of("a.js", text).imports == {
        "Def": ("./a.js", "default"), "Named": ("./a.js", "Named"), "Alias": ("./a.js", "Other"),
        "all": ("../b.js", None),
    }  # fmt: skip


@pytest.mark.parametrize(
    "text", ["class A {\n  m( {\n", "const = ;\nfunction f() {}\n", "<<<<<<< HEAD\nlet x\n>>>>>>>\n"]
)
def test_broken_code_is_parsed_as_far_as_possible(text: str) -> None:
    chunks = chunks_in("a.js", text)

    assert "\n".join(chunk.text for chunk in chunks) == text.strip("\n")


ENDLESS = ["[\n" * 40_000, "`${\n" * 20_000, "function a(){\n" * 4_000]


@pytest.mark.parametrize("path", ["a.js", "a.ts", "a.tsx"])
@pytest.mark.parametrize(
    ("text", "reason"),
    [("class A{};" * 2_001, "minified code"), *((text, "Script that takes too long to parse") for text in ENDLESS)],
)
def test_code_that_cannot_be_parsed_is_indexed_as_plain_text_with_a_warning(path: str, text: str, reason: str) -> None:
    chunks, facts, warning = chunk(document(path, text), counter())

    reason = reason.replace("Script", "JavaScript" if path == "a.js" else "TypeScript")
    assert warning == f"{reason}; indexed as plain text"
    assert facts.classes == ()
    assert {chunk.kind for chunk in chunks} == {"text"}


def test_names_in_deep_code_are_those_near_its_beginning() -> None:
    text = "import {b} from './b.js';\nb();\n" + "function a(){\n" * 3_000 + "b();" + "}" * 3_000

    _, facts, warning = chunk(document("a.js", text), counter())

    assert warning is None
    assert facts.uses["b"] == (2, 1)  # line and number
