from __future__ import annotations

from textwrap import dedent

import pytest

from lore_etl.chunking import chunk
from lore_etl.core.model import ClassDefinition
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


def test_the_configured_class_name_is_the_full_name_and_imports_locate_the_base_class() -> None:
    facts = facts_of("src/button/Base.mjs", NEO)

    assert facts.classes == (ClassDefinition("Button", (8, 24), ("Component",), "Neo.button.Base"),)
    assert facts.imports == {"Component": ("../component/Base.mjs", "default")}


def test_the_jsdoc_tag_names_a_class_that_has_no_config() -> None:
    text = "/**\n * @class my.app.View\n */\nexport default class View extends ns.Base {}\n"

    assert facts_of("a.js", text).classes == (ClassDefinition("View", (4, 4), ("ns.Base",), "my.app.View"),)


def test_functions_are_found_in_every_syntax() -> None:
    text = code("""
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
        """)

    chunks = chunks_in("a.js", text)

    assert symbols(chunks) == [("load",), ("save",), ("drop",), ("Store.find",), ("default",)]
    assert [chunk.lines for chunk in chunks] == [(1, 2), (3, 4), (5, 6), (7, 8), (9, 10)]


def test_typescript_declarations_are_found() -> None:
    text = code("""
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
        """)

    chunks = chunks_in("a.ts", text)

    assert [(chunk.kind, chunk.symbols) for chunk in chunks] == [
        ("interface", ("Options",)),
        ("type", ("Id",)),
        ("enum", ("Mode",)),
        ("class", ("Repo",)),
        ("method", ("Repo.load",)),
        ("method", ("Repo.find",)),
    ]
    assert facts_of("a.ts", text).classes == (
        ClassDefinition("Options", (2, 2), is_interface=True),
        ClassDefinition("Repo", (8, 14), ("Base", "Reader"), implements=("Reader",)),
    )


def test_tsx_components_are_functions() -> None:
    text = code("""
        /** BODY */
        export const Card = ({title}: Props) => (
            <section>
                <h2>{title}</h2>
            </section>
        );
        """)

    assert [(chunk.kind, chunk.symbols) for chunk in chunks_in("Card.tsx", text)] == [("function", ("Card",))]


def test_tests_are_named_with_the_titles_of_their_suites() -> None:
    text = code("""
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
        """)

    chunks = chunks_in("button.spec.mjs", text)

    assert [(chunk.kind, chunk.heading) for chunk in chunks] == [
        ("suite", ("Button",)),
        ("test", ("Button", "shows an icon")),
        ("test", ("Button", "pressed", "calls back")),
    ]


def test_every_form_of_import_is_parsed() -> None:
    text = code("""
        import Def, {Named, Other as Alias} from './a.js';
        import * as all from '../b.js';
        import 'side-effect';
        """)

    assert facts_of("a.js", text).imports == {
        "Def": ("./a.js", "default"),
        "Named": ("./a.js", "Named"),
        "Alias": ("./a.js", "Other"),
        "all": ("../b.js", None),
    }


def test_a_class_expression_in_a_variable_is_a_class() -> None:
    text = "const Shape = class extends Base { area() { return 0; } };\n"

    assert facts_of("a.js", text).classes == (ClassDefinition("Shape", (1, 1), ("Base",)),)
    assert [(chunk.kind, chunk.symbols) for chunk in chunks_in("a.js", text)] == [("class", ("Shape",))]


def test_definitions_on_a_shared_line_do_not_take_the_lines_of_others() -> None:
    text = code("""
        function a() {} function b() {}
        /** BODY */
        function c() {}
        """)

    assert [(chunk.symbols, chunk.lines) for chunk in chunks_in("a.js", text)] == [(("a", "c"), (1, 3))]


@pytest.mark.parametrize(
    "text", ["class A {\n  m( {\n", "const = ;\nfunction f() {}\n", "<<<<<<< HEAD\nlet x\n>>>>>>>\n"]
)
def test_broken_code_is_parsed_as_far_as_possible(text: str) -> None:
    chunks = chunks_in("a.js", text)

    assert "\n".join(chunk.text for chunk in chunks) == text.strip("\n")


def test_minified_code_is_indexed_as_plain_text_with_a_warning() -> None:
    chunks, facts, warning = chunk(document("a.js", "class A{};" * 2_001), counter())

    assert warning == "minified code; indexed as plain text"
    assert facts.classes == ()
    assert {chunk.kind for chunk in chunks} == {"text"}


def test_code_with_wide_characters_keeps_its_lines() -> None:
    text = code("""
        const greeting = '👩‍👩‍👧 héllo';  /* ümlaut */ function f() {}
        /** BODY 漢字 */
        function g() {}
        """)

    chunks = chunks_in("a.js", text)

    assert [chunk.text for chunk in chunks] == ["\n".join(text.split("\n"))]
