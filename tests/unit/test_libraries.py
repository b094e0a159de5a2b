"""Documentation of libraries ranks below the project's own files, unless the query names the library or the type."""

import pytest

from lore_etl.core.model import Chunk, KnowledgeType
from lore_etl.sources.kinds import SourceSet
from lore_etl.sources.source import Source, SourceContext
from lore_server.query.classic import rank as classic_rank
from lore_server.query.hybrid import are_mostly_libraries, names_library, rank, score
from lore_server.query.parse import parse
from lore_server.query.ranking import CLASSIC, HYBRID
from lore_server.query.retrieve import Candidates
from tests.harness.chunks import candidate, make_chunk


def page(library: str = "scikit-learn 1.7") -> Chunk:
    return make_chunk("@docs/scikit-learn/a.md", "library", library=library)


def order(query: str, type_: str | None = None) -> list[str]:
    found = Candidates([candidate(page(), 0.9, 10.0), candidate(make_chunk("docs/own.md"), 0.8, 8.0)])
    asked = parse(query)
    return [result.chunk.type.value for result in rank(asked, score(asked, found, type_, HYBRID), type_, HYBRID)]


@pytest.mark.parametrize("name", ["scikit-learn", "Scikit Learn", "scikit_learn", "scikitlearn"])
def test_the_projects_own_files_come_before_a_library_unless_the_query_names_it_or_the_type(name: str) -> None:
    rows = [make_chunk("@docs/x/buttons.md", "library"), make_chunk("learn/buttons.md")]
    (passage,) = score(parse("scale the input"), Candidates([candidate(page(), 0.9, 10.0)]), "library", HYBRID)

    assert order("how does a pipeline scale its input") == ["guide", "library"]
    assert order(f"how does {name} scale its input") == ["library", "guide"]
    assert "libraryPenalty" not in dict(passage.why)
    assert next(source for source, _ in classic_rank("buttons", "all", rows, CLASSIC)) == "learn/buttons.md"


@pytest.mark.parametrize(
    ("library", "text"),
    [
        ("vue 3.5", "a revue of views"),
        ("vue 3.5", "vue-router guards"),
        ("react 19", "reaction time"),
        ("- 1", "a - b"),
    ],
)
def test_part_of_another_word_does_not_name_a_library(library: str, text: str) -> None:
    assert not names_library(text, page(library))


def test_libraries_crowd_out_the_project_if_they_are_most_candidates() -> None:
    own, other = candidate(make_chunk("docs/own.md"), 0.8, 8.0), candidate(page(), 0.9, 10.0)

    assert are_mostly_libraries(Candidates([other, other, own]))
    assert not are_mostly_libraries(Candidates([other, own]))
    assert not are_mostly_libraries(Candidates([]))


def test_added_documentation_is_of_its_library_and_version_and_a_project_can_mark_what_it_contains() -> None:
    def source_of(path: str, **patterns: list[str]) -> Source:
        owner = SourceSet(SourceContext([], lambda path: None), patterns).owner(path)
        assert owner is not None
        return owner

    owner = source_of("@docs/vue/api/refs.md", guides=["**"])
    found = owner.document("@docs/vue/api/refs.md", "---\nlibrary: vue\nversion: '3.5'\n---\n# Refs\n")
    bare = owner.document("@docs/vue/a.md", "---\nversion: '3.5'\n---\n# Refs\n")
    marked = source_of("third_party/x/README.md", libraries=["third_party/**/*.md"])

    assert (found.type, found.library, found.title) == (KnowledgeType.LIBRARY, "vue 3.5", "vue: Refs")
    assert (bare.library, bare.title) == (None, "Refs")
    assert marked.kind.type == KnowledgeType.LIBRARY
