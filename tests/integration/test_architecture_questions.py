"""The use cases of the original system on a similar project: discovery, forensics, architecture."""

from typing import Any

import pytest

from lore_server.app import App
from lore_server.operations.table import render
from tests.harness.calls import app_fixture

CLASSES = {
    "worker.Base": ("core.Base", "The base of all workers: posts messages between threads and promises their replies."),
    "worker.App": ("worker.Base", "The application worker: runs the business logic off the main thread."),
    "worker.Data": ("worker.Base", "The data worker: fetches and parses remote data in its own thread."),
    "worker.VDom": ("worker.Base", "The worker that computes the deltas of the virtual DOM in a thread."),
    "core.Base": (None, "Configs, life cycle and identity of every instance."),
    "component.Base": ("core.Base", "A view with a virtual DOM: mounts, renders and updates itself."),
    "button.Base": ("component.Base", "A button with an icon and a text that can be pressed."),
    "grid.Container": ("component.Base", "The grid: headers, a body with buffered rows, and sorting."),
    "grid.my-scroll.Bar": ("component.Base", "The scroll bar of a grid."),
}  # fmt: skip
PAGES = ("Cart", "Order", "Customer", "Invoice", "Stock", "Login", "Search", "Rating", "Return", "Wish")


def script(full_name: str, base: str | None, about: str) -> str:
    """Return a class in the style of Neo.mjs, with its imports."""
    name = full_name.rpartition(".")[2]
    root = "../" * full_name.count(".")
    up = f"import Parent from '{root}{base.replace('.', '/')}.mjs';\n" if base else ""
    used = "".join(f"import Util{n} from '{root}util/Util{n}.mjs';\n" for n in range(4))
    return (
        f"{up}{used}\n/**\n * {about}\n * @class Neo.{full_name}\n */\n"
        f"class {name} {'extends Parent ' if base else ''}{{\n    static config = {{\n"
        f"        className: 'Neo.{full_name}'\n    }}\n\n    /**\n     * {about} It starts here.\n     */\n"
        f"    construct(config) {{\n        this.start(config, '{name}');\n    }}\n}}\n\n"
        f"export default Neo.setupClass({name});\n"
    )


def page(name: str) -> str:
    """Return a view of an application."""
    return (
        f"import Base from '../../../src/component/Base.mjs';\n\n/**\n * The {name} page of the shop.\n"
        f" * @class Shop.view.{name}View\n */\nclass {name}View extends Base {{\n    open() {{\n"
        f"        this.show('{name}');\n    }}\n}}\n\nexport default Neo.setupClass({name}View);\n"
    )


def ticket(number: int, title: str, state: str, text: str) -> str:
    return (
        f"---\nid: {number}\ntitle: {title}\nstate: {state}\n---\n# {title}\n\n{text}\n\n## Timeline\n\n"
        f'- referenced in commit `a1b2c3` - "fix: {title.lower()} (#{number})"\n'
        f'- referenced in commit `d4e5f6` - "test: {title.lower()} (#{number})"\n'
    )


def neo_style() -> dict[str, str]:
    """Return sources, guides, tickets and releases in the layout of that project."""
    scripts = {f"src/{name.replace('.', '/')}.mjs": script(name, *more) for name, more in CLASSES.items()}
    views = {f"apps/shop/view/{name}View.mjs": page(name) for name in PAGES}
    guides = {
        "learn/guides/Grids.md": "# Grids\n\nHow to use a grid component: give it columns and a store, then sort and "
        "filter its rows.\n",
        "learn/guides/Workers.md": "# Workers\n\nWhy an application runs in several threads.\n",
        "learn/guides/Forms.md": "# Forms\n\nFields, validation and how to submit a form component.\n",
        ".github/ISSUE_TEMPLATE/bug.md": "---\nname: Bug\n---\n# Report a bug\n\nWhich ticket introduced it?\n",
    }
    tickets = {
        "issues/issue-8156.md": ticket(
            8156, "Grid loses the focused cell", "CLOSED", "After scrolling, the focused cell of the grid is lost."
        ),
        "issues/issue-8157.md": ticket(
            8157, "Buffered rows for the grid", "CLOSED", "Introduce buffered rows: only what is seen is rendered."
        ),
        "issues/issue-8200.md": ticket(
            8200, "VDOM collision while updating", "CLOSED",
            "Two updates of the VDOM collide: the collision logic merged the wrong deltas.",
        ),
        "issues/issue-8201.md": ticket(
            8201, "VDOM collisions with moved nodes", "OPEN", "The collision logic of the VDOM moves nodes twice."
        ),
    }  # fmt: skip
    releases = {
        f"release-notes/v11.{minor}.{patch}.md": f"# Release v11.{minor}.{patch}\n\n"
        f"- Grid: fix the focus (#8156)\n- Buttons: {minor} improvements and {patch} fixes\n"
        for minor in (2, 19, 20, 21)
        for patch in (0, 1)
    }
    return {**scripts, **views, **guides, **tickets, **releases}


neo = app_fixture(neo_style(), real=True)


def results(app: App, query: str, type_: str = "all") -> list[dict[str, Any]]:
    return list(app.call("query_documents", {"query": query, "type": type_})["results"])


def sources(app: App, query: str, type_: str = "all") -> list[str]:
    return [result["source"] for result in results(app, query, type_)]


def test_forensics_returns_tickets_with_their_state_and_text_and_releases_by_their_series(neo: App) -> None:
    found = results(neo, "VDOM collision logic changes", "ticket")[:2]
    assert {result["source"]: result["state"] for result in found} == {
        "issues/issue-8200.md": "closed", "issues/issue-8201.md": "open",
    }  # fmt: skip
    shown = render("query_documents", neo.call("query_documents", {"query": "VDOM collision", "type": "ticket"})).body
    assert "[ticket, closed]" in shown
    assert "[ticket, open]" in shown

    first = results(neo, "#8156")[0]
    assert (first["source"], first["state"]) == ("issues/issue-8156.md", "closed")
    assert "focused cell of the grid is lost" in first["excerpt"]

    assert set(sources(neo, "release 11.20")[:2]) == {"release-notes/v11.20.0.md", "release-notes/v11.20.1.md"}


def test_architecture_returns_the_workers_and_their_base_classes(neo: App) -> None:
    for type_ in ("src", "all"):
        found = sources(neo, "worker thread communication patterns", type_)

        assert {"src/worker/Base.mjs", "src/worker/App.mjs"} <= set(found[:5])
        assert "src/core/Base.mjs" in found


@pytest.mark.requirement("NEO-022")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("How do I use the Grid component?", ["learn/guides/Grids.md"]),
        ("How do I use the Grid component? type:guide", ["learn/guides/Grids.md"]),
        ("Neo.button.Base", ["src/button/Base.mjs", "src/component/Base.mjs", "src/core/Base.mjs"]),
        ("Neo.worker.Data", ["src/worker/Data.mjs", "src/worker/Base.mjs", "src/core/Base.mjs"]),
        ("Neo.grid.my-scroll.Bar", ["src/grid/my-scroll/Bar.mjs", "src/component/Base.mjs", "src/core/Base.mjs"]),
        ("Shop.view.CartView", ["apps/shop/view/CartView.mjs", "src/component/Base.mjs", "src/core/Base.mjs"]),
        ("which ticket introduced buffered rows", ["issues/issue-8157.md"]),
        ("v11.20.1", ["release-notes/v11.20.1.md"]),
        ("release 11.2.0", ["release-notes/v11.2.0.md"]),
    ],
)
def test_what_a_query_names_is_returned_first_a_class_before_its_ancestors(
    neo: App, query: str, expected: list[str]
) -> None:
    assert sources(neo, query)[: len(expected)] == expected


@pytest.mark.parametrize("subject", ["grid", "button", "scroll bar", "worker", "cart page", "login page"])
def test_no_result_for_a_component_contains_only_imports(neo: App, subject: str) -> None:
    for result in results(neo, f"how does the {subject} component work"):
        passage = neo.call("get_document_by_id", {"id": result["id"]})
        assert passage["kind"] != "imports"
        assert any(line and not line.startswith("import ") for line in passage["text"].split("\n"))
