"""Questions of two or three words find what they name: a definition, a file, a folder, or a command."""

import pytest

from lore_server.app import App
from tests.harness.calls import app_fixture

MENTIONS = {
    f"src/store_{n}.py": "\n\n".join(f"def unpack(value{m}):\n    return unpack(value{m})" for m in range(30))
    for n in range(20)
}
BANNER = "The waterway is closed for all ferries, and the locks are no longer maintained."
PROJECT = {
    **MENTIONS,
    "src/core/shape.py": "class Unpack:\n    def run(self):\n        return None\n",
    "src/state/provider.py": 'class Provider:\n    """Holds the state."""\n',
    **{f"examples/stateProvider/{n}/index.html": "<html><body>state provider</body></html>\n" for n in ("a", "b", "c")},
    "src/grid/base.py": "class Base:\n    pass\n",
    "src/grid/body.py": "from src.grid.base import Base\n\n\nclass Grid(Base):\n    pass\n",
    "docs/commands/up.md": "# up\n\nFerry goes through build, deploy and release.\n",
    "docs/commands/down.md": "# down\n\nFerry stops and removes everything.\n",
    "docs/settings.md": "# Settings\n\nA captain can change what the boat records:\n\n- the names of guests\n"
    "- the route of each day\n- wind, tide, and height of waves at noon, in metres above those of May\n- logs of weeks",
    "CHANGELOG.md": "# Changelog of Ferry\n\n## 2.1.0\n\n- Ropes are longer\n\n## 2.0.0\n\n- Boats are faster\n",
    "src/core/logbook.py": "def sign(page: int) -> None:\n    print('logbook', page)\n",
    "docs/ferry.md": "# Ferry\n\nFerry is a program for boats. It works on any boat.\n",
    **{f"docs/old/page{n}.md": f"# Page {n}\n\n{BANNER}\n\n## Berth {n}\n\nPlaces {n}.\n" for n in range(12)},
    "docs/locks.md": "# Locks\n\nThe locks of the waterway are maintained by the harbour in May.\n",
}
app = app_fixture(PROJECT)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Unpack", "src/core/shape.py"),
        ("the Unpack class", "src/core/shape.py"),
        ("state provider", "src/state/provider.py"),
        ("how does ferry up work", "docs/commands/up.md"),
        ("how does ferry down work", "docs/commands/down.md"),
        ("maintained locks", "docs/locks.md"),
        ("change log", "CHANGELOG.md"),
        ("the log book", "src/core/logbook.py"),
    ],
)
def test_a_short_question_finds_what_it_names_first(app: App, query: str, first: str) -> None:
    assert app.call("query_documents", {"query": query})["results"][0]["source"] == first


def test_a_lower_case_word_brings_no_ancestors_of_a_class_with_that_name(app: App) -> None:
    reply = app.call("query_documents", {"query": "grid", "explain": True})

    assert "inheritanceBoost" not in str(reply)
